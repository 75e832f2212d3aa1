//! From what a run saw to an expectation file.

use std::{fmt::Write as _, path::Path};

use toml::Value;

use crate::{
    report::{RequirementReport, SubjectReport, text, write_atomically},
    verdict::{Level, Verdict},
};

use super::{Expectation, ExpectationError, Expectations, VERSION};

/// Characters of an observation that become a reason.
const REASON: usize = 300;

/// Writes the file in which every red requirement of the subject is known, and returns how many entries it has.
///
/// Red is what failed or broke, and a MUST that was inconclusive; what was cut off was not observed. A new entry has what
/// was seen as its reason. An entry of `existing` keeps its reason, link and environment: it is dropped only when its
/// requirement passes now, and its verdict follows what is seen now. Comments are not kept. The file is there whole or as
/// it was.
///
/// # Errors
/// When the file cannot be written.
pub fn write_expectations(
    subject: &SubjectReport,
    existing: Option<&Expectations>,
    path: &Path,
) -> Result<usize, ExpectationError> {
    let entries = entries(subject, existing);
    let content = render(&subject.info.name, &entries);
    write_atomically(path, "expectations", content.as_bytes()).map_err(|source| ExpectationError::Write {
        path: path.to_owned(),
        source,
    })?;
    Ok(entries.len())
}

fn entries(subject: &SubjectReport, existing: Option<&Expectations>) -> Vec<Expectation> {
    let row = |id: &str| subject.requirements.iter().find(|row| row.id == id);
    let mut entries: Vec<Expectation> = Vec::new();
    for entry in existing.map_or(&[][..], |existing| &existing.entries) {
        let now = row(&entry.id);
        // Passed where the entry holds is unexpected_pass; plainly passed is where it does not hold.
        if now.is_some_and(|row| row.verdict == Verdict::UnexpectedPass) {
            continue;
        }
        let verdict = now.and_then(observed).unwrap_or(entry.verdict);
        entries.push(Expectation {
            verdict,
            ..entry.clone()
        });
    }
    for row in &subject.requirements {
        let Some(verdict) = observed(row) else { continue };
        if entries.iter().any(|entry| entry.id == row.id) {
            continue;
        }
        entries.push(Expectation {
            id: row.id.clone(),
            verdict,
            reason: reason(row),
            link: None,
            environment: std::collections::BTreeMap::new(),
        });
    }
    entries
}

/// The verdict of a red row.
fn observed(row: &RequirementReport) -> Option<Verdict> {
    let red = row.verdict.is_red() || (row.verdict == Verdict::Inconclusive && row.level == Level::Must);
    (red && !row.was_cut_off()).then_some(row.verdict)
}

fn reason(row: &RequirementReport) -> String {
    let seen = row.detail.as_ref().map_or("", |detail| detail.seen.trim());
    if seen.is_empty() {
        return format!("seen: {}", row.verdict);
    }
    format!("seen: {}", text::shorten(&text::visible(seen), REASON))
}

fn render(subject: &str, entries: &[Expectation]) -> String {
    let quoted = |text: &str| Value::String(text.to_owned()).to_string();
    let mut content = format!(
        "# Failures that are known. Each needs a reason; remove the entry when its requirement passes.\n\
         version = {VERSION}\nsubject = {}\n",
        quoted(subject)
    );
    for entry in entries {
        let _ = write!(
            content,
            "\n[[expect]]\nid = {}\nverdict = {}\nreason = {}\n",
            quoted(&entry.id),
            quoted(entry.verdict.name()),
            quoted(&entry.reason)
        );
        if let Some(link) = &entry.link {
            let _ = writeln!(content, "link = {}", quoted(link));
        }
        if !entry.environment.is_empty() {
            let variables = entry
                .environment
                .iter()
                .map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
            let _ = writeln!(
                content,
                "environment = {{ {} }}",
                variables.collect::<Vec<_>>().join(", ")
            );
        }
    }
    content
}
