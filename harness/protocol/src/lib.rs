//! The `herm/1` protocol between the conformance harness and a sandbox backend.
//!
//! A backend plugs in as a process that speaks JSON-RPC 2.0 on its standard streams, one message a line. This crate
//! holds the typed messages, their generated JSON Schema, the [`Adapter`] trait with [`serve_stdio`] for backends
//! written in Rust, and the [`client`] that the harness uses, which outlives adapters that crash, hang, flood, print
//! noise, answer nonsense or answer twice.

pub mod adapter;
pub mod byte_string;
mod capture;
pub mod client;
pub mod codec;
pub mod condition;
pub mod error;
pub mod exec;
pub mod file;
pub mod initialize;
pub mod job;
pub mod ledger;
pub mod message;
pub mod method;
pub mod policy;
pub mod remove_tree;
pub mod rpc;
pub mod sandbox;
pub mod schema;
mod server;
pub mod session;
mod tools;
pub mod transcript;

pub use adapter::{Adapter, ExecControl, ExecInput, ExecOutput, Execution, Finished, Interrupt, Progress};
pub use byte_string::ByteString;
pub use capture::hexadecimal;
pub use error::{Error, ErrorKind};
pub use method::Method;
pub use server::{serve, serve_stdio};
pub use tools::ExecTools;

/// The protocol version that this crate speaks.
pub const VERSION: &str = "herm/1";

/// The longest message, in bytes without its newline, that both sides must accept when nothing else is declared.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
