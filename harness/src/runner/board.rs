//! Gathers what was seen of each requirement's scenarios into one verdict: the worst.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Arc,
    time::Instant,
};

use super::{EventSink, millis_since};
use crate::{
    event::{Detail, Event},
    expectation::Expectations,
    redact::Redactor,
    report::{quoted, shorten},
    scene::Failure,
    subject::Subject,
    verdict::Verdict,
};

/// Characters of each part of a finding that are told.
const TOLD: usize = 600;

/// What was seen of requirements in an earlier attempt.
pub(super) type Observed = BTreeMap<String, Detail>;

/// Why a scenario did not go through, and where.
#[derive(Clone)]
pub(super) struct Finding {
    pub(super) failure: Failure,
    pub(super) step: Option<String>,
    pub(super) example: Option<String>,
    pub(super) location: Option<String>,
    pub(super) transcript: Vec<String>,
}

impl Finding {
    pub(super) fn new(failure: Failure) -> Self {
        Self {
            failure,
            step: None,
            example: None,
            location: None,
            transcript: Vec::new(),
        }
    }

    /// Redacted first and shortened then, so that no half of a secret is left.
    fn into_detail(self, redactor: &Redactor) -> Detail {
        let tell = |text: String| shorten(&redactor.text(&text), TOLD);
        Detail {
            step: self.step.map(tell),
            example: self.example.map(tell),
            location: self.location,
            expected: self.failure.expected.map(tell),
            seen: tell(self.failure.seen),
            kind: self.failure.kind,
            transcript: self.transcript.into_iter().map(tell).collect(),
            note: None,
        }
    }
}

/// What is known of a requirement while its scenarios run.
struct Progress {
    started: Instant,
    left: usize,
    /// By scenario.
    findings: BTreeMap<String, Finding>,
}

/// All requirements of one attempt.
pub(super) struct Board {
    subject: String,
    arguments: Vec<String>,
    expectations: Option<Expectations>,
    redactor: Arc<Redactor>,
    sink: EventSink,
    /// Whether what is red now stays red.
    last: bool,
    earlier: Observed,
    rows: BTreeMap<String, usize>,
    running: BTreeMap<String, Progress>,
    /// What is red and will be tried again.
    again: Observed,
}

impl Board {
    pub(super) fn new(
        subject: &Subject,
        expectations: Option<&Expectations>,
        redactor: Arc<Redactor>,
        sink: EventSink,
        last: bool,
        earlier: Observed,
    ) -> Self {
        Self {
            subject: subject.name.clone(),
            arguments: subject.arguments.clone(),
            expectations: expectations.cloned(),
            redactor,
            sink,
            last,
            earlier,
            rows: BTreeMap::new(),
            running: BTreeMap::new(),
            again: Observed::new(),
        }
    }

    /// How many scenarios each requirement has in this attempt.
    pub(super) fn expect(&mut self, rows: &BTreeMap<String, usize>) {
        self.rows.clone_from(rows);
    }

    /// What has to be tried again, and what was seen of it.
    pub(super) fn left(self) -> (BTreeSet<String>, Observed) {
        (self.again.keys().cloned().collect(), self.again)
    }

    pub(super) fn row_started(&mut self, id: &str) {
        if self.running.contains_key(id) {
            return;
        }
        let left = self.rows.get(id).copied().unwrap_or(1);
        let progress = Progress {
            started: Instant::now(),
            left,
            findings: BTreeMap::new(),
        };
        self.running.insert(id.to_owned(), progress);
        if self.earlier.is_empty() {
            (self.sink)(Event::RequirementStarted {
                subject: self.subject.clone(),
                id: id.to_owned(),
            });
        }
    }

    pub(super) fn found(&mut self, id: &str, scenario: String, finding: Finding) {
        if let Some(progress) = self.running.get_mut(id) {
            progress.findings.entry(scenario).or_insert(finding);
        }
    }

    /// What was found when the steps were over. It takes the place of what a step has found when it is worse, and keeps
    /// where that was.
    pub(super) fn found_late(&mut self, id: &str, scenario: String, failure: Failure) {
        let Some(progress) = self.running.get_mut(id) else {
            return;
        };
        match progress.findings.get_mut(&scenario) {
            Some(earlier) if failure.verdict >= earlier.failure.verdict => {
                earlier.failure = failure.besides(&earlier.failure);
            }
            Some(_) => {}
            None => {
                progress.findings.insert(scenario, Finding::new(failure));
            }
        }
    }

    pub(super) fn row_finished(&mut self, id: &str) {
        let Some(progress) = self.running.get_mut(id) else {
            return;
        };
        progress.left = progress.left.saturating_sub(1);
        if progress.left == 0
            && let Some(progress) = self.running.remove(id)
        {
            self.settle(id, progress);
        }
    }

    fn settle(&mut self, id: &str, progress: Progress) {
        let worst = progress
            .findings
            .into_values()
            .max_by_key(|finding| finding.failure.verdict);
        let verdict = worst
            .as_ref()
            .map_or(Verdict::Passed, |finding| finding.failure.verdict);
        let interrupted = worst
            .as_ref()
            .is_some_and(|finding| finding.failure.kind.as_deref() == Some("interrupted"));
        if interrupted {
            // The row stays without a verdict; the report says of all such rows that the run was interrupted.
            return;
        }
        let detail = worst.map(|finding| finding.into_detail(&self.redactor));
        if verdict != Verdict::Passed && !self.last {
            self.again.insert(id.to_owned(), detail.unwrap_or_default());
            return;
        }
        let (verdict, detail) = match (verdict, self.earlier.remove(id)) {
            (Verdict::Passed, Some(earlier)) => (Verdict::Flaky, Some(earlier)),
            _ => (verdict, detail),
        };
        let (verdict, detail) = match &self.expectations {
            Some(expectations) => expectations.judge(id, verdict, detail, |name| env::var(name).ok()),
            None => (verdict, detail),
        };
        (self.sink)(Event::RequirementFinished {
            subject: self.subject.clone(),
            id: id.to_owned(),
            verdict,
            duration_ms: millis_since(progress.started),
            reproduce: reproduce(verdict, &self.arguments, id),
            detail,
        });
    }
}

/// The command that shows a red requirement again.
fn reproduce(verdict: Verdict, arguments: &[String], id: &str) -> Option<String> {
    if matches!(
        verdict,
        Verdict::Passed | Verdict::Disabled | Verdict::Unsupported
    ) {
        return None;
    }
    Some(
        format!("herm run --only {id} -v {}", quoted(arguments))
            .trim_end()
            .to_owned(),
    )
}
