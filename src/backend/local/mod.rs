//! The local backend: commands run on this machine as this user.
//!
//! In resident mode every sandbox has a resident, which runs its commands and answers for whole trees of processes. In
//! native mode this process starts them itself:
//!
//! A sandbox is a private directory. A command is a session of its own, and what a deadline, a cancel or a close ends
//! is its process group; what leaves the group by itself is out of reach.

pub(super) mod adapter;
pub(crate) mod check;
mod declaration;
mod environment;
mod group;
pub(super) mod guard;
mod inherited;
mod input;
mod keep;
pub(super) mod kept;
mod launch;
mod leader;
mod leftover;
pub(super) mod lock;
mod log;
mod memory;
mod mode;
mod open;
mod output;
mod preflight;
mod process_table;
mod program;
mod remains;
mod residence;
mod resident_run;
mod run;
mod sandbox;
mod shell;
mod signals;
mod spool_full;
mod streams;
mod survivors;
mod traces;

pub use adapter::LocalBackend;
pub use declaration::{BACKEND, declaration};
pub use guard::GUARD;
pub use inherited::LOWER_LIMITS;
pub use kept::STATE;
pub use mode::Mode;
pub use spool_full::SpoolFull;
pub use streams::Streams;
