//! The resident: the program that runs inside a sandbox and owns what a command means there.
//!
//! [`wire`] is what a client and the resident say to each other.

pub mod wire;

/// The program for the machine that this was built for; `None` where it could not be linked.
pub const BINARY: Option<&[u8]> = None;
