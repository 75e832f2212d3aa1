//! The harness's side of a connection. It outlives whatever the adapter does: every wait has a deadline, every bound is
//! checked, and a breach of the protocol becomes a typed [`Fault`] that every pending and later call answers with.

mod connection;
mod exec;
mod fault;
mod host;
mod inbox;
mod process;

pub use connection::{Client, ClientOptions};
pub use exec::{Exec, ExecRecord, Piece};
pub use fault::{CallError, Fault};
pub use host::{HostTools, Uninvited};
pub use process::{AdapterProcess, Launch, Stopped};
