//! `herm list`: what the contract holds.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use herm_harness::{
    contract::{Contract, RequirementInfo},
    verdict::Exit,
};
use serde::Serialize;

use super::{contract::ContractArguments, fail};

/// List the requirements of the contract, or its vocabulary.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    contract: ContractArguments,
    /// Check the features: ids, reasons, vocabulary, steps; problems are told with file and line, and give exit code 2
    #[arg(long, conflicts_with_all = ["capabilities", "choices", "profiles", "mutants"])]
    check: bool,
    /// List the capabilities that a backend can declare
    #[arg(long, conflicts_with_all = ["choices", "profiles", "mutants"])]
    capabilities: bool,
    /// List the choices that a backend declares a variant of
    #[arg(long, conflicts_with_all = ["profiles", "mutants"])]
    choices: bool,
    /// List the profiles: named sets of requirements
    #[arg(long, conflicts_with = "mutants")]
    profiles: bool,
    /// List the mutants that prove the requirements
    #[arg(long)]
    mutants: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (contract, problems) = match arguments.contract.load() {
        Ok(loaded) => loaded,
        Err(error) => return fail(Exit::Broken, error),
    };
    if arguments.check {
        return check(&contract, &problems);
    }
    if !problems.is_empty() {
        return fail(Exit::Usage, super::contract::describe(&problems));
    }
    let text = if arguments.json {
        json(arguments, &contract)
    } else {
        text(arguments, &contract)
    };
    print(&text)
}

/// Prints to standard output; a reader that has gone is none of our business.
pub(super) fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(
            Exit::Broken,
            format_args!("failed to write to standard output: {error}"),
        ),
        _ => ExitCode::SUCCESS,
    }
}

fn check(contract: &Contract, problems: &[herm_harness::contract::Problem]) -> ExitCode {
    if problems.is_empty() {
        let requirements = contract.requirements.len();
        let steps = herm_harness::step::StepTable::new().len();
        return print(&format!(
            "{requirements} requirements, {} mutants, {steps} steps: no problem",
            contract.catalogue.mutants.len()
        ));
    }
    for problem in problems {
        eprintln!("{problem}");
    }
    fail(
        Exit::Usage,
        format_args!(
            "{} problems in the features; each is told above with its place",
            problems.len()
        ),
    )
}

fn json(arguments: &Arguments, contract: &Contract) -> String {
    let catalogue = &contract.catalogue;
    if arguments.capabilities {
        return pretty(&catalogue.capabilities);
    }
    if arguments.choices {
        return pretty(&catalogue.choices);
    }
    if arguments.profiles {
        return pretty(&catalogue.profiles);
    }
    if arguments.mutants {
        return pretty(&catalogue.mutants);
    }
    let requirements: Vec<_> = contract.requirements.iter().map(RequirementInfo::from).collect();
    pretty(&requirements)
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn text(arguments: &Arguments, contract: &Contract) -> String {
    let catalogue = &contract.catalogue;
    if arguments.capabilities {
        return table(
            catalogue
                .capabilities
                .iter()
                .map(|(name, explains)| (name.as_str(), explains.clone())),
        );
    }
    if arguments.profiles {
        return table(
            catalogue
                .profiles
                .iter()
                .map(|(name, explains)| (name.as_str(), explains.clone())),
        );
    }
    if arguments.mutants {
        return table(catalogue.mutants.iter().map(|(name, mutant)| {
            (
                name.as_str(),
                format!("{} [{}]", mutant.breaks, mutant.kills.join(" ")),
            )
        }));
    }
    if arguments.choices {
        let blocks = catalogue.choices.iter().map(|(name, choice)| {
            let values = table(
                choice
                    .values
                    .iter()
                    .map(|(value, explains)| (value.as_str(), explains.clone())),
            );
            format!("{name}: {}\n  {}", choice.explains, values.replace('\n', "\n  "))
        });
        return blocks.collect::<Vec<_>>().join("\n");
    }
    let mut lines = Vec::new();
    let mut chapter = "";
    for requirement in &contract.requirements {
        if requirement.chapter != chapter {
            chapter = &requirement.chapter;
            let title = catalogue
                .chapters
                .get(chapter)
                .map_or("", |chapter| &chapter.title);
            lines.push(format!(
                "{}{chapter}: {title}",
                if lines.is_empty() { "" } else { "\n" }
            ));
        }
        lines.push(format!(
            "  {:<12} {:<7} {}",
            requirement.id,
            requirement.level.to_string(),
            requirement.title
        ));
    }
    lines.join("\n")
}

fn table<'a>(rows: impl Iterator<Item = (&'a str, String)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
    rows.map(|(name, explains)| format!("{name:<width$}  {explains}"))
        .collect::<Vec<_>>()
        .join("\n")
}
