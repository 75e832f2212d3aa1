//! The vocabulary of the contract, as data: capabilities, choices, profiles, chapters, mutants, retired ids, and what it is measured by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::coverage::{Faults, Peers};

/// The text of `faults.toml`, to find the line of a row in.
pub(crate) const FAULTS: &str = include_str!("../catalogue/faults.toml");
/// The text of `peers.toml`, to find the line of a check in.
pub(crate) const PEERS: &str = include_str!("../catalogue/peers.toml");

/// Everything that features may name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Name → one line of explanation.
    pub capabilities: BTreeMap<String, String>,
    /// Name → what it is about and its variants.
    pub choices: BTreeMap<String, Choice>,
    /// Name → what is done to the subject's world.
    pub conditions: BTreeMap<String, Condition>,
    /// Name → one line of explanation.
    pub profiles: BTreeMap<String, String>,
    /// Code → chapter.
    pub chapters: BTreeMap<String, Chapter>,
    /// Name → mutant.
    pub mutants: BTreeMap<String, Mutant>,
    /// Ids that are no more and may not come back.
    pub retired: Vec<String>,
    /// Requirements that every mutant is run against.
    pub sentinels: Vec<String>,
    /// Code → a chapter that is not written yet.
    pub planned: BTreeMap<String, PlannedChapter>,
    /// How backends have failed in public.
    pub faults: Faults,
    /// What other suites check.
    pub peers: Peers,
}

/// A way in which backends differ and more than one way is right.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What it is about.
    pub explains: String,
    /// The capability without which it says nothing.
    #[serde(default)]
    pub needs: Option<String>,
    /// Variant → one line of explanation.
    pub values: BTreeMap<String, String>,
}

/// An act on a subject's world that its own interface has no word for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What is done.
    pub explains: String,
    /// What it strikes.
    pub strikes: Strikes,
}

/// What a condition strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strikes {
    /// One sandbox, named when it is applied.
    Sandbox,
    /// Everything that the subject does while it holds.
    Subject,
}

/// A part of the contract.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its place in the contract.
    pub order: u32,
    /// The folder under `features/`.
    pub folder: String,
    /// What it covers.
    pub title: String,
}

/// A part of the contract that is not written yet.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedChapter {
    /// The folder under `features/` that it will be in.
    pub folder: String,
    /// What it will cover.
    pub title: String,
}

/// A subject broken in one stated way.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// What it does wrong, as a person would report it.
    pub breaks: String,
    /// The requirements that must turn red.
    pub kills: Vec<String>,
    /// The requirements that may turn red or inconclusive besides, because they cannot be told apart.
    #[serde(default)]
    pub may: Vec<String>,
    /// Why these cannot be told apart.
    #[serde(default)]
    pub why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retired {
    retired: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentinels {
    sentinels: Vec<String>,
}

/// A file of the catalogue that cannot be read: a fault of this program, found by its tests.
#[derive(Debug, thiserror::Error)]
#[error("failed to read catalogue/{file}: {source}")]
pub struct CatalogueError {
    file: &'static str,
    #[source]
    source: toml::de::Error,
}

fn parse<T: serde::de::DeserializeOwned>(file: &'static str, text: &str) -> Result<T, CatalogueError> {
    toml::from_str(text).map_err(|source| CatalogueError { file, source })
}

impl Catalogue {
    /// The catalogue that this program was built with.
    ///
    /// # Errors
    /// [`CatalogueError`] when one of its files is broken.
    pub fn embedded() -> Result<Self, CatalogueError> {
        /// Reads a file of `catalogue/`.
        macro_rules! read {
            ($file:literal) => {
                parse($file, include_str!(concat!("../catalogue/", $file)))?
            };
        }
        let retired: Retired = read!("retired.toml");
        let sentinels: Sentinels = read!("sentinels.toml");
        Ok(Self {
            capabilities: read!("capabilities.toml"),
            choices: read!("choices.toml"),
            conditions: read!("conditions.toml"),
            profiles: read!("profiles.toml"),
            chapters: read!("chapters.toml"),
            mutants: read!("mutants.toml"),
            retired: retired.retired,
            sentinels: sentinels.sentinels,
            planned: read!("planned.toml"),
            faults: parse("faults.toml", FAULTS)?,
            peers: parse("peers.toml", PEERS)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_catalogue_holds_together() {
        let catalogue = Catalogue::embedded().unwrap();
        for (name, choice) in &catalogue.choices {
            assert!(choice.values.len() >= 2, "{name} leaves no choice");
            if let Some(capability) = &choice.needs {
                assert!(
                    catalogue.capabilities.contains_key(capability),
                    "{name} needs {capability}"
                );
            }
        }
        for (name, mutant) in &catalogue.mutants {
            assert!(!mutant.kills.is_empty(), "{name} kills nothing");
            assert_eq!(
                mutant.may.is_empty(),
                mutant.why.is_none(),
                "{name}: `may` and `why` go together"
            );
        }
    }
}
