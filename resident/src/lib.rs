//! The resident: the program that runs inside a sandbox and owns what a command means there.
//!
//! [`wire`] is what a client and the resident say to each other.

pub mod wire;
