//! What expectations make of a verdict.

use crate::{
    event::Detail,
    report::{RequirementReport, verdict_label},
    verdict::Verdict,
};

use super::{Expectation, Expectations};

impl Expectation {
    /// Whether it holds where variables have these values.
    pub fn holds(&self, variable: impl Fn(&str) -> Option<String>) -> bool {
        self.environment
            .iter()
            .all(|(name, value)| variable(name).as_deref() == Some(value))
    }

    /// `reason (link)`.
    fn why(&self) -> String {
        match &self.link {
            Some(link) => format!("{} ({link})", self.reason),
            None => self.reason.clone(),
        }
    }
}

impl Expectations {
    /// The verdict and detail to report, given what was observed; see the table in the module's description. `variable`
    /// looks up the environment, in which entries may be bound to hold.
    pub fn judge(
        &self,
        id: &str,
        observed: Verdict,
        detail: Option<Detail>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Verdict, Option<Detail>) {
        let holding: Vec<&Expectation> = self
            .entries
            .iter()
            .filter(|entry| entry.id == id && entry.holds(&variable))
            .collect();
        let Some(first) = holding.first() else {
            return (observed, detail);
        };
        let noted = |note: String| {
            Some(Detail {
                note: Some(note),
                ..detail.clone().unwrap_or_default()
            })
        };
        if let Some(entry) = holding.iter().find(|entry| entry.verdict == observed) {
            // What could not be tested must not read like what was tested and failed.
            let known = match entry.verdict {
                Verdict::Failed => "known".to_owned(),
                other => format!("known to be {}", verdict_label(other)),
            };
            return (Verdict::KnownFailure, noted(format!("{known}: {}", entry.why())));
        }
        let file = self.file.display();
        let expected = verdict_label(first.verdict);
        match observed {
            Verdict::Passed => {
                let note = format!(
                    "passed, although {file} says that it is {expected}: {}; remove the entry",
                    first.why()
                );
                (Verdict::UnexpectedPass, noted(note))
            }
            Verdict::Failed | Verdict::Error | Verdict::Inconclusive => {
                let observed_label = verdict_label(observed);
                let note = format!(
                    "{observed_label}, although {file} says {expected}: {}",
                    first.why()
                );
                (observed, noted(note))
            }
            Verdict::Flaky => {
                let note = format!("passed after a retry; {file} says {expected}: {}", first.why());
                (observed, noted(note))
            }
            Verdict::Disabled | Verdict::Unsupported | Verdict::KnownFailure | Verdict::UnexpectedPass => {
                (observed, detail)
            }
        }
    }

    /// The entries whose requirement was not tested in this run, so that nothing can be said of them; worth a note, not
    /// red.
    #[must_use]
    pub fn idle(&self, rows: &[RequirementReport]) -> Vec<&Expectation> {
        let tested = |id: &str| rows.iter().any(|row| row.id == id && row.was_tested());
        self.entries.iter().filter(|entry| !tested(&entry.id)).collect()
    }
}
