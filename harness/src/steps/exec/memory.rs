//! How much memory processes of this machine come to need while something is done.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::task::JoinHandle;

use crate::process_table::{self, Process};

/// How often is looked.
const LOOK: Duration = Duration::from_millis(10);

/// A watch over the resident memory of a process and all below it that were there when the watch began: an adapter with
/// whatever it has started to serve it, and nothing of a command that comes later.
pub(super) struct MemoryWatch {
    over: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    looking: JoinHandle<Option<u64>>,
}

impl MemoryWatch {
    /// Begins to watch.
    pub(super) fn over(root: Option<u32>) -> Self {
        let (over, peak) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let looking = {
            let (over, peak) = (over.clone(), peak.clone());
            tokio::task::spawn_blocking(move || look(root?, &over, &peak))
        };
        Self { over, peak, looking }
    }

    /// By how many bytes they grew at most; `None` where that cannot be seen.
    pub(super) async fn end(self) -> Option<u64> {
        self.over.store(true, Ordering::SeqCst);
        let before = self.looking.await.ok().flatten()?;
        Some(self.peak.load(Ordering::SeqCst).saturating_sub(before))
    }
}

/// Looks until it is over; returns what they had at first.
fn look(root: u32, over: &AtomicBool, peak: &AtomicU64) -> Option<u64> {
    let mut watched = process_table::descendants_of(root);
    watched.extend(Process::of(root));
    let sum = || watched.iter().map(|process| resident(process.id)).sum::<u64>();
    let before = Some(sum()).filter(|bytes| *bytes > 0)?;
    while !over.load(Ordering::SeqCst) {
        peak.fetch_max(sum(), Ordering::SeqCst);
        std::thread::sleep(LOOK);
    }
    Some(before)
}

/// The resident memory of a process, in bytes; nothing of one that has ended.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kibibytes.unwrap_or_default() * 1024
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_this_process_comes_to_need_is_seen() {
        let watch = MemoryWatch::over(Some(std::process::id()));
        tokio::time::sleep(LOOK * 20).await;
        let much = vec![1_u8; 64 * 1024 * 1024];
        tokio::time::sleep(LOOK * 20).await;
        assert!(much.iter().all(|byte| *byte == 1));
        let grown = watch.end().await.unwrap();
        assert!(grown >= 60 * 1024 * 1024, "{grown}");
        assert_eq!(MemoryWatch::over(None).end().await, None);
    }
}
