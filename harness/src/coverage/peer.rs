//! What other suites for sandboxes check.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::answer::{Answer, Keys, NotOneAnswer};

/// The checks of other suites.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// Name → a reason for an exception, in one line.
    pub reasons: BTreeMap<String, String>,
    /// Code → what the checks of a category are about.
    pub categories: BTreeMap<String, String>,
    /// Name → the suite.
    pub suites: BTreeMap<String, Suite>,
}

/// A suite of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, as its makers write it.
    pub name: String,
    /// The link to it.
    pub source: String,
    /// Its own name for a check → the check, with its place in the file.
    pub(super) checks: BTreeMap<String, Spanned<PeerCheck>>,
}

/// One check of a suite, or several that ask the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawCheck")]
pub struct PeerCheck {
    /// The code of its category.
    pub category: String,
    /// How many of the suite's functions it stands for.
    pub functions: u32,
    /// What the contract has for it; an exception is the name of a reason.
    pub answer: Answer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    category: String,
    #[serde(default = "one")]
    functions: u32,
    caught_by: Option<Vec<String>>,
    due: Option<String>,
    exception: Option<String>,
}

fn one() -> u32 {
    1
}

impl TryFrom<RawCheck> for PeerCheck {
    type Error = NotOneAnswer;

    fn try_from(raw: RawCheck) -> Result<Self, Self::Error> {
        let keys = Keys {
            caught_by: raw.caught_by,
            due: raw.due,
            exception: raw.exception,
        };
        Ok(Self {
            category: raw.category,
            functions: raw.functions,
            answer: keys.try_into()?,
        })
    }
}

impl Suite {
    /// All checks by name.
    pub fn checks(&self) -> impl Iterator<Item = (&str, &PeerCheck)> {
        self.checks
            .iter()
            .map(|(name, check)| (name.as_str(), check.get_ref()))
    }
}
