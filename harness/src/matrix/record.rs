//! The record of the last full matrix, kept in the catalogue.

use std::{fmt::Write as _, io, path::Path};

use serde::{Deserialize, Serialize};

use super::Digests;
use crate::contract::Contract;

const KEPT: &str = include_str!("../../catalogue/matrix.json");

/// What came out when every mutant was last run against every requirement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The day, in universal time, as `2026-11-29`.
    pub date: String,
    /// The commit that was proved.
    pub commit: String,
    /// The subject that was broken.
    pub subject: String,
    /// What came out.
    pub totals: Totals,
    /// What it was made of.
    #[serde(flatten)]
    pub digests: Digests,
}

/// The counts of a full matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// How many mutants were run.
    pub mutants: usize,
    /// How many of them turned red all that they had to.
    pub killed: usize,
    /// What turned red besides and may not: pairs of a mutant and a requirement.
    pub collateral: usize,
    /// Requirements that no mutant turned red.
    pub unproved: usize,
    /// Mutants that break nothing which this subject offers, so that they say nothing on it.
    pub not_run: usize,
}

/// The record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record that this program was built with is broken: a fault of this program, found by its tests.
    #[error("failed to read catalogue/matrix.json: {0}")]
    Broken(#[from] serde_json::Error),
    /// The file cannot be written.
    #[error("failed to write the record {path}: {source}; name a file in a folder that can be written to")]
    Unwritten {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl Matrix {
    /// The last full matrix at the time this program was built; `None` when there was none yet.
    ///
    /// # Errors
    /// [`RecordError::Broken`] when the record is none.
    pub fn embedded() -> Result<Option<Self>, RecordError> {
        Ok(serde_json::from_str(KEPT)?)
    }

    /// Writes the record, in the place of the one before.
    ///
    /// # Errors
    /// [`RecordError::Unwritten`] with the file.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        crate::report::write_atomically(path, &self.date, text.as_bytes()).map_err(|source| {
            RecordError::Unwritten {
                path: path.display().to_string(),
                source,
            }
        })
    }

    /// One line for people: when it was, what came out, and what has changed since.
    #[must_use]
    pub fn line(&self, contract: &Contract) -> String {
        let Totals {
            mutants,
            killed,
            collateral,
            unproved,
            ..
        } = self.totals;
        let commit: String = self.commit.chars().take(12).collect();
        let mut line = format!(
            "last full matrix: {} at {commit} on {}: {killed} of {mutants} mutants killed, {collateral} collateral, \
             {unproved} unproved",
            self.date, self.subject
        );
        let (requirements, mutants) = self.digests.changed_in(&Digests::of(contract));
        if (requirements, mutants) != (0, 0) {
            let _ = write!(
                line,
                "\nsince then {requirements} requirements and {mutants} mutants are new, changed or gone; ci/matrix runs it again"
            );
        }
        line
    }
}
