//! What a proof was made of, so that a later reader sees what has changed since.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    catalogue::Mutant,
    contract::{Contract, Requirement},
};

/// How many bytes of a digest are kept: enough to see a change, which is all that it is for.
const KEPT: usize = 6;

/// A digest of every requirement and every mutant, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Digests {
    /// Id → digest of what is asked, and of whom. Title and reason do not count.
    pub requirements: BTreeMap<String, String>,
    /// Name → digest of what it has to turn red. What it may turn red besides is a judgement of the result, and no part of it.
    pub mutants: BTreeMap<String, String>,
}

impl Digests {
    /// The digests of a contract.
    #[must_use]
    pub fn of(contract: &Contract) -> Self {
        Self {
            requirements: contract
                .requirements
                .iter()
                .map(|one| (one.id.clone(), of_requirement(one)))
                .collect(),
            mutants: contract
                .catalogue
                .mutants
                .iter()
                .map(|(name, mutant)| (name.clone(), of_mutant(mutant)))
                .collect(),
        }
    }

    /// One digest of all.
    #[must_use]
    pub fn all(&self) -> String {
        let rows = self.requirements.iter().chain(&self.mutants);
        short(rows.flat_map(|(name, digest)| [name.clone(), digest.clone()]))
    }

    /// How many requirements and how many mutants are new, changed or gone in `later`.
    #[must_use]
    pub fn changed_in(&self, later: &Self) -> (usize, usize) {
        (
            differing(&self.requirements, &later.requirements),
            differing(&self.mutants, &later.mutants),
        )
    }
}

fn differing(earlier: &BTreeMap<String, String>, later: &BTreeMap<String, String>) -> usize {
    let gone = earlier.keys().filter(|name| !later.contains_key(*name)).count();
    let other = later
        .iter()
        .filter(|(name, digest)| earlier.get(*name) != Some(digest))
        .count();
    gone + other
}

fn of_requirement(requirement: &Requirement) -> String {
    let needs = requirement.needs.iter().map(ToString::to_string);
    let words = [requirement.level.to_string(), requirement.written.clone()];
    short(words.into_iter().chain(needs))
}

fn of_mutant(mutant: &Mutant) -> String {
    short(mutant.kills.iter().cloned())
}

fn short(words: impl Iterator<Item = String>) -> String {
    let mut hash = Sha256::new();
    for word in words {
        hash.update(word.as_bytes());
        // Two words are never one.
        hash.update([0]);
    }
    let digest = hash.finalize();
    digest.iter().take(KEPT).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
