//! What went over the wire, for people who look for a fault.

/// Which way a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the harness to the adapter.
    Sent,
    /// From the adapter to the harness.
    Received,
    /// The adapter's standard error: its log, never a verdict.
    Log,
}

/// Takes every line of a connection. It is called from the connection's tasks and must not block.
pub trait Transcript: Send + Sync {
    /// One line without its newline.
    fn line(&self, direction: Direction, line: &[u8]);
}

/// Takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTranscript;

impl Transcript for NoTranscript {
    fn line(&self, _: Direction, _: &[u8]) {}
}
