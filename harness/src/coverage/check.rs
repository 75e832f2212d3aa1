//! What makes the corpus of faults and the checks of peers a measure: what they name is there.

use std::collections::BTreeSet;

use super::{Answer, Fault};
use crate::{
    catalogue::{Catalogue, FAULTS, PEERS},
    contract::{Contract, Problem},
    near_miss::hint,
};

const FAULTS_FILE: &str = "catalogue/faults.toml";
const PEERS_FILE: &str = "catalogue/peers.toml";
const PLANNED_FILE: &str = "catalogue/planned.toml";

/// What is wrong with the rows, each with its place. The contract has to be the whole one.
#[must_use]
pub fn check(contract: &Contract) -> Vec<Problem> {
    let mut problems = check_faults(contract);
    problems.extend(check_peers(contract));
    problems.extend(check_planned(contract));
    problems.sort();
    problems
}

fn check_faults(contract: &Contract) -> Vec<Problem> {
    let faults = &contract.catalogue.faults;
    let mut problems = Vec::new();
    for (id, row) in &faults.rows {
        let line = line_of(FAULTS, row.span().start);
        let mut report = |problem: String| {
            problems.push(Problem::new(FAULTS_FILE, line, format!("{id} {problem}")));
        };
        if faults.kind_of(id).is_none() {
            report(format!(
                "begins with the letters of no kind; there are {}",
                listed(faults.kinds.keys())
            ));
        }
        check_fault(contract, row.get_ref(), &mut report);
    }
    for (code, kind) in &faults.kinds {
        if !faults
            .rows
            .keys()
            .any(|id| id.split('-').next() == Some(code.as_str()))
        {
            let name = &kind.name;
            problems.push(Problem::new(
                FAULTS_FILE,
                0,
                format!("the kind {name} has no row; give it one, {code}-01, or take it out"),
            ));
        }
    }
    problems
}

fn check_fault(contract: &Contract, row: &Fault, report: &mut impl FnMut(String)) {
    if !row.source.starts_with("https://") {
        report(format!(
            "has the source {:?}; it has to be the https:// link to the report",
            row.source
        ));
    }
    if row.wrong.trim().is_empty() {
        report("has an empty `wrong`; say in one line what went wrong".into());
    }
    if row.at_risk.is_empty() {
        report("has nothing at risk; name the kinds of backends, or \"all\"".into());
    }
    if row.chapters.is_empty() {
        report("belongs to no chapter; name the code of one".into());
    }
    for chapter in &row.chapters {
        if !is_chapter(&contract.catalogue, chapter) {
            report(format!(
                "belongs to the unknown chapter {chapter:?}{}",
                hint_of_chapter(&contract.catalogue, chapter)
            ));
        }
    }
    check_answer(contract, &row.answer, report);
    match &row.answer {
        Answer::Due(chapter) if !row.chapters.contains(chapter) => report(format!(
            "is due in {chapter}, which is none of its chapters; add it to them"
        )),
        Answer::Exception(reason) if reason.trim().is_empty() => {
            report("is an exception without a reason; say why no requirement can catch it".into());
        }
        _ => {}
    }
}

fn check_peers(contract: &Contract) -> Vec<Problem> {
    let peers = &contract.catalogue.peers;
    let (mut reasons, mut categories) = (BTreeSet::new(), BTreeSet::new());
    let mut problems = Vec::new();
    for (suite, checks) in &peers.suites {
        for (name, check) in &checks.checks {
            let line = line_of(PEERS, check.span().start);
            let mut report = |problem: String| {
                problems.push(Problem::new(
                    PEERS_FILE,
                    line,
                    format!("{suite} {name} {problem}"),
                ));
            };
            let check = check.get_ref();
            categories.insert(&check.category);
            if !peers.categories.contains_key(&check.category) {
                report(format!(
                    "is of the unknown category {:?}; [categories] has {}",
                    check.category,
                    listed(peers.categories.keys())
                ));
            }
            if check.functions == 0 {
                report("stands for no function; leave `functions` out where it is one".into());
            }
            check_answer(contract, &check.answer, &mut report);
            if let Answer::Exception(reason) = &check.answer {
                reasons.insert(reason);
                if !peers.reasons.contains_key(reason) {
                    report(format!(
                        "has the unknown reason {reason:?}{}; [reasons] has {}",
                        hint(reason, peers.reasons.keys().map(String::as_str)),
                        listed(peers.reasons.keys())
                    ));
                }
            }
        }
    }
    let unused = |table: &str, name: &String| {
        let problem = format!("[{table}] has {name}, which no check names; take it out");
        Problem::new(PEERS_FILE, 0, problem)
    };
    let known = peers.reasons.keys().filter(|name| !reasons.contains(name));
    problems.extend(known.map(|name| unused("reasons", name)));
    let known = peers.categories.keys().filter(|name| !categories.contains(name));
    problems.extend(known.map(|name| unused("categories", name)));
    problems
}

/// A planned chapter is not written; a row that is due in a chapter ends with it.
fn check_planned(contract: &Contract) -> Vec<Problem> {
    let catalogue = &contract.catalogue;
    let written = catalogue
        .planned
        .keys()
        .filter(|code| catalogue.chapters.contains_key(*code));
    written
        .map(|code| {
            let problem =
                format!("{code} is in chapters.toml, too; take out of planned.toml what is written");
            Problem::new(PLANNED_FILE, 0, problem)
        })
        .collect()
}

fn check_answer(contract: &Contract, answer: &Answer, report: &mut impl FnMut(String)) {
    let catalogue = &contract.catalogue;
    match answer {
        Answer::CaughtBy(ids) => {
            if ids.is_empty() {
                report("is caught by nothing: `caught_by` is empty".into());
            }
            for id in ids.iter().filter(|id| contract.find(id).is_none()) {
                let known = contract.requirements.iter().map(|one| one.id.as_str());
                let why = if catalogue.retired.contains(id) {
                    ", which was retired; name what has taken its place".into()
                } else {
                    format!(", which is no requirement{}", hint(id, known))
                };
                report(format!("is caught by {id}{why}"));
            }
        }
        Answer::Due(chapter) if catalogue.chapters.contains_key(chapter) => report(format!(
            "is due in {chapter}, which is written; name the requirement of it that catches this, as `caught_by`"
        )),
        Answer::Due(chapter) if !catalogue.planned.contains_key(chapter) => report(format!(
            "is due in the unknown chapter {chapter:?}{}; planned.toml names those to come",
            hint_of_chapter(catalogue, chapter)
        )),
        Answer::Due(_) | Answer::Exception(_) => {}
    }
}

fn is_chapter(catalogue: &Catalogue, code: &str) -> bool {
    catalogue.chapters.contains_key(code) || catalogue.planned.contains_key(code)
}

fn hint_of_chapter(catalogue: &Catalogue, code: &str) -> String {
    let known = catalogue.chapters.keys().chain(catalogue.planned.keys());
    hint(code, known.map(String::as_str))
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The line in which a byte of a text stands, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.split(|byte| *byte == b'\n').count()
}
