//! CANCEL: what its caller does not want any more ends, and nothing else.

use std::time::Duration;

use herm_protocol::{
    client::{CallError, Fault},
    exec::{CancelParams, Outcome, SignalParams, StdinParams},
    method,
};
use tokio::time::Instant;

use super::{otherwise, timeout};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        general::{answer_in_words, new_mark},
    },
};

/// What a command says that was asked to end.
const FAREWELL: &str = "farewell";

/// How a command ends that is cancelled when it is about to end.
const CODE: i32 = 7;

/// Seconds that such a command runs.
const RUNS: &str = "0.05";

/// Bytes that a caller takes that takes next to nothing.
const LITTLE: u64 = 4096;

/// A signal that ends whoever does not expect it.
const SIGUSR1: i32 = 10;

/// A signal that stops whoever is sent it, and one that lets it go on.
const SIGSTOP: i32 = 19;
const SIGCONT: i32 = 18;

/// How long a command runs that its caller stops.
const UNTIL_STOPPED: Duration = Duration::from_secs(1);

/// How long it is left stopped: longer than it would have run.
const STAYS: Duration = Duration::from_millis(1500);

pub(super) fn register(steps: &mut StepList) {
    steps.when(
        "{int} commands are cancelled as they are about to end",
        |scene, arguments| Box::pin(async move { cancel_at_the_end(scene, arguments.int(0)?).await }),
    );
}

/// Starts a command that runs on until it is ended, and waits until it does.
pub(crate) async fn start(scene: &mut Scene, what: &str) -> StepResult {
    let (what, how) = what.split_once(", as ").unwrap_or((what, ""));
    let (text, floods) = match what {
        "says farewell when it is asked to end" => {
            let beat = scene.new_beat("").await?;
            (
                format!("trap 'echo {FAREWELL}; exit 0' TERM; {beat} & wait"),
                false,
            )
        }
        "keeps a beat and floods a caller that takes nothing" => {
            let beat = scene.new_beat("").await?;
            (format!("{beat} & while :; do echo 0123456789012345; done"), true)
        }
        "stops itself and keeps a beat" => {
            let text = timeout::beat_in_words(scene, "that stops itself keeps a beat");
            (text.await?, false)
        }
        "ignores requests to end and keeps a beat" => {
            let text = timeout::beat_in_words(scene, "that ignores requests to end keeps a beat");
            (text.await?, false)
        }
        other => (timeout::beat_in_words(scene, other).await?, false),
    };
    let mut params = scene.command(text).await?;
    if floods {
        params.window = Some(LITTLE);
    }
    if !how.is_empty() {
        params = otherwise::run_as(scene, params, how).await?;
    }
    let mut exec = scene.start(&params).await?;
    exec.grants = !floods;
    scene.running.push(exec);
    scene.await_beat().await
}

/// Starts a command that prints so many bytes to a caller that takes next to nothing.
pub(crate) async fn print_to_nobody(scene: &mut Scene, bytes: usize) -> StepResult {
    let patience = scene.patience();
    let mut params = scene.command(shell::numbered(bytes)).await?;
    params.window = Some(LITTLE);
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    // All that there is room for is on its way, and must not be taken for more than that later.
    let room = bytes.min(usize::try_from(LITTLE).unwrap_or(bytes));
    exec.wait_until(patience, |record| {
        record.pieces.iter().map(|piece| piece.data.len()).sum::<usize>() >= room
    })
    .await?;
    scene.running.push(exec);
    Ok(())
}

/// Cancels a command that would leave a mark in some seconds, right behind the request to run it.
pub(crate) async fn cancel_early(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let mark = new_mark(scene).await?;
    let params = scene.command(format!("sleep 5; {mark}")).await?;
    let exec = scene.start(&params).await?;
    exec.cancel(patience).await?;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// Asks for something to be done to a command that does not run: "cancel a command that has ended".
pub(crate) async fn tell(scene: &mut Scene, what: &str) -> StepResult {
    let (verb, command) = what.split_once(" a command that ").unwrap_or((what, ""));
    let patience = scene.patience();
    let mut params = scene.command("true").await?;
    match command {
        "runs" => match scene.running.last() {
            Some(exec) => exec.record().exec.clone_into(&mut params.exec),
            None => return Err(Failure::suite("no command runs")),
        },
        "never was" => {}
        "has ended" => {
            scene.run(&params).await?;
            scene.result().map_err(Failure::while_preparing)?;
        }
        other => return Err(unknown(other, "a command")),
    }
    let exec = std::mem::take(&mut params.exec);
    let client = scene.client().await?;
    let answer = match verb {
        verb if let Some(signal) = number_in(verb, "send signal ", " to") => {
            let params = SignalParams { exec, signal };
            client.call::<method::Signal>(&params, patience).await
        }
        "feed" => {
            let params = StdinParams {
                exec,
                data: "late\n".into(),
                eof: false,
            };
            let fed = client.call::<method::WriteStdin>(&params, patience).await;
            return scene.answer(fed).map(|_| ());
        }
        "cancel" => {
            let params = CancelParams { exec };
            client.call::<method::Cancel>(&params, patience).await
        }
        "signal" => {
            let params = SignalParams {
                exec,
                signal: SIGUSR1,
            };
            client.call::<method::Signal>(&params, patience).await
        }
        other => return Err(unknown(other, "done to a command")),
    };
    scene.answer(answer).map(|_| ())
}

/// Runs a command that writes two lines, and is stopped and goes on between them: by itself, by its caller, or with its whole
/// sandbox. Whoever stops it sees that it does not go on before.
pub(crate) async fn write_stopped(scene: &mut Scene, by: &str) -> StepResult {
    let patience = scene.patience();
    let stays = scene.scaled(STAYS);
    scene.notes.content = Some(b"begun\nended\n".into());
    let text = match by {
        "itself" => "echo begun; (sleep 0.3; kill -CONT $$) & kill -STOP $$; echo ended; wait".to_owned(),
        "its caller" | "a pause of its sandbox" => format!(
            "echo begun; sleep {}; echo ended",
            scene.scaled(UNTIL_STOPPED).as_secs()
        ),
        other => return Err(unknown(other, "whoever stops a command")),
    };
    let params = scene.command(text).await?;
    let mut exec = scene.start(&params).await?;
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    if by != "itself" {
        if by == "its caller" {
            signal(scene, &params.exec, SIGSTOP).await?;
        } else {
            scene.bring_about("pause", Some(params.sandbox.clone())).await?;
        }
        match exec.wait_until(stays, |_| false).await {
            Err(Fault::Hung { .. }) => {}
            Ok(()) => {
                return Err(Failure::failed(
                    "a command that was stopped not to be over before it goes on",
                    answer_in_words(exec.record()),
                ));
            }
            Err(fault) => return Err(scene.broken(fault)),
        }
        if by == "its caller" {
            signal(scene, &params.exec, SIGCONT).await?;
        } else {
            scene.clear_conditions().await?;
        }
    }
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

async fn signal(scene: &mut Scene, exec: &str, signal: i32) -> StepResult {
    let patience = scene.patience();
    let exec = exec.to_owned();
    let params = SignalParams { exec, signal };
    let client = scene.client().await?;
    client.call::<method::Signal>(&params, patience).await?;
    Ok(())
}

/// Runs commands that leave a mark and exit, one after the other, and cancels each about when it ends, a little later each
/// time. The first is left alone, to learn how long that takes.
async fn cancel_at_the_end(scene: &mut Scene, rounds: u32) -> StepResult {
    let patience = scene.patience();
    let stem = format!("ended-{}", scene.token());
    let mut takes = Duration::ZERO;
    for round in 0..=rounds {
        let path = scene.path_of(format!("{stem}{round}").as_bytes()).await?;
        let text = format!("sleep {RUNS}; : > {}; exit {CODE}", shell::word(path.as_bytes()));
        let params = scene.command(text).await?;
        let began = Instant::now();
        let mut exec = scene.start(&params).await?;
        if round > 0 {
            // From well before the end to a little behind it.
            tokio::time::sleep_until(began + takes * (16 + round) / 32).await;
            match exec.cancel(patience).await {
                // It had ended, and says so.
                Ok(()) | Err(CallError::Refused(_)) => {}
                Err(CallError::Fault(fault)) => return Err(scene.broken(fault)),
            }
        }
        exec.wait_until(patience, |_| false)
            .await
            .map_err(|fault| scene.broken(fault))?;
        takes = takes.max(if round == 0 {
            began.elapsed()
        } else {
            Duration::ZERO
        });
        let there = scene
            .observe(format!(
                "if [ -e {0} ]; then echo there; fi",
                shell::word(path.as_bytes())
            ))
            .await?;
        scene.notes.marks.push(!there.is_empty());
        scene.notes.records.push(exec.record().clone());
    }
    Ok(())
}

/// Each command that was cancelled at its end is told as cancelled, or as what it did: then its mark is there.
pub(super) fn answered_truly(scene: &Scene) -> StepResult {
    for (round, (record, left_mark)) in scene.notes.records.iter().zip(&scene.notes.marks).enumerate() {
        let outcome = match &record.answer {
            Some(Ok(result)) => &result.outcome,
            other => {
                return Err(Failure::failed(
                    "each command to be answered",
                    format!("number {round}: {other:?}"),
                ));
            }
        };
        let true_to_it = match outcome {
            Outcome::Cancelled => round > 0,
            Outcome::Exited { code: CODE } => *left_mark,
            _ => false,
        };
        if !true_to_it {
            let mark = if *left_mark { "left" } else { "did not leave" };
            return Err(Failure::failed(
                format!("cancelled, or exited with code {CODE} by one that had left its mark"),
                format!("number {round}: {outcome}; it {mark} its mark"),
            ));
        }
    }
    Ok(())
}
