use std::{fs, path::Path};

use super::*;
use crate::{
    event::Detail,
    report::{RequirementReport, fixture},
    verdict::Level,
};

const IDS: [&str; 4] = ["TIMEOUT-003", "TIMEOUT-004", "JOB-001", "FILE-002"];
const FILE: &str = "version = 1\nsubject = \"podman\"\n\n[[expect]]\nid = \"TIMEOUT-004\"\nverdict = \"failed\"\n\
                    reason = \"no deadline of its own\"\nlink = \"https://example.org/12\"\n\n[[expect]]\nid = \"JOB-001\"\n\
                    verdict = \"inconclusive\"\nreason = \"no condition\"\nenvironment = { CI = \"true\" }\n";

fn parse(text: &str) -> Result<Expectations, ExpectationError> {
    Expectations::parse(Path::new("podman.expect.toml"), text, &IDS)
}

fn anywhere(_: &str) -> Option<String> {
    None
}

fn in_ci(name: &str) -> Option<String> {
    (name == "CI").then(|| "true".into())
}

#[test]
fn a_file_is_read() {
    let file = parse(FILE).unwrap();
    assert_eq!(file.subject, "podman");
    assert_eq!(file.entries.len(), 2);
    assert_eq!(file.entries[0].link.as_deref(), Some("https://example.org/12"));
    assert_eq!(file.entries[1].environment["CI"], "true");
    assert_eq!(parse("version = 1\nsubject = \"x\"\n").unwrap().entries, []);
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_the_near_miss() {
    let cases = [
        (
            "version = 1",
            "version = 2",
            "1:11: this herm reads version = 1 of expectation files only",
        ),
        ("version = 1\n", "", "1:1: version is missing"),
        (
            "subject = \"podman\"",
            "subject = 5",
            "2:11: subject is a string in quotes",
        ),
        (
            "subject = ",
            "sbject = ",
            "2:1: unknown field `sbject` (did you mean `subject`?); there are version, subject, expect",
        ),
        (
            "verdict = \"failed\"",
            "verdit = \"failed\"",
            "6:1: unknown field `verdit` (did you mean `verdict`?); there are",
        ),
        (
            "\"TIMEOUT-004\"",
            "\"TIMEOUT-04\"",
            "5:6: no requirement is called TIMEOUT-04 (did you mean `TIMEOUT-004`?)",
        ),
        (
            "\"TIMEOUT-004\"",
            "\"EXISTS-NOT\"",
            "5:6: no requirement is called EXISTS-NOT; `herm list`",
        ),
        (
            "\"failed\"",
            "\"fail\"",
            "6:11: verdict is one of failed, inconclusive, error, not `fail` (did you mean `failed`?)",
        ),
        ("\"failed\"", "\"passed\"", "6:11: verdict is one of"),
        (
            "\"no deadline of its own\"",
            "\" \"",
            "7:10: reason is empty; say why the failure is known",
        ),
        (
            "reason = \"no deadline of its own\"\n",
            "",
            "4:1: reason is missing",
        ),
        (
            "{ CI = \"true\" }",
            "{ CI = true }",
            "14:22: the value of CI is a string",
        ),
        ("{ CI = \"true\" }", "\"CI\"", "14:15: environment is a table"),
        ("\"JOB-001\"", "\"JOB-001", "11:"),
        (
            "[[expect]]\nid = \"JOB-001\"",
            "[[expect]]\nid = \"TIMEOUT-004\"\nverdict = \"error\"\nreason = \"x\"\n[[expect]]\nid = \"JOB-001\"",
            "10:1: TIMEOUT-004 has an entry",
        ),
    ];
    for (from, to, expected) in cases {
        let text = FILE.replacen(from, to, 1);
        assert_ne!(text, FILE);
        let message = parse(&text).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("podman.expect.toml:{expected}")),
            "{to}: {message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
    let missing = Expectations::load(Path::new("nowhere.toml"), &IDS)
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("nowhere.toml") && missing.contains("--write-expectations"),
        "{missing}"
    );
}

#[test]
fn every_verdict_meets_an_entry_as_documented() {
    let file = parse(FILE).unwrap();
    let seen = || {
        Some(Detail {
            seen: "the beat went on".into(),
            ..Detail::default()
        })
    };
    for observed in Verdict::ALL {
        let (verdict, detail) = file.judge("TIMEOUT-004", observed, seen(), anywhere);
        let note = detail.unwrap().note;
        let (expected, part) = match observed {
            Verdict::Failed => (
                Verdict::KnownFailure,
                Some("known: no deadline of its own (https://example.org/12)"),
            ),
            Verdict::Passed => (
                Verdict::UnexpectedPass,
                Some(
                    "podman.expect.toml says that it is failed: no deadline of its own (https://example.org/12); remove the entry",
                ),
            ),
            Verdict::Error => (
                observed,
                Some("error, although podman.expect.toml says failed: no deadline"),
            ),
            Verdict::Inconclusive => (
                observed,
                Some("inconclusive, although podman.expect.toml says failed"),
            ),
            Verdict::Flaky => (observed, Some("passed after a retry")),
            other => (other, None),
        };
        assert_eq!(verdict, expected, "{observed}");
        assert_eq!(note.is_some(), part.is_some(), "{observed}");
        assert!(
            note.unwrap_or_default().contains(part.unwrap_or_default()),
            "{observed}"
        );
        let untouched = file.judge("TIMEOUT-003", observed, seen(), anywhere);
        assert_eq!(untouched, (observed, seen()));
    }
}

#[test]
fn an_entry_holds_only_in_its_environment() {
    let file = parse(FILE).unwrap();
    let (verdict, detail) = file.judge("JOB-001", Verdict::Inconclusive, None, in_ci);
    assert_eq!(verdict, Verdict::KnownFailure);
    let note = detail.and_then(|detail| detail.note).unwrap();
    assert!(note.starts_with("known to be inconclusive: "), "{note}");
    assert_eq!(
        file.judge("JOB-001", Verdict::Passed, None, in_ci).0,
        Verdict::UnexpectedPass
    );
    assert_eq!(
        file.judge("JOB-001", Verdict::Inconclusive, None, anywhere).0,
        Verdict::Inconclusive
    );
    assert_eq!(
        file.judge("JOB-001", Verdict::Passed, None, anywhere),
        (Verdict::Passed, None)
    );
}

fn row(id: &str, verdict: Verdict, seen: &str) -> RequirementReport {
    let detail = Detail {
        seen: seen.into(),
        ..Detail::default()
    };
    RequirementReport::new(
        &fixture::row(id, "A rule", Level::Must, "exec"),
        verdict,
        Some(detail),
    )
}

fn subject(rows: Vec<RequirementReport>) -> SubjectReportOf {
    let mut subject = fixture::report().subjects.swap_remove(1);
    subject.requirements = rows;
    subject
}

type SubjectReportOf = crate::report::SubjectReport;

#[test]
fn entries_of_what_was_not_run_are_idle_not_red() {
    let file = parse(FILE).unwrap();
    let rows = [
        row("TIMEOUT-004", Verdict::KnownFailure, ""),
        row("JOB-001", Verdict::Unsupported, ""),
    ];
    let idle: Vec<&str> = file.idle(&rows).iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(idle, ["JOB-001"]);
}

#[test]
fn what_is_written_makes_the_same_run_green() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("podman.expect.toml");
    let report = fixture::report();
    let all: Vec<&str> = report.subjects[1]
        .requirements
        .iter()
        .map(|row| row.id.as_str())
        .collect();
    let count = write_expectations(&report.subjects[1], None, &path).unwrap();
    assert_eq!(count, 7, "three failed, three errors, one inconclusive MUST");
    let file = Expectations::load(&path, &all).unwrap();
    assert_eq!(file.subject, "podman");
    for row in &report.subjects[1].requirements {
        let (verdict, _) = file.judge(&row.id, row.verdict, row.detail.clone(), anywhere);
        let counts = verdict.exit(row.level, false).code() != 0;
        assert_eq!(
            counts,
            row.verdict == Verdict::UnexpectedPass,
            "{} {}",
            row.verdict,
            row.level
        );
    }
}

#[test]
fn rewriting_keeps_reasons_and_drops_what_passes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("e.toml");
    let existing = parse(FILE).unwrap();
    let now = subject(vec![
        row("TIMEOUT-003", Verdict::Failed, fixture::HOSTILE),
        row("TIMEOUT-004", Verdict::Error, "crashed"),
        row("JOB-001", Verdict::KnownFailure, ""),
        row("FILE-002", Verdict::Passed, ""),
    ]);
    assert_eq!(write_expectations(&now, Some(&existing), &path).unwrap(), 3);
    let first = fs::read_to_string(&path).unwrap();
    let written = parse(&first).unwrap();
    assert_eq!(
        written.entries[0],
        Expectation {
            verdict: Verdict::Error,
            ..existing.entries[0].clone()
        }
    );
    assert_eq!(written.entries[1], existing.entries[1]);
    assert!(written.entries[2].reason.starts_with("seen: \\x1b[2J]]>"));
    write_expectations(&now, Some(&written), &path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    let healed = subject(vec![
        row("TIMEOUT-004", Verdict::UnexpectedPass, ""),
        row("JOB-001", Verdict::Passed, ""),
    ]);
    write_expectations(&healed, Some(&existing), &path).unwrap();
    let left = parse(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        left.entries,
        [existing.entries[1].clone()],
        "JOB-001 passed where its entry does not hold"
    );
}

#[test]
fn a_file_that_cannot_be_written_is_told_by_name() {
    let error = write_expectations(&subject(Vec::new()), None, Path::new("/proc/herm/e.toml")).unwrap_err();
    assert!(error.to_string().contains("/proc/herm/e.toml"), "{error}");
}
