//! The last lines of a run: the matrix, a line a subject, what the exit code means, and where the reports are.

use std::{fmt::Write as _, path::Path};

use owo_colors::Style;

use crate::verdict::Exit;

use super::{
    console::{ConsoleOptions, LINE, shown_name},
    matrix::matrix,
    model::{Report, SubjectReport, SubjectResult},
    text::{duration, shorten, visible, wrap},
};

/// Columns of the result's word; the longest is "not conformant".
const RESULT: usize = 14;

/// The text.
pub(super) fn ending(report: &Report, exit: Exit, reports: Option<&Path>, options: ConsoleOptions) -> String {
    let mut text = matrix(report, options);
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    text.push('\n');
    let names = report.subjects.iter().map(|subject| shown_name(&subject.label()));
    let edge = names.map(|name| name.chars().count()).max().unwrap_or_default();
    let indent = edge + RESULT + 4;
    let room = options.width.saturating_sub(indent).max(40);
    let mut line = |name: &str, result: &str, style: Style, totals: &str| {
        let result = options.paint(&format!("{result:<RESULT$}"), style);
        let totals = wrap(totals, room).join(&format!("\n{:indent$}", ""));
        let _ = writeln!(text, "{name:<edge$}  {result}  {totals}");
    };
    for subject in &report.subjects {
        let name = shown_name(&subject.label());
        line(
            &name,
            subject.result.label(),
            style(subject.result),
            &totals(subject),
        );
    }
    if report.subjects.len() > 1 {
        line("all", "", Style::new(), &report.totals.sentence());
    }
    text.push_str(&meaning(report, exit, options));
    if let Some(directory) = reports {
        let directory = visible(&directory.display().to_string());
        let _ = writeln!(
            text,
            "Reports in {directory}: report.json, junit.xml, summary.md, events.jsonl"
        );
    }
    text
}

fn totals(subject: &SubjectReport) -> String {
    let totals = &subject.totals;
    match &subject.skipped {
        Some(reason) => shorten(&visible(reason), LINE),
        None => format!("{} requirements: {}", totals.requirements, totals.sentence()),
    }
}

fn meaning(report: &Report, exit: Exit, options: ConsoleOptions) -> String {
    let style = if exit == Exit::Conformant {
        Style::new().green()
    } else {
        Style::new().red()
    };
    let code = options.paint(&format!("exit {}", exit.code()), style.bold());
    let cut = match report.interrupted {
        Some(signal) => format!(" by signal {signal}; not everything was tested"),
        None if !report.complete => "; the run was killed, not everything was tested".into(),
        None => String::new(),
    };
    format!(
        "\n{code}: {}{cut} ({})\n",
        exit.meaning(),
        duration(report.duration_ms)
    )
}

fn style(result: SubjectResult) -> Style {
    match result {
        SubjectResult::Conformant | SubjectResult::SelectionKept => Style::new().green(),
        SubjectResult::Partial | SubjectResult::Interrupted | SubjectResult::NothingRan => {
            Style::new().yellow()
        }
        SubjectResult::NotConformant | SubjectResult::Broken => Style::new().red(),
    }
}
