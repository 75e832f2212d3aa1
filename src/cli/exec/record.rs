//! Output kept for one JSON object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use herm::caller::Output;
use herm_protocol::{
    ByteString,
    exec::{Gap, Stream},
};

/// How much of each stream is kept, in bytes; the rest is counted and told as a gap.
const KEPT: usize = 64 * 1024 * 1024;

/// Keeps the output of a command. Clones are the same record.
#[derive(Clone, Default)]
pub(super) struct Record(Arc<Mutex<[Kept; 2]>>);

#[derive(Default)]
struct Kept {
    data: Vec<u8>,
    bytes: u64,
}

impl Output for Record {
    async fn started(&self) {}

    async fn write(&self, stream: Stream, data: &[u8]) {
        let kept = &mut self.lock()[index(stream)];
        kept.bytes += data.len() as u64;
        let room = KEPT - kept.data.len();
        kept.data.extend_from_slice(&data[..data.len().min(room)]);
    }
}

impl Record {
    /// What was kept of a stream, and how many bytes it had.
    pub(super) fn stream(&self, stream: Stream) -> (ByteString, u64) {
        let kept = &self.lock()[index(stream)];
        (kept.data.as_slice().into(), kept.bytes)
    }

    /// What was not kept.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let gap = |stream| {
            let kept = &self.lock()[index(stream)];
            let from = kept.data.len() as u64;
            (from < kept.bytes).then_some(Gap {
                stream,
                from,
                to: kept.bytes,
            })
        };
        [Stream::Stdout, Stream::Stderr]
            .into_iter()
            .filter_map(gap)
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, [Kept; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}
