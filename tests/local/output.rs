//! What a command writes and reads arrives, all of it and as it was.

use std::time::{Duration, Instant};

use herm_protocol::exec::{Capture, Outcome, Stdin, Stream};

use crate::support::{SOON, Seen as _, Subject, kill, lives};

const OK: Outcome = Outcome::Exited { code: 0 };

#[tokio::test]
async fn a_mebibyte_on_both_streams_at_once() {
    let subject = Subject::start().await;
    let mut params = subject.text("head -c 1048576 /dev/zero & head -c 1048576 /dev/zero >&2; wait");
    params.window = Some(65536);
    let record = subject.run(&params).await;
    assert_eq!(record.outcome(), OK);
    for stream in [Stream::Stdout, Stream::Stderr] {
        assert_eq!(record.bytes(stream), vec![0; 1 << 20]);
    }
    let result = record.result().unwrap();
    assert_eq!((result.stdout.bytes, result.stderr.bytes), (1 << 20, 1 << 20));
}

#[tokio::test]
async fn the_end_of_a_short_command_is_never_lost() {
    let subject = Subject::start().await;
    for round in 0..200 {
        let record = subject
            .run(&subject.argv(&["sh", "-c", "echo one; echo two >&2; echo three"]))
            .await;
        assert_eq!(record.outcome(), OK);
        assert_eq!(
            (record.stdout().as_str(), record.stderr().as_str()),
            ("one\nthree\n", "two\n"),
            "{round}"
        );
        assert!(record.result().unwrap().notices.is_empty());
    }
}

#[tokio::test]
async fn every_byte_value_is_kept() {
    let subject = Subject::start().await;
    let all: Vec<u8> = (0..=255).collect();
    let mut params = subject.argv(&["cat"]);
    params.stdin = Stdin::Bytes {
        data: all.clone().into(),
    };
    assert_eq!(subject.run(&params).await.bytes(Stream::Stdout), all);
}

#[tokio::test]
async fn a_quarter_of_a_gibibyte_is_counted_and_not_carried() {
    let subject = Subject::start().await;
    let mut params = subject.argv(&["head", "-c", "268435456", "/dev/zero"]);
    params.capture = Some(Capture {
        head: 10,
        tail: 10,
        digest: false,
    });
    let record = subject.run(&params).await;
    let result = record.result().unwrap();
    assert_eq!(result.stdout.bytes, 1 << 28);
    assert_eq!(record.bytes(Stream::Stdout).len(), 20);
    assert_eq!((result.gaps[0].from, result.gaps[0].to), (10, (1 << 28) - 10));
}

#[tokio::test]
async fn input_ends_at_once_unless_it_is_given() {
    let subject = Subject::start().await;
    let record = subject.run(&subject.text("cat; echo $?")).await;
    assert_eq!(record.stdout(), "0\n");
}

#[tokio::test]
async fn sixty_four_mebibytes_of_streamed_input_are_read_to_their_end() {
    let subject = Subject::start().await;
    let mut params = subject.argv(&["wc", "-c"]);
    params.stdin = Stdin::Stream;
    let mut exec = subject.begin(&params);
    let piece = vec![b'x'; 4 << 20];
    for number in 1..=16 {
        let taken = exec.feed(piece.clone(), number == 16, SOON).await.unwrap();
        assert!(taken.open);
    }
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!(record.stdout().trim(), (64 << 20).to_string());
}

#[tokio::test]
async fn each_write_reaches_a_command_that_goes_on() {
    let subject = Subject::start().await;
    let mut params = subject.text("while read -r line; do echo \"got $line\"; done; echo end");
    params.stdin = Stdin::Stream;
    let mut exec = subject.begin(&params);
    for word in ["one", "two", "three"] {
        exec.feed(format!("{word}\n"), false, SOON).await.unwrap();
        let expected = format!("got {word}\n");
        exec.wait_until(SOON, |record| record.stdout().ends_with(&expected))
            .await
            .unwrap();
        assert!(exec.record().answer.is_none());
    }
    exec.feed("", true, SOON).await.unwrap();
    assert!(exec.wait(SOON).await.unwrap().stdout().ends_with("end\n"));
}

#[tokio::test]
async fn a_command_that_does_not_read_is_not_held_up_by_its_input() {
    let subject = Subject::start().await;
    let mut params = subject.argv(&["true"]);
    params.stdin = Stdin::Bytes {
        data: vec![b'x'; 1 << 20].into(),
    };
    assert_eq!(subject.run(&params).await.outcome(), OK);
    params = subject.text("exec 0<&-; sleep 0.3; echo done");
    params.stdin = Stdin::Stream;
    let mut exec = subject.begin(&params);
    tokio::time::sleep(Duration::from_millis(150)).await;
    // The first piece finds out; the next one is told.
    exec.feed("x", false, SOON).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!exec.feed("x", false, SOON).await.unwrap().open);
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!((record.outcome(), record.stdout().as_str()), (OK, "done\n"));
}

#[tokio::test]
async fn a_command_that_closed_its_output_early_is_waited_for() {
    let subject = Subject::start().await;
    let start = Instant::now();
    let record = subject.run(&subject.text("exec >&- 2>&-; sleep 1; exit 7")).await;
    assert_eq!(record.outcome(), Outcome::Exited { code: 7 });
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_child_that_holds_the_output_does_not_hold_the_answer_and_lives_on() {
    let subject = Subject::start().await;
    let start = Instant::now();
    let text = "( sleep 0.6; echo late; echo late >&2; echo alive > mark; sleep 60 ) & echo $!; echo before";
    let record = subject.run(&subject.text(text)).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(record.outcome(), OK);
    let stdout = record.stdout();
    let (pid, rest) = stdout.split_once('\n').unwrap();
    assert_eq!(rest, "before\n");
    assert!(
        record.result().unwrap().notices[0].contains("live on"),
        "{record:?}"
    );
    // It writes to a pipe that nobody reads for the caller any more, and is not ended by that.
    let mark = subject.cwd().join("mark");
    crate::support::eventually("the mark of the child", || mark.exists()).await;
    let pid: i32 = pid.parse().unwrap();
    assert!(lives(pid));
    assert!(subject.processes().await.contains(&pid));
    assert!(subject.close().await.existed);
    assert!(!lives(pid));
}

#[tokio::test]
async fn a_child_that_floods_the_output_does_not_hold_the_answer() {
    let subject = Subject::start().await;
    let start = Instant::now();
    let mut params = subject.text("yes & echo started");
    params.capture = Some(Capture {
        head: 100,
        tail: 0,
        digest: false,
    });
    let record = subject.run(&params).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(record.outcome(), OK);
    subject.close().await;
}

#[tokio::test]
async fn what_passed_through_a_helper_of_the_shell_is_kept() {
    let subject = Subject::start().await;
    let text = "exec > >(sed 's/^/seen /'); echo one; echo two";
    let record = subject.run(&subject.text(text)).await;
    assert_eq!(record.stdout(), "seen one\nseen two\n");
    assert!(record.result().unwrap().notices.is_empty());
}

#[tokio::test]
async fn what_left_the_group_lives_on_and_is_told() {
    let subject = Subject::start().await;
    let record = subject
        .run(&subject.text("setsid sleep 60 & echo $!; sleep 0.1"))
        .await;
    let pid: i32 = record.stdout().trim().parse().unwrap();
    assert!(record.result().unwrap().notices[0].contains("left the command's group"));
    subject.close().await;
    assert!(lives(pid));
    kill(pid);
}

#[tokio::test]
async fn output_waits_for_credit_after_the_end_and_is_then_whole() {
    let subject = Subject::start().await;
    let mut params = subject.text("head -c 60000 /dev/zero | tr '\\0' x");
    params.window = Some(10);
    let mut exec = subject.begin(&params);
    exec.grants = false;
    exec.wait_until(SOON, |record| record.stdout().len() == 10)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(exec.record().answer.is_none());
    subject.client.grant(&params.exec, 100_000);
    let record = exec.wait(SOON).await.unwrap();
    assert_eq!(record.outcome(), OK);
    assert_eq!(record.stdout().len(), 60_000);
}

#[tokio::test]
async fn sixty_four_commands_at_once_do_not_mix() {
    let subject = Subject::start().await;
    let execs: Vec<_> = (0..64)
        .map(|number| {
            let text = format!(
                "for i in 1 2 3; do echo out{number}; echo err{number} >&2; sleep 0.01; done; exit {number}"
            );
            subject.begin(&subject.text(&text))
        })
        .collect();
    for (number, exec) in execs.into_iter().enumerate() {
        let record = exec.wait(SOON).await.unwrap();
        assert_eq!(
            record.outcome(),
            Outcome::Exited {
                code: i32::try_from(number).unwrap()
            }
        );
        assert_eq!(record.stdout(), format!("out{number}\n").repeat(3));
        assert_eq!(record.stderr(), format!("err{number}\n").repeat(3));
    }
}
