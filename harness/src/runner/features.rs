//! The runnable part of the contract, as cucumber wants it.

use std::collections::{BTreeMap, BTreeSet};

use cucumber::{Parser, cli, parser};
use futures::stream;

use crate::contract::{Contract, Declared};

/// What the runner has to know of a scenario, looked up by its requirement.
pub(super) struct Flags(BTreeMap<String, (bool, bool)>);

impl Flags {
    /// Whether it wants a sandbox of its own, and an adapter process of its own.
    pub(super) fn of(&self, scenario: &gherkin::Scenario) -> (bool, bool) {
        self.0.get(id_of(scenario)).copied().unwrap_or_default()
    }
}

/// The id of a scenario's requirement.
pub(super) fn id_of(scenario: &gherkin::Scenario) -> &str {
    scenario
        .tags
        .iter()
        .find_map(|tag| tag.strip_prefix("id:"))
        .unwrap_or_default()
}

/// The values of a scenario's example, if it has any.
pub(super) fn example_of(scenario: &gherkin::Scenario) -> Option<String> {
    scenario
        .tags
        .iter()
        .find_map(|tag| tag.strip_prefix("example:"))
        .map(str::to_owned)
}

/// The features that will be run.
pub(super) struct Features {
    chapters: Vec<gherkin::Feature>,
    flags: BTreeMap<String, (bool, bool)>,
    rows: BTreeMap<String, usize>,
}

impl Features {
    /// One feature a chapter, with every row of the wanted requirements that the declaration allows.
    pub(super) fn of(contract: &Contract, declared: &Declared, wanted: &BTreeSet<String>) -> Self {
        let (mut flags, mut rows) = (BTreeMap::new(), BTreeMap::new());
        let mut features: Vec<gherkin::Feature> = Vec::new();
        for requirement in contract
            .requirements
            .iter()
            .filter(|requirement| wanted.contains(&requirement.id))
        {
            flags.insert(requirement.id.clone(), (requirement.fresh, requirement.alone));
            if features
                .last()
                .is_none_or(|feature| feature.name != requirement.chapter)
            {
                features.push(empty(&requirement.chapter, &requirement.file));
            }
            let Some(feature) = features.last_mut() else {
                continue;
            };
            for (_, row) in requirement.runnable_rows(declared) {
                *rows.entry(requirement.id.clone()).or_default() += 1;
                let mut scenario = row.scenario.clone();
                scenario.tags = vec![format!("id:{}", requirement.id)];
                // Cucumber runs what has this tag by itself.
                scenario
                    .tags
                    .extend(requirement.serial.then(|| "serial".to_owned()));
                scenario
                    .tags
                    .extend(row.example.as_ref().map(|example| format!("example:{example}")));
                feature.scenarios.push(scenario);
            }
        }
        Self {
            chapters: features,
            flags,
            rows,
        }
    }

    pub(super) fn flags(&self) -> Flags {
        Flags(self.flags.clone())
    }

    /// How many scenarios each requirement has.
    pub(super) fn rows(&self) -> &BTreeMap<String, usize> {
        &self.rows
    }
}

fn empty(name: &str, file: &str) -> gherkin::Feature {
    let at = gherkin::LineCol { line: 1, col: 1 };
    gherkin::Feature {
        keyword: "Feature".into(),
        name: name.into(),
        description: None,
        background: None,
        scenarios: Vec::new(),
        rules: Vec::new(),
        tags: Vec::new(),
        span: gherkin::Span { start: 0, end: 0 },
        position: at,
        path: Some(file.into()),
    }
}

impl Parser<()> for Features {
    type Cli = cli::Empty;
    type Output = stream::Iter<std::vec::IntoIter<parser::Result<gherkin::Feature>>>;

    fn parse(self, (): (), _: Self::Cli) -> Self::Output {
        let features: Vec<_> = self.chapters.into_iter().map(Ok).collect();
        stream::iter(features)
    }
}
