//! One requirement that somebody should read about, as labelled lines in the order in which people need them.

use super::{
    model::RequirementReport,
    text::{block, shorten, visible},
};

/// How much of a value is shown.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Characters of a line.
    pub(crate) width: usize,
    /// Lines of a value.
    pub(crate) lines: usize,
}

/// A labelled value; its lines are visible text.
pub(crate) struct Field {
    pub(crate) label: &'static str,
    pub(crate) lines: Vec<String>,
    /// Whether it is prose, which may be wrapped, or a value, whose spaces matter.
    pub(crate) prose: bool,
}

/// What follows the head line, without the reproduction: step, example, expected, seen, note, location, reason.
pub(crate) fn fields(row: &RequirementReport, limits: Limits) -> Vec<Field> {
    let prose = |label, text: &Option<String>| {
        let lines = vec![shorten(&visible(text.as_deref()?), limits.width)];
        Some(Field {
            label,
            lines,
            prose: true,
        })
    };
    let value = |label, text: &str| Field {
        label,
        lines: block(text, limits.width, limits.lines),
        prose: false,
    };
    let mut fields = Vec::new();
    if let Some(detail) = &row.detail {
        fields.extend(prose("step", &detail.step));
        fields.extend(prose("example", &detail.example));
        fields.extend(detail.expected.as_deref().map(|text| value("expected", text)));
        if !detail.seen.is_empty() {
            fields.push(value("seen", &detail.seen));
        }
        fields.extend(prose("note", &detail.note));
        fields.extend(prose("location", &detail.location));
    }
    if !row.reason.is_empty() {
        let lines = vec![visible(&row.reason)];
        fields.push(Field {
            label: "reason",
            lines,
            prose: true,
        });
    }
    fields
}

/// `expected A, seen B` on one line.
pub(crate) fn message(row: &RequirementReport, limit: usize) -> String {
    let Some(detail) = &row.detail else {
        return super::verdict_label(row.verdict).to_owned();
    };
    let seen = shorten(&visible(detail.seen.trim_end()), limit);
    match (&detail.expected, &detail.note) {
        (Some(expected), _) => format!(
            "expected {}, seen {seen}",
            shorten(&visible(expected.trim_end()), limit)
        ),
        (None, Some(note)) if seen.is_empty() => shorten(&visible(note), limit),
        (None, Some(note)) => format!("{seen}; {}", shorten(&visible(note), limit)),
        (None, None) => seen,
    }
}
