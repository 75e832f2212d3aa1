//! Expectation files: which failures of a subject are known, and why.
//!
//! ```toml
//! version = 1
//! subject = "podman"
//!
//! [[expect]]
//! id = "TIMEOUT-004"
//! verdict = "failed"
//! reason = "podman exec has no deadline of its own"
//! link = "https://example.org/issues/12"
//! environment = { CI = "true" }
//! ```
//!
//! An entry holds where every variable of its `environment` has the value given. What an entry that holds does:
//!
//! | its requirement | becomes |
//! |---|---|
//! | ended as expected | `known_failure`, with the reason and the link |
//! | passed | `unexpected_pass`: red, the entry is to be removed |
//! | ended red in another way | stays as it is, with a note that it was expected otherwise |
//! | passed after a retry | stays `flaky`: the failure is not gone |
//! | does not exist | the file cannot be used: an error with the line and the nearest id |
//! | was not run (unsupported, disabled, another shard) | nothing is known: not red, but listed by [`Expectations::idle`] |

mod error;
mod judge;
mod parse;
mod write;

use std::{collections::BTreeMap, path::PathBuf};

use crate::verdict::Verdict;

pub use error::ExpectationError;
pub use write::write_expectations;

/// The version of the format.
pub const VERSION: i64 = 1;

/// The expectations for one subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectations {
    /// The subject's name.
    pub subject: String,
    /// The entries, in the order of the file.
    pub entries: Vec<Expectation>,
    /// The file, for messages.
    pub file: PathBuf,
}

/// One known failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The requirement's id.
    pub id: String,
    /// What is expected of it: `failed`, `inconclusive` or `error`.
    pub verdict: Verdict,
    /// Why; never empty.
    pub reason: String,
    /// Where to read more.
    pub link: Option<String>,
    /// Where it holds: variables and their values.
    pub environment: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests;
