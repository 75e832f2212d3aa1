//! What can be done to a sandbox behind the backend's back, what the backend makes of it, and that nobody else is struck.

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    process::{Command, Stdio},
    time::Duration,
};

use herm_protocol::{
    Error, ErrorKind,
    condition::{ConditionApplied, ConditionParams},
    exec::{Outcome, SignalCause},
    file::{ReadParams, WriteParams},
    method::{
        ApplyCondition, CheckPreflight, ClearCondition, Inspect, List, ListConditions, Open, ReadFile,
        WriteFile,
    },
    sandbox::{Empty, OpenParams, SandboxRef},
};

use crate::support::{SOON, Seen as _, Subject, connect, eventually, lives};

/// Leaves a worker in the background, and tells its number.
const WORKER: &str = "sleep 300 >/dev/null 2>&1 & echo $!";

impl Subject {
    async fn apply(&self, name: &str, sandbox: Option<&str>) -> Result<ConditionApplied, Error> {
        self.call::<ApplyCondition>(&condition(name, sandbox)).await
    }

    async fn strike(&self, name: &str) {
        let applied = self.apply(name, Some(&self.opened.sandbox)).await.unwrap();
        assert_eq!(applied, ConditionApplied::default());
    }

    async fn clear(&self, name: &str, sandbox: Option<&str>) {
        self.call::<ClearCondition>(&condition(name, sandbox))
            .await
            .unwrap();
    }

    async fn worker(&self) -> i32 {
        self.print(WORKER).await.trim().parse().unwrap()
    }

    /// An adapter that was started in a condition of the whole subject.
    async fn started_in(&self, name: &str) -> std::sync::Arc<herm_protocol::client::Client> {
        let applied = self.apply(name, None).await.unwrap();
        let variables: Vec<_> = applied
            .environment
            .iter()
            .map(|variable| {
                (
                    variable.name.to_string_lossy().into_owned(),
                    variable.value.to_string_lossy().into_owned(),
                )
            })
            .collect();
        assert!(!variables.is_empty());
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        connect(self.scratch.path(), &variables).await.0
    }

    async fn offers(&self, name: &str) -> bool {
        let offered = self.call::<ListConditions>(&Empty {}).await.unwrap().conditions;
        offered.iter().any(|condition| condition.name == name)
    }
}

fn condition(name: &str, sandbox: Option<&str>) -> ConditionParams {
    ConditionParams {
        name: name.into(),
        sandbox: sandbox.map(str::to_owned),
    }
}

fn state(pid: i32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .into()
}

fn mounts() -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts
        .lines()
        .filter(|line| line.contains("herm-condition"))
        .count()
}

#[tokio::test]
async fn a_sandbox_that_is_removed_is_gone_for_every_call_and_is_not_made_again() {
    let subject = Subject::start().await;
    let worker = subject.worker().await;
    let mut exec = subject.begin(&subject.text("echo started; sleep 60"));
    exec.wait_until(SOON, |record| !record.pieces.is_empty())
        .await
        .unwrap();
    subject.strike("remove").await;
    assert!(!lives(worker));
    assert_eq!(exec.wait(SOON).await.unwrap().outcome(), Outcome::SandboxLost);
    let refused = subject.run(&subject.text("true")).await.error();
    assert_eq!(refused.kind(), ErrorKind::SandboxNotFound);
    assert!(refused.message.contains(&subject.opened.sandbox), "{refused}");
    let sandbox = subject.opened.sandbox.clone();
    let write = WriteParams {
        sandbox: sandbox.clone(),
        path: subject.path("a/b"),
        data: "x".into(),
    };
    let read = ReadParams {
        sandbox: sandbox.clone(),
        path: "a/b".into(),
        offset: 0,
        length: None,
    };
    let inspect = SandboxRef { sandbox };
    for error in [
        subject.call::<WriteFile>(&write).await.unwrap_err(),
        subject.call::<ReadFile>(&read).await.unwrap_err(),
        subject.call::<Inspect>(&inspect).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::SandboxNotFound, "{error}");
    }
    assert!(
        subject
            .call::<List>(&Empty {})
            .await
            .unwrap()
            .sandboxes
            .is_empty()
    );
    subject.close().await;
    assert!(!subject.close().await.existed);
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_not_of_the_sandbox_is_left_alone() {
    for name in ["kill_init", "stop", "pause", "remove"] {
        let subject = Subject::start().await;
        let other = subject.call::<Open>(&OpenParams::default()).await.unwrap();
        let mut beside = subject.text(WORKER);
        beside.sandbox.clone_from(&other.sandbox);
        let beside: i32 = subject.run(&beside).await.stdout().trim().parse().unwrap();
        let own = subject.worker().await;
        // Somebody who only stands in the sandbox's directory.
        let mut visitor = Command::new("sleep")
            .arg("300")
            .current_dir(subject.cwd())
            .env("PWD", subject.cwd())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        subject.strike(name).await;
        for foreign in [beside, visitor.id().try_into().unwrap()] {
            assert!(lives(foreign) && state(foreign) != "T", "{name}");
        }
        if name == "pause" {
            assert_eq!(state(own), "T");
            subject.clear(name, Some(&subject.opened.sandbox)).await;
            eventually("its going on", || state(own) != "T").await;
        } else {
            eventually("its end", || !lives(own)).await;
        }
        visitor.kill().unwrap();
        visitor.wait().unwrap();
    }
}

#[tokio::test]
async fn a_sandbox_whose_processes_are_ended_tells_so_and_lives_on() {
    for (name, number) in [("kill_init", 9), ("stop", 15)] {
        let subject = Subject::start().await;
        subject.print("echo kept > file").await;
        let mut exec = subject.begin(&subject.text("echo started; exec sleep 60"));
        exec.wait_until(SOON, |record| !record.pieces.is_empty())
            .await
            .unwrap();
        subject.strike(name).await;
        let cause = SignalCause::Unknown;
        assert_eq!(
            exec.wait(SOON).await.unwrap().outcome(),
            Outcome::Signaled { number, cause }
        );
        assert_eq!(subject.print("cat file").await, "kept\n");
    }
}

#[tokio::test]
async fn what_is_held_ends_with_an_adapter_that_is_killed() {
    let subject = Subject::start().await;
    let worker = subject.worker().await;
    subject.strike("pause").await;
    assert_eq!(state(worker), "T");
    subject.client.kill().await;
    eventually("the end of what was held", || !lives(worker)).await;
    let empty = || fs::read_dir(subject.scratch.path()).unwrap().count() == 0;
    eventually("the end of the directory", empty).await;
}

#[tokio::test]
async fn without_a_shell_no_sandbox_opens_and_the_shell_is_named() {
    let subject = Subject::start().await;
    let without = subject.started_in("tool.missing").await;
    let preflight = without.call::<CheckPreflight>(&Empty {}, SOON).await.unwrap();
    assert!(preflight.problems[0].what.contains("bash"), "{preflight:?}");
    let error = without
        .call::<Open>(&OpenParams::default(), SOON)
        .await
        .unwrap_err();
    let error = error.refusal().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.data.resource.as_deref(), Some("bash"));
    subject.clear("tool.missing", None).await;
    subject.clear("tool.missing", None).await;
    // The sandbox of the first adapter, and nothing else.
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 1);
    assert_eq!(subject.print("echo on").await, "on\n");
}

#[tokio::test]
async fn a_full_disk_is_seen_by_one_adapter_and_is_gone_when_that_is_killed() {
    let subject = Subject::start().await;
    if !subject.offers("disk.full").await {
        return;
    }
    let full = subject.started_in("disk.full").await;
    let opened = full.call::<Open>(&OpenParams::default(), SOON).await.unwrap();
    let write = |path: &str, bytes: usize| WriteParams {
        sandbox: opened.sandbox.clone(),
        path: path.into(),
        data: b"x".repeat(bytes).into(),
    };
    full.call::<WriteFile>(&write("small", 100), SOON).await.unwrap();
    let refused = full.call::<WriteFile>(&write("small", 4 << 20), SOON).await;
    assert_eq!(
        refused.unwrap_err().refusal().unwrap().kind(),
        ErrorKind::LimitExceeded
    );
    assert_eq!(mounts(), 0);
    let cwd = opened.cwd.unwrap().to_path();
    assert!(!cwd.exists(), "it is only there in the adapter's own namespace");
    full.kill().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(mounts(), 0);
    subject.clear("disk.full", None).await;
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_clock_that_jumps_ends_no_command_early_and_leaves_nothing() {
    let subject = Subject::start().await;
    if !subject.offers("clock.advance").await {
        return;
    }
    let jumps = subject.started_in("clock.advance").await;
    let opened = jumps.call::<Open>(&OpenParams::default(), SOON).await.unwrap();
    let mut params = subject.text("sleep 3; echo done");
    params.sandbox = opened.sandbox;
    params.timeout_ms = Some(60_000);
    let record = jumps.run(&params).unwrap().wait(SOON).await.unwrap();
    assert_eq!(record.stdout(), "done\n");
    jumps.kill().await;
    let shared = fs::read_dir("/dev/shm").unwrap().flatten();
    let left: Vec<_> = shared
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().contains("faketime"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_condition_that_cannot_be_is_refused() {
    let subject = Subject::start().await;
    let sandbox = subject.opened.sandbox.clone();
    for (name, sandbox, kind) in [
        ("no.such", None, ErrorKind::Unsupported),
        ("remove", None, ErrorKind::InvalidArgument),
        ("remove", Some("../other"), ErrorKind::SandboxNotFound),
        ("tool.missing", Some(sandbox.as_str()), ErrorKind::InvalidArgument),
    ] {
        let error = subject.apply(name, sandbox).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.data.fix.is_some(), "{error}");
    }
    // What has the name of a condition's folder already is not taken for it.
    let mut builder = fs::DirBuilder::new();
    let adapter = subject.client.process_id().await.unwrap();
    let taken = subject
        .scratch
        .path()
        .join(format!("condition-tool.missing-{adapter}"));
    builder.mode(0o700).create(&taken).unwrap();
    assert_eq!(
        subject.apply("tool.missing", None).await.unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    assert!(taken.exists());
}
