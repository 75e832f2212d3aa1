//! The matrix at the end of a run: a row a chapter, a column a subject.

use std::fmt::Write as _;

use crate::verdict::Verdict;

use super::{
    console::{ConsoleOptions, shown_name, sign},
    model::{Report, RequirementReport, verdict_label},
    text::{shorten, visible},
};

/// The signs of a cell, in this order.
const SIGNS: [Verdict; 6] = [
    Verdict::Failed,
    Verdict::Error,
    Verdict::UnexpectedPass,
    Verdict::Inconclusive,
    Verdict::Flaky,
    Verdict::KnownFailure,
];

/// The matrix with its legend, or nothing when no subject has a row. Subjects that do not fit side by side go below.
pub(super) fn matrix(report: &Report, options: ConsoleOptions) -> String {
    let chapters = chapters(report);
    let names: Vec<String> = chapters
        .iter()
        .map(|chapter| shorten(&visible(chapter), 32))
        .collect();
    let edge = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or_default();
    let mut columns: Vec<Column> = Vec::new();
    for subject in report
        .subjects
        .iter()
        .filter(|subject| !subject.requirements.is_empty())
    {
        let cells = chapters.iter().map(|chapter| {
            cell(
                subject.requirements.iter().filter(|row| row.chapter == *chapter),
                options,
            )
        });
        columns.push(Column::new(shown_name(&subject.label()), cells.collect()));
    }
    let mut text = String::new();
    let mut rest = columns.as_slice();
    while !rest.is_empty() {
        let mut room = options.width.saturating_sub(edge);
        let fitting = rest.iter().take_while(|column| {
            let fits = room >= column.width + 2;
            room = room.saturating_sub(column.width + 2);
            fits
        });
        let (group, later) = rest.split_at(fitting.count().max(1));
        text.push_str(&line(
            "",
            edge,
            group.iter().map(|column| (column.name.as_str(), column.width)),
        ));
        for (place, name) in names.iter().enumerate() {
            text.push_str(&line(
                name,
                edge,
                group
                    .iter()
                    .map(|column| (column.cells[place].as_str(), column.width)),
            ));
        }
        if !later.is_empty() {
            text.push('\n');
        }
        rest = later;
    }
    if !text.is_empty() {
        text.push_str(&legend(report, options));
    }
    text
}

struct Column {
    name: String,
    cells: Vec<String>,
    width: usize,
}

impl Column {
    fn new(name: String, cells: Vec<String>) -> Self {
        let width = cells
            .iter()
            .chain([&name])
            .map(|text| text.chars().count())
            .max()
            .unwrap_or_default();
        Self { name, cells, width }
    }
}

fn line<'a>(first: &str, edge: usize, cells: impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut line = format!("{first:<edge$}");
    for (cell, width) in cells {
        let _ = write!(line, "  {cell:<width$}");
    }
    format!("{}\n", line.trim_end())
}

/// Every chapter, in the order of the contract as far as the plans tell it.
fn chapters(report: &Report) -> Vec<&str> {
    let mut chapters: Vec<&str> = Vec::new();
    for row in report.rows() {
        if !chapters.contains(&row.chapter.as_str()) {
            chapters.push(&row.chapter);
        }
    }
    chapters
}

/// `9/10 1✗`: what passed of what is to be tested, then what else there was.
fn cell<'a>(rows: impl Iterator<Item = &'a RequirementReport>, options: ConsoleOptions) -> String {
    let ran: Vec<&RequirementReport> = rows.filter(|row| row.verdict.ran()).collect();
    if ran.is_empty() {
        return if options.unicode { "–".into() } else { "-".into() };
    }
    let count = |verdict| ran.iter().filter(|row| row.verdict == verdict).count();
    let kept = count(Verdict::Passed) + count(Verdict::Flaky);
    let mut cell = format!("{kept}/{}", ran.len());
    for verdict in SIGNS {
        if count(verdict) > 0 {
            let _ = write!(cell, " {}{}", count(verdict), sign(verdict, options.unicode));
        }
    }
    cell
}

fn legend(report: &Report, options: ConsoleOptions) -> String {
    let mut text = String::new();
    let mut room = 0;
    for verdict in SIGNS
        .into_iter()
        .filter(|verdict| report.totals.count(*verdict) > 0)
    {
        let part = format!("{} {}", sign(verdict, options.unicode), verdict_label(verdict));
        let length = part.chars().count() + 3;
        if room < length {
            room = options.width;
            text.push('\n');
        } else {
            text.push_str("   ");
        }
        room = room.saturating_sub(length);
        text.push_str(&part);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
