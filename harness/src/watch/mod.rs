//! Two small processes that clean up when others cannot: a guard around every adapter, and a janitor beside every run.

#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod guard;
mod janitor;
mod scratch;

#[cfg(target_os = "linux")]
pub use guard::guard;
pub use janitor::{Janitor, janitor};
pub use scratch::{Scratch, ScratchError, clean, leftovers};
