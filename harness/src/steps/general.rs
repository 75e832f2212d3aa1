//! Steps that several chapters use.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    exec::{Outcome, SetupFailure, Stream},
};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("an open sandbox", |scene, _| {
            Box::pin(async { scene.sandbox().await.map(|_| ()) })
        })
        .given("a command that keeps a beat", |scene, _| {
            Box::pin(keep_beat(scene))
        })
        .when("a command prints {text}", |scene, arguments| {
            Box::pin(async move {
                let text = shell::print(arguments.text(0)?.as_bytes());
                let params = scene.command(text).await?;
                scene.run(&params).await
            })
        })
        .when(
            "a command prints {int} bytes in many pieces",
            |scene, arguments| Box::pin(async move { print_numbered(scene, arguments.int(0)?).await }),
        )
        .then("the outcome is exited with code {int}", |scene, arguments| {
            Box::pin(async move {
                expect_outcome(
                    scene,
                    &Outcome::Exited {
                        code: arguments.int(0)?,
                    },
                )
            })
        })
        .then("the outcome is ended by signal {int}", |scene, arguments| {
            Box::pin(async move { ended_by_signal(scene, arguments.int(0)?) })
        })
        .then("the outcome is timed out", |scene, _| {
            Box::pin(async { expect_outcome(scene, &Outcome::TimedOut) })
        })
        .then("the outcome is cancelled", |scene, _| {
            Box::pin(async { expect_outcome(scene, &Outcome::Cancelled) })
        })
        .then(
            "the outcome is set-up failed because {words}",
            |scene, arguments| Box::pin(async move { set_up_failed(scene, arguments.words(0)?) }),
        )
        .then("standard output is exactly {text}", |scene, arguments| {
            Box::pin(async move { expect_bytes(scene, Stream::Stdout, arguments.text(0)?.as_bytes()) })
        })
        .then("standard error is exactly {text}", |scene, arguments| {
            Box::pin(async move { expect_bytes(scene, Stream::Stderr, arguments.text(0)?.as_bytes()) })
        })
        .then("standard output is empty", |scene, _| {
            Box::pin(async { expect_bytes(scene, Stream::Stdout, b"") })
        })
        .then("standard error is empty", |scene, _| {
            Box::pin(async { expect_bytes(scene, Stream::Stderr, b"") })
        })
        .then("the total of {words} is {int} bytes", |scene, arguments| {
            Box::pin(async move { expect_total(scene, arguments.words(0)?, arguments.int(1)?) })
        })
        .then("it was answered within {int} seconds", |scene, arguments| {
            Box::pin(async move { answered_within(scene, Duration::from_secs(arguments.int(0)?)) })
        })
        .then("the call is refused {words}", |scene, arguments| {
            Box::pin(async move { refused(scene, arguments.words(0)?) })
        })
        .then("the beat has stopped", |scene, _| {
            Box::pin(scene.beat_has_stopped())
        })
        .then("the beat goes on", |scene, _| Box::pin(scene.beat_goes_on()))
        .then("the mark is not there", |scene, _| Box::pin(no_mark(scene)))
        .then("the sandbox still runs commands", |scene, _| {
            Box::pin(still_runs(scene))
        });
}

/// Starts a command that keeps a beat and waits until it does.
pub(super) async fn keep_beat(scene: &mut Scene) -> StepResult {
    let text = scene.new_beat("").await?;
    let params = scene.command(text).await?;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    scene.await_beat().await
}

async fn print_numbered(scene: &mut Scene, bytes: usize) -> StepResult {
    let params = scene.command(shell::numbered(bytes)).await?;
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    scene.run(&params).await
}

pub(super) fn expect_outcome(scene: &Scene, expected: &Outcome) -> StepResult {
    let outcome = &scene.result()?.outcome;
    if outcome == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the outcome: {expected}"),
        format!("{outcome}{}", said(scene)),
    ))
}

/// What a command has said, for a failure.
fn said(scene: &Scene) -> String {
    let Ok(record) = scene.record() else {
        return String::new();
    };
    let quote = |stream| {
        let bytes = record.bytes(stream);
        if bytes.is_empty() {
            String::new()
        } else {
            format!("; its {stream} was {}", show(&bytes))
        }
    };
    quote(Stream::Stdout) + &quote(Stream::Stderr)
}

fn ended_by_signal(scene: &Scene, expected: i32) -> StepResult {
    match &scene.result()?.outcome {
        Outcome::Signaled { number, .. } if *number == expected => Ok(()),
        other => Err(Failure::failed(
            format!("the outcome: ended by signal {expected}"),
            other.to_string(),
        )),
    }
}

fn set_up_failed(scene: &Scene, why: &str) -> StepResult {
    let expected = match why {
        "the program was not found" => SetupFailure::ProgramNotFound,
        "the directory was not found" => SetupFailure::CwdNotFound,
        "it is no directory" => SetupFailure::CwdNotADirectory,
        other => {
            return Err(Failure::suite(format!(
                "{other:?} is no reason for a failed set-up"
            )));
        }
    };
    match &scene.result()?.outcome {
        Outcome::SetupFailed { kind, .. } if *kind == expected => Ok(()),
        other => Err(Failure::failed(
            format!("the outcome: set-up failed because {why}"),
            other.to_string(),
        )),
    }
}

/// Compares the bytes of a stream with what they should be.
pub(super) fn expect_bytes(scene: &Scene, stream: Stream, expected: &[u8]) -> StepResult {
    scene.result()?;
    let seen = scene.record()?.bytes(stream);
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{stream}: {}", show(expected)),
        format!("{}{}", show(&seen), difference(expected, &seen)),
    ))
}

/// Bytes for people: escaped, and cut in the middle when they are many.
pub(super) fn show(bytes: &[u8]) -> String {
    const KEPT: usize = 60;
    if bytes.len() <= 2 * KEPT {
        return format!("\"{}\"", bytes.escape_ascii());
    }
    let (head, tail) = (&bytes[..KEPT], &bytes[bytes.len() - KEPT..]);
    format!(
        "\"{}\" … \"{}\" ({} bytes)",
        head.escape_ascii(),
        tail.escape_ascii(),
        bytes.len()
    )
}

/// Where two byte strings part, for people; nothing when they are short enough to see it.
pub(super) fn difference(expected: &[u8], seen: &[u8]) -> String {
    if expected.len().max(seen.len()) <= 60 {
        return String::new();
    }
    let at = expected.iter().zip(seen).take_while(|(a, b)| a == b).count();
    format!("; they part at byte {at} of {}", expected.len())
}

fn expect_total(scene: &Scene, stream: &str, expected: u64) -> StepResult {
    let result = scene.result()?;
    let total = match stream {
        "standard output" => &result.stdout,
        "standard error" => &result.stderr,
        other => return Err(Failure::suite(format!("{other:?} is no stream"))),
    };
    if total.bytes == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a total of {expected} bytes of {stream}"),
        format!("{} bytes", total.bytes),
    ))
}

fn answered_within(scene: &Scene, limit: Duration) -> StepResult {
    let limit = scene.scaled(limit);
    scene.result()?;
    let took = scene.record()?.answered_after.unwrap_or_default();
    if took <= limit {
        return Ok(());
    }
    Err(Failure::failed(
        format!("an answer within {} ms", limit.as_millis()),
        format!("it took {} ms", took.as_millis()),
    ))
}

fn refused(scene: &Scene, how: &str) -> StepResult {
    let expected = match how {
        "as unsupported" => ErrorKind::Unsupported,
        "as an invalid argument" => ErrorKind::InvalidArgument,
        "because no version is shared" => ErrorKind::VersionMismatch,
        "because the sandbox is not there" => ErrorKind::SandboxNotFound,
        "because the file is not there" => ErrorKind::NotFound,
        "because it is a directory" => ErrorKind::IsADirectory,
        other => return Err(Failure::suite(format!("{other:?} is no way to refuse"))),
    };
    let error = scene.refusal()?;
    if error.kind() == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a refusal of kind {expected}"),
        error.to_string(),
    ))
}

/// A path for a mark, and the shell text that leaves it.
pub(super) async fn new_mark(scene: &mut Scene) -> Result<String, Failure> {
    let path = scene.new_path("mark").await?;
    let text = format!(": > {}", shell::word(path.as_bytes()));
    scene.notes.mark = Some(path);
    Ok(text)
}

async fn no_mark(scene: &mut Scene) -> StepResult {
    let path = scene
        .notes
        .mark
        .clone()
        .ok_or_else(|| Failure::suite("no command leaves a mark"))?;
    let seen = scene
        .observe(format!(
            "if [ -e {} ]; then echo there; fi",
            shell::word(path.as_bytes())
        ))
        .await?;
    if seen.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(
        "nothing of the command to have run",
        "the mark that it leaves is there",
    ))
}

async fn still_runs(scene: &mut Scene) -> StepResult {
    let seen = scene.observe("echo alive").await?;
    if seen == b"alive\n" {
        return Ok(());
    }
    Err(Failure::failed(
        "a plain command to print \"alive\\n\"",
        show(&seen),
    ))
}
