//! Why a step did not go through.

use std::time::Duration;

use herm_protocol::{
    Error,
    client::{CallError, Fault},
};

use crate::verdict::Verdict;

/// Why a step did not go through, with the verdict that it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// `failed`, `inconclusive` or `error`.
    pub verdict: Verdict,
    /// What was expected.
    pub expected: Option<String>,
    /// What was seen, or what broke.
    pub seen: String,
    /// A word for machines.
    pub kind: Option<String>,
}

impl Failure {
    /// Observed against the rule.
    pub fn failed(expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Failed,
            expected: Some(expected.into()),
            seen: seen.into(),
            kind: None,
        }
    }

    /// The precondition could not be made.
    pub fn inconclusive(why: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            expected: None,
            seen: why.into(),
            kind: Some("precondition".into()),
        }
    }

    /// The suite itself is at fault.
    pub fn suite(what: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Error,
            expected: None,
            seen: what.into(),
            kind: Some("suite".into()),
        }
    }

    /// The same with a word for machines.
    #[must_use]
    pub fn of_kind(self, kind: &str) -> Self {
        Self {
            kind: Some(kind.into()),
            ..self
        }
    }

    /// The same, and something else that was seen with it.
    #[must_use]
    pub fn besides(self, other: &Self) -> Self {
        Self {
            seen: format!("{}; besides: {}", self.seen, other.seen),
            ..self
        }
    }

    /// The run was interrupted.
    #[must_use]
    pub fn interrupted() -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            expected: None,
            seen: "the run was interrupted".into(),
            kind: Some("interrupted".into()),
        }
    }

    /// A step took longer than any backend may need.
    #[must_use]
    pub fn deadline(limit: Duration) -> Self {
        Self {
            verdict: Verdict::Failed,
            expected: Some(format!("the step to be over within {} s", limit.as_secs())),
            seen: "it was still going on".into(),
            kind: Some("deadline".into()),
        }
    }

    /// The same as seen while a precondition was made: what the rule is about was not observed.
    #[must_use]
    pub fn while_preparing(self) -> Self {
        match self.verdict {
            Verdict::Failed => {
                let expected = self
                    .expected
                    .map(|expected| format!("; expected {expected}"))
                    .unwrap_or_default();
                Self::inconclusive(format!("{}{expected}", self.seen))
            }
            _ => self,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        // A request without an answer is observed against a rule: every request is answered. All else is a broken protocol.
        let verdict = if matches!(fault, Fault::Hung { .. }) {
            Verdict::Failed
        } else {
            Verdict::Error
        };
        let expected = matches!(fault, Fault::Hung { .. }).then(|| "an answer".to_owned());
        Self {
            verdict,
            expected,
            seen: fault.to_string(),
            kind: Some(fault.kind().into()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            verdict: Verdict::Failed,
            expected: Some("an answer that is no error".into()),
            seen: error.to_string(),
            kind: Some("refused".into()),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(error) => error.into(),
            CallError::Fault(fault) => fault.into(),
        }
    }
}
