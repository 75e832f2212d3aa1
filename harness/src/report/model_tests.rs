use super::*;
use crate::report::fixture;

/// One row that ends like this.
fn single(verdict: Verdict, level: Level) -> Report {
    let planned = fixture::row("RULE-001", "A rule", level, "exec");
    let row = match verdict {
        Verdict::Unsupported | Verdict::Disabled => PlannedRow {
            skipped: Some(verdict),
            ..planned
        },
        _ => planned,
    };
    let mut events = vec![
        fixture::started(),
        Event::SubjectPlanned {
            subject: fixture::info("podman"),
            rows: vec![row],
        },
        Event::RunFinished {
            interrupted: None,
            duration_ms: 1,
        },
    ];
    if verdict.ran() {
        events.insert(
            2,
            fixture::finished("podman", "RULE-001", verdict, fixture::detail(verdict)),
        );
    }
    Report::from_events(events)
}

#[test]
fn every_verdict_at_every_level_makes_the_documented_result_and_exit() {
    use SubjectResult::{Broken, Conformant, NotConformant, NothingRan, Partial};
    for (verdict, must, other) in [
        (Verdict::Passed, (Conformant, 0), (Conformant, 0)),
        (Verdict::Disabled, (NothingRan, 3), (NothingRan, 3)),
        (Verdict::Unsupported, (NothingRan, 3), (NothingRan, 3)),
        (Verdict::KnownFailure, (Partial, 0), (Conformant, 0)),
        (Verdict::Flaky, (Conformant, 0), (Conformant, 0)),
        (Verdict::Inconclusive, (NotConformant, 1), (Conformant, 0)),
        (Verdict::UnexpectedPass, (NotConformant, 1), (NotConformant, 1)),
        (Verdict::Failed, (NotConformant, 1), (Conformant, 0)),
        (Verdict::Error, (Broken, 4), (Broken, 4)),
    ] {
        for (level, expected) in [(Level::Must, must), (Level::Should, other), (Level::May, other)] {
            let report = single(verdict, level);
            let got = (report.subjects[0].result, report.exit(false).code());
            assert_eq!(got, expected, "{verdict} {level}");
            assert_eq!(report.totals.levels[&level][&verdict], 1);
            assert_eq!(report.totals.verdicts.values().sum::<u64>(), 1);
        }
    }
    let flaky = single(Verdict::Flaky, Level::Must);
    assert_eq!(flaky.exit(true).code(), 1);
    assert_eq!(
        SubjectResult::of(&flaky.subjects[0].requirements, true),
        NotConformant
    );
}

#[test]
fn the_whole_run_is_counted() {
    use SubjectResult::{Broken, Conformant, NothingRan, Partial};
    let report = fixture::report();
    assert_eq!(report.totals.requirements, 31);
    for verdict in Verdict::ALL {
        let more = match verdict {
            Verdict::Passed => 3,
            Verdict::KnownFailure => 1,
            _ => 0,
        };
        assert_eq!(report.totals.count(verdict), 3 + more, "{verdict}");
    }
    let results: Vec<SubjectResult> = report.subjects.iter().map(|subject| subject.result).collect();
    assert_eq!(results, [NothingRan, Broken, Conformant, Partial]);
    assert_eq!(report.exit(false).code(), 4);
}

#[test]
fn the_json_round_trips_and_has_the_documented_shape() {
    for report in [
        fixture::report(),
        fixture::hostile_report(),
        Report::from_events([]),
    ] {
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
    let value = serde_json::to_value(fixture::report()).unwrap();
    assert_eq!(value["format"], 1);
    assert_eq!(value["interrupted"], serde_json::Value::Null);
    assert_eq!(
        value["subjects"][0]["skipped"]
            .as_str()
            .map(|reason| &reason[..9]),
        Some("no engine")
    );
    assert_eq!(value["subjects"][1]["name"], "podman");
    assert_eq!(value["subjects"][1]["choices"]["kill_scope"], "tree");
    assert_eq!(value["subjects"][1]["result"], "broken");
    assert_eq!(value["subjects"][3]["emulated"], true);
    assert_eq!(value["totals"]["levels"]["must"]["failed"], 1);
}

/// A run cut after any number of events: nothing is lost, and nothing is green that was not tested.
#[test]
fn a_cut_run_leaves_no_row_without_a_verdict() {
    let events = fixture::events();
    let whole = fixture::report();
    for length in 0..events.len() {
        let report = Report::from_events(events[..length].to_vec());
        assert!(!report.complete);
        assert_eq!(report.exit(false).code(), 4, "{length}");
        for subject in &report.subjects {
            let full = whole.subjects.iter().find(|full| full.info == subject.info);
            let planned = full.map_or(0, |full| full.requirements.len());
            assert_eq!(subject.requirements.len(), planned);
            for row in &subject.requirements {
                let finished = full.unwrap().requirements.contains(row);
                assert!(finished || row.was_cut_off(), "{length} {}", row.id);
            }
        }
    }
}

#[test]
fn an_interrupted_run_says_which_signal_and_what_was_being_tested() {
    let mut events: Vec<Event> = fixture::events();
    events.truncate(4);
    assert!(matches!(&events[3], Event::RequirementStarted { .. }));
    events.push(Event::RunFinished {
        interrupted: Some(2),
        duration_ms: 7,
    });
    let report = Report::from_events(events);
    assert_eq!(report.exit(false), Exit::Interrupted { signal: 2 });
    assert_eq!(report.subjects[1].result, SubjectResult::NothingRan);
    let seen = |place: usize| {
        report.subjects[1].requirements[place]
            .detail
            .as_ref()
            .unwrap()
            .seen
            .clone()
    };
    assert_eq!(seen(0), "the run ended while this was being tested");
    assert_eq!(seen(1), "the run ended before this was tested");
}

#[test]
fn a_skipped_subject_claims_nothing_unless_something_was_tested() {
    let skipped = Event::SubjectSkipped {
        subject: "podman".into(),
        reason: "the engine went away".into(),
        broken: false,
    };
    let rows = vec![
        fixture::row("RULE-001", "One", Level::Must, "exec"),
        fixture::row("RULE-002", "Two", Level::Must, "exec"),
    ];
    let plan = Event::SubjectPlanned {
        subject: fixture::info("podman"),
        rows,
    };
    let end = Event::RunFinished {
        interrupted: None,
        duration_ms: 1,
    };
    let untouched = Report::from_events([fixture::started(), plan.clone(), skipped.clone(), end.clone()]);
    assert_eq!(untouched.subjects[0].requirements, []);
    assert_eq!(untouched.exit(false), Exit::NothingRan);
    let passed = fixture::finished("podman", "RULE-001", Verdict::Passed, None);
    let half = Report::from_events([fixture::started(), plan, passed, skipped, end]);
    let second = &half.subjects[0].requirements[1];
    assert_eq!(second.verdict, Verdict::Inconclusive);
    assert!(
        second.was_cut_off()
            && second
                .detail
                .as_ref()
                .unwrap()
                .seen
                .contains("the engine went away")
    );
    assert_eq!(half.exit(false), Exit::NotConformant);
}

#[test]
fn a_stream_that_does_not_fit_together_loses_no_verdict() {
    let report = Report::from_events([
        fixture::finished("ghost", "RULE-001", Verdict::Failed, None),
        fixture::finished("ghost", "RULE-001", Verdict::Passed, None),
        Event::RequirementStarted {
            subject: "ghost".into(),
            id: "RULE-002".into(),
        },
        Event::RunFinished {
            interrupted: None,
            duration_ms: 1,
        },
    ]);
    let rows = &report.subjects[0].requirements;
    assert_eq!((rows[0].verdict, rows[0].level), (Verdict::Failed, Level::Must));
    assert!(rows[1].was_cut_off());
    assert_eq!(report.exit(false), Exit::NotConformant);
    let pretended = PlannedRow {
        skipped: Some(Verdict::Passed),
        ..fixture::row("R-1", "t", Level::Must, "c")
    };
    let plan = Event::SubjectPlanned {
        subject: fixture::info("podman"),
        rows: vec![pretended],
    };
    assert!(Report::from_events([plan]).subjects[0].requirements[0].was_cut_off());
}
