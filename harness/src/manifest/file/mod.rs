//! The manifest of commands: a TOML file that says by which commands a backend is used, and what it declares.

mod conditions;
mod model;
mod templates;
mod toml_error;
mod words;
mod wrong;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::catalogue::Catalogue;

pub use model::Manifest;
pub(super) use model::{Condition, Files, IdFrom, Owned};
pub(super) use toml_error::parse_toml;
pub(super) use words::{POSSIBLE, check_environment, check_name};
pub use wrong::ManifestError;
pub(super) use wrong::{Wrong, read};

impl Manifest {
    /// Reads a manifest and checks everything that can be checked without running a command.
    ///
    /// # Errors
    /// [`ManifestError`] with the place.
    pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Self, ManifestError> {
        let text = read(path)?;
        Self::parse(&text, catalogue).map_err(|wrong| wrong.in_file(path, &text))
    }

    pub(super) fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, Wrong> {
        let conditions: Vec<_> = catalogue.conditions.keys().map(String::as_str).collect();
        let manifest: Self = parse_toml(text, &conditions)?;
        manifest.check_words(catalogue)?;
        manifest.check_templates()?;
        manifest.check_conditions(catalogue)?;
        Ok(manifest)
    }
}
