//! The report of a run: the content of `report.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    event::{Detail, Event, PlannedRow, SubjectInfo},
    verdict::{Exit, Level, Verdict},
};

use super::fold::Fold;

/// The `kind` of the detail of a row that got no verdict because the run ended first.
pub const INTERRUPTED: &str = "interrupted";
/// The `kind` of the detail of a row that got no verdict because its subject was given up half way.
pub const SUBJECT_SKIPPED: &str = "subject_skipped";

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of the format, see [`crate::event::FORMAT`].
    pub format: u32,
    /// The version of the suite.
    pub suite_version: String,
    /// The run's id.
    pub run: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// Whether a flaky MUST counts against a subject.
    #[serde(default)]
    pub certify: bool,
    /// Whether the run came to its end; a run that was killed did not.
    pub complete: bool,
    /// The signal that ended it early, if one did.
    pub interrupted: Option<u8>,
    /// How long it took, in milliseconds; of a killed run, what is known.
    pub duration_ms: u64,
    /// Who was tested, in the order in which they were announced.
    pub subjects: Vec<SubjectReport>,
    /// The counts over all subjects.
    pub totals: Totals,
}

/// What is said of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectReport {
    /// Who.
    #[serde(flatten)]
    pub info: SubjectInfo,
    /// The one word.
    pub result: SubjectResult,
    /// Why it could not be tested. Such a subject has no requirements, so nothing is claimed of any, unless some had
    /// their verdict before it was given up: then the others are inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Every planned requirement, in the order of the contract.
    pub requirements: Vec<RequirementReport>,
    /// The counts.
    pub totals: Totals,
}

/// What is said of one requirement on one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementReport {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How binding it is.
    pub level: Level,
    /// The folder of the contract it is in.
    pub chapter: String,
    /// Why it exists, with the link to its source.
    pub reason: String,
    /// What is said of it.
    pub verdict: Verdict,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Why, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// The command that shows it again, when it is red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}

/// What a subject is, after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectResult {
    /// Every MUST that applies is kept.
    Conformant,
    /// Every MUST that was selected is kept; of the others nothing is said.
    SelectionKept,
    /// As conformant, but for MUSTs whose failure the expectation file knows.
    Partial,
    /// A MUST is not kept or could not be tried, or an expectation is stale.
    NotConformant,
    /// The run was interrupted before everything was tested; what was tested is kept.
    Interrupted,
    /// The suite or the adapter broke; nothing can be said.
    Broken,
    /// No requirement was tested.
    NothingRan,
}

impl SubjectResult {
    /// The word for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::SelectionKept => "kept, of what was selected",
            Self::Partial => "partial",
            Self::Interrupted => "interrupted",
            Self::NotConformant => "not conformant",
            Self::Broken => "broken",
            Self::NothingRan => "nothing ran",
        }
    }

    /// Judges rows as the exit code does.
    #[must_use]
    pub fn of(rows: &[RequirementReport], certify: bool) -> Self {
        if !rows.iter().any(RequirementReport::was_tested) {
            return Self::NothingRan;
        }
        let known =
            |row: &RequirementReport| row.verdict == Verdict::KnownFailure && row.level == Level::Must;
        match worst(rows, certify) {
            Exit::Broken => Self::Broken,
            Exit::Conformant if rows.iter().any(known) => Self::Partial,
            Exit::Conformant if rows.iter().any(|row| row.verdict == Verdict::Disabled) => {
                Self::SelectionKept
            }
            Exit::Conformant => Self::Conformant,
            _ if rows
                .iter()
                .filter(|row| row.counts(certify))
                .all(RequirementReport::was_cut_off) =>
            {
                Self::Interrupted
            }
            _ => Self::NotConformant,
        }
    }
}

/// How many requirements got which verdict; every verdict has its entry.
pub type Counts = BTreeMap<Verdict, u64>;

/// Counts of rows (a requirement on a subject).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// All rows.
    pub requirements: u64,
    /// By verdict.
    pub verdicts: Counts,
    /// By level, then by verdict.
    pub levels: BTreeMap<Level, Counts>,
}

impl Default for Totals {
    fn default() -> Self {
        let none: Counts = Verdict::ALL.into_iter().map(|verdict| (verdict, 0)).collect();
        let levels = [Level::May, Level::Should, Level::Must];
        Self {
            requirements: 0,
            verdicts: none.clone(),
            levels: levels.into_iter().map(|level| (level, none.clone())).collect(),
        }
    }
}

impl Totals {
    /// Counts rows.
    #[must_use]
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a RequirementReport>) -> Self {
        let mut totals = Self::default();
        for row in rows {
            totals.requirements += 1;
            *totals.verdicts.entry(row.verdict).or_default() += 1;
            let level = totals.levels.entry(row.level).or_default();
            *level.entry(row.verdict).or_default() += 1;
        }
        totals
    }

    /// How many rows got this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    /// `57 passed, 1 failed`: the verdicts that occur, from best to worst.
    #[must_use]
    pub fn sentence(&self) -> String {
        let parts: Vec<String> = Verdict::ALL
            .into_iter()
            .filter(|verdict| self.count(*verdict) > 0)
            .map(|verdict| format!("{} {}", self.count(verdict), verdict_label(verdict)))
            .collect();
        parts.join(", ")
    }
}

/// The verdict's name with spaces.
#[must_use]
pub fn verdict_label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::KnownFailure => "known failure",
        Verdict::UnexpectedPass => "unexpected pass",
        other => other.name(),
    }
}

impl RequirementReport {
    /// A planned row with its verdict.
    #[must_use]
    pub fn new(row: &PlannedRow, verdict: Verdict, detail: Option<Detail>) -> Self {
        Self {
            id: row.id.clone(),
            title: row.title.clone(),
            level: row.level,
            chapter: row.chapter.clone(),
            reason: row.reason.clone(),
            verdict,
            duration_ms: 0,
            detail,
            reproduce: None,
        }
    }

    /// Whether the run or its subject ended before this had a verdict.
    #[must_use]
    pub fn was_cut_off(&self) -> bool {
        let kind = self.detail.as_ref().and_then(|detail| detail.kind.as_deref());
        self.verdict == Verdict::Inconclusive && matches!(kind, Some(INTERRUPTED | SUBJECT_SKIPPED))
    }

    /// Whether it was tested to its end.
    #[must_use]
    pub fn was_tested(&self) -> bool {
        self.verdict.ran() && !self.was_cut_off()
    }

    /// Whether a person should read about it: red at any level, or flaky when that counts.
    #[must_use]
    pub fn is_finding(&self, certify: bool) -> bool {
        self.counts(certify)
            || matches!(
                self.verdict,
                Verdict::Failed | Verdict::Error | Verdict::Inconclusive | Verdict::UnexpectedPass
            )
    }

    /// Whether it changes the exit code; a finding that does not is told only.
    #[must_use]
    pub fn counts(&self, certify: bool) -> bool {
        self.verdict.exit(self.level, certify) != Exit::Conformant
    }
}

impl SubjectReport {
    /// Its name, labelled when the service behind it is an emulation.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.info)
    }
}

/// A subject's name, labelled when the service behind it is an emulation.
#[must_use]
pub fn label(info: &SubjectInfo) -> String {
    if info.emulated {
        format!("{} (emulated)", info.name)
    } else {
        info.name.clone()
    }
}

impl Report {
    /// Folds the events of a run, whole or cut off at any place.
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Self {
        let mut fold = Fold::default();
        for event in events {
            fold.apply(&event);
        }
        fold.report()
    }

    /// Every row of every subject.
    pub fn rows(&self) -> impl Iterator<Item = &RequirementReport> {
        self.subjects.iter().flat_map(|subject| &subject.requirements)
    }

    /// The exit code of the run: the worst of its rows; nothing ran when no row was tested; broken when the run did not
    /// come to its end; interrupted when a signal ended it. `certify` makes a flaky MUST count, as it does anyway when
    /// the run was started so.
    #[must_use]
    pub fn exit(&self, certify: bool) -> Exit {
        let certify = certify || self.certify;
        let rows = self
            .subjects
            .iter()
            .map(|subject| worst(&subject.requirements, certify));
        let mut exit = rows.fold(Exit::Conformant, Exit::worst);
        if !self.rows().any(RequirementReport::was_tested) {
            exit = exit.worst(Exit::NothingRan);
        }
        if self
            .subjects
            .iter()
            .any(|subject| subject.result == SubjectResult::Broken)
        {
            exit = exit.worst(Exit::Broken);
        }
        if !self.complete {
            exit = exit.worst(Exit::Broken);
        }
        match self.interrupted {
            Some(signal) => exit.worst(Exit::Interrupted { signal }),
            None => exit,
        }
    }
}

fn worst(rows: &[RequirementReport], certify: bool) -> Exit {
    rows.iter()
        .map(|row| row.verdict.exit(row.level, certify))
        .fold(Exit::Conformant, Exit::worst)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
