//! How backends have failed in public.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::answer::{Answer, Keys, NotOneAnswer};

/// The corpus of public faults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// The letters that begin the ids of a kind's rows → the kind.
    pub kinds: BTreeMap<String, FaultKind>,
    /// Id, for example `HB-01` → the row, with its place in the file.
    pub(super) rows: BTreeMap<String, Spanned<Fault>>,
}

/// Faults that are mended in the same way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultKind {
    /// Its name, for example `HANG-BG`.
    pub name: String,
    /// What goes wrong, in one line.
    pub explains: String,
}

/// One public report.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawFault")]
pub struct Fault {
    /// The link to the report.
    pub source: String,
    /// What went wrong, in one line.
    pub wrong: String,
    /// The kinds of backends that can fail in this way.
    pub at_risk: Vec<AtRisk>,
    /// The codes of the chapters that it belongs to.
    pub chapters: Vec<String>,
    /// What the contract has for it.
    pub answer: Answer,
}

/// A kind of backend that a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AtRisk {
    /// Every kind.
    All,
    /// Processes of this machine.
    Local,
    /// Containers of an engine.
    Docker,
    /// Another machine, by SSH.
    Ssh,
    /// Containers of Apptainer or Singularity.
    Singularity,
    /// Sandboxes of Modal.
    Modal,
    /// Sandboxes of Daytona.
    Daytona,
    /// Sandboxes of Vercel.
    Vercel,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFault {
    source: String,
    wrong: String,
    at_risk: Vec<AtRisk>,
    chapters: Vec<String>,
    caught_by: Option<Vec<String>>,
    due: Option<String>,
    exception: Option<String>,
}

impl TryFrom<RawFault> for Fault {
    type Error = NotOneAnswer;

    fn try_from(raw: RawFault) -> Result<Self, Self::Error> {
        let keys = Keys {
            caught_by: raw.caught_by,
            due: raw.due,
            exception: raw.exception,
        };
        Ok(Self {
            source: raw.source,
            wrong: raw.wrong,
            at_risk: raw.at_risk,
            chapters: raw.chapters,
            answer: keys.try_into()?,
        })
    }
}

impl Faults {
    /// All rows by id.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Fault)> {
        self.rows.iter().map(|(id, row)| (id.as_str(), row.get_ref()))
    }

    /// The letters that begin an id, and the kind that they stand for.
    #[must_use]
    pub fn kind_of<'a>(&'a self, id: &'a str) -> Option<(&'a str, &'a FaultKind)> {
        let (code, _) = id.split_once('-')?;
        self.kinds.get(code).map(|kind| (code, kind))
    }

    /// The rows that a requirement would have caught.
    pub fn caught_by<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = (&'a str, &'a Fault)> {
        self.rows()
            .filter(move |(_, row)| row.answer.caught_by().iter().any(|id| id == requirement))
    }
}
