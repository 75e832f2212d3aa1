//! Steps that several chapters use.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    client::ExecRecord,
    exec::{Outcome, SetupFailure, SignalCause, Stream},
};

use super::{
    composed::number_in,
    exec::{args, cancel, enc, ending},
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
        .when("a command prints {text}", |scene, arguments| {
            Box::pin(async move {
                let text = shell::print(arguments.text(0)?.as_bytes());
                let params = scene.command(text).await?;
                scene.run(&params).await
            })
        })
        .when("a command writes {words}", |scene, arguments| {
            Box::pin(async move { print_in_words(scene, arguments.words(0)?).await })
        })
        .then("the outcome is {words}", |scene, arguments| {
            Box::pin(async move { expect_outcome_in_words(scene, arguments.words(0)?) })
        })
        .then("standard {words} is exactly {text}", |scene, arguments| {
            Box::pin(async move {
                expect_bytes(
                    scene,
                    stream_of(arguments.words(0)?)?,
                    arguments.text(1)?.as_bytes(),
                )
            })
        })
        .then("standard {words} is {words}", |scene, arguments| {
            Box::pin(async move {
                if arguments.words(1)? == "these arguments" {
                    return args::expect_told(scene);
                }
                let expected = output_in_words(scene, arguments.words(1)?)?;
                expect_bytes(scene, stream_of(arguments.words(0)?)?, &expected)
            })
        })
        .then("the total of {words} is {int} bytes", |scene, arguments| {
            Box::pin(async move { expect_total(scene, arguments.words(0)?, arguments.int(1)?) })
        })
        .then("the call is refused {words}", |scene, arguments| {
            Box::pin(async move { refused(scene, arguments.words(0)?) })
        })
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

/// How long it may take to print what the words of a step name.
const PRINTED: Duration = Duration::from_secs(30);

/// Every byte value, in order.
pub(super) fn all_bytes() -> Vec<u8> {
    (0..=255).collect()
}

async fn print_in_words(scene: &mut Scene, what: &str) -> StepResult {
    if let Some((what, ending)) = what.split_once(" to a caller that wants both ends, and ") {
        return ending::write_and_end(scene, what, ending).await;
    }
    let text = match what {
        "nothing" => "true".to_owned(),
        "every byte value" => shell::print(&all_bytes()),
        "a hundred lines, in turns as output and as errors" => {
            let lines = (0..50).map(|line| format!("output {line}\nerror {line}\n"));
            scene.notes.content = Some(lines.collect::<String>().into_bytes());
            "i=0; while [ $i -lt 50 ]; do echo output $i; echo error $i >&2; i=$((i+1)); done".to_owned()
        }
        lines if let Some(by) = lines.strip_prefix("two lines, stopped in between by ") => {
            return cancel::write_stopped(scene, by).await;
        }
        line if let Some(bytes) = number_in(line, "one line of ", " bytes") => {
            scene.notes.content = Some(vec![b'x'; bytes]);
            format!("head -c {bytes} /dev/zero | tr '\\0' x")
        }
        other => {
            let bytes = other
                .strip_suffix(" bytes in many pieces")
                .and_then(|bytes| bytes.parse().ok());
            match bytes {
                Some(bytes) => {
                    scene.notes.content = Some(shell::numbered_bytes(bytes));
                    shell::numbered(bytes)
                }
                None => enc::text_that_writes(scene, other)?,
            }
        }
    };
    let params = scene.command(text).await?;
    scene.run_within(&params, scene.scaled(PRINTED)).await
}

/// The stream that follows the word "standard".
fn stream_of(words: &str) -> Result<Stream, Failure> {
    match words {
        "output" => Ok(Stream::Stdout),
        "error" => Ok(Stream::Stderr),
        other => Err(Failure::suite(format!("standard {other:?} is no stream"))),
    }
}

/// What the words about standard output mean.
fn output_in_words(scene: &Scene, what: &str) -> Result<Vec<u8>, Failure> {
    match what {
        "empty" => Ok(Vec::new()),
        "every byte value, in order" => Ok(all_bytes()),
        "all that was printed" | "that reply" | "that input" | "that value" | "what that text asks for" => {
            Ok(scene.notes.content.clone().unwrap_or_default())
        }
        "all that was printed, with what is not UTF-8 replaced" => {
            let content = scene.notes.content.clone().unwrap_or_default();
            // It replaces each longest part of a sequence that could have gone on, as the encoding standard asks.
            Ok(String::from_utf8_lossy(&content).into_owned().into_bytes())
        }
        other => Err(Failure::suite(format!("{other:?} is no output"))),
    }
}

/// What the words about an outcome mean: an outcome, and for a deadline how long after it the answer may come.
fn expect_outcome_in_words(scene: &Scene, words: &str) -> StepResult {
    let number = |prefix: &str| {
        words
            .strip_prefix(prefix)
            .and_then(|number| number.parse::<i32>().ok())
    };
    if let Some(code) = number("exited with code ") {
        return expect_outcome(scene, &Outcome::Exited { code });
    }
    if let Some(signal) = number("ended by signal ") {
        return ended_by_signal(scene, signal);
    }
    if let Some(why) = words.strip_prefix("set-up failed because ") {
        return set_up_failed(scene, why);
    }
    let slack = words
        .strip_prefix("timed out, no later than ")
        .and_then(|rest| rest.strip_suffix(" second after the deadline"));
    if let Some(seconds) = slack.and_then(|seconds| seconds.parse().ok()) {
        return timed_out_by(scene, Duration::from_secs(seconds));
    }
    match words {
        "timed out" => expect_outcome(scene, &Outcome::TimedOut),
        "timed out, each at its own deadline" => super::exec::timeout::told_apart(scene),
        "cancelled" => expect_outcome(scene, &Outcome::Cancelled),
        "ended by a signal, for lack of memory" => expect_outcome(
            scene,
            &Outcome::Signaled {
                number: 9,
                cause: SignalCause::OutOfMemory,
            },
        ),
        "not told as a lack of memory" => for_no_lack_of_memory(scene),
        "a failure that the shell has told" => told_by_the_shell(scene),
        "no success" => no_success(scene),
        other => Err(Failure::suite(format!("{other:?} is no outcome"))),
    }
}

fn timed_out_by(scene: &Scene, slack: Duration) -> StepResult {
    expect_outcome(scene, &Outcome::TimedOut)?;
    let deadline = Duration::from_millis(scene.notes.number.unwrap_or_default());
    let took = scene.record()?.answered_after.unwrap_or_default();
    let latest = deadline + scene.scaled(slack);
    if took < deadline {
        let seen = format!("it came after {} ms", took.as_millis());
        return Err(Failure::failed(
            format!(
                "the answer no earlier than the deadline of {} ms",
                deadline.as_millis()
            ),
            seen,
        ));
    }
    if took > latest {
        let seen = format!("it came after {} ms", took.as_millis());
        return Err(Failure::failed(
            format!("the answer within {} ms", latest.as_millis()),
            seen,
        ));
    }
    Ok(())
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

/// How a command has failed is told in one way or another.
fn no_success(scene: &Scene) -> StepResult {
    match &scene.result()?.outcome {
        success @ Outcome::Exited { code: 0 } => Err(Failure::failed(
            "an outcome other than success",
            success.to_string(),
        )),
        _ => Ok(()),
    }
}

/// A kill that somebody sent is not told as one of the system's for lack of memory.
fn for_no_lack_of_memory(scene: &Scene) -> StepResult {
    match &scene.result()?.outcome {
        lack @ Outcome::Signaled {
            cause: SignalCause::OutOfMemory,
            ..
        } => Err(Failure::failed(
            "an outcome that tells of no lack of memory",
            lack.to_string(),
        )),
        _ => Ok(()),
    }
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

/// Which code a shell gives for text that it cannot go on with is its own affair (POSIX: 1 to 125, Bash: also 127).
fn told_by_the_shell(scene: &Scene) -> StepResult {
    let outcome = &scene.result()?.outcome;
    let told = said(scene);
    match outcome {
        Outcome::Exited { code: 1..=127 } if !told.is_empty() => Ok(()),
        other => Err(Failure::failed(
            "a code from 1 to 127, and words of the shell that say why",
            format!("{other}{told}"),
        )),
    }
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
        "the shell was not found" => SetupFailure::ShellNotFound,
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
        format!(
            "{}{}{}",
            show(&seen),
            difference(expected, &seen),
            told_otherwise(scene)
        ),
    ))
}

/// How a command ended that did not come to its own end, which says more than what it has printed; else nothing.
fn told_otherwise(scene: &Scene) -> String {
    match scene.result().map(|result| &result.outcome) {
        Ok(Outcome::Exited { .. }) | Err(_) => String::new(),
        Ok(outcome) => format!("; the outcome: {outcome}"),
    }
}

/// What a command was answered, for people.
pub(super) fn answer_in_words(record: &ExecRecord) -> String {
    match &record.answer {
        None => "no answer yet".to_owned(),
        Some(Ok(result)) => format!("{}, after {} ms", result.outcome, result.duration_ms),
        Some(Err(error)) => format!("a refusal: {error}"),
    }
}

/// Bytes for people: escaped, and cut in the middle when they are many. What is kept is more than what is shown in the
/// end, so that a secret that this cuts in two lies in the part that is left out when the whole has been redacted.
pub(super) fn show(bytes: &[u8]) -> String {
    const KEPT: usize = 4096;
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

pub(super) fn answered_within(scene: &Scene, limit: Duration) -> StepResult {
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
    let any_of: &[ErrorKind] = match how {
        "as unsupported or as an invalid argument" => &[ErrorKind::Unsupported, ErrorKind::InvalidArgument],
        "because a file is there" => &[ErrorKind::AlreadyExists, ErrorKind::NotADirectory],
        "because there is no such image" => &[ErrorKind::NotFound, ErrorKind::Unavailable],
        "because the directory is not there" => &[ErrorKind::NotFound, ErrorKind::InvalidArgument],
        "because what is there is somebody else's" => {
            &[ErrorKind::AlreadyExists, ErrorKind::PermissionDenied]
        }
        "because something is there" => &[ErrorKind::AlreadyExists, ErrorKind::IsADirectory],
        _ => &[],
    };
    let error = scene.refusal()?;
    if any_of.contains(&error.kind()) {
        return Ok(());
    }
    let expected = match how {
        _ if let [first, ..] = any_of => *first,
        "as unsupported" => ErrorKind::Unsupported,
        "as an invalid argument" => ErrorKind::InvalidArgument,
        "because no version is shared" => ErrorKind::VersionMismatch,
        "because the sandbox is not there" => ErrorKind::SandboxNotFound,
        "because the job is not there" => ErrorKind::JobNotFound,
        "because no such command runs" => ErrorKind::ExecNotFound,
        "because the file is not there" => ErrorKind::NotFound,
        "because it is a directory" => ErrorKind::IsADirectory,
        "because it is no directory" => ErrorKind::NotADirectory,
        "because there is no room" => ErrorKind::LimitExceeded,
        other => return Err(Failure::suite(format!("{other:?} is no way to refuse"))),
    };
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
    absent(
        scene,
        "nothing of the command to have run",
        "the mark that it leaves is there",
    )
    .await
}

/// The path of the mark is not there, seen from the sandbox in question.
pub(super) async fn absent(scene: &mut Scene, expected: &str, otherwise: &str) -> StepResult {
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
    Err(Failure::failed(expected, otherwise))
}

/// Whether a command that is told no directory finds the mark by its name.
pub(super) async fn mark_is_in_directory(scene: &mut Scene) -> Result<bool, Failure> {
    let path = scene.notes.mark.clone().unwrap_or_default().into_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let look = format!("if [ -e {} ]; then echo there; fi", shell::word(name));
    Ok(scene.observe(look).await? == b"there\n")
}

pub(super) async fn find_mark(scene: &mut Scene) -> StepResult {
    if mark_is_in_directory(scene).await? {
        return Ok(());
    }
    Err(Failure::failed(
        "the mark in the directory that commands start in",
        "it is not there",
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
