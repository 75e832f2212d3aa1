//! Output and input of the command as those of this process.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use herm::caller::{Control, Input, Output};
use herm_protocol::{Interrupt, exec::Stream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Stderr, Stdin, Stdout},
    sync::{Mutex, mpsc},
};

/// Bytes of input read at a time.
const BUFFER: usize = 64 * 1024;

/// Writes output through as it comes. When it cannot be written any more, the command is cancelled.
#[derive(Clone)]
pub(super) struct Live {
    stdout: Arc<Mutex<Stdout>>,
    stderr: Arc<Mutex<Stderr>>,
    wishes: mpsc::UnboundedSender<Interrupt>,
    failure: Failure,
}

/// The first output that could not be written, if any.
pub(super) type Failure = Arc<OnceLock<(Stream, io::Error)>>;

impl Live {
    pub(super) fn new(wishes: mpsc::UnboundedSender<Interrupt>) -> Self {
        Self {
            stdout: Arc::new(Mutex::new(tokio::io::stdout())),
            stderr: Arc::new(Mutex::new(tokio::io::stderr())),
            wishes,
            failure: Failure::default(),
        }
    }

    /// What could not be written, known when the command has ended.
    pub(super) fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl Output for Live {
    async fn started(&self) {}

    async fn write(&self, stream: Stream, data: &[u8]) {
        let written = match stream {
            Stream::Stdout => write(&mut *self.stdout.lock().await, data).await,
            Stream::Stderr => write(&mut *self.stderr.lock().await, data).await,
        };
        if let Err(error) = written {
            let _ = self.failure.set((stream, error));
            let _ = self.wishes.send(Interrupt::Cancel);
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), data: &[u8]) -> io::Result<()> {
    output.write_all(data).await?;
    output.flush().await
}

/// What this process reads, for the command.
#[derive(Default)]
pub(super) struct OwnStdin(Option<Stdin>);

impl Input for OwnStdin {
    async fn next(&mut self) -> Option<Vec<u8>> {
        // Not touched before the command asks: a reading thread cannot be called back.
        let stdin = self.0.get_or_insert_with(tokio::io::stdin);
        let mut data = Vec::with_capacity(BUFFER);
        match stdin.read_buf(&mut data).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(data),
        }
    }
}

/// What is wanted of the command.
pub(super) struct Wishes(pub(super) mpsc::UnboundedReceiver<Interrupt>);

impl Control for Wishes {
    async fn next(&mut self) -> Interrupt {
        match self.0.recv().await {
            Some(wish) => wish,
            None => std::future::pending().await,
        }
    }
}
