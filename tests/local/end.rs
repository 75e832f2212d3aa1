//! How commands end, by themselves and by force.

use std::time::{Duration, Instant};

use herm_protocol::exec::{Outcome, SignalCause, Stdin};

use crate::support::{SOON, Seen as _, Subject, kill, lives};

#[tokio::test]
async fn a_command_that_ends_by_itself_says_how() {
    let subject = Subject::start().await;
    let signaled = |number| Outcome::Signaled {
        number,
        cause: SignalCause::Unknown,
    };
    let exited = |code| Outcome::Exited { code };
    for (text, outcome) in [
        ("", exited(0)),
        ("exit 7", exited(7)),
        ("exit 124", exited(124)),
        ("exit 137", exited(137)),
        ("no-such-command-here", exited(127)),
        ("/etc/passwd", exited(126)),
        ("kill -9 $$", signaled(9)),
        ("kill -TERM $$", signaled(15)),
        ("kill -40 $$", signaled(40)),
    ] {
        assert_eq!(
            subject.run(&subject.text(text)).await.outcome(),
            outcome,
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_deadline_ends_the_whole_group_and_keeps_what_was_printed() {
    let subject = Subject::start().await;
    let mut params = subject.text("sleep 60 & echo $!; (sleep 61; true) & echo $!; echo words; wait");
    params.timeout_ms = Some(300);
    let start = Instant::now();
    let record = subject.run(&params).await;
    assert_eq!(record.outcome(), Outcome::TimedOut);
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(300) && took < Duration::from_millis(800),
        "{took:?}"
    );
    let stdout = record.stdout();
    assert!(stdout.ends_with("words\n"));
    for pid in stdout.lines().take(2) {
        assert!(!lives(pid.parse().unwrap()));
    }
    assert_eq!(subject.print("echo on").await, "on\n");
}

#[tokio::test]
async fn what_ignores_the_request_to_end_is_killed_in_time() {
    let subject = Subject::start().await;
    let mut params = subject.text(
        "trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo $!; while :; do sleep 0.1; done",
    );
    params.timeout_ms = Some(200);
    let start = Instant::now();
    let record = subject.run(&params).await;
    assert_eq!(record.outcome(), Outcome::TimedOut);
    assert!(
        start.elapsed() < Duration::from_millis(1200),
        "{:?}",
        start.elapsed()
    );
    assert!(!lives(record.stdout().trim().parse().unwrap()));
}

#[tokio::test]
async fn a_handler_of_the_request_to_end_has_its_say() {
    let subject = Subject::start().await;
    let mut params = subject.text("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
    params.timeout_ms = Some(300);
    let record = subject.run(&params).await;
    assert_eq!(
        (record.outcome(), record.stdout().as_str()),
        (Outcome::TimedOut, "ready\nbye\n")
    );
}

#[tokio::test]
async fn a_stopped_command_is_ended_too() {
    let subject = Subject::start().await;
    let mut params = subject.text("kill -STOP $$; echo never");
    params.timeout_ms = Some(200);
    assert_eq!(subject.run(&params).await.outcome(), Outcome::TimedOut);
}

#[tokio::test]
async fn a_deadline_holds_while_the_output_is_blocked() {
    let subject = Subject::start().await;
    for text in ["yes", "trap '' TERM; yes"] {
        let mut params = subject.text(text);
        params.timeout_ms = Some(300);
        params.window = Some(100);
        let mut exec = subject.begin(&params);
        exec.grants = false;
        let start = Instant::now();
        let record = exec.wait(SOON).await.unwrap();
        assert!(
            start.elapsed() < Duration::from_millis(1300),
            "{:?}",
            start.elapsed()
        );
        assert_eq!(record.outcome(), Outcome::TimedOut);
        assert_eq!(record.stdout().len(), 100);
        let result = record.result().unwrap();
        assert_eq!(
            (result.gaps[0].from, result.gaps[0].to),
            (100, result.stdout.bytes)
        );
    }
    assert!(subject.processes().await.is_empty());
}

#[tokio::test]
async fn a_result_that_is_known_survives_the_deadline() {
    let subject = Subject::start().await;
    let mut params = subject.text("echo twelve bytes; exit 3");
    params.timeout_ms = Some(400);
    params.window = Some(4);
    let mut exec = subject.begin(&params);
    exec.grants = false;
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!(
        (record.outcome(), record.stdout().as_str()),
        (Outcome::Exited { code: 3 }, "twel")
    );
    assert_eq!(record.result().unwrap().gaps[0].from, 4);
}

#[tokio::test]
async fn a_deadline_of_zero_is_none() {
    let subject = Subject::start().await;
    for timeout in [0, u64::MAX] {
        let mut params = subject.text("sleep 0.2; echo done");
        params.timeout_ms = Some(timeout);
        assert_eq!(subject.run(&params).await.stdout(), "done\n");
    }
}

#[tokio::test]
async fn a_deadline_holds_while_input_is_open_or_unread() {
    let subject = Subject::start().await;
    for stdin in [
        Stdin::Stream,
        Stdin::Bytes {
            data: vec![0; 1 << 20].into(),
        },
    ] {
        let mut params = subject.argv(&["sleep", "60"]);
        params.timeout_ms = Some(200);
        params.stdin = stdin;
        assert_eq!(subject.run(&params).await.outcome(), Outcome::TimedOut);
    }
}

#[tokio::test]
async fn a_cancel_ends_the_group_and_keeps_what_was_printed() {
    let subject = Subject::start().await;
    let mut exec = subject.begin(&subject.text("sleep 60 & echo $!; wait"));
    exec.wait_until(SOON, |record| record.stdout().ends_with('\n'))
        .await
        .unwrap();
    exec.cancel(SOON).await.unwrap();
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!(record.outcome(), Outcome::Cancelled);
    assert!(!lives(record.stdout().trim().parse().unwrap()));
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group() {
    let subject = Subject::start().await;
    for number in [10, 40] {
        let text = format!(
            "trap 'echo parent' {number}; (trap 'echo child; exit' {number}; echo ready; while :; do sleep 0.02; done) & wait; wait; exit 5"
        );
        let mut exec = subject.begin(&subject.text(&text));
        exec.wait_until(SOON, |record| record.stdout() == "ready\n")
            .await
            .unwrap();
        exec.signal(number, SOON).await.unwrap();
        let record = exec.wait(SOON).await.unwrap();
        assert_eq!(record.outcome(), Outcome::Exited { code: 5 });
        let mut lines: Vec<_> = record.stdout().lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines, ["child", "parent", "ready"]);
    }
}

/// The declared kill scope is the group, and the suite tests what is declared.
#[tokio::test]
async fn what_left_the_group_outlives_a_deadline() {
    let subject = Subject::start().await;
    let mut params = subject.text("setsid sleep 60 & echo $!; wait; sleep 60");
    params.timeout_ms = Some(300);
    let record = subject.run(&params).await;
    assert_eq!(record.outcome(), Outcome::TimedOut);
    let pid = record.stdout().trim().parse().unwrap();
    assert!(lives(pid));
    kill(pid);
}
