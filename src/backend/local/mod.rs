//! The local backend in native mode: commands run on this machine as this user, started by this process.
//!
//! A sandbox is a private directory. A command is a session of its own, and what a deadline, a cancel or a close ends
//! is its process group; what leaves the group by itself is out of reach.

mod adapter;
mod check;
mod declaration;
mod environment;
mod group;
mod guard;
mod input;
mod launch;
mod leader;
mod log;
mod open;
mod output;
mod preflight;
mod process_table;
mod program;
mod run;
mod sandbox;
mod shell;
mod survivors;

pub use adapter::LocalBackend;
pub use declaration::{BACKEND, MODE, declaration};
