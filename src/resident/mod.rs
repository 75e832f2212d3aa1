//! The host's side of the resident, the program that runs inside a sandbox and owns what a command means there.
//!
//! A backend says how the resident is reached ([`Dial`]); everything else is the same for all: [`Resident`] keeps a
//! connection and makes a new one when it is lost, a command goes on where it was ([`Resident::run`]), and is never
//! started twice. What comes from a sandbox is hostile: every message is checked and bounded before it is believed.

mod binary;
mod calls;
mod channel;
mod client;
mod connection;
mod convert;
mod exec;
mod feed;
mod handshake;
mod job;
mod mailbox;
mod reverse;

pub use binary::{Binary, OVERRIDE, place};
pub use channel::{Channel, Dial, DialError};
pub use client::{Resident, Settings};
pub use connection::Lost;
pub use handshake::Secret;
pub use job::info;
pub(crate) use reverse::MEETING;
pub use reverse::{Expected, MeetingDirectory, ReverseDial};

#[cfg(test)]
mod tests;
