//! STDIN: a command reads what it was given, and then the end.

use std::time::Duration;

use herm_protocol::exec::{Capture, Command, Outcome, Stdin, Stream};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        general::{all_bytes, difference, expect_outcome, show},
    },
};

/// Bytes of input that a program repeats: more than a pipe holds.
const REPEATED: usize = 200_000;

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command counts its input", |scene, _| {
            Box::pin(run_with(scene, "wc -c", Stdin::None))
        })
        .when(
            "a command repeats its input of {int} bytes to a caller that wants only its digest",
            |scene, arguments| {
                Box::pin(async move {
                    let data = shell::numbered_bytes(arguments.int(0)?);
                    let mut params = scene.command("cat").await?;
                    params.stdin = Stdin::Bytes {
                        data: data.clone().into(),
                    };
                    params.capture = Some(Capture {
                        head: 0,
                        tail: 0,
                        digest: true,
                    });
                    scene.notes.content = Some(data);
                    scene.run(&params).await
                })
            },
        )
        .then("it has counted {int} bytes", |scene, arguments| {
            Box::pin(async move { counted(scene, arguments.words(0)?) })
        })
        .when(
            "a command repeats its input, which is {words}",
            |scene, arguments| Box::pin(async move { repeat(scene, arguments.words(0)?).await }),
        )
        .when(
            "a command ignores its input of {int} bytes",
            |scene, arguments| {
                Box::pin(async move {
                    let data = shell::numbered_bytes(arguments.int(0)?).into();
                    run_with(scene, "true", Stdin::Bytes { data }).await
                })
            },
        )
        .when("a command that {words} is fed {text}", |scene, arguments| {
            Box::pin(async move {
                let text = reader_in_words(scene, arguments.words(0)?)?;
                start_fed(scene, &text).await?;
                feed(scene, arguments.text(1)?.as_bytes(), false)
                    .await
                    .map(|_| ())
            })
        })
        .when("it is fed {text}", |scene, arguments| {
            Box::pin(async move {
                feed(scene, arguments.text(0)?.as_bytes(), false)
                    .await
                    .map(|_| ())
            })
        })
        .when("its input ends", |scene, _| Box::pin(end_input(scene)))
        .when(
            "a command that has closed its input is fed {text} until it is told",
            |scene, arguments| Box::pin(async move { feed_deaf(scene, arguments.text(0)?.as_bytes()).await }),
        )
        .then("the feeding was told as unread", |scene, _| {
            Box::pin(async { told_as_unread(scene) })
        });
}

/// What a command does that is fed.
fn reader_in_words(scene: &mut Scene, what: &str) -> Result<String, Failure> {
    if let Some(bytes) = number_in(what, "prints ", " bytes when its input has ended") {
        scene.notes.content = Some(shell::numbered_bytes(bytes));
        return Ok(format!("cat >/dev/null; {}", shell::numbered(bytes)));
    }
    match what {
        "repeats each line" => Ok("while IFS= read -r line; do printf '%s\\n' \"$line\"; done".to_owned()),
        "reads one line and exits with code 3" => Ok("read -r line; exit 3".to_owned()),
        other => Err(unknown(other, "done by a command that is fed")),
    }
}

async fn run_with(scene: &mut Scene, text: &str, stdin: Stdin) -> StepResult {
    let mut params = scene.command(text).await?;
    params.stdin = stdin;
    scene.run(&params).await
}

fn counted(scene: &Scene, expected: &str) -> StepResult {
    scene.result()?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    if String::from_utf8_lossy(&seen).trim() == expected {
        return Ok(());
    }
    Err(Failure::failed(format!("the count {expected}"), show(&seen)))
}

async fn repeat(scene: &mut Scene, what: &str) -> StepResult {
    let content = match what {
        "nothing at all" => Vec::new(),
        "one byte" => b"x".to_vec(),
        "lines of other systems" => b"one\r\ntwo\r\nthree\r".to_vec(),
        "text behind a mark of its byte order" => "\u{feff}text\n".into(),
        "text without a newline" => "two lines,\nthe last without an end: grün".into(),
        "what a shell would expand" => b"$HOME `id` $(id) \\ ' \" ! * ~ EOF\n".to_vec(),
        "every byte value" => all_bytes(),
        other => return Err(Failure::suite(format!("{other:?} is no input"))),
    };
    scene.notes.content = Some(content.clone());
    run_with(scene, "cat", Stdin::Bytes { data: content.into() }).await
}

/// A program that no shell of the backend's starts is given input, and repeats it.
pub(crate) async fn repeat_by_program(scene: &mut Scene) -> StepResult {
    let content = shell::numbered_bytes(REPEATED);
    scene.notes.content = Some(content.clone());
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Argv(vec!["cat".into()]));
    params.stdin = Stdin::Bytes { data: content.into() };
    scene.run(&params).await
}

async fn start_fed(scene: &mut Scene, text: &str) -> StepResult {
    let mut params = scene.command(text).await?;
    params.stdin = Stdin::Stream;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    Ok(())
}

/// Feeds the command that runs; returns whether it could still read.
async fn feed(scene: &mut Scene, data: &[u8], eof: bool) -> Result<bool, Failure> {
    let patience = scene.patience();
    let Some(exec) = scene.running.last_mut() else {
        return Err(Failure::suite("no command runs"));
    };
    let taken = exec.feed(data, eof, patience).await;
    Ok(scene.answer(taken)?.is_some_and(|taken| taken.open))
}

/// A command whose input is held open is answered when it ends.
pub(crate) async fn answered_as_exited(scene: &mut Scene, code: i32) -> StepResult {
    let within = scene.patience();
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    expect_outcome(scene, &Outcome::Exited { code })
}

async fn end_input(scene: &mut Scene) -> StepResult {
    feed(scene, b"", true).await?;
    let patience = scene.patience();
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

async fn feed_deaf(scene: &mut Scene, data: &[u8]) -> StepResult {
    start_fed(scene, "exec 0</dev/null; echo deaf; sleep 5").await?;
    let patience = scene.patience();
    let Some(exec) = scene.running.last_mut() else {
        return Err(Failure::suite("no command runs"));
    };
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    // The first bytes may be on their way already when the other side learns that nobody reads.
    let mut open = true;
    for _ in 0..10 {
        open = feed(scene, data, false).await?;
        if !open {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    scene.notes.number = Some(u64::from(open));
    Ok(())
}

fn told_as_unread(scene: &Scene) -> StepResult {
    match scene.notes.number {
        Some(0) => Ok(()),
        Some(_) => Err(Failure::failed(
            "`open: false` for bytes that nobody will read",
            "`open: true` ten times",
        )),
        None => Err(Failure::suite("nothing was fed")),
    }
}

/// Compares bytes for other chapters' steps.
pub(super) fn expect_content(expected: &[u8], seen: &[u8]) -> StepResult {
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        show(expected),
        format!("{}{}", show(seen), difference(expected, seen)),
    ))
}

/// Starts a command that reads what its caller never sends.
pub(crate) async fn wait_for_input(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let mut params = scene.command("echo begun; cat").await?;
    params.stdin = Stdin::Stream;
    let mut exec = scene.start(&params).await?;
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    scene.running.push(exec);
    Ok(())
}
