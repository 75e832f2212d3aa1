//! The configuration, through the real binary.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backend;
mod broken;
mod change;
mod dotenv;
mod guide;
mod long;
mod overlooked;
mod precedence;
mod support;
