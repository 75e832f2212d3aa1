//! The local backend in native mode, through the real adapter and its protocol.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod argument;
mod condition;
mod end;
mod file;
mod lifecycle;
mod output;
mod support;
