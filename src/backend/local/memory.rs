//! Whether a command that was killed was killed for lack of memory.

use std::sync::Arc;

use herm_protocol::exec::{Outcome, SignalCause};
use herm_resident::memory_limit::KillCounter;

/// The signal with which the kernel ends what takes too much memory.
const SIGKILL: i32 = 9;

/// The counter of the cgroup that commands run in with this process, and what it said before a command began.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    counter: Arc<KillCounter>,
    before: Option<u64>,
}

impl Memory {
    /// Finds the counter, where the system has one. This blocks.
    pub(super) fn find() -> Option<Self> {
        let counter = Arc::new(KillCounter::find()?);
        Some(Self {
            counter,
            before: None,
        })
    }

    /// The same, with what the counter says now. This blocks.
    pub(super) fn before(&self) -> Self {
        Self {
            counter: self.counter.clone(),
            before: self.counter.read(),
        }
    }

    /// The outcome of the command that began then, with its cause if the counter has gone up since.
    pub(super) async fn explain(self, outcome: Outcome) -> Outcome {
        if !matches!(outcome, Outcome::Signaled { number: SIGKILL, .. }) {
            return outcome;
        }
        let now = tokio::task::spawn_blocking(move || (self.before, self.counter.read())).await;
        match now {
            Ok((Some(before), Some(now))) if now > before => Outcome::Signaled {
                number: SIGKILL,
                cause: SignalCause::OutOfMemory,
            },
            _ => outcome,
        }
    }
}
