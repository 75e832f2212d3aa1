//! Many commands, one after the other and all at once: no output is lost, no code is wrong, and nothing grows.
//! `HERM_SOAK=10000 cargo test --release --test soak` runs as many as a long day does.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    sync::{Arc, Mutex},
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

/// Kibibytes that a process may have grown by: its allocator keeps some.
const GROWTH: u64 = 8 * 1024;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Output for Kept {
    async fn started(&self) {}

    async fn write(&self, _: Stream, data: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(data);
    }
}

async fn count(backend: &LocalBackend, sandbox: &str, number: u64) {
    let code = i32::try_from(number % 256).unwrap();
    let text = format!("echo number {number}; exit {code}");
    let params = RunParams::new(sandbox, number.to_string(), Command::Shell(text.into()));
    let kept = Kept::default();
    let caller = Caller {
        output: kept.clone(),
        input: NoInput,
        tools: NoTools,
    };
    let finished = backend.execute(params, caller, NoControl).await.unwrap();
    assert_eq!(finished.outcome, Outcome::Exited { code });
    let printed = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert_eq!(printed, format!("number {number}\n"));
}

/// What a process holds: descriptors, and kibibytes in memory.
fn held(pid: &str) -> (usize, u64) {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    (descriptors, line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// The resident of the only sandbox: the oldest process of the ledger.
async fn resident(backend: &LocalBackend) -> String {
    let ledger = backend.ledger().await.unwrap();
    let processes = ledger.items.iter().filter(|item| item.kind == "process");
    let ids = processes.map(|item| item.id.split_once(':').unwrap());
    let oldest =
        ids.min_by_key(|(pid, started)| (started.parse::<u64>().unwrap(), pid.parse::<u32>().unwrap()));
    oldest.unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_grows() {
    let asked = std::env::var("HERM_SOAK")
        .ok()
        .and_then(|number| number.parse().ok());
    let rounds: u64 = asked.unwrap_or(500);
    let scratch = tempfile::tempdir().unwrap();
    let backend = LocalBackend::new(Mode::Resident);
    let params = InitializeParams {
        protocol: Vec::new(),
        run: "soak".into(),
        scratch: scratch.path().to_str().unwrap().into(),
    };
    backend.initialize(params).await.unwrap();
    let sandbox = backend.open_sandbox(OpenParams::default()).await.unwrap().sandbox;
    let resident = resident(&backend).await;
    let many = |from: u64| {
        let (backend, sandbox) = (backend.clone(), sandbox.clone());
        async move {
            let all = (from..from + 64).map(|number| {
                let (backend, sandbox) = (backend.clone(), sandbox.clone());
                tokio::spawn(async move { count(&backend, &sandbox, number).await })
            });
            for one in all.collect::<Vec<_>>() {
                one.await.unwrap();
            }
        }
    };
    // What is allocated for 64 at once stays for the next ones.
    many(0).await;
    count(&backend, &sandbox, 64).await;
    let before = [held("self"), held(&resident)];
    for number in 0..rounds {
        count(&backend, &sandbox, number).await;
    }
    for round in 0..3 {
        many(round * 64).await;
    }
    let after = [held("self"), held(&resident)];
    for (before, after) in before.into_iter().zip(after) {
        // A descriptor of the runtime's own comes and goes.
        assert!(
            after.0 <= before.0 + 2,
            "descriptors grew from {} to {}",
            before.0,
            after.0
        );
        assert!(
            after.1 <= before.1 + GROWTH,
            "memory grew from {} to {} KiB",
            before.1,
            after.1
        );
    }
    backend.shutdown().await;
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}
