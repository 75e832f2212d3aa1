//! A resident that is process 1 of a namespace is reached by having it dial, and nobody else in there is answered.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod namespace;

use std::{
    fs,
    time::{Duration, Instant},
};

use herm::resident::{Dial as _, DialError, Resident, Settings};
use herm_protocol::exec::Outcome;
use namespace::{MEETING, Namespace, SECRET, run};

const LONG: Duration = Duration::from_secs(20);

/// A client is there, has reached it, and has the result of a command, within this time. The bar is for a machine that is
/// not busy; here it is only seen that nothing waits.
const REATTACHED: Duration = Duration::from_millis(500);

/// Connects to every socket that appears, as often as it can, and says what it was told.
const INTRUDER: &str = r#"
import glob, socket, sys, time
said = set()
end = time.time() + 3
while time.time() < end:
    for path in glob.glob("/run/herm/*"):
        try:
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(0.2)
            peer.connect(path)
            peer.sendall(b"\x00" * 64)
            said.add(peer.recv(100).decode())
        except OSError:
            pass
print("".join(sorted(said)), end="")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn new_clients_reach_it_at_once_and_leave_nothing() {
    let Some(namespace) = Namespace::start() else {
        return;
    };
    let first = run(
        &namespace.client(),
        "echo $$ >/tmp/mark; id -u; grep CapEff /proc/self/status",
        LONG,
    )
    .await;
    assert_eq!(first.finished.outcome, Outcome::Exited { code: 0 }, "{first:?}");
    assert!(first.stdout.contains("CapEff:\t0000000000000000"), "{first:?}");
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        let ran = run(&namespace.client(), "test -s /tmp/mark && echo here", LONG).await;
        times.push(begun.elapsed());
        assert_eq!(ran.stdout, "here\n");
    }
    times.sort();
    println!(
        "reattach to a first result: median {:?}, worst {:?}",
        times[25], times[49]
    );
    assert!(times[25] < REATTACHED, "{times:?}");
    assert_eq!(fs::read_dir(namespace.meeting()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_in_the_sandbox_are_turned_away_and_can_change_nothing() {
    let Some(namespace) = Namespace::start() else {
        return;
    };
    let inside = namespace.client();
    let planted = run(
        &inside,
        &format!(
            "cd {MEETING}; for try in 'ln -s /etc/passwd link' 'mkdir sub' 'touch file' 'chmod 777 .' 'mv . /tmp/x'; do \
             $try 2>&1 && echo DONE; done; touch file 2>&1 | grep -o 'Read-only file system'"
        ),
        LONG,
    )
    .await;
    assert!(planted.stdout.ends_with("Read-only file system\n"), "{planted:?}");
    assert!(!planted.stdout.contains("DONE"), "{planted:?}");
    assert_eq!(fs::read_dir(namespace.meeting()).unwrap().count(), 0);

    let (script, intruder) = (format!("python3 -c '{INTRUDER}'"), inside.clone());
    let intruding = tokio::spawn(async move { run(&intruder, &script, LONG).await });
    let mut turned_away = 0;
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until || turned_away == 0 && !intruding.is_finished() {
        let dial = namespace.dial();
        let channel = dial.dial().await;
        turned_away += dial.turned_away();
        assert!(channel.is_ok(), "{:?}", channel.err());
        drop(channel);
        let ran = run(&namespace.client(), "echo mine", LONG).await;
        assert_eq!(ran.stdout, "mine\n", "{ran:?}");
    }
    let told = intruding.await.unwrap();
    assert!(turned_away > 0, "the intruder was never quick enough");
    assert!(
        told.stdout.contains("only the resident of this sandbox"),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_know_the_secret_is_not_the_resident() {
    let Some(namespace) = Namespace::start() else {
        return;
    };
    let settings = Settings {
        patience: Duration::from_millis(100),
        ..Settings::default()
    };
    let mut wrong = SECRET;
    wrong[0] ^= 1;
    let error = Resident::new(namespace.dial_for(namespace.pid, wrong), settings)
        .reach()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("does not know the secret"), "{error}");
    // This process never dials; the resident does, and is not the one that is expected.
    let own = i32::try_from(std::process::id()).unwrap();
    let dial = namespace.dial_for(own, SECRET);
    let begun = Instant::now();
    let error = dial.dial().await.err().unwrap();
    assert!(matches!(error, DialError::Unreachable(_)), "{error}");
    assert!(error.to_string().contains("were ended"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(fs::read_dir(namespace.meeting()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_ended_is_gone() {
    let Some(namespace) = Namespace::start() else {
        return;
    };
    let client = namespace.client();
    let dial = namespace.dial();
    client.shut_down(LONG).await.unwrap();
    let mut error = dial.dial().await.err().unwrap();
    // Its end may take a moment.
    for _ in 0..100 {
        if matches!(error, DialError::Gone(_)) {
            break;
        }
        error = dial.dial().await.err().unwrap();
    }
    assert!(matches!(error, DialError::Gone(_)), "{error}");
}
