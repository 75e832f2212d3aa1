//! Commands that do their worst: the right outcome within their deadline, nothing left behind, a sandbox that works on.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod namespace;

use std::{
    fs,
    process::{Command as Process, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use herm::{
    backend::local::{LocalBackend, Mode},
    caller::{Caller, NoControl, NoInput, NoTools, Output},
};
use herm_protocol::{
    Adapter as _,
    exec::{Command, Outcome, RunParams, Stream},
    initialize::InitializeParams,
    sandbox::OpenParams,
};
use namespace::{Namespace, run};

/// How much later than its deadline a command may end on a machine that is busy.
const LATE: Duration = Duration::from_secs(8);

/// What was printed: the beginning, and how much of each stream.
#[derive(Default)]
struct Printed {
    stdout: Vec<u8>,
    bytes: [u64; 2],
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Printed>>);

impl Output for Kept {
    async fn started(&self) {}

    async fn write(&self, stream: Stream, data: &[u8]) {
        let mut printed = self.0.lock().unwrap();
        printed.bytes[usize::from(stream == Stream::Stderr)] += data.len() as u64;
        if stream == Stream::Stdout && printed.stdout.len() < 1000 {
            printed.stdout.extend_from_slice(&data[..data.len().min(1000)]);
        }
    }
}

/// A sandbox of the local backend.
struct Sandbox {
    backend: LocalBackend,
    id: String,
    _scratch: tempfile::TempDir,
}

impl Sandbox {
    async fn open() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let backend = LocalBackend::new(Mode::Resident);
        let params = InitializeParams {
            protocol: Vec::new(),
            run: "hostile".into(),
            scratch: scratch.path().to_str().unwrap().into(),
        };
        backend.initialize(params).await.unwrap();
        let id = backend.open_sandbox(OpenParams::default()).await.unwrap().sandbox;
        Self {
            backend,
            id,
            _scratch: scratch,
        }
    }

    /// Runs a command with a deadline in milliseconds, and sees that it ends in time and that the next one works.
    async fn run(&self, text: &str, deadline: u64) -> (Outcome, Printed) {
        let begun = Instant::now();
        let ran = self.run_once(text, deadline).await;
        assert!(
            begun.elapsed() < Duration::from_millis(deadline) + LATE,
            "{text}: {:?}",
            begun.elapsed()
        );
        let (outcome, printed) = self.run_once("echo usable", 20_000).await;
        assert_eq!(
            (outcome, &*printed.stdout),
            (Outcome::Exited { code: 0 }, &b"usable\n"[..]),
            "{text}"
        );
        ran
    }

    async fn run_once(&self, text: &str, deadline: u64) -> (Outcome, Printed) {
        let mut params = RunParams::new(&self.id, "hostile", Command::Shell(text.into()));
        params.timeout_ms = Some(deadline);
        let kept = Kept::default();
        let caller = Caller {
            output: kept.clone(),
            input: NoInput,
            tools: NoTools,
        };
        let finished = self.backend.execute(params, caller, NoControl).await.unwrap();
        let printed = std::mem::take(&mut *kept.0.lock().unwrap());
        (finished.outcome, printed)
    }
}

fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

fn gone_soon(pid: &str) -> bool {
    let begun = Instant::now();
    while lives(pid) && begun.elapsed() < LATE {
        std::thread::sleep(Duration::from_millis(10));
    }
    !lives(pid)
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_move_away_or_do_not_listen_end_with_their_deadline() {
    let sandbox = Sandbox::open().await;
    for text in [
        "(setsid sh -c 'setsid sleep 300 & echo $!; exec env -i sleep 300' &); (setsid sleep 300 & echo $!); sleep 300",
        "trap '' TERM HUP INT; (trap '' TERM; while :; do sleep 0.1; done) & echo $!; while :; do sleep 0.1; done",
        "echo $$; exec sleep 300",
        "echo $$; exec >&- 2>&- <&-; sleep 300",
    ] {
        let (outcome, printed) = sandbox.run(text, 1000).await;
        assert_eq!(outcome, Outcome::TimedOut, "{text}");
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(!printed.is_empty(), "{text}");
        for pid in printed.lines() {
            assert!(!lives(pid), "{text}: process {pid} lives");
        }
    }
    sandbox.backend.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_give_their_streams_or_themselves_away_are_told_truly() {
    let sandbox = Sandbox::open().await;
    for (text, code, said) in [
        ("exec >&- 2>&-; sleep 0.1; exit 5", 5, ""),
        ("exec sh -c 'echo other; exit 7'", 7, "other\n"),
        ("exec 1>/dev/null; echo lost; exit 3", 3, ""),
    ] {
        let (outcome, printed) = sandbox.run(text, 20_000).await;
        assert_eq!(
            (outcome, &*printed.stdout),
            (Outcome::Exited { code }, said.as_bytes()),
            "{text}"
        );
    }
    let flood = "head -c 200000000 /dev/zero & head -c 200000000 /dev/zero >&2 & wait";
    let (outcome, printed) = sandbox.run(flood, 120_000).await;
    assert_eq!(
        (outcome, printed.bytes),
        (Outcome::Exited { code: 0 }, [200_000_000; 2])
    );
    sandbox.backend.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_namespace_neither_a_kill_of_everything_nor_a_fork_bomb_harms_the_resident() {
    let Some(namespace) = Namespace::start() else {
        return;
    };
    let client = namespace.client();
    let deadline = Duration::from_secs(2);
    for (text, allowed) in [
        ("kill -9 -1; sleep 300", None),
        ("b() { b | b & }; b; sleep 300", Some(Outcome::TimedOut)),
        (
            "sh -c 'while :; do (setsid sh -c \"trap : TERM; sleep 300; :\" &); done' 2>/dev/null; exec sleep 300",
            Some(Outcome::TimedOut),
        ),
    ] {
        let ran = run(&client, text, deadline).await;
        assert!(ran.took < deadline + LATE, "{text}: {ran:?}");
        match allowed {
            Some(outcome) => assert_eq!(ran.finished.outcome, outcome, "{text}"),
            None => assert_ne!(ran.finished.outcome, Outcome::TimedOut, "{text}"),
        }
        // A new client, too, is served at once.
        let after = run(
            &namespace.client(),
            "ls -d /proc/[0-9]* | wc -l",
            Duration::from_secs(20),
        )
        .await;
        let left: u32 = after.stdout.trim().parse().unwrap();
        assert!(left < 12, "{text}: {left} processes are left");
    }
}

/// Runs `herm exec` with a deadline, and gives what the command has written into the file that it is told by `TOLD`, and how
/// long it all took. What it prints may be lost with its resident; a file is not.
fn exec(text: &str, deadline: &str) -> (String, Duration) {
    let told = tempfile::NamedTempFile::new().unwrap();
    let text = text.replace("TOLD", told.path().to_str().unwrap());
    let begun = Instant::now();
    let status = Process::new(env!("CARGO_BIN_EXE_herm"))
        .args(["exec", "--timeout", deadline, "-c", &text])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let took = begun.elapsed();
    assert!(!status.unwrap().success());
    let told = std::fs::read_to_string(told.path()).unwrap();
    (told.trim().to_owned(), took)
}

#[test]
fn a_frozen_resident_delays_the_end_by_little() {
    let (pid, took) = exec(
        "echo $$ >TOLD; kill -STOP $(awk '/^PPid/ {print $2}' /proc/$PPID/status); sleep 300",
        "1s",
    );
    println!("a deadline of one second with a frozen resident took {took:?}");
    assert!(took < Duration::from_secs(7), "{took:?}");
    assert!(gone_soon(&pid), "process {pid} lives");
}

#[test]
fn one_that_kills_its_resident_and_its_supervisor_does_not_live_on() {
    let text = "echo $$ >TOLD; cd /; kill -9 $(awk '/^PPid/ {print $2}' /proc/$PPID/status) $PPID; \
                setsid sleep 300 >/dev/null 2>&1 & exec sleep 300 >/dev/null 2>&1";
    let (pid, took) = exec(text, "20s");
    println!("the end of one that has killed its resident took {took:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(gone_soon(&pid), "process {pid} lives");
}
