//! Features → requirements.

use std::collections::BTreeMap;

use gherkin::{Examples, GherkinEnv, Scenario, Step};

use super::{FeatureSource, Need, Problem, Purpose, Requirement, Row, written::written};
use crate::{catalogue::Catalogue, near_miss::hint, verdict::Level};

/// What stands in the features.
pub(super) struct Parsed {
    pub(super) requirements: Vec<Requirement>,
    /// File → what it is for.
    pub(super) purposes: BTreeMap<String, Purpose>,
    pub(super) problems: Vec<Problem>,
}

/// Parses every feature; a feature that cannot be parsed is a problem with file and line.
pub(super) fn parse_all(source: &FeatureSource, catalogue: &Catalogue) -> Parsed {
    let (mut requirements, mut problems) = (Vec::new(), Vec::new());
    let mut purposes = BTreeMap::new();
    let texts = match source.read() {
        Ok(texts) => texts,
        Err((path, error)) => {
            return Parsed {
                requirements,
                purposes,
                problems: vec![Problem::new(&path, 0, format!("cannot be read: {error}"))],
            };
        }
    };
    if texts.is_empty() {
        problems.push(Problem::new("features", 0, "there is no .feature file"));
    }
    for (file, text) in texts {
        match gherkin::Feature::parse(&text, GherkinEnv::default()) {
            Ok(feature) => {
                if feature.background.is_some() || !feature.rules.is_empty() {
                    problems.push(Problem::new(
                        &file,
                        feature.position.line,
                        "has a Background or a Rule; a scenario says itself what it needs",
                    ));
                }
                let purpose = Purpose {
                    title: feature.name.clone(),
                    text: one_line(feature.description.as_deref()),
                };
                purposes.insert(file.clone(), purpose);
                for scenario in &feature.scenarios {
                    requirements.push(requirement(&file, scenario, catalogue, &mut problems));
                }
            }
            Err(error) => {
                let text = error.to_string();
                problems.push(Problem::new(
                    &file,
                    line_of(&text),
                    format!("is no valid feature: {text}"),
                ));
            }
        }
    }
    Parsed {
        requirements,
        purposes,
        problems,
    }
}

/// The line in a parse error's text, `… at 3:5 …`.
fn line_of(text: &str) -> usize {
    text.split(|character: char| !(character.is_ascii_digit() || character == ':'))
        .filter_map(|word| word.split_once(':'))
        .find_map(|(line, _)| line.parse().ok())
        .unwrap_or(0)
}

fn requirement(
    file: &str,
    scenario: &Scenario,
    catalogue: &Catalogue,
    problems: &mut Vec<Problem>,
) -> Requirement {
    let line = scenario.position.line;
    let mut report = |problem: String| problems.push(Problem::new(file, line, problem));
    let mut level = None;
    let mut found = Requirement {
        id: String::new(),
        title: scenario.name.clone(),
        level: Level::Must,
        since: String::new(),
        chapter: String::new(),
        profiles: Vec::new(),
        needs: Vec::new(),
        reason: one_line(scenario.description.as_deref()),
        mutants: Vec::new(),
        fresh: false,
        alone: false,
        serial: false,
        file: file.to_owned(),
        line,
        rows: Vec::new(),
        written: written(scenario),
    };
    for tag in &scenario.tags {
        let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
        match name {
            "id" => value.clone_into(&mut found.id),
            "must" => level = Some(Level::Must),
            "should" => level = Some(Level::Should),
            "may" => level = Some(Level::May),
            "since" => value.clone_into(&mut found.since),
            "profile" => found.profiles.push(value.to_owned()),
            "needs" => found.needs.extend(value.split(',').map(Need::parse)),
            "mutant" => found.mutants.push(value.to_owned()),
            "fresh" => found.fresh = true,
            "alone" => found.alone = true,
            "serial" => found.serial = true,
            _ => report(format!("has the unknown tag @{tag}")),
        }
    }
    found.chapter = found.id.split('-').next().unwrap_or_default().to_owned();
    match level {
        Some(level) => found.level = level,
        None => report("has no level: @must, @should or @may".into()),
    }
    for need in &found.needs {
        check_need(need, catalogue, &mut report);
    }
    found.rows = rows(scenario, catalogue, &mut report);
    found
}

fn one_line(text: Option<&str>) -> String {
    text.unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a need names must be in the catalogue.
fn check_need(need: &Need, catalogue: &Catalogue, report: &mut impl FnMut(String)) {
    match need {
        Need::Capability(name) | Need::Without(name) => {
            if !catalogue.capabilities.contains_key(name) {
                report(format!(
                    "needs the unknown capability {name:?}{}",
                    hint(name, catalogue.capabilities.keys().map(String::as_str))
                ));
            }
        }
        Need::Choice(name, variants) => match catalogue.choices.get(name) {
            None => {
                report(format!(
                    "needs the unknown choice {name:?}{}",
                    hint(name, catalogue.choices.keys().map(String::as_str))
                ));
            }
            Some(choice) => {
                let unknown = variants
                    .iter()
                    .filter(|variant| !choice.values.contains_key(*variant));
                for variant in unknown {
                    let known: Vec<_> = choice.values.keys().map(String::as_str).collect();
                    report(format!(
                        "needs the unknown variant {variant:?} of {name}; it has {}",
                        known.join(", ")
                    ));
                }
            }
        },
    }
}

fn rows(scenario: &Scenario, catalogue: &Catalogue, report: &mut impl FnMut(String)) -> Vec<Row> {
    if scenario.examples.is_empty() {
        return vec![Row {
            example: None,
            needs: Vec::new(),
            scenario: bare(scenario, scenario.steps.clone()),
        }];
    }
    let mut rows = Vec::new();
    for examples in &scenario.examples {
        let needs: Vec<Need> = examples
            .tags
            .iter()
            .filter_map(|tag| tag.strip_prefix("needs:"))
            .flat_map(|needs| needs.split(',').map(Need::parse))
            .collect();
        for need in &needs {
            check_need(need, catalogue, report);
        }
        rows.extend(expand(scenario, examples, &needs, report));
    }
    if rows.is_empty() {
        report("has examples without rows".into());
    }
    rows
}

fn expand(
    scenario: &Scenario,
    examples: &Examples,
    needs: &[Need],
    report: &mut impl FnMut(String),
) -> Vec<Row> {
    let Some(table) = &examples.table else {
        return Vec::new();
    };
    let Some((header, values)) = table.rows.split_first() else {
        return Vec::new();
    };
    let row = |row: &Vec<String>, report: &mut dyn FnMut(String)| {
        let fill = |text: &str| {
            header
                .iter()
                .zip(row)
                .fold(text.to_owned(), |text, (name, value)| {
                    text.replace(&format!("<{name}>"), value)
                })
        };
        let steps: Vec<Step> = scenario
            .steps
            .iter()
            .map(|step| {
                let value = fill(&step.value);
                if let Some(left) = placeholder(&step.value, header) {
                    report(format!(
                        "has a step with <{left}>, which its examples do not give"
                    ));
                }
                Step {
                    value,
                    ..step.clone()
                }
            })
            .collect();
        let example = header
            .iter()
            .zip(row)
            .map(|(name, value)| format!("{name} = {value}"))
            .collect::<Vec<_>>()
            .join(", ");
        Row {
            example: Some(example),
            needs: needs.to_vec(),
            scenario: bare(scenario, steps),
        }
    };
    values.iter().map(|values| row(values, report)).collect()
}

/// A `<name>` in a step that no column has.
fn placeholder<'a>(text: &'a str, header: &[String]) -> Option<&'a str> {
    text.split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(name, _)| name)
        .find(|name| !header.iter().any(|column| column == name))
}

/// The scenario as it is run: no examples, no tags but those that the runner adds.
fn bare(scenario: &Scenario, steps: Vec<Step>) -> Scenario {
    Scenario {
        steps,
        examples: Vec::new(),
        tags: Vec::new(),
        ..scenario.clone()
    }
}
