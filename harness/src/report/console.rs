//! What people see while a run goes on, and at its end.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
    io::{self, Write},
    path::Path,
};

use owo_colors::{OwoColorize as _, Style};

use crate::{
    event::{Event, PlannedRow, SubjectInfo},
    verdict::{Exit, Verdict},
};

use super::{
    ending::ending,
    finding::{Limits, fields},
    model::{Report, RequirementReport, label, verdict_label},
    text::{duration, shorten, visible, wrap},
};

/// Characters of a line that are shown.
pub(super) const LINE: usize = 240;
const LIMITS: Limits = Limits {
    width: LINE,
    lines: 12,
};

/// How to show it; the caller resolves `--color`, `NO_COLOR`, the locale and what the output is.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleOptions {
    /// Columns.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
    /// Whether the output is a terminal, so that one line can show the progress in place.
    pub terminal: bool,
    /// Whether signs beyond ASCII can be shown.
    pub unicode: bool,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            width: 100,
            color: false,
            terminal: false,
            unicode: true,
        }
    }
}

impl ConsoleOptions {
    pub(super) fn paint(self, text: &str, style: Style) -> String {
        if self.color {
            text.style(style).to_string()
        } else {
            text.to_owned()
        }
    }
}

/// The live console: what was skipped, a line a subject, the progress (on a terminal only), every finding when it comes.
///
/// An output that cannot be written to any more (a closed pipe) ends the console, never the run.
pub struct Console {
    out: Option<Box<dyn Write + Send>>,
    options: ConsoleOptions,
    certify: bool,
    labels: HashMap<String, String>,
    rows: HashMap<(String, String), PlannedRow>,
    running: BTreeSet<(String, String)>,
    planned: usize,
    finished: usize,
    counted: usize,
    status_shown: bool,
    after_block: bool,
}

impl Console {
    /// A console that writes to `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, options: ConsoleOptions) -> Self {
        Self {
            out: Some(out),
            options,
            certify: false,
            labels: HashMap::new(),
            rows: HashMap::new(),
            running: BTreeSet::new(),
            planned: 0,
            finished: 0,
            counted: 0,
            status_shown: false,
            after_block: false,
        }
    }

    /// Shows nothing, for `--json`.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(Box::new(io::sink()), ConsoleOptions::default())
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let text = match event {
            Event::RunStarted { certify, .. } => {
                self.certify = *certify;
                String::new()
            }
            Event::SubjectSkipped { subject, reason, .. } => {
                let name = self.options.paint(&shown_name(subject), Style::new().yellow());
                format!("skipped {name}: {}\n", shorten(&visible(reason), LINE * 2))
            }
            Event::SubjectPlanned { subject, rows } => self.plan(subject, rows),
            Event::RequirementStarted { subject, id } => {
                self.running.insert((subject.clone(), id.clone()));
                String::new()
            }
            Event::RequirementFinished {
                subject,
                id,
                verdict,
                duration_ms,
                detail,
                reproduce,
            } => {
                let key = (subject.clone(), id.clone());
                self.running.remove(&key);
                self.finished += 1;
                let row = self.rows.remove(&key).unwrap_or_else(|| unplanned(id));
                let mut row = RequirementReport::new(&row, *verdict, detail.clone());
                row.duration_ms = *duration_ms;
                row.reproduce.clone_from(reproduce);
                if row.is_finding(self.certify) && !row.was_cut_off() {
                    self.after_block = true;
                    self.counted += usize::from(row.counts(self.certify));
                    self.finding(subject, &row)
                } else {
                    String::new()
                }
            }
            Event::RunFinished { .. } => {
                self.running.clear();
                String::new()
            }
        };
        let status = self.status(event);
        self.show(&text, status.as_deref());
    }

    /// Shows the matrix, the totals, the result, the exit code's meaning, and where the reports are.
    pub fn finish(&mut self, report: &Report, exit: Exit, reports: Option<&Path>) {
        self.show(&ending(report, exit, reports, self.options), None);
    }

    /// Shows a message that must not be lost among the progress.
    pub fn note(&mut self, message: &str) {
        let text = format!("{}\n", self.options.paint(&visible(message), Style::new().red()));
        self.show(&text, None);
    }

    fn plan(&mut self, subject: &SubjectInfo, rows: &[PlannedRow]) -> String {
        self.labels.insert(subject.name.clone(), label(subject));
        let runnable = rows.iter().filter(|row| row.skipped.is_none());
        let mut count = 0;
        for row in runnable {
            count += 1;
            self.rows
                .insert((subject.name.clone(), row.id.clone()), row.clone());
        }
        self.planned += count;
        let mut line = self
            .options
            .paint(&shown_name(&label(subject)), Style::new().bold());
        for part in [
            Some(&subject.version),
            subject.backend.as_ref(),
            subject.mode.as_ref(),
        ] {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                line.push(' ');
                line.push_str(&shorten(&visible(part), 40));
            }
        }
        let skipped = |verdict: Verdict, words: &str| {
            let number = rows.iter().filter(|row| row.skipped == Some(verdict)).count();
            if number == 0 {
                String::new()
            } else {
                format!(", {number} {words}")
            }
        };
        let left = skipped(Verdict::Unsupported, "need what is not declared")
            + &skipped(Verdict::Disabled, "not selected");
        let untested = if subject.untested.is_empty() {
            String::new()
        } else {
            let names = shorten(&visible(&subject.untested.join(", ")), LINE);
            format!(
                "declared, but not looked at by this suite yet: {names}
"
            )
        };
        let gap = if std::mem::take(&mut self.after_block) {
            "\n"
        } else {
            ""
        };
        format!(
            "{gap}{line}: {count} of {} requirements to test{left}, {} at a time
{untested}",
            rows.len(),
            subject.parallelism.max(1)
        )
    }

    fn finding(&self, subject: &str, row: &RequirementReport) -> String {
        let counts = row.counts(self.certify);
        let style = if counts {
            Style::new().red()
        } else {
            Style::new().yellow()
        };
        let sign = sign(row.verdict, self.options.unicode);
        let title = shorten(&visible(&row.title), LINE);
        let mut text = format!(
            "\n{} {}\n",
            self.options
                .paint(&format!("{sign} {}", visible(&row.id)), style.bold()),
            title
        );
        let told = if counts { "" } else { " (told, not counted)" };
        let label = self.labels.get(subject).map_or(subject, String::as_str);
        let line = format!(
            "{} {}{told} on {}, {}",
            row.level,
            verdict_label(row.verdict),
            shown_name(label),
            duration(row.duration_ms)
        );
        let _ = writeln!(text, "  {}", self.options.paint(&line, style));
        let room = self.options.width.saturating_sub(12).max(40);
        for field in fields(row, LIMITS) {
            let mut label = field.label;
            let lines = if field.prose {
                wrap(&field.lines.join(" "), room)
            } else {
                field.lines
            };
            for line in lines {
                let head = match label {
                    "" => " ".repeat(9),
                    label => self.options.paint(&format!("{label:<9}"), Style::new().dimmed()),
                };
                let _ = writeln!(text, "  {head} {line}");
                label = "";
            }
        }
        if let Some(command) = &row.reproduce {
            let label = self.options.paint("reproduce:", Style::new().dimmed());
            let _ = writeln!(
                text,
                "  {label} {}",
                self.options.paint(&visible(command), Style::new().cyan())
            );
        }
        text
    }

    /// The line of the progress, on a terminal and while something is left.
    fn status(&self, event: &Event) -> Option<String> {
        if !self.options.terminal || self.planned == 0 || matches!(event, Event::RunFinished { .. }) {
            return None;
        }
        let mut line = format!("{}/{}", self.finished, self.planned);
        if self.counted > 0 {
            let _ = write!(
                line,
                "  {} {}",
                self.counted,
                sign(Verdict::Failed, self.options.unicode)
            );
        }
        let several = self.labels.len() > 1;
        for (subject, id) in &self.running {
            let name = if several {
                format!("{}:{}", visible(subject), visible(id))
            } else {
                visible(id)
            };
            if line.chars().count() + name.chars().count() + 3 > self.options.width {
                break;
            }
            line.push_str("  ");
            line.push_str(&name);
        }
        Some(line)
    }

    fn show(&mut self, text: &str, status: Option<&str>) {
        let mut bytes = String::new();
        if self.status_shown {
            bytes.push_str("\r\x1b[2K");
        }
        bytes.push_str(text);
        if let Some(status) = status {
            bytes.push_str(status);
        }
        self.status_shown = status.is_some();
        if bytes.is_empty() {
            return;
        }
        if let Some(out) = &mut self.out {
            let written = out.write_all(bytes.as_bytes()).and_then(|()| out.flush());
            if written.is_err() {
                self.out = None;
            }
        }
    }
}

/// The sign of a verdict in a matrix and before a finding.
pub(super) fn sign(verdict: Verdict, unicode: bool) -> &'static str {
    match verdict {
        Verdict::Failed if unicode => "✗",
        Verdict::Failed => "x",
        Verdict::Error => "!",
        Verdict::Inconclusive => "?",
        Verdict::UnexpectedPass => "+",
        Verdict::KnownFailure => "~",
        Verdict::Flaky => "*",
        Verdict::Passed | Verdict::Disabled | Verdict::Unsupported => "",
    }
}

/// A subject's name as it is shown.
pub(super) fn shown_name(name: &str) -> String {
    shorten(&visible(name), 48)
}

fn unplanned(id: &str) -> PlannedRow {
    PlannedRow {
        id: id.to_owned(),
        title: "(not in the plan)".into(),
        level: crate::verdict::Level::Must,
        chapter: String::new(),
        reason: String::new(),
        skipped: None,
        why: None,
    }
}

#[cfg(test)]
#[path = "console_tests.rs"]
mod tests;
