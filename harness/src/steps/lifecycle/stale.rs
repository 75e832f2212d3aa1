//! STALE: a sandbox that something has happened to behind the backend's back.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    exec::{Outcome, Stream},
    sandbox::SandboxSpec,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::general::{new_mark, show},
};

/// How soon a caller learns what has become of its command, before scaling.
const LEARNS_WITHIN: Duration = Duration::from_secs(5);

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "the sandbox {words} behind the backend's back",
            |scene, arguments| {
                Box::pin(async move {
                    let condition = match arguments.words(0)? {
                        "is removed" => "remove",
                        "is stopped" => "stop",
                        "is paused" => "pause",
                        "loses its first process" => "kill_init",
                        "loses its limits" => "drift.limits",
                        "is half made" => "half_made",
                        "makes way for somebody else's" => "usurp",
                        "stops answering" => "freeze",
                        other => {
                            return Err(Failure::suite(format!("{other:?} is nothing that happens to it")));
                        }
                    };
                    strike(scene, condition).await
                })
            },
        )
        .when("what was done behind its back is undone", |scene, _| {
            Box::pin(scene.clear_conditions())
        })
        .then("the next command is told the truth", |scene, _| {
            Box::pin(async { told_the_truth(scene).await.map(|_| ()) })
        })
        .then("sandboxes beside it are of use", |scene, _| {
            Box::pin(beside(scene))
        });
}

/// Starts a command with a deadline that keeps a beat, and waits until it does.
pub(crate) async fn keep_beat_until(scene: &mut Scene, seconds: u64) -> StepResult {
    let text = scene.new_beat("").await?;
    let mut params = scene.command(text).await?;
    params.timeout_ms = Some(seconds * 1000);
    scene.notes.number = params.timeout_ms;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    scene.await_beat().await
}

async fn strike(scene: &mut Scene, condition: &str) -> StepResult {
    let id = scene.sandbox().await?.id;
    // A file tells later whether the sandbox is still the same.
    let mark = new_mark(scene).await?;
    scene.prepare(mark).await?;
    scene.bring_about(condition, Some(id.clone())).await?;
    if let Some(beat) = &mut scene.beat {
        beat.reachable = beat.reachable && (condition != "remove" || beat.sandbox != id);
    }
    scene.notes.name = Some(id);
    Ok(())
}

/// What the next command learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    /// The sandbox is as it was: the command runs and sees its files.
    There,
    /// The sandbox is gone, and that is said.
    Gone,
    /// The command runs in another sandbox, and that is said.
    Replaced,
}

/// Runs a command that looks for the mark. An outcome that could be the command's own is none of the sandbox's.
async fn told_the_truth(scene: &mut Scene) -> Result<Truth, Failure> {
    let mark = scene.notes.mark.clone();
    let path = shell::word(
        mark.ok_or_else(|| Failure::suite("nothing was done behind its back"))?
            .as_bytes(),
    );
    let text = format!("if [ -e {path} ]; then echo whole; else echo lost; fi");
    let params = scene.command(text).await?;
    scene.run(&params).await?;
    let expected = "it to run where the files are, or to be told that the sandbox is gone or another";
    if let Some(error) = &scene.refusal {
        return match error.kind() {
            ErrorKind::SandboxNotFound => Ok(Truth::Gone),
            _ => Err(Failure::failed(expected, error.to_string())),
        };
    }
    let result = scene.result()?;
    let printed = scene.record()?.bytes(Stream::Stdout);
    match (&result.outcome, printed.as_slice()) {
        (Outcome::SandboxLost, _) => Ok(Truth::Gone),
        (Outcome::Exited { code: 0 }, b"whole\n") => Ok(Truth::There),
        (Outcome::Exited { code: 0 }, b"lost\n") if !result.notices.is_empty() => Ok(Truth::Replaced),
        (Outcome::Exited { code: 0 }, b"lost\n") => Err(Failure::failed(
            expected,
            "it ran where the files are not, without a notice",
        )),
        (outcome, printed) => {
            let seen = format!("{outcome}; it printed {}", show(printed));
            Err(Failure::failed(expected, seen))
        }
    }
}

/// A command that was ended from outside. That a signal ended it is the truth only where the sandbox is still there: else it
/// was lost.
pub(crate) async fn answered_as_ended(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(LEARNS_WITHIN);
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    match scene.result()?.outcome.clone() {
        Outcome::SandboxLost => {
            // In a sandbox that is gone nothing can be looked at; this machine's processes can.
            if let (Truth::Gone, Some(beat)) = (told_the_truth(scene).await?, &mut scene.beat) {
                beat.reachable = false;
            }
            Ok(())
        }
        Outcome::Signaled { number, .. } => match told_the_truth(scene).await? {
            Truth::There => Ok(()),
            truth => Err(Failure::failed(
                "the outcome: sandbox lost",
                format!("ended by signal {number}, and the sandbox is {truth:?}"),
            )),
        },
        other => Err(Failure::failed(
            "the outcome: sandbox lost, or ended by a signal",
            other.to_string(),
        )),
    }
}

/// Another sandbox that was there before, and a new one, run commands.
async fn beside(scene: &mut Scene) -> StepResult {
    let other = scene.own.first().cloned();
    let struck = scene.notes.name.clone().unwrap_or_default();
    let other = other
        .filter(|other| other.id != struck)
        .ok_or_else(|| Failure::suite("there is no sandbox beside it"))?;
    let new = scene.open(SandboxSpec::default()).await?;
    for id in [other.id, new.sandbox] {
        let params = scene.command_in(&id, herm_protocol::exec::Command::Shell("echo alive".into()));
        scene.run(&params).await?;
        let result = scene.result()?;
        let printed = scene.record()?.bytes(Stream::Stdout);
        if result.outcome != (Outcome::Exited { code: 0 }) || printed != b"alive\n" {
            let seen = format!("{}; it printed {}", result.outcome, show(&printed));
            return Err(Failure::failed(
                "a command in another sandbox to print \"alive\\n\"",
                seen,
            ));
        }
    }
    Ok(())
}
