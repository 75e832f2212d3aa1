//! EVENT: what is told of a command is true and in order.

use std::time::Duration;

use herm_protocol::{
    client::{ExecRecord, Fault},
    exec::{Capture, Gap, RunParams, Stream},
    hexadecimal,
};
use sha2::{Digest as _, Sha256};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        exec::out,
        general::{answer_in_words, show},
    },
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .then(
            "the pieces of each stream follow each other without gap or overlap",
            |scene, _| Box::pin(async { contiguous(scene.record()?) }),
        )
        .then("nothing more is told of it after its answer", |scene, _| {
            Box::pin(nothing_later(scene))
        })
        .when(
            "a command prints {int} bytes to a caller that wants the first {int} and the last {int}",
            |scene, arguments| {
                Box::pin(async move {
                    let (bytes, head, tail) = (arguments.int(0)?, arguments.int(1)?, arguments.int(2)?);
                    let mut params = scene.command(shell::numbered(bytes)).await?;
                    let capture = Capture {
                        head,
                        tail,
                        digest: true,
                    };
                    params.capture = Some(capture);
                    out::note_capture(scene, capture);
                    scene.notes.content = Some(shell::numbered_bytes(bytes));
                    scene.run(&params).await
                })
            },
        )
        .then(
            "the first {int} and the last {int} bytes have arrived",
            |scene, arguments| {
                Box::pin(async move { head_and_tail(scene, arguments.int(0)?, arguments.int(1)?) })
            },
        )
        .then("the gap from {int} to {int} is told", |scene, arguments| {
            Box::pin(async move {
                let expected = [Gap {
                    stream: Stream::Stdout,
                    from: arguments.int(0)?,
                    to: arguments.int(1)?,
                }];
                let gaps = &scene.result()?.gaps;
                if gaps == &expected {
                    Ok(())
                } else {
                    Err(Failure::failed(format!("{expected:?}"), format!("{gaps:?}")))
                }
            })
        })
        .then("the digest is that of all that was printed", |scene, _| {
            Box::pin(async { digest(scene) })
        })
        .when("a command is {words} before it ends", |scene, arguments| {
            Box::pin(async move {
                let text = match arguments.words(0)? {
                    "held up for 1 second by a caller that takes nothing" => return hold_up(scene).await,
                    "silent for 1 second" => "sleep 1",
                    "silent for 1 second after it has printed something" => "echo something; sleep 1",
                    "silent for 3 seconds" => "sleep 3",
                    other => return Err(unknown(other, "for a command to be")),
                };
                let mut params = scene.command(text).await?;
                params.alive_ms = Some(200);
                scene.run(&params).await
            })
        });
}

/// Runs a command that prints more than its caller takes, who takes the rest a second later. It runs for that long even where
/// its output is kept for the caller.
async fn hold_up(scene: &mut Scene) -> StepResult {
    const PRINTED: usize = 100_000;
    let patience = scene.patience();
    let mut params = scene
        .command(format!("{}; sleep 1", shell::numbered(PRINTED)))
        .await?;
    params.alive_ms = Some(200);
    params.window = Some(4096);
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    match exec.wait_until(Duration::from_secs(1), |_| false).await {
        Err(Fault::Hung { .. }) => {}
        Ok(()) => {
            return Err(Failure::failed(
                "a command that has no room for its output to run on",
                answer_in_words(exec.record()),
            ));
        }
        Err(fault) => return Err(scene.broken(fault)),
    }
    scene.client().await?.grant(&params.exec, 2 * PRINTED as u64);
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// It was said often enough that the command lives.
pub(crate) fn said_alive(scene: &Scene) -> StepResult {
    scene.result()?;
    match scene.record()?.alive {
        0..3 => {
            let seen = match scene.record()?.alive {
                0 => "it was never told".to_owned(),
                1 => "it was told once in a second".to_owned(),
                times => format!("it was told {times} times in a second"),
            };
            Err(Failure::failed("to be told that it lives every 200 ms", seen))
        }
        _ => Ok(()),
    }
}

pub(crate) fn announced(scene: &Scene) -> StepResult {
    scene.result()?;
    let record = scene.record()?;
    if record.starts != 1 {
        return Err(Failure::failed(
            "one `exec.started`",
            format!("{} of them", record.starts),
        ));
    }
    match record.pieces.first() {
        Some(piece) if !piece.after_start => Err(Failure::failed(
            "`exec.started` before any output",
            format!("{} came before it", show(&piece.data)),
        )),
        _ => Ok(()),
    }
}

/// The announcement came while the command ran, and nearer to its beginning than to its end.
pub(crate) fn announced_at_once(scene: &Scene) -> StepResult {
    let ran = Duration::from_millis(scene.result()?.duration_ms);
    let record = scene.record()?;
    let answered = record.answered_after.unwrap_or_default();
    match record.started_after {
        Some(after) if after + ran / 2 < answered => Ok(()),
        Some(after) => Err(Failure::failed(
            format!(
                "`exec.started` when the command began, {} ms before its end",
                ran.as_millis()
            ),
            format!(
                "it came {} ms before the answer",
                answered.saturating_sub(after).as_millis()
            ),
        )),
        None => Err(Failure::failed("`exec.started`", "none")),
    }
}

fn contiguous(record: &ExecRecord) -> StepResult {
    for stream in [Stream::Stdout, Stream::Stderr] {
        let mut next = 0;
        for piece in record.pieces.iter().filter(|piece| piece.stream == stream) {
            if piece.offset != next {
                let expected = format!("the next piece of {stream} at offset {next}");
                return Err(Failure::failed(
                    expected,
                    format!("one of {} bytes at offset {}", piece.data.len(), piece.offset),
                ));
            }
            next += piece.data.len() as u64;
        }
    }
    Ok(())
}

/// A command that ends by itself, one that is cancelled, and one that runs into its deadline.
async fn nothing_later(scene: &mut Scene) -> StepResult {
    let plain = scene.command(shell::print(b"last words\n")).await?;
    nothing_behind(scene, plain, false).await?;
    if scene.declares("cancel").await? {
        let params = scene.command("echo begun; sleep 20").await?;
        nothing_behind(scene, params, true).await?;
    }
    if scene.declares("timeout").await? {
        let params = scene.command("echo begun; sleep 20").await?;
        let timeout_ms = Some(300);
        nothing_behind(scene, RunParams { timeout_ms, ..params }, false).await?;
    }
    Ok(())
}

/// Nothing more is told of a command after its answer, although it was said to be alive again and again before.
async fn nothing_behind(scene: &mut Scene, mut params: RunParams, cancelled: bool) -> StepResult {
    let pause = scene.scaled(Duration::from_millis(500));
    let patience = scene.patience();
    params.alive_ms = Some(50);
    let mut exec = scene.start(&params).await?;
    if cancelled {
        exec.wait_until(patience, |record| !record.pieces.is_empty())
            .await?;
        exec.cancel(patience).await?;
    }
    exec.wait_until(patience, |_| false).await?;
    exec.linger(pause).await;
    match exec.record().late {
        0 => Ok(()),
        late => Err(Failure::failed(
            "nothing after the answer",
            format!("{late} notifications about the command"),
        )),
    }
}

fn head_and_tail(scene: &Scene, head: usize, tail: usize) -> StepResult {
    scene.result()?;
    let whole = scene.notes.content.clone().unwrap_or_default();
    let expected = [&whole[..head], &whole[whole.len() - tail..]].concat();
    let seen = scene.record()?.bytes(Stream::Stdout);
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(show(&expected), show(&seen)))
}

fn digest(scene: &Scene) -> StepResult {
    let whole = scene.notes.content.clone().unwrap_or_default();
    let expected = hexadecimal(&Sha256::digest(&whole));
    match &scene.result()?.stdout.sha256 {
        Some(seen) if *seen == expected => Ok(()),
        seen => Err(Failure::failed(
            format!("SHA-256 {expected}"),
            format!("{seen:?}"),
        )),
    }
}
