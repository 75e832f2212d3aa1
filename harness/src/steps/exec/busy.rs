//! TIMEOUT: commands that are busy until their deadline.

use std::time::Duration;

use herm_protocol::{
    client::{CallError, Exec, Fault},
    exec::{RunParams, Stdin},
};
use tokio::time::Instant;

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
};

/// The time between two signs of life; far shorter than the deadline, so that one that counts from the last of them
/// never strikes.
const BETWEEN: Duration = Duration::from_millis(100);

/// A command that its deadline does not end ends by itself when it has done so much.
const MOST: u32 = 40;

/// Bytes of input that nobody reads: far more than a pipe holds.
const UNREAD: usize = 1 << 20;

/// Shell text that keeps a beat, and does something again and again beside it.
pub(super) async fn beside_beat(scene: &mut Scene, action: &str) -> Result<String, Failure> {
    let beat = scene.new_beat("").await?;
    Ok(format!(
        "{beat} & i=0; while [ $i -lt {MOST} ]; do {action}; sleep 0.1; i=$((i+1)); done"
    ))
}

/// Shell text that prints again and again.
pub(super) async fn print(scene: &mut Scene) -> Result<String, Failure> {
    beside_beat(scene, "echo again").await
}

/// Shell text that complains again and again.
pub(super) async fn complain(scene: &mut Scene) -> Result<String, Failure> {
    beside_beat(scene, "echo again >&2").await
}

/// Feeds a command that reads, again and again, until it is answered.
pub(super) async fn feed_until(scene: &mut Scene, deadline_ms: u64) -> StepResult {
    let beat = scene.new_beat("").await?;
    let mut params = scene.command(format!("{beat} & exec cat >/dev/null")).await?;
    params.stdin = Stdin::Stream;
    params.timeout_ms = Some(deadline_ms);
    scene.notes.number = params.timeout_ms;
    let mut exec = scene.start(&params).await?;
    scene.last = None;
    let until = Instant::now() + BETWEEN * MOST + Duration::from_millis(deadline_ms);
    while exec.record().answer.is_none() && Instant::now() < until {
        feed(scene, &mut exec, b"again\n", false).await?;
        match exec.wait_until(BETWEEN, |_| false).await {
            Ok(()) | Err(Fault::Hung { .. }) => {}
            Err(fault) => return Err(scene.broken(fault)),
        }
    }
    if exec.record().answer.is_none() {
        feed(scene, &mut exec, b"", true).await?;
    }
    let patience = scene.patience();
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// A command that keeps a beat and never reads its input, which is more than a pipe holds.
async fn reads_nothing(scene: &mut Scene) -> Result<RunParams, Failure> {
    let text = scene.new_beat("").await?;
    let data = shell::numbered_bytes(UNREAD).into();
    Ok(RunParams {
        stdin: Stdin::Bytes { data },
        ..scene.command(text).await?
    })
}

/// Starts such a command.
pub(crate) async fn leave_unread(scene: &mut Scene) -> StepResult {
    let params = reads_nothing(scene).await?;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    scene.await_beat().await
}

/// Runs such a command until its deadline.
pub(super) async fn leave_unread_until(scene: &mut Scene, deadline_ms: u64) -> StepResult {
    let mut params = reads_nothing(scene).await?;
    params.timeout_ms = Some(deadline_ms);
    scene.notes.number = params.timeout_ms;
    scene.run(&params).await
}

/// Feeds a command that may have ended by then.
async fn feed(scene: &mut Scene, exec: &mut Exec, data: &[u8], eof: bool) -> StepResult {
    match exec.feed(data, eof, scene.patience()).await {
        Ok(_) | Err(CallError::Refused(_)) => Ok(()),
        Err(CallError::Fault(fault)) => Err(scene.broken(fault)),
    }
}
