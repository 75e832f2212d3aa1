//! Rounds of many at once, and of kills at random moments. `HERM_ROUNDS` says how many; a soak takes hundreds.

use std::{
    env,
    process::{Child, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::support::{User, docker, eventually};

/// Rounds when nobody says.
const ROUNDS: u64 = 20;

fn rounds() -> u64 {
    let said = env::var("HERM_ROUNDS").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(ROUNDS)
}

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    /// A number below that one (an xorshift generator by Marsaglia).
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn wait(&mut self, most: u64) {
        sleep(Duration::from_millis(self.below(most)));
    }
}

fn start(user: &User, arguments: &[&str]) -> Child {
    user.command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What there is of a user on the engine.
fn of_user(user: &User) -> String {
    let state = format!("label=herm.state={}", user.state().join("docker").display());
    docker(&["ps", "--all", "--quiet", "--filter", &state]).out
        + &docker(&["volume", "ls", "--quiet", "--filter", &state]).out
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn however_many_open_one_key_at_once_share_one_container() {
    let user = User::new("");
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for round in 0..rounds() {
        let callers = 2 + dice.below(15);
        let texts: Vec<_> = (0..callers)
            .map(|caller| format!("echo {caller} >> lines; echo mine-{caller}"))
            .collect();
        let all: Vec<_> = texts
            .iter()
            .map(|text| start(&user, &["exec", "--key", "k", "-c", text]))
            .collect();
        for (caller, child) in all.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(printed, format!("mine-{caller}\n"), "round {round}: {output:?}");
        }
        let seen = user.herm(&["exec", "--key", "k", "-c", "sort -n lines | uniq | wc -l"]);
        assert_eq!(seen.out.trim(), callers.to_string(), "round {round}: {seen:?}");
        let state = format!("label=herm.state={}", user.state().join("docker").display());
        let made = docker(&["ps", "--all", "--quiet", "--filter", &state]).out;
        assert_eq!(made.lines().count(), 1, "round {round}");
        user.herm(&["rm", "k"]);
    }
    assert_eq!(of_user(&user), "");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn whatever_is_killed_at_whatever_moment_no_outcome_is_false_and_nothing_is_left() {
    let user = User::new("");
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for round in 0..rounds() {
        let key = format!("k{}", dice.below(3));
        let text = format!("echo t{round} >> f; sleep 0.2; echo done-{round}");
        let mut client = start(&user, &["exec", "--json", "--key", &key, "-c", &text]);
        dice.wait(700);
        match dice.below(5) {
            0 => client.kill().unwrap(),
            1 => {
                let state = format!("label=herm.state={}", user.state().join("docker").display());
                for container in docker(&["ps", "--quiet", "--filter", &state]).out.lines() {
                    docker(&["kill", container]);
                }
            }
            kind => {
                let arguments: &[&str] = match kind {
                    2 => &["reap", "--ended-for", "0"],
                    3 => &["rm", &key],
                    _ => &["exec", "-c", "sleep 1"],
                };
                let mut other = start(&user, arguments);
                dice.wait(200);
                other.kill().unwrap();
                other.wait().unwrap();
            }
        }
        let output = client.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!told.contains("panicked"), "round {round}: {told}");
        // A client that was killed says nothing; what others say is true.
        if let Ok(object) = serde_json::from_slice::<serde_json::Value>(&output.stdout)
            && object["outcome"]["type"] == "exited"
        {
            assert_eq!(object["outcome"]["code"], 0, "round {round}: {object}");
            assert_eq!(
                object["stdout"],
                format!("done-{round}\n"),
                "round {round}: {object}"
            );
        }
        let mut works = user.herm(&["exec", "--key", &key, "-c", "echo works"]);
        // The engine goes on removing what a killed remover has asked for: whoever came just before is told that nothing ran.
        if works.code == Some(2) && works.err.contains("does not exist or is closed") {
            works = user.herm(&["exec", "--key", &key, "-c", "echo works"]);
        }
        assert_eq!(works.out, "works\n", "round {round}: {works:?}");
    }
    eventually("nothing to be left", || {
        for key in ["k0", "k1", "k2"] {
            user.herm(&["rm", key]);
        }
        user.herm(&["reap", "--ended-for", "0"]).code == Some(0) && of_user(&user).is_empty()
    });
}
