//! OUT: what a caller gets of the output of a command that ends in one way or another.

use herm_protocol::exec::{Capture, RunParams};

use super::{otherwise, out};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::{number_in, unknown},
};

/// What the caller wants: less of either end than a pipe takes at once.
const WANTED: Capture = Capture {
    head: 600,
    tail: 400,
    digest: true,
};

/// Milliseconds of a deadline that is meant to pass, long after everything was written.
const DEADLINE: u64 = 1000;

/// Writes so many bytes, and as many errors where the words say so, to a caller that wants both ends, and ends then.
pub(crate) async fn write_and_end(scene: &mut Scene, what: &str, ending: &str) -> StepResult {
    let (bytes, errors) = match number_in(what, "", " bytes") {
        Some(bytes) => (bytes, false),
        None => match number_in(what, "", " bytes and as many errors") {
            Some(bytes) => (bytes, true),
            None => return Err(unknown(what, "written to a caller that wants both ends")),
        },
    };
    let printed = shell::numbered(bytes);
    let printed = if errors {
        format!("{printed}; {printed} >&2")
    } else {
        printed
    };
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    scene.notes.number = u64::try_from(bytes).ok();
    out::note_capture(scene, WANTED);
    let written = shell::word(scene.new_path("written").await?.as_bytes());
    let (ending, how) = ending.split_once(", as ").unwrap_or((ending, ""));
    let (end, timeout_ms) = match ending {
        "exits with code 3" => ("exit 3".to_owned(), None),
        "kills its shell" => ("kill -9 $$".to_owned(), None),
        "runs into its deadline" => ("sleep 20".to_owned(), Some(DEADLINE)),
        "is cancelled" => (format!(": > {written}; sleep 20"), None),
        other => return Err(unknown(other, "the end of a command")),
    };
    let mut params = RunParams {
        capture: Some(WANTED),
        timeout_ms,
        ..scene.command(format!("{printed}; {end}")).await?
    };
    if !how.is_empty() {
        params = otherwise::run_as(scene, params, how).await?;
    }
    if ending == "is cancelled" {
        return cancel_when(scene, &params, &written).await;
    }
    scene.run(&params).await
}

/// Cancels a command when the file is there by which it tells that it has written everything.
async fn cancel_when(scene: &mut Scene, params: &RunParams, written: &str) -> StepResult {
    let patience = scene.patience();
    let exec = scene.start(params).await?;
    let until =
        format!("i=0; until [ -e {written} ]; do i=$((i+1)); [ $i -lt 200 ] || exit 1; sleep 0.02; done");
    scene.prepare(until).await?;
    exec.cancel(patience).await?;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok::<(), Failure>(())
}
