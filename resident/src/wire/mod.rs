//! What the resident and its clients say to each other.
//!
//! This is used twice: by the library of this package, for the host, and by the program itself, which is compiled from
//! these same files. So it needs nothing but the standard library, and the two cannot drift apart.
//!
//! # Layers
//!
//! A **message** ([`Request`] to the resident, [`Reply`] from it) is a tag byte with fields. Messages travel in **raw
//! frames** ([`frame`], [`Deframer`]) over a stream of bytes. Where a channel carries only lines of text, that stream of
//! bytes is itself cut into **lines** ([`text`]) with sequence numbers and checksums.
//!
//! # A conversation
//!
//! 1. *Proof.* On a connection to the resident's own socket, or one that the resident dialled, the client says
//!    [`Request::Hello`], the resident answers [`Reply::Hello`] with its proof, the client checks it and says
//!    [`Request::Prove`]; see [`proof`]. The client may send its first request right behind. On a channel of
//!    `serve` without `--relay`, the program at the other end has done this already, and the client says nothing.
//! 2. [`Reply::Welcome`] comes first of all, and tells which resident this is. Another [`Welcome::instance`] than before
//!    means that the resident was started anew: nothing of earlier jobs is left, and a command that may have been
//!    started must not be sent again.
//! 3. *Commands.* [`Request::Start`] is answered by [`Reply::Started`], or [`Reply::Error`] when nothing was accepted.
//!    Output, then [`Reply::Finished`]. The same request id sent again, on whatever connection, is answered with the same job.
//! 4. *After a lost connection*, the next client says [`Request::Attach`] with the offset that it has of each stream.
//!    Every byte still held is sent from there, and what is not is told as [`Reply::Gap`].
//!    [`Request::ServeTools`] has the calls to tools that are open told again.
//! 5. [`Request::Forget`], once the outcome has arrived where it belongs.
//!
//! # Flow
//!
//! An attached client grants credit: that many bytes of output, of both streams together, may be under way to it.
//! [`Reply::Finished`] needs none and can overtake output; a client is complete when it has
//! both totals' worth of bytes and gaps. Input goes the other way: at most [`STDIN_WINDOW`] bytes beyond the
//! last [`Reply::StdinTaken`].

mod base64;
mod bytes;
mod crc32;
mod file;
mod job;
pub mod proof;
mod raw;
mod reply;
mod request;
mod sha256;
mod start;
pub mod text;
mod tool;

pub use base64::{decode as decode_base64, encode as encode_base64};
pub use bytes::DecodeError;
pub use crc32::crc32;
pub use file::{
    FILE_FAILED, FileAnswer, FileErrorKind, FileFailure, FileInfo, FileKind, MAX_FILE_ANSWER, MAX_FILE_DATA,
    MAX_LISTING, content_start,
};
pub use job::{Ending, JobRecord, JobState, Outcome, SetupFailure, SignalCause, Stream};
pub use raw::{Deframer, FrameError, frame, frame_into, frame_start};
pub use reply::{Data, ErrorKind, Refusal, Reply, Welcome, output_start};
pub use request::Request;
pub use sha256::{Sha256, sha256};
pub use start::{Command, Session, SpoolFull, Start, StateKept, Stdin};
pub use tool::{
    MAX_TOOL_DATA, MAX_TOOL_MESSAGE, MAX_TOOL_NAME, ToolAnswer, ToolCall, ToolFailure, ToolsAllowed,
};

/// The version of this protocol.
pub const VERSION: u16 = 3;

/// The most bytes of output, input or text that one message carries.
pub const MAX_DATA: usize = 1024 * 1024;

/// The longest frame, without its length: a megabyte of data, and room for what is around it.
pub const MAX_FRAME: usize = MAX_DATA + 4096;

/// The longest message to the resident, from however many frames. Longer input goes as [`Request::Stdin`].
pub const MAX_REQUEST: usize = 16 * 1024 * 1024;

/// The longest message from the resident: one frame.
pub const MAX_REPLY: usize = MAX_FRAME;

/// The longest message to the resident before the proof.
pub const MAX_UNPROVED: usize = 256;

/// How many bytes of input may be under way: beyond the last offset that [`Reply::StdinTaken`] told.
pub const STDIN_WINDOW: u64 = 1024 * 1024;

/// The bytes of output that are kept for an exec when the caller does not say, each stream for itself.
pub const DEFAULT_SPOOL: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests;
