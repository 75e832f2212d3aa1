//! Images from a real registry.
#![cfg(target_os = "linux")]
use testcontainers as _;
