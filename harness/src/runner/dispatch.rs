//! The one step that cucumber knows: it looks the real one up in our table, gives it a deadline, and throws what went
//! wrong as a typed value.

use std::{panic::panic_any, sync::LazyLock, time::Duration};

use cucumber::step::Context;
use futures::{FutureExt as _, future::LocalBoxFuture};

use crate::{
    scene::{Failure, Scene, StepLimit, Worker},
    step::StepTable,
};

/// How long any step may take, before scaling, or the next of many things that it does. Calls have shorter deadlines of their
/// own.
const LIMIT: Duration = Duration::from_mins(1);

static TABLE: LazyLock<StepTable> = LazyLock::new(StepTable::new);

/// What is thrown: the failure, and the last lines of the conversation.
pub(super) struct Thrown {
    pub(super) failure: Failure,
    pub(super) transcript: Vec<String>,
}

/// Carries out a step of cucumber's.
pub(super) fn dispatch(scene: &mut Scene, context: Context) -> LocalBoxFuture<'_, ()> {
    async move {
        if let Err(failure) = carry_out(scene, &context).await {
            let transcript = scene.worker.as_ref().map(Worker::transcript).unwrap_or_default();
            panic_any(Thrown { failure, transcript });
        }
    }
    .boxed_local()
}

async fn carry_out(scene: &mut Scene, context: &Context) -> Result<(), Failure> {
    let workshop = scene.workshop()?;
    let stop = workshop.stop_signal();
    let limit = workshop.scaled(LIMIT);
    let (handler, arguments) = TABLE
        .find(context.step.ty, &context.step.value)
        .map_err(Failure::suite)?;
    let step_limit = StepLimit::new(limit);
    scene.step_limit = Some(step_limit.clone());
    tokio::select! {
        biased;
        () = stop.stopped() => Err(Failure::interrupted()),
        outcome = handler(scene, arguments) => outcome,
        () = step_limit.passed() => Err(Failure::deadline(limit)),
    }
}
