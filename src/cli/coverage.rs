//! `herm list faults` and `herm list peers`: what the contract would have caught, and what it does not yet.

use std::collections::BTreeMap;

use herm_harness::{
    catalogue::Catalogue,
    coverage::{Answer, CheckInfo, FaultInfo, Standing},
};

/// How many rows stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    caught: usize,
    due: usize,
    excepted: usize,
}

impl Counts {
    fn add(&mut self, standing: Standing) {
        match standing {
            Standing::Caught => self.caught += 1,
            Standing::Due => self.due += 1,
            Standing::Excepted => self.excepted += 1,
        }
    }

    fn rows(self) -> usize {
        self.caught + self.due + self.excepted
    }
}

/// The public faults, as rows that are written as JSON.
pub(super) fn faults(catalogue: &Catalogue) -> Vec<FaultInfo<'_>> {
    let rows = catalogue.faults.rows();
    rows.filter_map(|(id, row)| {
        let (_, kind) = catalogue.faults.kind_of(id)?;
        Some(FaultInfo::new(id, kind, row))
    })
    .collect()
}

/// The checks of other suites, as rows that are written as JSON.
pub(super) fn peers(catalogue: &Catalogue) -> Vec<CheckInfo<'_>> {
    let peers = &catalogue.peers;
    let suites = peers.suites.iter();
    suites
        .flat_map(|(suite, checks)| {
            checks
                .checks()
                .map(move |(name, check)| CheckInfo::new(peers, suite, name, check))
        })
        .collect()
}

/// The public faults for people: counts by kind, then what is open.
pub(super) fn faults_text(catalogue: &Catalogue) -> String {
    let faults = &catalogue.faults;
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let (mut due, mut excepted) = (Vec::new(), Vec::new());
    for (id, row) in faults.rows() {
        let Some((code, _)) = faults.kind_of(id) else {
            continue;
        };
        counts.entry(code).or_default().add(row.answer.standing());
        match &row.answer {
            Answer::CaughtBy(_) => {}
            Answer::Due(chapter) => due.push(format!("  {id}  {chapter:<9}  {}", row.wrong)),
            Answer::Exception(reason) => excepted.push(format!("  {id}  {}\n         {reason}", row.wrong)),
        }
    }
    let lines = counts.iter().map(|(code, counts)| {
        let kind = faults.kinds.get(*code);
        let name = kind.map_or("", |kind| kind.name.as_str());
        (
            format!("{code} {name}"),
            *counts,
            kind.map_or("", |kind| kind.explains.as_str()),
        )
    });
    text("fault", &lines.collect::<Vec<_>>(), &due, &excepted)
}

/// The checks of other suites for people: counts by suite, then what is open.
pub(super) fn peers_text(catalogue: &Catalogue) -> String {
    let peers = &catalogue.peers;
    let (mut lines, mut due, mut excepted) = (Vec::new(), Vec::new(), Vec::new());
    for (key, suite) in &peers.suites {
        let mut counts = Counts::default();
        for (name, check) in suite.checks() {
            counts.add(check.answer.standing());
            match &check.answer {
                Answer::CaughtBy(_) => {}
                Answer::Due(chapter) => due.push(format!("  {chapter:<9}  {key} {name}")),
                Answer::Exception(reason) => excepted.push(format!("  {reason:<9}  {key} {name}")),
            }
        }
        lines.push((key.clone(), counts, suite.name.as_str()));
    }
    // By chapter, as that is what is written next.
    due.sort();
    excepted.sort();
    let reasons = peers.reasons.iter();
    let reasons: Vec<_> = reasons
        .map(|(name, reason)| format!("  {name:<9}  {reason}"))
        .collect();
    format!(
        "{}\n\nreasons:\n{}",
        text("suite", &lines, &due, &excepted),
        reasons.join("\n")
    )
}

fn text(of: &str, lines: &[(String, Counts, &str)], due: &[String], excepted: &[String]) -> String {
    let all = lines
        .iter()
        .fold(Counts::default(), |all, (_, counts, _)| Counts {
            caught: all.caught + counts.caught,
            due: all.due + counts.due,
            excepted: all.excepted + counts.excepted,
        });
    let line = |name: &str, counts: Counts, about: &str| {
        let Counts {
            caught,
            due,
            excepted,
        } = counts;
        let line = format!(
            "{name:<16} {:>5} {caught:>7} {due:>5} {excepted:>9}  {about}",
            counts.rows()
        );
        line.trim_end().to_owned()
    };
    let mut text = vec![format!("{of:<16}  rows  caught   due  excepted")];
    text.extend(
        lines
            .iter()
            .map(|(name, counts, about)| line(name, *counts, about)),
    );
    text.push(line("all", all, ""));
    for (title, rows) in [
        ("due in chapters that are not written yet:", due),
        ("excepted:", excepted),
    ] {
        if !rows.is_empty() {
            text.push(format!("\n{title}"));
            text.extend(rows.iter().cloned());
        }
    }
    text.join("\n")
}
