//! Which of the two kinds of manifest a file is.

use std::path::Path;

use super::{
    Manifest, ManifestError, ProcessManifest,
    file::{Wrong, parse_toml, read},
};
use crate::{catalogue::Catalogue, near_miss::near_miss};

/// A manifest of either kind.
#[derive(Clone, Debug)]
pub enum AnyManifest {
    /// Of a tool that is used by commands: it has the table `exec`.
    Commands(Box<Manifest>),
    /// Of a process that speaks the protocol: it has the key `adapter`.
    Process(ProcessManifest),
}

impl AnyManifest {
    /// Reads a manifest and checks everything that can be checked without running a command.
    ///
    /// # Errors
    /// [`ManifestError`] with the place.
    pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Self, ManifestError> {
        let text = read(path)?;
        Self::parse(&text, catalogue).map_err(|wrong| wrong.in_file(path, &text))
    }

    pub(super) fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, Wrong> {
        let table: toml::Table = parse_toml(text, &[])?;
        let has = |key: &str| {
            table.contains_key(key) || table.keys().any(|there| near_miss(there, [key]).is_some())
        };
        // Tables that only a manifest of commands has, so that one without [exec] is told what it lacks.
        let others = [
            "capabilities",
            "choices",
            "close",
            "conditions",
            "ledger",
            "open",
            "preflight",
        ];
        let of_commands = has("exec") || others.iter().any(|key| table.contains_key(*key));
        match (has("adapter"), of_commands) {
            (true, true) => Err(Wrong::new(
                0,
                "it has both adapter and exec; a manifest is of a program that speaks the protocol (adapter), or of the commands of a tool (exec)",
            )),
            (true, false) => ProcessManifest::parse(text).map(Self::Process),
            (false, true) => {
                Manifest::parse(text, catalogue).map(|manifest| Self::Commands(Box::new(manifest)))
            }
            (false, false) => Err(Wrong::new(
                0,
                "it is no manifest: it has neither adapter (a program that speaks the protocol, and its arguments) nor [exec] (the commands of a tool)",
            )),
        }
    }
}
