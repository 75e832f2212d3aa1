//! Feeding what a command reads.

use herm_protocol::exec::Stdin;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    task::JoinHandle,
};

use crate::caller::Input;

/// Feeds a command in the background until it is dropped.
#[derive(Debug)]
pub(super) struct Feeder(JoinHandle<()>);

impl Feeder {
    /// Begins to feed; a command without input needs no feeder. End of file comes after the last byte, and a command
    /// that does not read to it is no error.
    pub(super) fn start(
        stdin: Stdin,
        pipe: Option<impl AsyncWrite + Unpin + Send + 'static>,
        input: impl Input,
    ) -> Option<Self> {
        let mut pipe = pipe?;
        match stdin {
            Stdin::None => None,
            Stdin::Bytes { data } => Some(Self(tokio::spawn(async move {
                let _ = pipe.write_all(data.as_bytes()).await;
            }))),
            Stdin::Stream => Some(Self(tokio::spawn(stream(pipe, input)))),
        }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Dropping the caller's side of the input tells the caller that the command reads no more.
async fn stream(mut pipe: impl AsyncWrite + Unpin, mut input: impl Input) {
    while let Some(data) = input.next().await {
        if pipe.write_all(&data).await.is_err() {
            break;
        }
    }
}
