//! Counts, digests and bounds the output of one exec, and sends it within the caller's credit.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, OnceCell, Semaphore, mpsc};

use crate::{
    ByteString,
    exec::{Capture, Gap, OutputParams, StartedParams, Stream, StreamTotal},
    message::Message,
    method::{Notification as _, Output, Started},
};

/// The largest piece of output in one message, in bytes.
const PIECE: usize = 32 * 1024;

/// The output side of one exec.
pub(crate) struct Recorder {
    exec: String,
    capture: Option<Capture>,
    /// `None` when the caller set no window.
    credit: Option<Semaphore>,
    started: OnceCell<()>,
    closed: AtomicBool,
    streams: [Mutex<StreamRecord>; 2],
    lines: mpsc::Sender<Vec<u8>>,
}

/// What is known of one stream.
struct StreamRecord {
    stream: Stream,
    bytes: u64,
    sent: u64,
    digest: Option<Sha256>,
    tail: Vec<u8>,
}

impl StreamRecord {
    fn new(stream: Stream, capture: Option<Capture>) -> Self {
        let digest = capture.is_some_and(|capture| capture.digest).then(Sha256::new);
        Self {
            stream,
            bytes: 0,
            sent: 0,
            digest,
            tail: Vec::new(),
        }
    }

    /// Keeps the last `limit` bytes; the buffer is cut only when it has doubled, so the cost stays linear.
    fn keep_tail(&mut self, data: &[u8], limit: usize) {
        let data = &data[data.len().saturating_sub(limit)..];
        self.tail.extend_from_slice(data);
        if self.tail.len() > limit.saturating_mul(2) {
            self.cut_tail(limit);
        }
    }

    fn cut_tail(&mut self, limit: usize) {
        let excess = self.tail.len().saturating_sub(limit);
        self.tail.drain(..excess);
    }
}

/// What is known when an exec has ended.
pub(crate) struct Totals {
    pub(crate) stdout: StreamTotal,
    pub(crate) stderr: StreamTotal,
    pub(crate) gaps: Vec<Gap>,
}

impl Recorder {
    pub(crate) fn new(
        exec: String,
        capture: Option<Capture>,
        window: Option<u64>,
        lines: mpsc::Sender<Vec<u8>>,
    ) -> Self {
        let permits = |bytes: u64| {
            usize::try_from(bytes)
                .unwrap_or(usize::MAX)
                .min(Semaphore::MAX_PERMITS / 2)
        };
        Self {
            exec,
            capture,
            credit: window.map(|bytes| Semaphore::new(permits(bytes))),
            started: OnceCell::new(),
            closed: AtomicBool::new(false),
            streams: [Stream::Stdout, Stream::Stderr]
                .map(|stream| Mutex::new(StreamRecord::new(stream, capture))),
            lines,
        }
    }

    /// Lets so many more bytes be sent.
    pub(crate) fn grant(&self, bytes: u64) {
        if let Some(credit) = &self.credit {
            let room = (Semaphore::MAX_PERMITS / 2).saturating_sub(credit.available_permits());
            credit.add_permits(usize::try_from(bytes).unwrap_or(usize::MAX).min(room));
        }
    }

    /// Announces the command, once.
    pub(crate) async fn start(&self) {
        let announce = async {
            let params = StartedParams {
                exec: self.exec.clone(),
            };
            self.send(Message::notification(Started::NAME, &params)).await;
        };
        // Whoever comes second waits for the first, so that no output overtakes the announcement.
        self.started.get_or_init(|| announce).await;
    }

    /// Takes what the command wrote. It returns when the caller has room for it; after the end it is dropped.
    pub(crate) async fn write(&self, stream: Stream, data: &[u8]) {
        self.start().await;
        let mut record = self.streams[usize::from(stream == Stream::Stderr)].lock().await;
        if self.closed.load(Ordering::SeqCst) {
            return;
        }
        let offset = record.bytes;
        record.bytes += data.len() as u64;
        if let Some(digest) = &mut record.digest {
            digest.update(data);
        }
        let Some(capture) = self.capture else {
            return self.send_pieces(&mut record.sent, stream, offset, data).await;
        };
        let head = usize::try_from(capture.head.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (head, rest) = data.split_at(head.min(data.len()));
        record.keep_tail(rest, usize::try_from(capture.tail).unwrap_or(usize::MAX));
        self.send_pieces(&mut record.sent, stream, offset, head).await;
    }

    /// Sends what is left and tells the totals. Later writes are dropped.
    ///
    /// A command that was ended by force is answered within `patience`, whether or not the caller makes room for the
    /// rest of its output; what was not sent then is a gap.
    pub(crate) async fn finish(&self, patience: Option<Duration>) -> Totals {
        let limit = patience.map(|patience| tokio::time::Instant::now() + patience);
        let mut gaps: Vec<Gap> = Vec::new();
        let mut totals = Vec::with_capacity(2);
        self.closed.store(true, Ordering::SeqCst);
        for stream in &self.streams {
            let mut record = stream.lock().await;
            let stream = record.stream;
            let tail = self.take_tail(&mut record);
            let offset = record.bytes - tail.len() as u64;
            if offset > record.sent {
                let from = record.sent;
                gaps.push(Gap {
                    stream,
                    from,
                    to: offset,
                });
            }
            let mut sent = offset;
            let sending = self.send_pieces(&mut sent, stream, offset, &tail);
            match limit {
                Some(limit) => drop(tokio::time::timeout_at(limit, sending).await),
                None => sending.await,
            }
            if sent < record.bytes {
                let to = record.bytes;
                match gaps.last_mut() {
                    Some(last) if last.stream == stream && last.to == sent => last.to = to,
                    _ => gaps.push(Gap {
                        stream,
                        from: sent,
                        to,
                    }),
                }
            }
            let sha256 = record.digest.take().map(|digest| hexadecimal(&digest.finalize()));
            totals.push(StreamTotal {
                bytes: record.bytes,
                sha256,
            });
        }
        let stderr = totals.pop().unwrap_or_default();
        let stdout = totals.pop().unwrap_or_default();
        Totals { stdout, stderr, gaps }
    }

    /// The kept end of the output; empty when everything is sent as it comes.
    fn take_tail(&self, record: &mut StreamRecord) -> Vec<u8> {
        if let Some(capture) = self.capture {
            record.cut_tail(usize::try_from(capture.tail).unwrap_or(usize::MAX));
        }
        std::mem::take(&mut record.tail)
    }

    /// Sends data in pieces within the caller's credit. `sent` is moved past each piece as it goes, so that it is
    /// right even when the caller gives up waiting.
    async fn send_pieces(&self, sent: &mut u64, stream: Stream, mut offset: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let size = self.take_credit(data.len().min(PIECE)).await;
            let (piece, rest) = data.split_at(size);
            let params = OutputParams {
                exec: self.exec.clone(),
                stream,
                offset,
                data: ByteString::from(piece),
            };
            self.send(Message::notification(Output::NAME, &params)).await;
            offset += size as u64;
            *sent = offset;
            data = rest;
        }
    }

    /// Waits for room for at least one byte and takes room for at most `wanted`.
    async fn take_credit(&self, wanted: usize) -> usize {
        let Some(credit) = &self.credit else { return wanted };
        let Ok(first) = credit.acquire().await else {
            return wanted;
        };
        first.forget();
        let more = credit.available_permits().min(wanted - 1);
        match u32::try_from(more)
            .ok()
            .and_then(|more| credit.try_acquire_many(more).ok())
        {
            Some(permits) => {
                permits.forget();
                1 + more
            }
            None => 1,
        }
    }

    async fn send(&self, message: Message) {
        // A connection that has ended takes no more output; its end is noticed elsewhere.
        let _ = self.lines.send(message.to_line()).await;
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(capture: Option<Capture>, window: Option<u64>) -> (Recorder, mpsc::Receiver<Vec<u8>>) {
        let (lines, received) = mpsc::channel(1000);
        (Recorder::new("e".into(), capture, window, lines), received)
    }

    fn pieces(received: &mut mpsc::Receiver<Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
        let mut pieces = Vec::new();
        while let Ok(line) = received.try_recv() {
            let Ok(Message::Notification { method, params }) = Message::parse(&line) else {
                panic!()
            };
            if method == Output::NAME {
                let params: OutputParams = serde_json::from_value(params).unwrap();
                pieces.push((params.offset, params.data.into_bytes()));
            }
        }
        pieces
    }

    #[tokio::test]
    async fn head_and_tail_are_kept_and_the_gap_between_is_exact() {
        let (recorder, mut received) = recorder(
            Some(Capture {
                head: 3,
                tail: 2,
                digest: true,
            }),
            None,
        );
        for piece in ["ab", "cdef", "g", "hij"] {
            recorder.write(Stream::Stdout, piece.as_bytes()).await;
        }
        let totals = recorder.finish(None).await;
        let sent = pieces(&mut received);
        assert_eq!(
            sent,
            [(0, b"ab".to_vec()), (2, b"c".to_vec()), (8, b"ij".to_vec())]
        );
        assert_eq!(
            totals.gaps,
            [Gap {
                stream: Stream::Stdout,
                from: 3,
                to: 8
            }]
        );
        assert_eq!(totals.stdout.bytes, 10);
        let whole = hexadecimal(&Sha256::digest(b"abcdefghij"));
        assert_eq!(totals.stdout.sha256, Some(whole));
    }

    #[tokio::test]
    async fn output_that_fits_head_and_tail_has_no_gap() {
        for size in 0..=5 {
            let (recorder, mut received) = recorder(
                Some(Capture {
                    head: 3,
                    tail: 2,
                    digest: false,
                }),
                None,
            );
            recorder.write(Stream::Stderr, &b"abcde"[..size]).await;
            let totals = recorder.finish(None).await;
            let sent: Vec<u8> = pieces(&mut received)
                .into_iter()
                .flat_map(|(_, data)| data)
                .collect();
            assert_eq!(sent, &b"abcde"[..size]);
            assert_eq!(totals.gaps, []);
        }
    }

    #[tokio::test]
    async fn a_write_that_was_given_up_leaves_an_exact_gap() {
        let (recorder, mut received) = recorder(None, Some(4));
        let write = recorder.write(Stream::Stdout, b"0123456789");
        let given_up = tokio::time::timeout(Duration::from_millis(50), write).await;
        assert!(given_up.is_err());
        let totals = recorder.finish(Some(Duration::from_millis(50))).await;
        assert_eq!(pieces(&mut received), [(0, b"0123".to_vec())]);
        assert_eq!(totals.stdout.bytes, 10);
        let stream = Stream::Stdout;
        assert_eq!(
            totals.gaps,
            [Gap {
                stream,
                from: 4,
                to: 10
            }]
        );
    }

    #[tokio::test]
    async fn an_end_that_finds_no_room_is_a_gap_when_patience_is_over() {
        let capture = Capture {
            head: 2,
            tail: 3,
            digest: false,
        };
        let (recorder, mut received) = recorder(Some(capture), Some(3));
        recorder.write(Stream::Stdout, b"0123456789").await;
        let totals = recorder.finish(Some(Duration::from_millis(50))).await;
        assert_eq!(pieces(&mut received), [(0, b"01".to_vec()), (7, b"7".to_vec())]);
        let stream = Stream::Stdout;
        let gaps = [(2, 7), (8, 10)].map(|(from, to)| Gap { stream, from, to });
        assert_eq!(totals.gaps, gaps);
    }

    #[tokio::test]
    async fn no_more_is_sent_than_was_granted() {
        let (recorder, mut received) = recorder(None, Some(4));
        let recorder = std::sync::Arc::new(recorder);
        let writer = tokio::spawn({
            let recorder = recorder.clone();
            async move { recorder.write(Stream::Stdout, b"0123456789").await }
        });
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(pieces(&mut received).concat_bytes(), b"0123");
        recorder.grant(3);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(pieces(&mut received).concat_bytes(), b"456");
        recorder.grant(100);
        writer.await.unwrap();
        assert_eq!(pieces(&mut received).concat_bytes(), b"789");
    }

    trait ConcatBytes {
        fn concat_bytes(self) -> Vec<u8>;
    }

    impl ConcatBytes for Vec<(u64, Vec<u8>)> {
        fn concat_bytes(self) -> Vec<u8> {
            self.into_iter().flat_map(|(_, data)| data).collect()
        }
    }
}
