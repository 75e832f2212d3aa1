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
        .when(
            "a command keeps a beat, with a deadline of {int} second",
            |scene, arguments| {
                Box::pin(async move {
                    let text = scene.new_beat("").await?;
                    run_until(scene, text, arguments.int(0)?).await
                })
            },
        )
        .when(
            "a command prints {text} and keeps a beat, with a deadline of {int} second",
            |scene, arguments| {
                Box::pin(async move {
                    let beat = scene.new_beat("").await?;
                    let text = format!("{}; {beat}", shell::print(arguments.text(0)?.as_bytes()));
                    run_until(scene, text, arguments.int(1)?).await
                })
            },
        )
        .when(
            "a command starts a worker that keeps a beat, with a deadline of {int} second",
            |scene, arguments| {
                Box::pin(async move {
                    let beat = scene.new_beat("").await?;
                    run_until(scene, format!("{beat} & wait"), arguments.int(0)?).await
                })
            },
        )
        .when(
            "a command that ignores requests to end keeps a beat, with a deadline of {int} second",
            |scene, arguments| {
                Box::pin(async move {
                    let beat = scene.new_beat("trap \"\" TERM HUP INT;").await?;
                    run_until(
                        scene,
                        format!("trap '' TERM HUP INT; {beat}; {beat}"),
                        arguments.int(0)?,
                    )
                    .await
                })
            },
        )
        .when(
            "a command keeps a beat and prints more than its caller takes, with a deadline of {int} second",
            |scene, arguments| {
                Box::pin(async move {
                    let beat = scene.new_beat("").await?;
                    let mut params = scene
                        .command(format!("{beat} & while :; do echo 0123456789012345; done"))
                        .await?;
                    params.timeout_ms = Some(arguments.int::<u64>(0)? * 1000);
                    params.window = Some(4096);
                    let mut exec = scene.start(&params).await?;
                    exec.grants = false;
                    scene.running.push(exec);
                    scene.notes.number = params.timeout_ms;
                    scene.await_beat().await
                })
            },
        )
        .then(
            "the beat stops within {int} seconds after the deadline",
            |scene, arguments| {
                Box::pin(async move { stops_within(scene, Duration::from_secs(arguments.int(0)?)).await })
            },
        )
        .when(
            "a command with a deadline of {int} seconds exits with code {int}",
            |scene, arguments| {
                Box::pin(async move {
                    run_until(
                        scene,
                        format!("exit {}", arguments.int::<u8>(1)?),
                        arguments.int(0)?,
                    )
                    .await
                })
            },
        )
        .when(
            "a command with a deadline of {int} seconds ends itself with signal {int}",
            |scene, arguments| {
                Box::pin(async move {
                    let text = format!("kill -{} $$; sleep 5", arguments.int::<u8>(1)?);
                    run_until(scene, text, arguments.int(0)?).await
                })
            },
        )
        .when(
            "a command with a deadline of {int} seconds runs for a moment",
            |scene, arguments| {
                Box::pin(async move { run_until(scene, "sleep 0.3".into(), arguments.int(0)?).await })
            },
        )
        .then(
            "the outcome is timed out, no later than {int} second after the deadline",
            |scene, arguments| {
                Box::pin(async move { timed_out_by(scene, Duration::from_secs(arguments.int(0)?)) })
            },
        )
        .when("the command is cancelled", |scene, _| Box::pin(cancel(scene)));
}

async fn run_until(scene: &mut Scene, text: String, seconds: u64) -> StepResult {
    let mut params = scene.command(text).await?;
    params.timeout_ms = Some(seconds * 1000);
    scene.notes.number = params.timeout_ms;
    scene.run(&params).await
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

async fn stops_within(scene: &mut Scene, slack: Duration) -> StepResult {
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
    let record = cancelled(exec, patience).await.map_err(|failure| {
        if let Some(worker) = &mut scene.worker {
            worker.broken = true;
        }
        failure
    })?;
    scene.keep(record);
    Ok(())
}

async fn cancelled(exec: Exec, patience: Duration) -> Result<herm_protocol::client::ExecRecord, Failure> {
    exec.cancel(patience).await?;
    exec.wait(patience).await.map_err(|fault: Fault| fault.into())
}
