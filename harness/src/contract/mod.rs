//! The contract: requirements, parsed from features.

mod check;
mod need;
mod parse;
mod source;
mod written;

use std::collections::BTreeMap;

use serde::Serialize;

pub use check::Problem;
pub use need::{Declared, Need};
pub use source::FeatureSource;

use crate::{catalogue::Catalogue, verdict::Level};

/// All requirements, in the order of the contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The vocabulary.
    pub catalogue: Catalogue,
    /// The requirements by chapter and number.
    pub requirements: Vec<Requirement>,
    /// The feature file, relative to the folder of features → what it is for.
    pub purposes: BTreeMap<String, Purpose>,
}

/// What a feature is for, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Its title, which begins with the code of its chapter.
    pub title: String,
    /// What stands under the title.
    pub text: String,
}

/// One testable rule.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Its id, for example `TIMEOUT-004`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How binding it is.
    pub level: Level,
    /// The version of the suite that first had it.
    pub since: String,
    /// The code of its chapter.
    pub chapter: String,
    /// The profiles it belongs to.
    pub profiles: Vec<String>,
    /// What a subject must declare, or must not.
    pub needs: Vec<Need>,
    /// Why it exists, with the link to its source.
    pub reason: String,
    /// The mutants that it turns red for.
    pub mutants: Vec<String>,
    /// Whether it wants a sandbox of its own.
    pub fresh: bool,
    /// Whether it wants an adapter process of its own.
    pub alone: bool,
    /// Whether nothing else may run at the same time.
    pub serial: bool,
    /// The feature file, relative to the folder of features.
    pub file: String,
    /// The line of its title.
    pub line: usize,
    /// The scenarios that prove it: one, or one a row of its examples.
    pub rows: Vec<Row>,
    /// The scenario as it is written, with its examples, for people to read.
    pub written: String,
}

/// One scenario of a requirement.
#[derive(Clone, Debug)]
pub struct Row {
    /// The values of its examples, if it has any.
    pub example: Option<String>,
    /// What this row needs besides.
    pub needs: Vec<Need>,
    /// The scenario, its placeholders filled in.
    pub scenario: gherkin::Scenario,
}

/// A requirement as `herm list --json` shows it.
#[derive(Debug, Serialize)]
pub struct RequirementInfo<'a> {
    id: &'a str,
    title: &'a str,
    level: Level,
    since: &'a str,
    chapter: &'a str,
    profiles: &'a [String],
    needs: Vec<String>,
    reason: &'a str,
    mutants: &'a [String],
}

impl<'a> From<&'a Requirement> for RequirementInfo<'a> {
    fn from(requirement: &'a Requirement) -> Self {
        Self {
            id: &requirement.id,
            title: &requirement.title,
            level: requirement.level,
            since: &requirement.since,
            chapter: &requirement.chapter,
            profiles: &requirement.profiles,
            needs: requirement.needs.iter().map(ToString::to_string).collect(),
            reason: &requirement.reason,
            mutants: &requirement.mutants,
        }
    }
}

impl Requirement {
    /// What the declared capabilities and choices lack for this requirement; empty when it can be run.
    #[must_use]
    pub fn missing(&self, declared: &Declared) -> Vec<Need> {
        self.needs
            .iter()
            .filter(|need| !need.is_met(declared))
            .cloned()
            .collect()
    }

    /// The rows that can be run.
    pub fn runnable_rows<'a>(&'a self, declared: &'a Declared) -> impl Iterator<Item = (usize, &'a Row)> {
        self.rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.needs.iter().all(|need| need.is_met(declared)))
    }
}

impl Contract {
    /// Parses all features; everything that is wrong with them comes back besides.
    #[must_use]
    pub fn load(source: &FeatureSource, catalogue: Catalogue) -> (Self, Vec<Problem>) {
        let parse::Parsed {
            mut requirements,
            purposes,
            mut problems,
        } = parse::parse_all(source, &catalogue);
        let order = |chapter: &str| {
            catalogue
                .chapters
                .get(chapter)
                .map_or(u32::MAX, |chapter| chapter.order)
        };
        requirements.sort_by(|a, b| (order(&a.chapter), &a.id).cmp(&(order(&b.chapter), &b.id)));
        problems.extend(check::check(&requirements, &catalogue));
        problems.sort();
        (
            Self {
                catalogue,
                requirements,
                purposes,
            },
            problems,
        )
    }

    /// Declared capabilities that no requirement needs: a claim that this suite cannot look at yet.
    #[must_use]
    pub fn untested(&self, declared: &Declared) -> Vec<String> {
        let rows = self.requirements.iter().flat_map(|requirement| &requirement.rows);
        let needs = self
            .requirements
            .iter()
            .flat_map(|requirement| &requirement.needs);
        let needs: Vec<&Need> = needs.chain(rows.flat_map(|row| &row.needs)).collect();
        let tested = |name: &String| needs.iter().any(|need| **need == Need::Capability(name.clone()));
        declared
            .capabilities
            .iter()
            .filter(|name| !tested(name))
            .cloned()
            .collect()
    }

    /// The requirement of an id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }

    /// Mutant → the requirements that are tagged with it.
    #[must_use]
    pub fn tagged_mutants(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut tagged: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for requirement in &self.requirements {
            for mutant in &requirement.mutants {
                tagged.entry(mutant).or_default().push(&requirement.id);
            }
        }
        tagged
    }
}
