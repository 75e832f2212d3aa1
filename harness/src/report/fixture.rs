//! One made-up run for the tests of every report.

use std::collections::BTreeMap;

use crate::{
    event::{Detail, Event, FORMAT, PlannedRow, SubjectInfo},
    verdict::{Level, Verdict},
};

use super::model::Report;

/// What a hostile command may print: cursor moves, XML, Markdown, bidirectional text, controls, a flood.
pub(crate) const HOSTILE: &str = "\x1b[2J]]>&amp;<script>alert(1)</script>\r\n| a | `b` ```\n```\n</details>**x** [y](http://evil.example)\0\u{7}\u{9b}31m\u{202e}\u{fffe}\u{ffff}\u{1f600}";

pub(crate) fn row(id: &str, title: &str, level: Level, chapter: &str) -> PlannedRow {
    PlannedRow {
        id: id.into(),
        title: title.into(),
        level,
        chapter: chapter.into(),
        reason: format!(
            "Seen in the field: descendants that called setsid survived the kill (https://example.org/incident/{}).",
            id.rsplit('-').next().unwrap()
        ),
        skipped: None,
        why: None,
    }
}

pub(crate) fn info(name: &str) -> SubjectInfo {
    SubjectInfo {
        name: name.into(),
        version: "5.4.2".into(),
        homepage: Some("https://example.org/".into()),
        backend: Some("container".into()),
        mode: Some("native".into()),
        emulated: false,
        capabilities: vec!["timeout".into(), "kill".into()],
        choices: BTreeMap::from([("kill_scope".into(), "tree".into())]),
        untested: Vec::new(),
        parallelism: 4,
    }
}

pub(crate) fn started() -> Event {
    Event::RunStarted {
        format: FORMAT,
        suite_version: "0.1.0".into(),
        run: "01J9-abc".into(),
        started: "2026-03-01T12:00:00Z".into(),
        certify: false,
    }
}

pub(crate) fn finished(subject: &str, id: &str, verdict: Verdict, detail: Option<Detail>) -> Event {
    let red = !matches!(
        verdict,
        Verdict::Passed | Verdict::Unsupported | Verdict::Disabled
    );
    let reproduce = red.then(|| format!("herm run --subject {subject}.toml --only {id} -v"));
    Event::RequirementFinished {
        subject: subject.into(),
        id: id.into(),
        verdict,
        duration_ms: 2_319,
        detail,
        reproduce,
    }
}

pub(crate) fn detail(verdict: Verdict) -> Option<Detail> {
    let plain = |seen: &str| {
        Some(Detail {
            seen: seen.into(),
            ..Detail::default()
        })
    };
    match verdict {
        Verdict::Passed => None,
        Verdict::Disabled => plain("switched off with --skip"),
        Verdict::Unsupported => plain("timeout is not declared"),
        Verdict::Inconclusive => plain("no condition `stop` on this subject"),
        Verdict::UnexpectedPass => Some(Detail {
            note: Some("passed, although podman.expect.toml says failed; remove the entry".into()),
            ..Detail::default()
        }),
        Verdict::KnownFailure | Verdict::Flaky | Verdict::Failed | Verdict::Error => Some(Detail {
            step: Some("Then the beat has stopped".into()),
            location: Some("features/exec/timeout.feature:12".into()),
            expected: (verdict != Verdict::Error).then(|| "the beat to have stopped".into()),
            seen: "beat at 1.20 s\nbeat at 1.30 s\nbeat at 1.40 s; process 4711 (sleep) of 4700 (bash)"
                .into(),
            kind: (verdict == Verdict::Error).then(|| "adapter_crashed".into()),
            note: (verdict == Verdict::KnownFailure)
                .then(|| "known: upstream #12 (https://example.org/12)".into()),
            transcript: vec!["> {\"method\":\"exec.run\"}".into()],
            ..Detail::default()
        }),
    }
}

/// `VERDICT-<verdict from 0><level from 1>3`: every verdict at every level, as one subject.
fn every_verdict() -> Vec<Event> {
    let mut rows = Vec::new();
    let mut events = Vec::new();
    for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
        for (number, level) in [(1, Level::May), (2, Level::Must), (3, Level::Should)] {
            let id = format!("VERDICT-{place}{number}3");
            let chapter = ["contract", "exec", "isolation"][place % 3];
            rows.push(row(
                &id,
                &format!("A {level} that ends as {verdict}"),
                level,
                chapter,
            ));
            if !matches!(verdict, Verdict::Unsupported | Verdict::Disabled) {
                events.push(Event::RequirementStarted {
                    subject: "podman".into(),
                    id: id.clone(),
                });
                events.push(finished("podman", &id, verdict, detail(verdict)));
                continue;
            }
            if let Some(last) = rows.last_mut() {
                last.skipped = Some(verdict);
                last.why = detail(verdict).map(|detail| detail.seen);
            }
        }
    }
    events.insert(
        0,
        Event::SubjectPlanned {
            subject: info("podman"),
            rows,
        },
    );
    events
}

fn small(subject: SubjectInfo, verdict: Verdict) -> Vec<Event> {
    let name = subject.name.clone();
    let rows = vec![
        row("TIMEOUT-003", "A deadline is kept", Level::Must, "exec"),
        row(
            "TIMEOUT-004",
            "A worker that left the group dies",
            Level::Must,
            "exec",
        ),
    ];
    vec![
        Event::SubjectPlanned { subject, rows },
        finished(&name, "TIMEOUT-003", Verdict::Passed, None),
        finished(&name, "TIMEOUT-004", verdict, detail(verdict)),
    ]
}

/// A run over four subjects: `docker` skipped, `podman` with every verdict at every level, `local` conformant, `daytona`
/// emulated and partial.
pub(crate) fn events() -> Vec<Event> {
    let mut events = vec![
        started(),
        Event::SubjectSkipped {
            subject: "docker".into(),
            reason: "no engine answers at unix:///var/run/docker.sock; start it, or name it with DOCKER_HOST"
                .into(),
            broken: false,
        },
    ];
    events.extend(every_verdict());
    events.extend(small(info("local"), Verdict::Passed));
    events.extend(small(
        SubjectInfo {
            emulated: true,
            ..info("daytona")
        },
        Verdict::KnownFailure,
    ));
    events.push(Event::RunFinished {
        interrupted: None,
        duration_ms: 41_230,
    });
    events
}

pub(crate) fn report() -> Report {
    Report::from_events(events())
}

/// One subject all of whose text is hostile.
pub(crate) fn hostile_events() -> Vec<Event> {
    let mut planned = row("HOSTILE-001", HOSTILE, Level::Must, HOSTILE);
    planned.reason = format!("{HOSTILE} (https://example.org/a`b|c<d>)");
    let text = || Some(HOSTILE.to_owned());
    let detail = Detail {
        step: text(),
        example: text(),
        location: text(),
        expected: text(),
        seen: format!("{HOSTILE}{}", "x".repeat(20_000)),
        kind: text(),
        note: text(),
        transcript: vec![HOSTILE.into()],
    };
    let name = format!("evil{HOSTILE}");
    let subject = SubjectInfo {
        backend: text(),
        version: HOSTILE.into(),
        ..info(&name)
    };
    vec![
        started(),
        Event::SubjectSkipped {
            subject: HOSTILE.into(),
            reason: HOSTILE.into(),
            broken: false,
        },
        Event::SubjectPlanned {
            subject,
            rows: vec![planned],
        },
        finished(&name, "HOSTILE-001", Verdict::Failed, Some(detail)),
        Event::RunFinished {
            interrupted: None,
            duration_ms: 1,
        },
    ]
}

pub(crate) fn hostile_report() -> Report {
    Report::from_events(hostile_events())
}
