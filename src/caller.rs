//! The caller's side of a running command: where its output goes, what it is fed, what is wanted of it.
//!
//! The protocol's own types implement these traits, so that a backend serves an adapter and a program that links the
//! library with the same code.

use std::future::Future;

use herm_protocol::{
    Error, ErrorKind, ExecControl, ExecInput, ExecOutput, ExecTools, Interrupt, exec::Stream,
};

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

/// The tools that the code of a command may call. Clones are the same tools.
pub trait Tools: Clone + Send + Sync + 'static {
    /// Calls a tool, once. Whatever code asks for comes here: what is not allowed is refused, and nobody else checks it.
    ///
    /// # Errors
    /// `permission_denied`, `limit_exceeded` or `unavailable` where nothing was called; of any other kind when the tool has
    /// failed, which its message tells the code.
    fn call(&self, tool: &str, arguments: &[u8]) -> impl Future<Output = Result<Vec<u8>, Error>> + Send;
}

/// The caller's side of a running command, but for what is wanted of it.
#[derive(Debug)]
pub struct Caller<O, I, T> {
    /// Where output goes.
    pub output: O,
    /// What the command is fed, if it asked for streamed input.
    pub input: I,
    /// The tools that its code may call.
    pub tools: T,
}

/// No tools at all.
#[derive(Clone, Copy, Debug)]
pub struct NoTools;

impl Tools for NoTools {
    async fn call(&self, tool: &str, _: &[u8]) -> Result<Vec<u8>, Error> {
        let message = format!("the tool {tool} is not allowed");
        Err(Error::new(ErrorKind::PermissionDenied, tool, message))
    }
}

/// No input at all.
#[derive(Clone, Copy, Debug)]
pub struct NoInput;

impl Input for NoInput {
    async fn next(&mut self) -> Option<Vec<u8>> {
        None
    }
}

/// A caller who lets the command come to its own end.
#[derive(Clone, Copy, Debug)]
pub struct NoControl;

impl Control for NoControl {
    async fn next(&mut self) -> Interrupt {
        std::future::pending().await
    }
}

impl Tools for ExecTools {
    async fn call(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, Error> {
        Self::call(self, tool, arguments).await
    }
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
