//! How long the step that is carried out may take.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// When the step has to be over. A step that does many things one after the other, each with a deadline of its own, begins
/// its time anew with each: it is their number that makes it long, and no fault of the subject's.
#[derive(Clone, Debug)]
pub(crate) struct StepLimit {
    limit: Duration,
    until: Arc<Mutex<Instant>>,
}

impl StepLimit {
    /// A limit that is counted from now on.
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            until: Arc::new(Mutex::new(Instant::now() + limit)),
        }
    }

    /// One of many things was done.
    pub(crate) fn begin_anew(&self) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.limit;
    }

    /// Waits until the time is over.
    pub(crate) async fn passed(&self) {
        loop {
            let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_passes_after_the_last_beginning() {
        const LIMIT: Duration = Duration::from_millis(300);
        let limit = StepLimit::new(LIMIT);
        let worker = limit.clone();
        let working = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::time::sleep(LIMIT / 3).await;
                worker.begin_anew();
            }
            Instant::now()
        });
        limit.passed().await;
        assert!(working.is_finished());
        assert!(working.await.unwrap().elapsed() >= LIMIT);
    }
}
