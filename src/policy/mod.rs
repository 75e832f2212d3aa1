//! What a sandbox may do, decided once and as data: hardening, mounts, limits, network, variables. No engine is known here.
//!
//! [`plan`] makes a [`Plan`] out of the configuration, what a caller asks and what the engine's host can enforce; whoever
//! talks to an engine carries it out, and decides nothing. What cannot be had is an error when somebody asked for it, and a
//! [`Weakening`] when it is a default.

mod extra;
pub mod host_access;
mod host_facts;
pub mod mount;
mod plan;
mod refusal;
#[cfg(test)]
mod testing;
mod weakening;

pub use host_access::{HostAccess, classify};
pub use host_facts::{CgroupVersion, HostFacts};
pub use plan::{
    GpuRequest, Hardening, KeptArea, Limits, Network, NetworkMode, Plan, Tmpfs, Ulimit, Variables, plan,
};
pub use refusal::Refusal;
pub use weakening::Weakening;

/// The directory of a container that is ours: what the executor mounts for itself lies below it, and nobody else mounts there.
pub const OWN_DIRECTORY: &str = "/.herm";
