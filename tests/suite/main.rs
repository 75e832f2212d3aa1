//! The `herm` command as a whole, through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod clean;
mod condition;
mod expectation;
mod features;
mod guide;
mod init;
mod input;
mod kill;
mod list;
mod manifest;
mod misbehaving;
mod output;
mod posix;
mod prove;
mod risk;
mod run;
mod secret;
mod smoke;
mod support;
mod text;
