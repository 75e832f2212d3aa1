//! Sandboxes come and go, and nothing of them stays.

use std::{
    fs,
    time::{Duration, Instant},
};

use herm_protocol::{
    ErrorKind,
    client::Stopped,
    exec::Outcome,
    method::{Close, Inspect, List, Open, TakeLedger},
    sandbox::{CloseHow, CloseParams, Empty, OpenParams, SandboxRef, SandboxSpec},
};

use crate::support::{SOON, Seen as _, Subject, connect, eventually, lives};

/// Text that leaves a child which ignores the request to end.
const STUBBORN: &str = "trap '' TERM; (while :; do sleep 0.05; done) & echo $!";

#[tokio::test]
async fn a_close_ends_running_commands_and_survivors_and_removes_the_directory() {
    let subject = Subject::start().await;
    let survivor: i32 = subject.print(STUBBORN).await.trim().parse().unwrap();
    let mut exec = subject.begin(&subject.text("echo $$; sleep 60"));
    exec.wait_until(SOON, |record| record.stdout().ends_with('\n'))
        .await
        .unwrap();
    let running: i32 = exec.record().stdout().trim().parse().unwrap();
    assert!(lives(survivor) && lives(running));
    let start = Instant::now();
    assert!(subject.close().await.existed);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(!lives(survivor) && !lives(running));
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 0);
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!(record.outcome(), Outcome::SandboxLost);
    assert!(!subject.close().await.existed);
    let refused = subject.run(&subject.text("true")).await.error();
    assert_eq!(refused.kind(), ErrorKind::SandboxNotFound);
    assert!(
        subject
            .call::<TakeLedger>(&Empty {})
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn a_close_removes_what_a_command_locked_away() {
    let subject = Subject::start().await;
    subject
        .print("mkdir -p a/b && touch a/b/c && chmod 0 a/b && chmod 0500 a")
        .await;
    assert!(subject.close().await.existed);
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_survivor_that_ends_by_itself_leaves_no_zombie() {
    let subject = Subject::start().await;
    let record = subject
        .run(&subject.text("echo $$; sleep 0.6 >/dev/null 2>&1 &"))
        .await;
    let leader: i32 = record.stdout().trim().parse().unwrap();
    let stat = format!("/proc/{leader}/stat");
    assert!(
        fs::exists(&stat).unwrap(),
        "the number of the group is kept while it lives"
    );
    eventually("the end of the leader", || !fs::exists(&stat).unwrap()).await;
    assert!(subject.processes().await.is_empty());
}

#[tokio::test]
async fn the_end_of_input_and_a_signal_leave_nothing() {
    for by_signal in [false, true] {
        let subject = Subject::start().await;
        let survivor: i32 = subject.print(STUBBORN).await.trim().parse().unwrap();
        let mut exec = subject.begin(&subject.text("echo $$; sleep 60"));
        exec.wait_until(SOON, |record| record.stdout().ends_with('\n'))
            .await
            .unwrap();
        let running: i32 = exec.record().stdout().trim().parse().unwrap();
        if by_signal {
            let adapter = subject.client.process_id().await.unwrap().to_string();
            let sent = std::process::Command::new("kill")
                .args(["-TERM", &adapter])
                .status();
            assert!(sent.unwrap().success());
            let record = exec.wait(SOON).await.unwrap();
            assert_eq!(record.outcome(), Outcome::SandboxLost);
        }
        let Some(Stopped::AtEndOfInput(status)) = subject.client.stop(Duration::from_secs(3)).await else {
            panic!("the adapter did not end")
        };
        assert_eq!(status.code(), Some(if by_signal { 143 } else { 0 }));
        assert!(!lives(survivor) && !lives(running), "{by_signal}");
        assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn two_adapters_and_two_sandboxes_never_share_an_id() {
    let subject = Subject::start().await;
    let (other, _) = connect(subject.scratch.path(), &[]).await;
    let opened = other.call::<Open>(&OpenParams::default(), SOON).await.unwrap();
    let second = subject.call::<Open>(&OpenParams::default()).await.unwrap();
    let mut ids = vec![subject.opened.sandbox.clone(), second.sandbox.clone()];
    assert!(!ids.contains(&opened.sandbox));
    ids.sort();
    let listed = subject.call::<List>(&Empty {}).await.unwrap().sandboxes;
    assert_eq!(
        listed
            .iter()
            .map(|sandbox| sandbox.sandbox.clone())
            .collect::<Vec<_>>(),
        ids
    );
    let inspect = SandboxRef {
        sandbox: opened.sandbox,
    };
    assert_eq!(
        subject.call::<Inspect>(&inspect).await.unwrap_err().kind(),
        ErrorKind::SandboxNotFound
    );
}

#[tokio::test]
async fn what_is_not_declared_is_refused_and_a_failed_open_leaves_nothing() {
    let subject = Subject::start().await;
    let params = OpenParams {
        key: Some("k".into()),
        spec: SandboxSpec::default(),
    };
    let error = subject.call::<Open>(&params).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.data.resource.as_deref()),
        (ErrorKind::Unsupported, Some("attach"))
    );
    assert_eq!(fs::read_dir(subject.scratch.path()).unwrap().count(), 1);
    for how in [CloseHow::Detach, CloseHow::Stop] {
        let params = CloseParams {
            sandbox: subject.opened.sandbox.clone(),
            how,
        };
        assert_eq!(
            subject.call::<Close>(&params).await.unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
    assert_eq!(subject.print("echo on").await, "on\n");
}
