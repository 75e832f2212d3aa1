//! What makes a set of features a contract.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::Requirement;
use crate::{catalogue::Catalogue, near_miss::hint, step::StepTable};

/// Something wrong with a feature, with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file: a feature, relative to the folder of features, or one of the catalogue.
    pub file: String,
    /// The line; 0 where none can be named.
    pub line: usize,
    /// What is wrong; reads on after the place.
    pub problem: String,
}

impl Problem {
    pub(crate) fn new(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

/// Checks every requirement for itself, and all against each other.
pub(super) fn check(requirements: &[Requirement], catalogue: &Catalogue) -> Vec<Problem> {
    let mut problems = Vec::new();
    let steps = StepTable::new();
    for requirement in requirements {
        let mut report = |line: usize, problem: String| {
            let name = if requirement.id.is_empty() {
                "the scenario"
            } else {
                &requirement.id
            };
            problems.push(Problem::new(&requirement.file, line, format!("{name} {problem}")));
        };
        check_tags(requirement, catalogue, |problem| {
            report(requirement.line, problem);
        });
        check_steps(requirement, &steps, &mut report);
    }
    problems.extend(check_ids(requirements, catalogue));
    problems.extend(check_mutants(requirements, catalogue));
    problems
}

fn check_tags(requirement: &Requirement, catalogue: &Catalogue, mut report: impl FnMut(String)) {
    if requirement.id.is_empty() {
        report("has no id".into());
    } else if !is_id(&requirement.id) {
        report("has an id that is not a chapter's code, a dash and three digits".into());
    } else if let Some(chapter) = catalogue.chapters.get(&requirement.chapter) {
        let expected = format!(
            "{}/{}.feature",
            chapter.folder,
            requirement.chapter.to_lowercase()
        );
        if requirement.file != expected {
            report(format!("belongs into {expected}"));
        }
    } else {
        report(format!(
            "is of a chapter that the catalogue does not know{}",
            hint(
                &requirement.chapter,
                catalogue.chapters.keys().map(String::as_str)
            )
        ));
    }
    if requirement.since.is_empty() {
        report("does not say since which version it holds: @since:0.1".into());
    }
    if requirement.title.trim().is_empty() {
        report("has no title".into());
    }
    if requirement.reason.is_empty() {
        report("has no reason: say under its title why it exists".into());
    } else if !requirement.reason.contains("(https://") {
        report("has a reason without the link to its source, as (https://…)".into());
    }
    if requirement.profiles.is_empty() {
        report("is in no profile".into());
    }
    for profile in &requirement.profiles {
        if !catalogue.profiles.contains_key(profile) {
            report(format!(
                "is in the unknown profile {profile:?}{}",
                hint(profile, catalogue.profiles.keys().map(String::as_str))
            ));
        }
    }
    if requirement.mutants.is_empty() {
        report("has no mutant that proves it: @mutant:name".into());
    }
}

/// `CODE-123`.
fn is_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(code, number)| {
        !code.is_empty()
            && code.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.len() == 3
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn check_steps(requirement: &Requirement, steps: &StepTable, report: &mut impl FnMut(usize, String)) {
    let mut seen = BTreeSet::new();
    for row in &requirement.rows {
        for step in &row.scenario.steps {
            if let Err(problem) = steps.find(step.ty, &step.value)
                && seen.insert(problem.clone())
            {
                report(step.position.line, problem);
            }
        }
        if row.scenario.steps.is_empty() && seen.insert(String::new()) {
            report(requirement.line, "has no steps".into());
        }
    }
}

fn check_ids(requirements: &[Requirement], catalogue: &Catalogue) -> Vec<Problem> {
    let mut first: BTreeMap<&str, &Requirement> = BTreeMap::new();
    let mut problems = Vec::new();
    for requirement in requirements
        .iter()
        .filter(|requirement| !requirement.id.is_empty())
    {
        let Requirement { id, file, line, .. } = requirement;
        if catalogue.retired.contains(id) {
            problems.push(Problem::new(
                file,
                *line,
                format!("{id} was retired; an id is never used again"),
            ));
        }
        if let Some(other) = first.insert(id, requirement) {
            let place = format!("{}:{}", other.file, other.line);
            problems.push(Problem::new(
                file,
                *line,
                format!("{id} is the id of another requirement, too: {place}"),
            ));
        }
    }
    problems
}

/// A mutant and the requirements that it must turn red name each other.
fn check_mutants(requirements: &[Requirement], catalogue: &Catalogue) -> Vec<Problem> {
    let mut problems = Vec::new();
    for requirement in requirements {
        let Requirement { id, file, line, .. } = requirement;
        for name in &requirement.mutants {
            match catalogue.mutants.get(name) {
                None => {
                    let problem = format!(
                        "{id} names the unknown mutant {name:?}{}",
                        hint(name, catalogue.mutants.keys().map(String::as_str))
                    );
                    problems.push(Problem::new(file, *line, problem));
                }
                Some(mutant) if !mutant.kills.contains(id) => {
                    let problem = format!(
                        "{id} names the mutant {name}, whose entry in the catalogue does not name {id}"
                    );
                    problems.push(Problem::new(file, *line, problem));
                }
                Some(_) => {}
            }
        }
    }
    problems
}
