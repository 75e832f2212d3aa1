//! Sandboxes that are kept under a key, through the real binary: their clients are killed, and nothing is lost or run twice.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod edge;
mod limit;
mod lost;
mod support;

use std::{
    fs,
    io::Read as _,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use support::{Chance, Kept};

/// How often clients are killed; `HERM_KILLS` says otherwise.
fn kills() -> u32 {
    let asked = std::env::var("HERM_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok());
    asked.unwrap_or(40)
}

#[test]
fn a_job_is_read_whole_by_readers_that_are_killed_at_any_moment() {
    let kept = Kept::new();
    let lines = kills() * 20;
    let text = format!(
        "echo ran >> runs; i=0; while [ $i -lt {lines} ]; do echo \"line $i of a job that counts\"; i=$((i+1)); sleep 0.002; done; exit 7"
    );
    let job = kept.herm(&["exec", "--key", "k", "--detach", "-c", &text]).ok();
    let job = job.trim();
    let mut seen = Vec::new();
    let mut chance = Chance::new(1);
    for _ in 0..kills() {
        let from = seen.len().to_string();
        let mut reader = kept
            .command(&["jobs", "k", "output", job, "--follow", "--from", &from])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(chance.below(60)));
        let _ = reader.kill();
        reader.stdout.take().unwrap().read_to_end(&mut seen).unwrap();
        reader.wait().unwrap();
    }
    let waited = kept.herm(&["jobs", "k", "wait", job]);
    assert_eq!(waited.code, Some(7), "{waited:?}");
    let from = seen.len().to_string();
    seen.extend(kept.herm(&["jobs", "k", "output", job, "--from", &from]).stdout);
    let expected = (0..lines)
        .map(|i| format!("line {i} of a job that counts\n"))
        .collect::<Vec<_>>()
        .concat();
    assert!(
        seen == expected.as_bytes(),
        "{} bytes of {}",
        seen.len(),
        expected.len()
    );
    assert_eq!(fs::read_to_string(kept.work("k").join("runs")).unwrap(), "ran\n");
    // Its outcome is kept until it is forgotten.
    assert_eq!(kept.herm(&["jobs", "k", "wait", job]).code, Some(7));
    kept.herm(&["jobs", "k", "forget", job]).ok();
    assert_eq!(kept.herm(&["jobs", "k", "wait", job]).code, Some(1));
}

#[test]
fn a_client_that_is_killed_while_it_starts_a_job_starts_it_once_or_not_at_all() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "k", "-c", "true"]).ok();
    let mut chance = Chance::new(2);
    let rounds = kills() / 2;
    for round in 0..rounds {
        let text = format!("echo {round} >> started");
        let mut client = kept
            .command(&["exec", "--key", "k", "--detach", "-c", &text])
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(chance.below(25)));
        let _ = client.kill();
        client.wait().unwrap();
    }
    sleep(Duration::from_millis(300));
    let started = fs::read_to_string(kept.work("k").join("started")).unwrap_or_default();
    let mut rounds: Vec<_> = started.lines().collect();
    let all = rounds.len();
    rounds.sort_unstable();
    rounds.dedup();
    assert_eq!(rounds.len(), all, "some ran twice: {started}");
    assert!(
        kept.herm(&["exec", "--key", "k", "-c", "echo of use"])
            .ok()
            .contains("of use")
    );
}

#[test]
fn sixteen_processes_that_open_one_key_at_once_share_one_sandbox() {
    let kept = Kept::new();
    for round in 0..3 {
        let key = format!("shared-{round}");
        let clients: Vec<_> = (0..16)
            .map(|client| {
                let text = format!("echo {client} >> clients; pwd -P");
                kept.command(&["exec", "--key", &key, "-c", &text])
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let outputs: Vec<_> = clients
            .into_iter()
            .map(|client| client.wait_with_output().unwrap())
            .collect();
        let work = kept.work(&key);
        for output in outputs {
            assert!(output.status.success(), "{output:?}");
            let place = String::from_utf8(output.stdout).unwrap();
            assert_eq!(place.trim(), work.to_str().unwrap());
        }
        assert_eq!(
            fs::read_to_string(work.join("clients")).unwrap().lines().count(),
            16
        );
        assert_eq!(kept.residents(&key).len(), 1);
    }
}

#[test]
fn a_sandbox_whose_resident_was_killed_comes_back_with_its_files_and_says_what_was_lost() {
    let kept = Kept::new();
    kept.herm(&[
        "exec",
        "--key",
        "k",
        "-c",
        "echo kept > file; sleep 600 > /dev/null 2>&1 &",
    ])
    .ok();
    let resident = kept.residents("k");
    assert_eq!(resident.len(), 1);
    support::kill(resident[0]);
    let began = Instant::now();
    let again = kept.herm(&["exec", "--key", "k", "-c", "cat file"]);
    assert_eq!(again.text(), "kept\n", "{again:?}");
    assert!(again.complaint().contains("ended from outside"), "{again:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
    // What ran below the resident has gone with it.
    let gone = Instant::now();
    while !support::sleepers(&kept.work("k")).is_empty() {
        assert!(gone.elapsed() < Duration::from_secs(10), "the sleeper lives on");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_removed_is_gone_with_everything_that_ran_in_it() {
    let kept = Kept::new();
    kept.herm(&[
        "exec",
        "--key",
        "a b/../c",
        "-c",
        "(setsid sleep 600 > /dev/null 2>&1 &) ; echo x > file",
    ])
    .ok();
    assert!(kept.herm(&["ps"]).ok().contains("a b/../c"));
    let work = kept.work("a b/../c");
    kept.herm(&["rm", "a b/../c"]).ok();
    assert!(!work.exists());
    assert_eq!(support::sleepers(&work), Vec::<u32>::new());
    assert_eq!(kept.residents("a b/../c"), Vec::<u32>::new());
    assert_eq!(fs::read_dir(&kept.state).unwrap().count(), 0);
    assert_eq!(kept.herm(&["rm", "a b/../c"]).code, Some(1));
    let none = kept.herm(&["jobs", "none"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert_eq!(
        fs::read_dir(&kept.state).unwrap().count(),
        0,
        "asking makes nothing"
    );
}

#[test]
fn a_session_is_found_again_by_the_next_client() {
    let kept = Kept::new();
    let session = |text: &str| kept.herm(&["exec", "--key", "k", "--session", "one", "-c", text]);
    session("cd /usr; export A='kept here'; greet() { echo \"hello $1\"; }; alias again='echo again'").ok();
    assert_eq!(session("exit 7").code, Some(7));
    assert_eq!(
        session("pwd; echo \"$A\"; greet you").ok(),
        "/usr\nkept here\nhello you\n"
    );
    assert_eq!(session("again").ok(), "again\n");
    // The state is in files, and outlives the process that keeps it.
    for resident in kept.residents("k") {
        support::kill(resident);
    }
    assert_eq!(session("pwd; echo \"$A\"").ok(), "/usr\nkept here\n");
    // Neither another session nor a command without one has anything of it.
    for other in [&["--session", "two"][..], &[]] {
        let arguments = [&["exec", "--key", "k"], other, &["-c", "echo \"${A-none}\""]].concat();
        assert_eq!(kept.herm(&arguments).ok(), "none\n");
    }
    let without_key = kept.herm(&["exec", "--session", "one", "-c", "true"]);
    assert_eq!(without_key.code, Some(2), "{without_key:?}");
    let no_name = kept.herm(&["exec", "--key", "k", "--session", "", "-c", "true"]);
    assert_eq!(no_name.code, Some(2), "{no_name:?}");
}
