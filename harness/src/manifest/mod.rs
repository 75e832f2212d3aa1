//! A backend described by the commands that a person would type: a manifest, and the adapter that carries it out.
//!
//! The tool is tested as it is. What it cannot do (deadlines, say) the manifest does not declare, and the adapter refuses.

mod adapter;
mod file;
mod refuse;
mod run;
mod template;

pub use adapter::ManifestAdapter;
pub use file::{Manifest, ManifestError};
pub use template::{Template, Values};
