//! From events to the report, one at a time; usable at any moment of a run.

use std::collections::HashMap;

use crate::{
    event::{Detail, Event, FORMAT, PlannedRow, SubjectInfo},
    verdict::{Level, Verdict},
};

use super::model::{
    INTERRUPTED, Report, RequirementReport, SUBJECT_SKIPPED, SubjectReport, SubjectResult, Totals,
};

/// What the events so far say.
///
/// A stream that does not fit together loses nothing and never panics: a verdict without a plan makes a row (as a MUST,
/// the strictest), a second plan of a subject adds its new rows, and of two verdicts on one row the worse counts.
#[derive(Debug, Default)]
pub struct Fold {
    head: Report,
    subjects: Vec<SubjectFold>,
}

#[derive(Debug)]
struct SubjectFold {
    info: SubjectInfo,
    skipped: Option<String>,
    broken: bool,
    rows: Vec<RowFold>,
    places: HashMap<String, usize>,
}

#[derive(Debug)]
struct RowFold {
    planned: PlannedRow,
    started: bool,
    finished: Option<RequirementReport>,
}

impl Fold {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::RunStarted {
                format,
                suite_version,
                run,
                started,
                certify,
            } => {
                self.head.format = *format;
                self.head.suite_version.clone_from(suite_version);
                self.head.run.clone_from(run);
                self.head.started.clone_from(started);
                self.head.certify = *certify;
            }
            Event::SubjectPlanned { subject, rows } => {
                let known = self.subject(&subject.name);
                known.info = subject.clone();
                for row in rows {
                    known.plan(row);
                }
            }
            Event::RequirementStarted { subject, id } => self.subject(subject).row(id).started = true,
            Event::RequirementFinished {
                subject,
                id,
                verdict,
                duration_ms,
                detail,
                reproduce,
            } => {
                let row = self.subject(subject).row(id);
                let mut finished = RequirementReport::new(&row.planned, *verdict, detail.clone());
                finished.duration_ms = *duration_ms;
                finished.reproduce.clone_from(reproduce);
                if row
                    .finished
                    .as_ref()
                    .is_none_or(|earlier| earlier.verdict <= *verdict)
                {
                    row.finished = Some(finished);
                }
            }
            Event::SubjectSkipped {
                subject,
                reason,
                broken,
            } => {
                let subject = self.subject(subject);
                subject.skipped = Some(reason.clone());
                subject.broken |= broken;
            }
            Event::RunFinished {
                interrupted,
                duration_ms,
            } => {
                self.head.complete = true;
                self.head.interrupted = *interrupted;
                self.head.duration_ms = *duration_ms;
            }
        }
    }

    /// The report as of now.
    #[must_use]
    pub fn report(&self) -> Report {
        let ended = if self.head.complete {
            "the run ended"
        } else {
            "the run was killed"
        };
        let subjects: Vec<SubjectReport> = self
            .subjects
            .iter()
            .map(|subject| subject.report(ended, self.head.certify))
            .collect();
        Report {
            format: FORMAT.max(self.head.format),
            totals: Totals::of(subjects.iter().flat_map(|subject| &subject.requirements)),
            duration_ms: if self.head.complete {
                self.head.duration_ms
            } else {
                longest(&subjects)
            },
            subjects,
            ..self.head.clone()
        }
    }

    fn subject(&mut self, name: &str) -> &mut SubjectFold {
        let place = self.subjects.iter().position(|subject| subject.info.name == name);
        let place = place.unwrap_or_else(|| {
            let info = SubjectInfo {
                name: name.to_owned(),
                ..SubjectInfo::default()
            };
            self.subjects.push(SubjectFold {
                info,
                skipped: None,
                broken: false,
                rows: Vec::new(),
                places: HashMap::new(),
            });
            self.subjects.len() - 1
        });
        &mut self.subjects[place]
    }
}

/// The least time a killed run must have taken, as far as its rows tell.
fn longest(subjects: &[SubjectReport]) -> u64 {
    let rows = subjects.iter().flat_map(|subject| &subject.requirements);
    rows.map(|row| row.duration_ms).max().unwrap_or_default()
}

impl SubjectFold {
    fn plan(&mut self, row: &PlannedRow) {
        if self.places.contains_key(&row.id) {
            return;
        }
        self.places.insert(row.id.clone(), self.rows.len());
        self.rows.push(RowFold {
            planned: row.clone(),
            started: false,
            finished: None,
        });
    }

    fn row(&mut self, id: &str) -> &mut RowFold {
        if !self.places.contains_key(id) {
            self.plan(&PlannedRow {
                id: id.to_owned(),
                title: "(not in the plan)".into(),
                level: Level::Must,
                chapter: String::new(),
                reason: String::new(),
                skipped: None,
                why: None,
            });
        }
        let place = self.places[id];
        &mut self.rows[place]
    }

    fn report(&self, ended: &str, certify: bool) -> SubjectReport {
        let untouched = self.rows.iter().all(|row| row.finished.is_none());
        let requirements: Vec<RequirementReport> = if self.skipped.is_some() && untouched {
            Vec::new()
        } else {
            let cut = self.cut(ended);
            self.rows.iter().map(|row| row.report(&cut)).collect()
        };
        SubjectReport {
            info: self.info.clone(),
            result: if self.broken {
                SubjectResult::Broken
            } else {
                SubjectResult::of(&requirements, certify)
            },
            skipped: self.skipped.clone(),
            totals: Totals::of(&requirements),
            requirements,
        }
    }

    fn cut(&self, ended: &str) -> Cut {
        match &self.skipped {
            Some(reason) => Cut {
                kind: SUBJECT_SKIPPED,
                why: format!("the subject was given up ({reason})"),
            },
            None => Cut {
                kind: INTERRUPTED,
                why: ended.to_owned(),
            },
        }
    }
}

/// Why rows stayed without a verdict.
struct Cut {
    kind: &'static str,
    why: String,
}

impl RowFold {
    fn report(&self, cut: &Cut) -> RequirementReport {
        if let Some(finished) = &self.finished {
            return finished.clone();
        }
        let row = &self.planned;
        if let Some(verdict @ (Verdict::Unsupported | Verdict::Disabled)) = row.skipped {
            let why = row.why.clone().map(|seen| Detail {
                seen,
                ..Detail::default()
            });
            return RequirementReport::new(row, verdict, why);
        }
        let when = if self.started {
            "while this was being tested"
        } else {
            "before this was tested"
        };
        let detail = Detail {
            seen: format!("{} {when}", cut.why),
            kind: Some(cut.kind.to_owned()),
            ..Detail::default()
        };
        RequirementReport::new(row, Verdict::Inconclusive, Some(detail))
    }
}
