//! Jobs whose output is more than is kept.

use super::{
    begin::{FLOOD, LINE},
    info, kill,
    output::{await_still, read},
    over,
};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::show,
};

/// Bytes that are looked at of what is kept.
const LOOKED_AT: u64 = 100_000;

/// A job that waits for room says so, and one that is over does not.
pub(super) async fn told(scene: &mut Scene) -> StepResult {
    let total = await_still(scene).await?;
    let waiting = info(scene).await?;
    if waiting.outcome.is_some() {
        return Err(Failure::failed(
            format!("the job to wait for a reader after {FLOOD} bytes at most"),
            format!("it has ended with {total} bytes"),
        ));
    }
    if !waiting.blocked {
        return Err(Failure::failed(
            "the list to tell that the job waits for a reader",
            format!("it tells {total} bytes, and no more of it"),
        ));
    }
    kill(scene).await?;
    over(scene).await?;
    if info(scene).await?.blocked {
        return Err(Failure::failed(
            "a job that is over to wait for nobody",
            "it is told to wait for a reader",
        ));
    }
    Ok(())
}

/// What is kept is the end of what was written, and what is not is told as a gap from the beginning on.
pub(super) async fn keeps_the_end(scene: &mut Scene) -> StepResult {
    let first = read(scene, 0, Some(LOOKED_AT)).await?;
    let told = format!(
        "{} from {}, with gap {:?}",
        show(first.data.as_bytes()),
        first.offset,
        first.gap
    );
    let whole = first
        .gap
        .as_ref()
        .is_some_and(|gap| gap.from == 0 && gap.to == first.offset && gap.to > 0);
    if !whole {
        return Err(Failure::failed(
            "a gap from 0 to the first byte that is kept",
            told,
        ));
    }
    let mut from = first.offset;
    while from < FLOOD {
        let output = read(scene, from, None).await?;
        let data = output.data.as_bytes();
        let at = usize::try_from(from % LINE.len() as u64).unwrap_or_default();
        let expected = LINE.iter().cycle().skip(at);
        if output.gap.is_some()
            || output.offset != from
            || data.is_empty()
            || !data.iter().eq(expected.take(data.len()))
        {
            let told = format!("{} from {}, with gap {:?}", show(data), output.offset, output.gap);
            return Err(Failure::failed(format!("what was written from {from} on"), told));
        }
        from += data.len() as u64;
    }
    if from == FLOOD {
        return Ok(());
    }
    Err(Failure::failed(format!("{FLOOD} bytes"), format!("{from} bytes")))
}
