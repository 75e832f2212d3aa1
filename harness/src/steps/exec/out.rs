//! OUT: however much a command prints, its caller gets what it asked for.

use std::time::Duration;

use herm_protocol::{
    client::ExecRecord,
    exec::{Capture, Gap, Stream, StreamTotal},
    hexadecimal,
};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::{memory::MemoryWatch, together::Expected};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::general::show,
};

/// The line that a flood consists of: its length is prime, so that pieces that change places change the digest.
const LINE: &str = "0123456789";

/// How long a flood may take.
const FLOODED: Duration = Duration::from_mins(1);

/// The longest time that short commands are run for, if there were enough of them.
const SHORT_FOR: Duration = Duration::from_secs(4);

/// So many short commands are enough where a command takes long to start.
const ENOUGH: u32 = 20;

const MEBIBYTE: u64 = 1024 * 1024;

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a command floods each of its streams with {int} MiB",
            |scene, arguments| Box::pin(async move { flood(scene, arguments.int(0)?).await }),
        )
        .when(
            "a command prints {int} bytes, and {int} as errors, to a caller that wants the first {int} and the last {int}",
            |scene, arguments| {
                Box::pin(async move {
                    let (output, errors) = (arguments.int(0)?, arguments.int(1)?);
                    let capture = Capture {
                        head: arguments.int(2)?,
                        tail: arguments.int(3)?,
                        digest: false,
                    };
                    print_on_both(scene, output, errors, capture).await
                })
            },
        )
        .when("{int} short commands are run", |scene, arguments| {
            Box::pin(async move { run_short(scene, arguments.int(0)?).await })
        });
}

/// Shell text that prints so many bytes of the line that floods consist of.
fn flood_of(bytes: u64) -> String {
    format!("yes {LINE} | head -c {bytes}")
}

/// The digest of so many bytes of the line that floods consist of.
fn digest_of_flood(bytes: u64) -> String {
    let line = format!("{LINE}\n").into_bytes();
    let block = line.repeat(64 * 1024 / line.len());
    let mut digest = Sha256::new();
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        digest.update(&block[..part]);
        left -= part as u64;
    }
    hexadecimal(&digest.finalize())
}

/// Prints the flood on both streams at once; the caller wants none of it, only to be told of all. On subjects that are far
/// away it is smaller.
async fn flood(scene: &mut Scene, mebibytes: u64) -> StepResult {
    let second = scene.scaled(Duration::from_secs(1)).as_secs().max(1);
    let bytes = mebibytes * MEBIBYTE / (second * second);
    let (output, errors) = (flood_of(bytes), flood_of(bytes));
    let mut params = scene.command(format!("{errors} >&2 & {output}; wait")).await?;
    params.capture = Some(Capture {
        head: 0,
        tail: 0,
        digest: true,
    });
    let digest = tokio::task::spawn_blocking(move || digest_of_flood(bytes));
    let root = scene.client().await?.process_id().await;
    let watch = MemoryWatch::over(root);
    let ran = scene.run_within(&params, scene.scaled(FLOODED)).await;
    scene.notes.number = watch.end().await;
    ran?;
    let digest = digest.await.map_err(|error| Failure::suite(error.to_string()))?;
    scene.notes.value = Some(serde_json::json!({"bytes": bytes, "sha256": digest}));
    Ok(())
}

/// Both totals and both digests of a flood are right.
pub(crate) fn told_exactly(scene: &Scene) -> StepResult {
    let expected = scene.notes.value.clone().unwrap_or_default();
    let result = scene.result()?;
    for (stream, total) in [(Stream::Stdout, &result.stdout), (Stream::Stderr, &result.stderr)] {
        let right = Some(total.bytes) == expected["bytes"].as_u64()
            && total.sha256.as_deref() == expected["sha256"].as_str();
        if !right {
            return Err(Failure::failed(
                format!(
                    "{stream} of {} bytes, SHA-256 {}",
                    expected["bytes"], expected["sha256"]
                ),
                in_words(total),
            ));
        }
    }
    Ok(())
}

/// A total as people read it.
pub(crate) fn in_words(total: &StreamTotal) -> String {
    match &total.sha256 {
        Some(digest) => format!("{} bytes, SHA-256 \"{digest}\"", total.bytes),
        None => format!("{} bytes, and no SHA-256", total.bytes),
    }
}

/// The backend's processes grew by no more than so many MiB while they carried the flood.
pub(crate) fn carried_within(scene: &Scene, mebibytes: u64) -> StepResult {
    scene.result()?;
    let grown = scene.notes.number.ok_or_else(|| {
        Failure::inconclusive("the memory of the backend's processes cannot be seen from here")
    })?;
    if grown <= mebibytes * MEBIBYTE {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the backend's processes to grow by no more than {mebibytes} MiB"),
        format!("they grew by {} MiB", grown / MEBIBYTE),
    ))
}

/// Notes what a caller wants, for the steps that look at what it got.
pub(crate) fn note_capture(scene: &mut Scene, capture: Capture) {
    scene.notes.value = Some(serde_json::json!({"head": capture.head, "tail": capture.tail}));
}

/// The content has arrived on standard output as far as it was wanted; what lies between is told as one gap.
pub(crate) fn sent_as_wanted(scene: &Scene) -> StepResult {
    let content = scene.notes.content.clone().unwrap_or_default();
    sent(scene, &[(Stream::Stdout, content)])
}

/// What was printed on each stream has arrived as far as it was wanted; what lies between is told as one gap of each.
pub(crate) fn sent_as_wanted_on_both(scene: &Scene) -> StepResult {
    let output = usize::try_from(scene.notes.number.unwrap_or_default()).unwrap_or_default();
    let errors = scene.notes.content.clone().unwrap_or_default();
    sent(
        scene,
        &[
            (Stream::Stdout, shell::numbered_bytes(output)),
            (Stream::Stderr, errors),
        ],
    )
}

fn sent(scene: &Scene, printed: &[(Stream, Vec<u8>)]) -> StepResult {
    let wanted = scene.notes.value.clone().unwrap_or_default();
    let part = |name: &str| wanted[name].as_u64().unwrap_or_default();
    let (mut expected, mut parts) = (Vec::new(), Vec::new());
    for (stream, content) in printed {
        let bytes = content.len() as u64;
        let head = bytes.min(part("head"));
        let tail = (bytes - head).min(part("tail"));
        parts.push(head + tail);
        if head + tail < bytes {
            expected.push(Gap {
                stream: *stream,
                from: head,
                to: bytes - tail,
            });
        }
    }
    let result = scene.result()?;
    let mut seen = result.gaps.clone();
    seen.sort_by_key(|gap| (gap.stream, gap.from));
    if seen != expected {
        return Err(Failure::failed(gaps_in_words(&expected), gaps_in_words(&seen)));
    }
    for ((stream, content), part) in printed.iter().zip(parts) {
        let total = match stream {
            Stream::Stdout => result.stdout.bytes,
            Stream::Stderr => result.stderr.bytes,
        };
        if total != content.len() as u64 {
            return Err(Failure::failed(
                format!("{stream}: a total of {} bytes", content.len()),
                format!("{total} bytes"),
            ));
        }
        lie_where_they_belong(scene.record()?, *stream, content, part)?;
    }
    Ok(())
}

/// Gaps as people read them.
fn gaps_in_words(gaps: &[Gap]) -> String {
    let told: Vec<_> = gaps
        .iter()
        .map(|gap| format!("a gap of {} from {} to {}", gap.stream, gap.from, gap.to))
        .collect();
    if told.is_empty() {
        return "no gap".into();
    }
    told.join(", ")
}

/// So many bytes have arrived, and each piece of them is what the content has at its offset.
fn lie_where_they_belong(record: &ExecRecord, stream: Stream, content: &[u8], expected: u64) -> StepResult {
    let arrived = record.bytes(stream).len() as u64;
    if arrived != expected {
        return Err(Failure::failed(
            format!("{stream}: {expected} bytes to arrive"),
            format!("{arrived} bytes arrived"),
        ));
    }
    for piece in record.pieces.iter().filter(|piece| piece.stream == stream) {
        let offset = usize::try_from(piece.offset).unwrap_or(usize::MAX);
        let there = content.get(offset..).unwrap_or_default();
        if !there.starts_with(&piece.data) {
            let there = &there[..there.len().min(piece.data.len())];
            return Err(Failure::failed(
                format!("{stream}: {} at offset {offset}", show(there)),
                show(&piece.data),
            ));
        }
    }
    Ok(())
}

async fn print_on_both(scene: &mut Scene, output: usize, errors: usize, capture: Capture) -> StepResult {
    let text = format!("{}; {} >&2", shell::numbered(output), shell::numbered(errors));
    let mut params = scene.command(text).await?;
    params.capture = Some(capture);
    note_capture(scene, capture);
    scene.notes.content = Some(shell::numbered_bytes(errors));
    scene.notes.number = u64::try_from(output).ok();
    scene.run(&params).await
}

/// Runs one short command after the other, each with an output and a code of its own; some print nothing. Where a command
/// takes long to start there are fewer of them.
async fn run_short(scene: &mut Scene, most: u32) -> StepResult {
    let until = Instant::now() + SHORT_FOR;
    for number in 0..most {
        if number >= ENOUGH && Instant::now() > until {
            break;
        }
        let code = u8::try_from(number % 8).unwrap_or_default();
        let (print, output) = match number % 5 {
            0 => (String::new(), String::new()),
            _ => (
                format!("echo first {number} && echo second {number}; "),
                format!("first {number}\nsecond {number}\n"),
            ),
        };
        let params = scene.command(format!("{print}exit {code}")).await?;
        scene.run(&params).await?;
        scene.notes.records.extend(scene.last.clone());
        scene.notes.expected.push(Expected {
            code,
            ..Expected::output(output)
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_what_the_shell_prints() {
        for bytes in [0, 7, 11, 65_530, 65_536, 1_000_003] {
            let text = flood_of(bytes);
            let printed = std::process::Command::new("sh").args(["-c", &text]).output();
            let digest = hexadecimal(&Sha256::digest(printed.unwrap().stdout));
            assert_eq!(digest, digest_of_flood(bytes), "{bytes} bytes");
        }
    }
}
