//! The wish to end a run early.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// Tells everybody who works on a run that it is to end. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    signal: AtomicU8,
    told: Notify,
}

impl Stop {
    /// The run is to end because of this signal. The first one counts.
    pub fn stop(&self, signal: u8) {
        let _ = self
            .0
            .signal
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        self.0.told.notify_waiters();
    }

    /// The signal, once the run is to end.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Waits until the run is to end.
    pub async fn stopped(&self) {
        loop {
            let told = self.0.told.notified();
            if self.signal().is_some() {
                return;
            }
            told.await;
        }
    }
}
