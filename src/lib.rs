//! The reference executor of herm: one library that runs an agent's commands where `terminal.backend` says.

pub mod backend;
pub mod caller;
pub mod config;
pub mod files;
pub mod lifecycle;
pub mod policy;
pub mod resident;
