//! Small processes that clean up when others cannot: a guard around every adapter, which holds it on a leash, a keeper of
//! what an adapter may leave behind, and a janitor beside every run.

#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod guard;
mod janitor;
#[cfg(target_os = "linux")]
mod keeper;
mod kept;
#[cfg(target_os = "linux")]
mod leash;
mod left;
mod scratch;
#[cfg(target_os = "linux")]
mod tool;

#[cfg(target_os = "linux")]
pub use descendants::{adopt_orphans, end_orphans};
#[cfg(target_os = "linux")]
pub use guard::{guard, ignored_signals};
pub use janitor::{Janitor, janitor};
#[cfg(target_os = "linux")]
pub use keeper::{keeper, keeping_guard};
pub(crate) use kept::Keeping;
#[cfg(target_os = "linux")]
pub use leash::leash;
pub(crate) use left::left_behind;
pub use scratch::{Abandoned, Scratch, ScratchError, clean, leftovers};
#[cfg(target_os = "linux")]
pub use tool::{ToolEnd, guard_tool};
