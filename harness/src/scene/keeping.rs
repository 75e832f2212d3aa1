//! What adapters leave behind: told of, and, where the subject has things that outlive them, kept for the next ones.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Failure, Workshop};
use crate::watch::{Keeping, left_behind};

/// How long after the end of an adapter it may take until it is told what it has left.
const TOLD_WITHIN: Duration = Duration::from_secs(8);

impl Workshop {
    /// Has whatever adapters leave behind from now on kept until the workshop is shut, so that others can find it again. Without
    /// a guard nobody ends it anyway.
    ///
    /// # Errors
    /// Nothing can be written in the run's scratch folder.
    pub fn keep_what_is_left(&mut self) -> Result<(), Failure> {
        let end = self.launch.arguments.iter().position(|word| word == "--");
        let Some(end) = end.filter(|_| self.around > 0) else {
            return Ok(());
        };
        let folder = &self.run_folder;
        let keeping = Keeping::begin(folder).map_err(|error| {
            Failure::suite(format!(
                "failed to make a folder in {}: {error}",
                folder.display()
            ))
        })?;
        let words = ["--keep".into(), keeping.folder().into()];
        self.launch.arguments.splice(end..end, words);
        self.keeping = Mutex::new(Some(keeping));
        self.around = 2;
        Ok(())
    }

    /// How many processes of ours are around an adapter, each the parent of the next: none, a guard, or a guard and a keeper.
    pub(super) fn around(&self) -> usize {
        self.around
    }

    /// What the guard with that process number, which has ended, found living when its adapter had ended; `None` when it did
    /// not say.
    pub(super) async fn left_behind(&self, guard: u32) -> Option<Vec<String>> {
        let until = Instant::now() + TOLD_WITHIN;
        loop {
            let folder = self.run_folder.clone();
            let look = tokio::task::spawn_blocking(move || left_behind(&folder, guard));
            let told = look.await.unwrap_or_default();
            // A keeper tells it later than the guard ends.
            if told.is_some() || self.around < 2 || Instant::now() > until {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends what is kept, and waits until it has ended.
    pub(super) async fn end_what_is_kept(&self) {
        let keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeping) = keeping {
            // One that panics has let go of it all the same.
            let _ = tokio::task::spawn_blocking(|| keeping.end()).await;
        }
    }
}
