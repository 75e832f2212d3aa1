//! The death of a command: all of its tree, on time, and nothing else.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::{
    path::{Path, PathBuf},
    process::Command as Process,
    time::{Duration, Instant},
};

use herm_resident::wire::{Outcome, Reply, Request, SignalCause, Start};
use support::{Client, PLENTY, Resident, eventually, is_still, program, shell};

/// Text that keeps a beat in a file.
fn beat(path: &Path) -> String {
    format!("while :; do echo x >> '{}'; sleep 0.02; done", path.display())
}

/// Makes text that keeps a beat out of text that does.
type Way<'a> = &'a dyn Fn(&str) -> String;

/// Ways to get out from under a command.
fn escapes(scratch: &Path) -> Vec<(PathBuf, String)> {
    let ways: [(&str, Way); 7] = [
        ("plain", &|beat| format!("( {beat} ) & wait")),
        ("setsid", &|beat| {
            format!("setsid bash -c \"$(cat <<'E'\n{beat}\nE\n)\" & wait")
        }),
        ("double-fork", &|beat| {
            format!("( ( setsid bash -c \"$(cat <<'E'\n{beat}\nE\n)\" & ) & ); sleep 100")
        }),
        ("env-i", &|beat| {
            format!("env -i setsid /bin/bash -c \"$(cat <<'E'\nPATH=/usr/bin:/bin\n{beat}\nE\n)\" & wait")
        }),
        ("ignores-term", &|beat| format!("trap '' TERM HUP INT; {beat}")),
        ("stopped", &|beat| {
            format!("trap '' TERM; ( {beat} ) & kill -STOP $$; wait")
        }),
        ("no-streams", &|beat| {
            format!("setsid bash -c \"$(cat <<'E'\n{beat}\nE\n)\" <&- >&- 2>&- & disown; sleep 100")
        }),
    ];
    ways.iter()
        .map(|(name, way)| {
            let path = scratch.join(name);
            let text = way(&beat(&path));
            (path, text)
        })
        .collect()
}

#[test]
fn everything_dies_with_a_cancel_however_it_tries_to_get_away() {
    let resident = Resident::start();
    let mut client = resident.client();
    for (path, text) in escapes(resident.scratch()) {
        let name = path.file_name().unwrap().to_owned();
        let job = client.start(Start {
            grace_ms: 100,
            ..shell(&text)
        });
        eventually("the beat", || path.exists());
        client.ask(|call| Request::Cancel { call, job });
        let ending = client.wait(job);
        assert_eq!(ending.outcome, Outcome::Cancelled, "{name:?}");
        assert!(!ending.left_behind, "{name:?}");
        assert!(is_still(&path), "{name:?} lives on");
    }
    assert!(client.list().iter().all(|job| !job.alive));
    client.shell("true").assert_exited(0);
}

#[test]
fn everything_dies_at_the_deadline_without_any_client() {
    let resident = Resident::start();
    let mut jobs = Vec::new();
    for (path, text) in escapes(resident.scratch()) {
        let mut client = resident.client();
        let start = Start {
            deadline_ms: 700,
            grace_ms: 100,
            keep: true,
            ..shell(&format!("echo so far; {text}"))
        };
        jobs.push((client.start(start), path));
        // The client goes with its connection.
    }
    std::thread::sleep(Duration::from_millis(700 + 100 + 400));
    for (_, path) in &jobs {
        assert!(path.exists(), "{path:?} has never run");
        assert!(is_still(path), "{path:?} lives on");
    }
    let mut client = resident.client();
    for (job, path) in jobs {
        let ending = client.wait(job);
        assert_eq!(ending.outcome, Outcome::TimedOut, "{path:?}");
        assert_eq!(ending.totals, [7, 0], "what was printed is kept: {path:?}");
        let late = Duration::from_micros(ending.duration_us).saturating_sub(Duration::from_millis(700));
        assert!(late < Duration::from_millis(800), "{path:?} {late:?} late");
    }
}

#[test]
fn one_that_can_end_is_asked_first() {
    let resident = Resident::start();
    let mut client = resident.client();
    let text = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let job = client.start(Start {
        grace_ms: 2_000,
        deadline_ms: 300,
        attach: Some(PLENTY),
        ..shell(text)
    });
    let ran = client.finish(job, 0, Instant::now());
    assert_eq!(ran.ending.outcome, Outcome::TimedOut);
    assert_eq!(ran.out(), "ready\nasked\n");
    assert!(
        ran.took < Duration::from_millis(1_500),
        "the grace is not waited out: {ran:?}"
    );
}

#[test]
fn a_deadline_strikes_although_nobody_takes_the_output() {
    let resident = Resident::start();
    let mut client = resident.client();
    let path = resident.scratch().join("beat");
    let text = format!("( {} ) & exec yes", beat(&path));
    let start = Start {
        deadline_ms: 500,
        attach: Some(10),
        spool_bytes: 100_000,
        ..shell(&text)
    };
    let began = Instant::now();
    let job = client.start(start);
    let ending = client.wait(job);
    assert_eq!(ending.outcome, Outcome::TimedOut);
    assert!(
        began.elapsed() < Duration::from_millis(1_500),
        "{:?}",
        began.elapsed()
    );
    assert!(is_still(&path));
    assert!(ending.totals[0] >= 100_000);
}

#[test]
fn a_command_that_ends_in_time_keeps_its_outcome() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = client.run(Start {
        deadline_ms: 30_000,
        ..shell("exit 3")
    });
    ran.assert_exited(3);
    let ran = client.run(Start {
        deadline_ms: 30_000,
        ..shell("kill $$")
    });
    assert_eq!(
        ran.ending.outcome,
        Outcome::Signaled {
            number: 15,
            cause: SignalCause::Unknown
        }
    );
    // What it leaves behind does not end with the deadline.
    let path = resident.scratch().join("left");
    let ran = client.run(Start {
        deadline_ms: 400,
        ..shell(&format!("( {} ) > /dev/null 2>&1 &", beat(&path)))
    });
    ran.assert_exited(0);
    std::thread::sleep(Duration::from_millis(600));
    assert!(!is_still(&path), "what is left behind lives on");
}

#[test]
fn a_signal_reaches_the_group_of_the_command() {
    let resident = Resident::start();
    let mut client = resident.client();
    let start = Start {
        attach: Some(PLENTY),
        ..shell("trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.02; done")
    };
    let job = client.start(start);
    client.until(|reply| matches!(reply, Reply::Output { .. }).then_some(()));
    client.ask(|call| Request::Signal {
        call,
        job,
        number: 10,
    });
    assert_eq!(client.wait(job).outcome, Outcome::Exited { code: 3 });
    let refused = client.ask(|call| Request::Signal {
        call,
        job,
        number: 10,
    });
    assert!(matches!(refused, Reply::Error { .. }), "{refused:?}");
    let refused = client.ask(|call| Request::Signal {
        call,
        job,
        number: 65,
    });
    assert!(matches!(refused, Reply::Error { .. }), "{refused:?}");
}

/// The orphans of a supervisor that was killed come to the resident, and die.
#[test]
fn a_killed_supervisor_takes_its_command_along() {
    let resident = Resident::start();
    let mut client = resident.client();
    let path = resident.scratch().join("beat");
    let text = format!(
        "( setsid bash -c \"$(cat <<'E'\n{}\nE\n)\" & ); sleep 0.2; kill -9 $PPID; sleep 100",
        beat(&path)
    );
    let ran = client.run(shell(&text));
    assert_eq!(
        ran.ending.outcome,
        Outcome::Signaled {
            number: 9,
            cause: SignalCause::Unknown
        }
    );
    assert_eq!(ran.ending.notices.len(), 1, "{ran:?}");
    assert!(path.exists() && is_still(&path));
    client.shell("true").assert_exited(0);
}

#[test]
fn a_stopped_supervisor_goes_on() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = client.run(Start {
        deadline_ms: 500,
        ..shell("kill -STOP $PPID; sleep 100")
    });
    assert_eq!(ran.ending.outcome, Outcome::TimedOut);
    assert!(ran.took < Duration::from_millis(1_500), "{ran:?}");
}

#[test]
fn nothing_outlives_a_resident_that_is_killed() {
    let resident = Resident::start();
    let mut client = resident.client();
    let path = resident.scratch().join("beat");
    client.start(shell(&format!(
        "trap '' TERM; setsid bash -c \"$(cat <<'E'\n{}\nE\n)\" & sleep 100",
        beat(&path)
    )));
    eventually("the beat", || path.exists());
    let pid = client.welcome.as_ref().unwrap().pid;
    assert!(
        Process::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
    eventually("the end of the beat", || is_still(&path));
}

/// As an ordinary user in a process namespace of its own, with the resident as process 1.
struct Namespace {
    _base: tempfile::TempDir,
    directory: PathBuf,
    unshare: std::process::Child,
}

impl Namespace {
    /// `None` where the test may not make one.
    fn start(limit: &str) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let base = tempfile::tempdir().unwrap();
        std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let copy = base.path().join("resident");
        std::fs::copy(program(), &copy).unwrap();
        let directory = base.path().join("home");
        let is_superuser = std::fs::metadata("/proc/self")
            .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
        if !is_superuser {
            return None;
        }
        let text = format!(
            "mount -t proc proc /proc && ulimit -u {limit} && exec setpriv --reuid 4711 --regid 4711 --clear-groups \
             --no-new-privs '{}' init --dir '{}'",
            copy.display(),
            directory.display()
        );
        let mut unshare = Process::new("unshare");
        unshare.args(["--pid", "--mount", "--fork", "--kill-child", "bash", "-c", &text]);
        let mut unshare = support::quiet(&mut unshare).spawn().ok()?;
        let end = Instant::now() + Duration::from_secs(5);
        while !directory.join("socket").exists() {
            if Instant::now() > end || unshare.try_wait().is_ok_and(|ended| ended.is_some()) {
                let _ = unshare.kill();
                let _ = unshare.wait();
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Self {
            _base: base,
            directory,
            unshare,
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

#[test]
fn process_1_survives_whatever_its_own_user_does() {
    let Some(namespace) = Namespace::start("200") else {
        println!("skipped: needs the superuser and unshare");
        return;
    };
    let mut client = Client::connect(&namespace.directory);
    assert_eq!(client.welcome.as_ref().unwrap().pid, 1);
    for text in [
        "kill -9 -1; sleep 100",
        "kill -9 1; kill -STOP 1; echo still",
        "kill -TERM -1; kill -HUP -1; exit 6",
    ] {
        let ran = client.run(Start {
            deadline_ms: 5_000,
            ..shell(text)
        });
        assert!(
            !matches!(ran.ending.outcome, Outcome::TimedOut),
            "{text}: {ran:?}"
        );
        client.shell("exit 5").assert_exited(5);
    }
    let memory = client.shell("cat /proc/1/mem; cat /proc/1/environ; ls /proc/1/fd");
    assert!(memory.output[0].is_empty(), "{memory:?}");
    let zombies =
        client.shell("(sleep 0.01 & exec true) ; sleep 0.1; grep -l 'State:.Z' /proc/[0-9]*/status | wc -l");
    assert_eq!(zombies.out().trim(), "0");
}

/// Never more processes than the limit, in a namespace that dies with the test.
#[test]
fn a_fork_bomb_dies() {
    let Some(namespace) = Namespace::start("150") else {
        println!("skipped: needs the superuser and unshare");
        return;
    };
    let mut client = Client::connect(&namespace.directory);
    for _ in 0..3 {
        let bomb = "trap '' TERM; bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 100";
        let start = Start {
            deadline_ms: 400,
            grace_ms: 50,
            attach: None,
            spool_full: herm_resident::wire::SpoolFull::DropOldest,
            ..shell(bomb)
        };
        let began = Instant::now();
        let job = client.start(start);
        let ending = client.wait(job);
        let took = began.elapsed().saturating_sub(Duration::from_millis(450));
        println!("{took:?} after the deadline: {ending:?}");
        assert!(matches!(ending.outcome, Outcome::TimedOut), "{ending:?}");
        assert!(!ending.left_behind, "{ending:?}");
        let left = client.run(Start {
            deadline_ms: 5_000,
            ..shell("ls -d /proc/[0-9]* | wc -l")
        });
        // Process 1, the supervisor and those that wait, the shell, ls and wc.
        assert!(left.out().trim().parse::<u32>().unwrap() <= 10, "{left:?}");
    }
}
