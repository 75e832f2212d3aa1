//! Rows as `herm list --json` shows them.

use serde::Serialize;

use super::{AtRisk, Fault, FaultKind, PeerCheck, Peers, Standing};

/// A public fault as `herm list faults --json` shows it.
#[derive(Debug, Serialize)]
pub struct FaultInfo<'a> {
    id: &'a str,
    kind: &'a str,
    source: &'a str,
    wrong: &'a str,
    at_risk: &'a [AtRisk],
    chapters: &'a [String],
    #[serde(flatten)]
    answer: AnswerInfo<'a>,
}

/// A check of another suite as `herm list peers --json` shows it.
#[derive(Debug, Serialize)]
pub struct CheckInfo<'a> {
    suite: &'a str,
    check: &'a str,
    category: &'a str,
    functions: u32,
    #[serde(flatten)]
    answer: AnswerInfo<'a>,
}

/// All keys are always there, so that a reader need not know which go together.
#[derive(Debug, Serialize)]
struct AnswerInfo<'a> {
    standing: Standing,
    caught_by: &'a [String],
    due: Option<&'a str>,
    exception: Option<&'a str>,
}

impl<'a> FaultInfo<'a> {
    /// The row of an id, with its kind.
    #[must_use]
    pub fn new(id: &'a str, kind: &'a FaultKind, row: &'a Fault) -> Self {
        Self {
            id,
            kind: &kind.name,
            source: &row.source,
            wrong: &row.wrong,
            at_risk: &row.at_risk,
            chapters: &row.chapters,
            answer: AnswerInfo {
                standing: row.answer.standing(),
                caught_by: row.answer.caught_by(),
                due: row.answer.due(),
                exception: row.answer.exception(),
            },
        }
    }
}

impl<'a> CheckInfo<'a> {
    /// The check of a suite, its exception in full.
    #[must_use]
    pub fn new(peers: &'a Peers, suite: &'a str, name: &'a str, check: &'a PeerCheck) -> Self {
        let reason = |name: &'a str| peers.reasons.get(name).map_or(name, String::as_str);
        Self {
            suite,
            check: name,
            category: &check.category,
            functions: check.functions,
            answer: AnswerInfo {
                standing: check.answer.standing(),
                caught_by: check.answer.caught_by(),
                due: check.answer.due(),
                exception: check.answer.exception().map(reason),
            },
        }
    }
}
