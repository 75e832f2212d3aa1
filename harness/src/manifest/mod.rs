//! A backend described in a file: by the program that speaks the protocol, or by the commands that a person would type, and
//! then the adapter that carries these out.
//!
//! The tool is tested as it is. What it cannot do (deadlines, say) the manifest does not declare, and the adapter refuses.

mod adapter;
mod clean;
mod file;
mod id;
mod kind;
mod process;
mod refuse;
mod run;
pub mod schema;
mod template;

pub use adapter::ManifestAdapter;
pub use clean::Cleaned;
pub use file::{Manifest, ManifestError};
pub use kind::AnyManifest;
pub use process::ProcessManifest;
pub use template::{Known, Template, Text, Values};
