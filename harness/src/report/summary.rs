//! `summary.md`, for the summary of a CI job.

use std::fmt::Write as _;

use crate::verdict::Verdict;

use super::{
    finding::{Field, Limits, fields, message},
    model::{Report, RequirementReport, SubjectReport, SubjectResult, verdict_label},
    text::{duration, shorten, visible},
};

const LIMITS: Limits = Limits {
    width: 400,
    lines: 30,
};
/// Characters of a version, a backend or a mode.
const NAME: usize = 40;
/// GitHub drops a summary above 1 MiB; what does not fit is counted, not lost in silence.
const BUDGET: usize = 900 * 1024;

/// The Markdown document.
#[must_use]
pub fn summary(report: &Report) -> String {
    let mut page = String::from("## herm\n\n");
    for subject in &report.subjects {
        head(&mut page, subject);
    }
    if report.subjects.is_empty() {
        page.push_str("Nothing was tested.\n");
    }
    if let Some(signal) = report.interrupted {
        let _ = writeln!(
            page,
            "\n**Interrupted** by signal {signal}; what follows is what was known until then."
        );
    } else if !report.complete {
        page.push_str("\n**The run was killed**; what follows is what was known until then.\n");
    }
    table(&mut page, report);
    for subject in &report.subjects {
        findings(&mut page, report, subject);
    }
    for subject in &report.subjects {
        known(&mut page, subject);
    }
    let _ = writeln!(
        page,
        "\nRun {}, suite {}, {}.",
        inline(&report.run),
        inline(&report.suite_version),
        duration(report.duration_ms)
    );
    page
}

fn head(page: &mut String, subject: &SubjectReport) {
    let mark = match subject.result {
        SubjectResult::Conformant | SubjectResult::SelectionKept => "✅",
        SubjectResult::Partial => "🟡",
        SubjectResult::NotConformant => "❌",
        SubjectResult::Broken => "💥",
        SubjectResult::Interrupted | SubjectResult::NothingRan => "⏭️",
    };
    let _ = write!(page, "- {mark} **{}**", inline(&subject.label()));
    let info = &subject.info;
    for part in [Some(&info.version), info.backend.as_ref(), info.mode.as_ref()] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            let _ = write!(page, " {}", inline(&shorten(&visible(part), NAME)));
        }
    }
    let _ = write!(page, ": {}", subject.result.label());
    if let Some(reason) = &subject.skipped {
        let _ = write!(page, ": {}", linked(reason));
    }
    page.push('\n');
}

fn table(page: &mut String, report: &Report) {
    let used: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| report.totals.count(*verdict) > 0)
        .collect();
    if used.is_empty() {
        return;
    }
    page.push_str("\n| subject |");
    for verdict in &used {
        let _ = write!(page, " {} |", verdict_label(*verdict));
    }
    page.push_str(" all |\n|---|");
    page.push_str(&"--:|".repeat(used.len() + 1));
    for subject in report
        .subjects
        .iter()
        .filter(|subject| subject.totals.requirements > 0)
    {
        let _ = write!(page, "\n| {} |", inline(&subject.label()));
        for verdict in &used {
            let _ = write!(page, " {} |", subject.totals.count(*verdict));
        }
        let _ = write!(page, " {} |", subject.totals.requirements);
    }
    page.push('\n');
}

fn findings(page: &mut String, report: &Report, subject: &SubjectReport) {
    let (cut, red): (Vec<_>, Vec<_>) = subject
        .requirements
        .iter()
        .filter(|row| row.is_finding(report.certify))
        .partition(|row| row.was_cut_off());
    if !red.is_empty() {
        let _ = writeln!(page, "\n### {}", inline(&subject.label()));
    }
    for (place, row) in red.iter().enumerate() {
        if page.len() > BUDGET {
            let _ = writeln!(
                page,
                "\n{} more are in report.json; this page is full.",
                red.len() - place
            );
            break;
        }
        finding(page, row, row.counts(report.certify));
    }
    if !cut.is_empty() {
        let ids: Vec<String> = cut.iter().take(500).map(|row| inline(&row.id)).collect();
        let _ = writeln!(
            page,
            "\n<details><summary>{}: {} without a verdict, {}</summary>\n\n{}\n\n</details>",
            inline(&subject.label()),
            cut.len(),
            inline(cut[0].detail.as_ref().map_or("", |detail| &detail.seen)),
            ids.join(", ")
        );
    }
}

fn finding(page: &mut String, row: &RequirementReport, counts: bool) {
    let told = if counts { "" } else { " (told, not counted)" };
    let _ = writeln!(page, "\n#### {} {}\n", inline(&row.id), inline(&row.title));
    let _ = writeln!(page, "**{}** {}{told}\n", row.level, verdict_label(row.verdict));
    for field in fields(row, LIMITS) {
        entry(page, &field);
    }
    if let Some(command) = &row.reproduce {
        let _ = writeln!(page, "- reproduce:\n{}", fenced(&visible(command), "sh"));
    }
}

fn entry(page: &mut String, field: &Field) {
    if field.prose {
        let text = field.lines.join(" ");
        // Links are for what the contract or the user wrote, not for what a subject printed.
        let ours = matches!(field.label, "reason" | "note");
        let text = if ours { linked(&text) } else { inline(&text) };
        let _ = writeln!(page, "- {}: {text}", field.label);
    } else {
        let _ = writeln!(
            page,
            "- {}:\n{}",
            field.label,
            fenced(&field.lines.join("\n"), "text")
        );
    }
}

fn known(page: &mut String, subject: &SubjectReport) {
    let rows = subject.requirements.iter();
    let known: Vec<_> = rows.filter(|row| row.verdict == Verdict::KnownFailure).collect();
    if known.is_empty() || page.len() > BUDGET {
        return;
    }
    let label = inline(&subject.label());
    let _ = writeln!(
        page,
        "\n<details><summary>{label}: known failures: {}</summary>\n",
        known.len()
    );
    for row in known.iter().take(500) {
        let note = row.detail.as_ref().and_then(|detail| detail.note.clone());
        let why = note.unwrap_or_else(|| message(row, LIMITS.width));
        let why = linked(&shorten(&visible(&why), LIMITS.width));
        let _ = writeln!(
            page,
            "- {} {} ({}): {why}",
            inline(&row.id),
            inline(&row.title),
            row.level
        );
    }
    page.push_str("\n</details>\n");
}

/// A fenced block inside a list entry; its fence is longer than any in the content.
fn fenced(content: &str, language: &str) -> String {
    let longest = content
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let body = content.replace('\n', "\n  ");
    format!("  {fence}{language}\n  {body}\n  {fence}")
}

/// Text with nothing in it that Markdown or HTML would act on.
fn inline(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in shorten(&visible(text), LIMITS.width).chars() {
        match character {
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '@' | '#' | '!' | '"'
            | '\'' => {
                let _ = write!(safe, "&#{};", u32::from(character));
            }
            plain => safe.push(plain),
        }
    }
    safe
}

/// As [`inline`], with its web links kept as links.
fn linked(text: &str) -> String {
    let mut safe = String::new();
    let mut rest = text;
    while let Some(start) = ["https://", "http://"]
        .iter()
        .filter_map(|scheme| rest.find(scheme))
        .min()
    {
        let link = &rest[start..];
        let plain =
            |character: char| character.is_ascii_alphanumeric() || "-._~:/?#@!$&'*+,;=%".contains(character);
        let end = link.find(|character| !plain(character)).unwrap_or(link.len());
        let end = link[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']).len();
        safe.push_str(&inline(&rest[..start]));
        let _ = write!(safe, "<{}>", link[..end].replace('&', "&amp;"));
        rest = &link[end..];
    }
    safe.push_str(&inline(rest));
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_run_reads_well() {
        insta::assert_snapshot!(summary(&fixture::report()));
    }

    #[test]
    fn every_finding_is_told_and_nothing_else_has_a_heading() {
        let report = fixture::report();
        let page = summary(&report);
        for row in &report.subjects[1].requirements {
            let heading = format!("#### {} ", row.id);
            let red = matches!(
                row.verdict,
                Verdict::Failed | Verdict::Error | Verdict::Inconclusive | Verdict::UnexpectedPass
            );
            assert_eq!(page.contains(&heading), red, "{} {}", row.verdict, row.level);
        }
        let certified = summary(&Report {
            certify: true,
            ..report
        });
        assert!(certified.contains("#### VERDICT-423 "));
    }

    #[test]
    fn hostile_text_stays_text() {
        let page = summary(&fixture::hostile_report());
        assert_eq!(
            page.chars()
                .find(|character| character.is_control() && *character != '\n'),
            None
        );
        let mut fence: Option<String> = None;
        for line in page.lines() {
            let trimmed = line.trim_start();
            let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
            match &fence {
                Some(open) if trimmed == open => fence = None,
                Some(_) => {}
                None if ticks >= 3 => fence = Some("`".repeat(ticks)),
                None => {
                    for active in ["<script", "</details>*", "**x**", "[y]", "| a |", "`b`", "&amp;<"] {
                        assert!(!line.contains(active), "{active} is alive in {line}");
                    }
                }
            }
        }
        assert_eq!(fence, None, "a fence stays open");
        assert!(page.len() < 40_000, "{}", page.len());
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_content() {
        assert_eq!(fenced("a ```` b", "text"), "  `````text\n  a ```` b\n  `````");
    }

    #[test]
    fn links_stay_links() {
        assert_eq!(
            linked("see (https://example.org/a?b&c), *now*"),
            "see (<https://example.org/a?b&amp;c>), &#42;now&#42;"
        );
        assert_eq!(
            linked("https://example.org/`x`"),
            "<https://example.org/>&#96;x&#96;"
        );
    }

    #[test]
    fn a_flood_of_findings_stays_below_what_a_job_summary_may_hold() {
        let mut report = fixture::report();
        let row = report.subjects[1].requirements[22].clone();
        report.subjects[1].requirements = vec![row; 10_000];
        let page = summary(&report);
        assert!(page.len() < 1024 * 1024);
        assert!(page.contains("more are in report.json"));
    }
}
