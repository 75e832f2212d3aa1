//! Files as this host sees them, byte for byte: for every backend whose sandboxes share the host's file system.
//!
//! The functions block; call them where blocking is allowed. Every error is typed and names the path. For sandboxes with a
//! file system of their own, [`inside`] has the same operations done by a program in there.

mod change_mode;
mod directory;
mod error;
pub mod inside;
mod read;
mod relocate;
mod remove;
mod stat;
mod write;

pub use change_mode::change_mode;
pub use directory::{list_directory, make_directory};
pub use error::file_error;
pub use read::read;
pub use relocate::move_path;
pub use remove::{remove, remove_tree};
pub use stat::stat;
pub use write::write;
pub(crate) use write::{follow, write_as};
