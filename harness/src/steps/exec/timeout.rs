//! TIMEOUT: a deadline ends the command, not only the client.

use std::time::Duration;

use herm_protocol::{
    client::{Exec, Fault},
    exec::Outcome,
};

use crate::{
    scene::{Failure, Scene, processes_with, shell},
    step::{StepList, StepResult},
    steps::general::expect_outcome,
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command {words}, with a deadline of {int} second", |scene, arguments| {
            Box::pin(async move {
                let text = beat_in_words(scene, arguments.words(0)?).await?;
                run_until(scene, text, arguments.int(1)?).await
            })
        })
        .when("a command prints {text} and keeps a beat, with a deadline of {int} second", |scene, arguments| {
            Box::pin(async move {
                let beat = scene.new_beat("").await?;
                let text = format!("{}; {beat}", shell::print(arguments.text(0)?.as_bytes()));
                run_until(scene, text, arguments.int(1)?).await
            })
        })
        .when("a command keeps a beat and floods a caller that takes nothing, until its deadline of {int} second", |scene, arguments| {
            Box::pin(async move { flood_until(scene, arguments.int(0)?).await })
        })
        .when("a command with a deadline of {int} seconds {words}", |scene, arguments| {
            Box::pin(async move {
                let text = text_in_words(arguments.words(1)?)?;
                run_until(scene, text, arguments.int(0)?).await
            })
        })
        .when("the command is cancelled", |scene, _| Box::pin(cancel(scene)));
}

/// What a command does that keeps a beat.
async fn beat_in_words(scene: &mut Scene, what: &str) -> Result<String, Failure> {
    Ok(match what {
        "keeps a beat" => scene.new_beat("").await?,
        "starts a worker that keeps a beat" => format!("{} & wait", scene.new_beat("").await?),
        "that ignores requests to end keeps a beat" => {
            let beat = scene.new_beat("trap \"\" TERM HUP INT;").await?;
            format!("trap '' TERM HUP INT; {beat}; {beat}")
        }
        other => return Err(Failure::suite(format!("{other:?} keeps no beat"))),
    })
}

/// What a command does that ends by itself.
fn text_in_words(what: &str) -> Result<String, Failure> {
    let number = |prefix: &str| {
        what.strip_prefix(prefix)
            .and_then(|number| number.parse::<u8>().ok())
    };
    if let Some(code) = number("exits with code ") {
        return Ok(format!("exit {code}"));
    }
    if let Some(signal) = number("ends itself with signal ") {
        return Ok(format!("kill -{signal} $$; sleep 5"));
    }
    match what {
        "runs for a moment" => Ok("sleep 0.3".into()),
        other => Err(Failure::suite(format!("{other:?} does not end by itself"))),
    }
}

async fn flood_until(scene: &mut Scene, seconds: u64) -> StepResult {
    let beat = scene.new_beat("").await?;
    let mut params = scene
        .command(format!("{beat} & while :; do echo 0123456789012345; done"))
        .await?;
    params.timeout_ms = Some(seconds * 1000);
    params.window = Some(4096);
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    scene.running.push(exec);
    scene.notes.number = params.timeout_ms;
    scene.await_beat().await
}

async fn run_until(scene: &mut Scene, text: String, seconds: u64) -> StepResult {
    let mut params = scene.command(text).await?;
    params.timeout_ms = Some(seconds * 1000);
    scene.notes.number = params.timeout_ms;
    scene.run(&params).await
}

pub(crate) async fn stops_within(scene: &mut Scene, slack: Duration) -> StepResult {
    let deadline = Duration::from_millis(scene.notes.number.unwrap_or_default());
    tokio::time::sleep(deadline + scene.scaled(slack)).await;
    let token = scene.the_beat()?.token;
    let living = processes_with(&token).await;
    if !living.is_empty() {
        return Err(Failure::failed(
            "every process of the command to have ended",
            format!("{} still run", living.len()),
        ));
    }
    scene.beat_has_stopped().await
}

async fn cancel(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = cancelled(exec, patience).await.inspect_err(|_| {
        if let Some(worker) = &mut scene.worker {
            worker.broken = true;
        }
    })?;
    scene.keep(record);
    Ok(())
}

async fn cancelled(exec: Exec, patience: Duration) -> Result<herm_protocol::client::ExecRecord, Failure> {
    exec.cancel(patience).await?;
    exec.wait(patience).await.map_err(|fault: Fault| fault.into())
}

pub(crate) async fn answered_as_timed_out(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(Duration::from_secs(3));
    let Some(mut exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    exec.grants = true;
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    expect_outcome(scene, &Outcome::TimedOut)
}
