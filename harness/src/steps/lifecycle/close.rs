//! CLOSE: what is closed is gone.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    exec::{Command, Outcome},
};

use super::open::file_in_first;
use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
    steps::general::absent,
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a file in the first one's working directory", |scene, _| {
            Box::pin(file_in_first(scene))
        })
        .when("{words} is destroyed", |scene, arguments| {
            Box::pin(async move {
                let id = match arguments.words(0)? {
                    "the sandbox" => scene.sandbox().await?.id,
                    "the first sandbox" => scene
                        .own
                        .first()
                        .map(|sandbox| sandbox.id.clone())
                        .unwrap_or_default(),
                    "a sandbox that never existed" => scene.token(),
                    other => return Err(Failure::suite(format!("{other:?} is no sandbox"))),
                };
                destroy(scene, id).await
            })
        })
        .then(
            "a command in it is refused because the sandbox is not there",
            |scene, _| Box::pin(runs_nothing(scene)),
        )
        .then("closing it again tells that nothing was there", |scene, _| {
            Box::pin(close_again(scene))
        })
        .then("the second one sees no such file", |scene, _| {
            Box::pin(absent(
                scene,
                "the files of the destroyed sandbox to be gone",
                "the file is still there",
            ))
        });
}

/// A command that has ended and left a worker that keeps a beat. Its streams are its own.
pub(crate) async fn leave_beat(scene: &mut Scene) -> StepResult {
    let text = scene.new_beat("").await?;
    scene
        .prepare(format!("{text} </dev/null >/dev/null 2>&1 &"))
        .await?;
    scene.await_beat().await
}

async fn destroy(scene: &mut Scene, id: String) -> StepResult {
    let answer = scene.destroy(&id).await;
    scene.answer(answer)?.ok_or_else(|| {
        let seen = scene
            .refusal
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        Failure::failed("the sandbox to be closed", seen)
    })?;
    scene.own.retain(|sandbox| sandbox.id != id);
    if let Some(beat) = &mut scene.beat {
        beat.reachable = beat.reachable && beat.sandbox != id;
    }
    scene.notes.name = Some(id);
    Ok(())
}

async fn runs_nothing(scene: &mut Scene) -> StepResult {
    let id = scene.notes.name.clone().unwrap_or_default();
    let params = scene.command_in(&id, Command::Shell("echo undead".into()));
    scene.run(&params).await?;
    let error = scene.refusal()?;
    if error.kind() == ErrorKind::SandboxNotFound {
        return Ok(());
    }
    Err(Failure::failed(
        "a refusal of kind sandbox_not_found",
        error.to_string(),
    ))
}

async fn close_again(scene: &mut Scene) -> StepResult {
    let id = scene.notes.name.clone().unwrap_or_default();
    match scene.destroy(&id).await {
        Ok(closed) if !closed.existed => Ok(()),
        Ok(_) => Err(Failure::failed("`existed: false`", "`existed: true`")),
        Err(error) => Err(Failure::failed("`existed: false`", error.to_string())),
    }
}

pub(crate) async fn answered_as_lost(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(Duration::from_secs(5));
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    match &scene.result()?.outcome {
        Outcome::SandboxLost => Ok(()),
        other => Err(Failure::failed("the outcome: sandbox lost", other.to_string())),
    }
}
