//! The adapter's process and its lines, without any judgement.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use herm_protocol::{
    DEFAULT_MAX_MESSAGE_BYTES,
    client::{AdapterProcess, Fault, Launch, Stopped},
    codec::{Line, Overflow, read_line},
    transcript::{Direction, Transcript},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    task::JoinHandle,
};

/// Lines that wait to be judged; an adapter that sends more waits, too.
const QUEUE: usize = 256;

/// Lines of log that are kept.
const KEPT_LOG: usize = 40;

/// Bytes of a line of log that are kept.
const LOG_LINE: usize = 4096;

/// What came on the adapter's standard output.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A line.
    Line(Vec<u8>),
    /// More than a line may hold.
    TooLong { bytes: usize },
    /// Its end.
    End,
}

/// A running adapter.
pub(super) struct Wire {
    process: Option<AdapterProcess>,
    lines: mpsc::UnboundedSender<Vec<u8>>,
    arrivals: mpsc::Receiver<Arrival>,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
    log: Arc<Log>,
}

/// The last lines that the adapter wrote to its standard error.
#[derive(Default)]
struct Log(Mutex<VecDeque<String>>);

impl Transcript for Log {
    fn line(&self, direction: Direction, line: &[u8]) {
        if direction != Direction::Log {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LOG {
            lines.pop_front();
        }
        let text = String::from_utf8_lossy(&line[..line.len().min(LOG_LINE)]);
        lines.push_back(text.trim_end().to_owned());
    }
}

impl Wire {
    /// Starts the adapter.
    pub(super) fn start(launch: &Launch) -> Result<Self, Fault> {
        let log = Arc::new(Log::default());
        let (process, stdin, stdout) = AdapterProcess::start(launch, log.clone())?;
        let (lines, queue) = mpsc::unbounded_channel();
        let (sender, arrivals) = mpsc::channel(QUEUE);
        Ok(Self {
            process: Some(process),
            lines,
            arrivals,
            writer: tokio::spawn(write(queue, stdin)),
            reader: tokio::spawn(read(stdout, sender)),
            log,
        })
    }

    /// Sends a line; its end is the caller's.
    pub(super) fn send(&self, line: Vec<u8>) {
        // An adapter that reads no more is noticed by its silence, or by its end.
        let _ = self.lines.send(line);
    }

    /// What comes next. After the end, the end again.
    pub(super) async fn next(&mut self) -> Arrival {
        self.arrivals.recv().await.unwrap_or(Arrival::End)
    }

    /// The lines of log since this was last asked.
    pub(super) fn take_log(&self) -> Vec<String> {
        let mut lines = self.log.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.drain(..).collect()
    }

    /// How the process has ended, ` with exit status: 3`; waits a moment for the end and for its last words.
    pub(super) async fn how_it_ended(&mut self) -> String {
        match &mut self.process {
            Some(process) => process.last_words().await.0,
            None => String::new(),
        }
    }

    /// The number of the process that was started, which is the guard's, while it runs.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(AdapterProcess::id)
    }

    /// Closes the adapter's input and waits for its end, as [`AdapterProcess::stop`].
    pub(super) async fn stop(&mut self, grace: Duration) -> Option<Stopped> {
        self.writer.abort();
        // What it still sends is read, or it might never end.
        self.arrivals.close();
        let process = self.process.take()?;
        Some(process.stop(grace).await)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.writer.abort();
        self.reader.abort();
    }
}

async fn write(mut queue: mpsc::UnboundedReceiver<Vec<u8>>, mut writer: impl AsyncWrite + Unpin) {
    while let Some(line) = queue.recv().await {
        let written = match writer.write_all(&line).await {
            Ok(()) => writer.flush().await,
            error => error,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn read(reader: impl AsyncRead + Unpin, arrivals: mpsc::Sender<Arrival>) {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    loop {
        let arrival = match read_line(&mut reader, DEFAULT_MAX_MESSAGE_BYTES, Overflow::Stop).await {
            Ok(Line::Text(line)) => Arrival::Line(line),
            Ok(Line::TooLong { bytes }) => {
                let _ = arrivals.send(Arrival::TooLong { bytes }).await;
                return;
            }
            Ok(Line::End) | Err(_) => {
                let _ = arrivals.send(Arrival::End).await;
                return;
            }
        };
        // Once nobody listens, the rest is only read.
        let _ = arrivals.send(arrival).await;
    }
}
