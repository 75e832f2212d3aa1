//! `junit.xml`, for CI systems that show test results.

use std::{fmt::Write as _, time::Duration};

use quick_junit::{
    NonSuccessKind, Property, Report as Document, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

use crate::verdict::{Level, Verdict};

use super::{
    SubjectResult,
    error::ReportError,
    finding::{Limits, fields, message},
    model::{Report, RequirementReport, SubjectReport, verdict_label},
    text::{block, visible},
};

/// Values in the text of a case are this long at most; `report.json` has them whole.
const LIMITS: Limits = Limits {
    width: 4_000,
    lines: 200,
};
/// Characters of a value in the one-line message of a case.
const MESSAGE: usize = 400;

/// The document: a suite a subject, a case a requirement.
///
/// Failed and unexpectedly passed requirements are failures, at any level; errors, and MUSTs whose precondition could not
/// be made, are errors; what was not tested, what the expectation file knows, and an inconclusive SHOULD or MAY are
/// skipped; flaky ones succeed with a flaky rerun. A subject that could not be tested is a suite with one skipped case.
///
/// # Errors
/// Only when the XML library refuses the content.
pub fn junit(report: &Report) -> Result<String, ReportError> {
    let mut document = Document::new("herm");
    document.timestamp = report.started.parse().ok();
    document.set_time(Duration::from_millis(report.duration_ms));
    for subject in &report.subjects {
        document.add_test_suite(suite(report, subject));
    }
    document
        .to_string()
        .map_err(|error| ReportError::Junit(Box::new(error)))
}

fn suite(report: &Report, subject: &SubjectReport) -> TestSuite {
    let mut suite = TestSuite::new(visible(&subject.label()));
    let info = &subject.info;
    suite.add_property(property("run", &report.run));
    suite.add_property(property("suite_version", &report.suite_version));
    suite.add_property(property("version", &info.version));
    for (name, value) in [
        ("backend", &info.backend),
        ("mode", &info.mode),
        ("homepage", &info.homepage),
    ] {
        if let Some(value) = value {
            suite.add_property(property(name, value));
        }
    }
    suite.add_property(property("emulated", if info.emulated { "true" } else { "false" }));
    suite.add_property(property("result", subject.result.label()));
    suite.add_property(property("capabilities", &info.capabilities.join(" ")));
    for (name, value) in &info.choices {
        suite.add_property(property(&format!("choice.{name}"), value));
    }
    if let Some(reason) = &subject.skipped {
        let mut status = if subject.result == SubjectResult::Broken {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        } else {
            TestCaseStatus::skipped()
        };
        status.set_message(visible(reason));
        let mut case = TestCase::new(format!("{} was not tested", visible(&info.name)), status);
        case.set_classname("subject");
        suite.add_test_case(case);
    }
    for row in &subject.requirements {
        suite.add_test_case(case(row));
    }
    let spent = subject.requirements.iter().map(|row| row.duration_ms).sum();
    suite.set_time(Duration::from_millis(spent));
    suite
}

fn case(row: &RequirementReport) -> TestCase {
    let mut case = TestCase::new(visible(&format!("{} {}", row.id, row.title)), status(row));
    case.set_classname(visible(&row.chapter));
    case.set_time(Duration::from_millis(row.duration_ms));
    case.add_property(property("id", &row.id));
    case.add_property(property("level", &row.level.to_string()));
    case.add_property(property("verdict", row.verdict.name()));
    case.add_property(property("reason", &row.reason));
    if let Some(detail) = row.detail.as_ref().filter(|detail| !detail.transcript.is_empty()) {
        let lines: Vec<String> = detail.transcript.iter().map(|line| visible(line)).collect();
        case.set_system_out(lines.join("\n"));
    }
    case
}

fn status(row: &RequirementReport) -> TestCaseStatus {
    let mut status = match row.verdict {
        Verdict::Passed => return TestCaseStatus::success(),
        Verdict::Flaky => {
            let mut rerun = TestRerun::new(NonSuccessKind::Failure);
            rerun
                .set_message(message(row, MESSAGE))
                .set_type(row.verdict.name())
                .set_description(text(row));
            let mut status = TestCaseStatus::success();
            status.add_rerun(rerun);
            return status;
        }
        Verdict::Failed | Verdict::UnexpectedPass => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Inconclusive if row.level == Level::Must => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
        Verdict::Inconclusive | Verdict::Disabled | Verdict::Unsupported | Verdict::KnownFailure => {
            TestCaseStatus::skipped()
        }
    };
    let note = row.detail.as_ref().and_then(|detail| detail.note.as_deref());
    let message = match (row.verdict, note) {
        (Verdict::KnownFailure, Some(note)) => visible(note),
        _ => message(row, MESSAGE),
    };
    status
        .set_type(row.verdict.name())
        .set_message(format!("{} {}: {message}", row.level, verdict_label(row.verdict)))
        .set_description(text(row));
    status
}

/// Everything that a person needs who sees nothing but this.
fn text(row: &RequirementReport) -> String {
    let mut text = String::new();
    for field in fields(row, LIMITS) {
        let mut label = field.label;
        for line in field.lines {
            let _ = writeln!(text, "{label:<9} {line}");
            label = "";
        }
    }
    if let Some(command) = &row.reproduce {
        text.push_str("reproduce: ");
        text.push_str(&visible(command));
        text.push('\n');
    }
    text
}

fn property(name: &str, value: &str) -> Property {
    Property::new(visible(name), block(value, LIMITS.width, LIMITS.lines).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn parsed(report: &Report) -> Document {
        Document::deserialize_from_str(&junit(report).unwrap()).unwrap()
    }

    fn case_of(document: &Document, id: &str) -> TestCase {
        let mut cases = document.test_suites.iter().flat_map(|suite| &suite.test_cases);
        cases.rfind(|case| case.name.starts_with(id)).unwrap().clone()
    }

    #[test]
    fn every_verdict_at_every_level_has_its_element() {
        let report = fixture::report();
        let document = parsed(&report);
        let podman = &document.test_suites[1];
        assert_eq!(podman.name.as_str(), "podman");
        assert_eq!(podman.test_cases.len(), 27);
        for row in &report.subjects[1].requirements {
            let case = podman
                .test_cases
                .iter()
                .find(|case| case.name.starts_with(&row.id))
                .unwrap();
            assert_eq!(case.name.as_str(), format!("{} {}", row.id, row.title));
            assert_eq!(case.classname.as_deref(), Some(row.chapter.as_str()));
            assert!(
                case.properties
                    .contains(&Property::new("verdict", row.verdict.name()))
            );
            assert!(
                case.properties
                    .contains(&Property::new("level", row.level.to_string()))
            );
            let element = match &case.status {
                TestCaseStatus::Success { flaky_runs } if flaky_runs.is_empty() => "success",
                TestCaseStatus::Success { .. } => "flaky",
                TestCaseStatus::NonSuccess {
                    kind: NonSuccessKind::Failure,
                    ..
                } => "failure",
                TestCaseStatus::NonSuccess {
                    kind: NonSuccessKind::Error,
                    ..
                } => "error",
                TestCaseStatus::Skipped { .. } => "skipped",
            };
            let expected = match (row.verdict, row.level) {
                (Verdict::Passed, _) => "success",
                (Verdict::Flaky, _) => "flaky",
                (Verdict::Failed | Verdict::UnexpectedPass, _) => "failure",
                (Verdict::Error, _) | (Verdict::Inconclusive, Level::Must) => "error",
                _ => "skipped",
            };
            assert_eq!(element, expected, "{} {}", row.verdict, row.level);
        }
        assert_eq!((podman.failures, podman.errors, podman.skipped), (6, 4, 11));
    }

    #[test]
    fn a_failure_says_everything_that_a_person_needs() {
        let case = case_of(&parsed(&fixture::report()), "VERDICT-723");
        let TestCaseStatus::NonSuccess {
            message, description, ..
        } = case.status
        else {
            panic!("not a failure")
        };
        let message = message.unwrap().into_string();
        assert!(
            message.starts_with("MUST failed: expected the beat to have stopped, seen beat at"),
            "{message}"
        );
        let text = description.unwrap().into_string();
        for part in [
            "step      Then the beat has stopped",
            "expected  the beat to have stopped",
            "\n          beat at 1.40 s",
            "location  features/exec/timeout.feature:12",
            "https://example.org/incident/723",
            "reproduce: herm run --subject podman.toml --only VERDICT-723 -v",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }

    #[test]
    fn hostile_text_comes_out_as_xml_that_other_parsers_take() {
        let report = fixture::hostile_report();
        let xml = junit(&report).unwrap();
        let bad = |character: char| {
            (character.is_control() && character != '\n')
                || matches!(character, '\u{fffe}' | '\u{ffff}' | '\u{202e}')
        };
        assert_eq!(xml.chars().find(|character| bad(*character)), None);
        let case = case_of(&parsed(&report), "HOSTILE-001");
        let TestCaseStatus::NonSuccess { description, .. } = case.status else {
            panic!("not a failure")
        };
        assert!(description.unwrap().contains("\\x1b[2J]]>&amp;<script>"));
    }

    #[test]
    fn a_skipped_and_an_emulated_subject_are_labelled() {
        let document = parsed(&fixture::report());
        let names: Vec<&str> = document
            .test_suites
            .iter()
            .map(|suite| suite.name.as_str())
            .collect();
        assert_eq!(names, ["docker", "podman", "local", "daytona (emulated)"]);
        assert_eq!(
            document.test_suites[0].test_cases[0].name.as_str(),
            "docker was not tested"
        );
        assert_eq!(document.test_suites[0].skipped, 1);
    }
}
