//! The manifest of a process that speaks the protocol itself.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::file::{Wrong, check_environment, check_name, parse_toml};

/// A backend behind a program that speaks the protocol on its standard streams.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessManifest {
    /// Its name in reports: 1 to 64 letters, digits, `-`, `_`, `.` and `+`.
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9_.+-]{1,64}$"))]
    pub name: Spanned<String>,
    /// The adapter: the program and its arguments. It is started in the manifest's folder, and no shell reads it.
    #[schemars(with = "Vec<String>", length(min = 1))]
    pub adapter: Spanned<Vec<String>>,
    /// Names of variables of yours that the adapter needs; nothing else of your environment reaches it. One that may be
    /// missing is written with a `?` behind it.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub environment: Vec<Spanned<String>>,
    /// The file of expected failures, relative to the manifest's folder.
    #[serde(default)]
    pub expectations: Option<PathBuf>,
}

impl ProcessManifest {
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let manifest: Self = parse_toml(text, &[])?;
        check_name(&manifest.name)?;
        check_environment(&manifest.environment)?;
        let words = manifest.adapter.get_ref();
        let at = manifest.adapter.span().start;
        if words.first().is_none_or(String::is_empty) {
            return Err(Wrong::new(
                at,
                "adapter names no program; it is a list of words, the first of which is the program",
            ));
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(Wrong::new(
                at,
                "adapter holds a NUL byte, which no command can be given",
            ));
        }
        Ok(manifest)
    }
}
