//! The caller's side of a running command: where its output goes, what it is fed, what is wanted of it.
//!
//! The protocol's own types implement these traits, so that a backend serves an adapter and a program that links the
//! library with the same code.

use std::future::Future;

use herm_protocol::{ExecControl, ExecInput, ExecOutput, Interrupt, exec::Stream};

/// Where a command's output goes. Clones write to the same place.
pub trait Output: Clone + Send + Sync + 'static {
    /// The command was accepted and begins to run.
    fn started(&self) -> impl Future<Output = ()> + Send;

    /// Takes bytes that the command wrote; returns when there is room for more.
    fn write(&self, stream: Stream, data: &[u8]) -> impl Future<Output = ()> + Send;
}

/// What a command with streamed input is fed.
pub trait Input: Send + 'static {
    /// The next bytes; `None` at end of file.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

/// What is wanted of a running command.
pub trait Control: Send {
    /// The next wish; never resolves when there will be none.
    fn next(&mut self) -> impl Future<Output = Interrupt> + Send;
}

impl Output for ExecOutput {
    async fn started(&self) {
        Self::started(self).await;
    }

    async fn write(&self, stream: Stream, data: &[u8]) {
        Self::write(self, stream, data).await;
    }
}

impl Input for ExecInput {
    async fn next(&mut self) -> Option<Vec<u8>> {
        Self::next(self).await
    }
}

impl Control for ExecControl {
    async fn next(&mut self) -> Interrupt {
        Self::next(self).await
    }
}
