//! `herm explain`: one requirement, in full.

use std::process::ExitCode;

use clap::Args;
use herm_harness::{contract::Contract, contract::Requirement, near_miss::hint, verdict::Exit};

use super::{contract::ContractArguments, fail, list::print};

/// Explain a requirement: what it asks, why, of whom, and what proves it.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The requirement's id, for example TIMEOUT-003
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    contract: ContractArguments,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let contract = match arguments.contract.load_valid() {
        Ok(contract) => contract,
        Err(error) => return fail(Exit::Usage, error),
    };
    let id = arguments.id.to_uppercase();
    let Some(requirement) = contract.find(&id) else {
        let hint = hint(
            &id,
            contract
                .requirements
                .iter()
                .map(|requirement| requirement.id.as_str()),
        );
        let asked = &arguments.id;
        return fail(
            Exit::Usage,
            format_args!("there is no requirement {asked:?}{hint}; `herm list` names all"),
        );
    };
    print(&explain(&contract, requirement))
}

fn explain(contract: &Contract, requirement: &Requirement) -> String {
    let catalogue = &contract.catalogue;
    let mut lines = vec![
        format!(
            "{} {} (since {})",
            requirement.id, requirement.title, requirement.since
        ),
        format!(
            "  {} · profile {}",
            requirement.level,
            requirement.profiles.join(", ")
        ),
        format!("  why: {}", requirement.reason),
    ];
    for need in &requirement.needs {
        let text = need.to_string();
        let name = text.trim_start_matches('!').split('=').next().unwrap_or_default();
        let about = catalogue
            .capabilities
            .get(name)
            .or_else(|| catalogue.choices.get(name).map(|choice| &choice.explains));
        lines.push(format!("  needs {text}: {}", about.map_or("", String::as_str)));
    }
    lines.push(String::new());
    if let Some(row) = requirement.rows.first() {
        let steps = row
            .scenario
            .steps
            .iter()
            .map(|step| format!("  {} {}", step.keyword.trim(), step.value));
        lines.extend(steps);
    }
    let examples: Vec<_> = requirement
        .rows
        .iter()
        .filter_map(|row| row.example.as_ref().map(|example| (example, &row.needs)))
        .collect();
    if examples.len() > 1 {
        lines.push("  and the same for:".into());
        for (example, needs) in &examples[1..] {
            let needs: Vec<_> = needs.iter().map(ToString::to_string).collect();
            let needs = if needs.is_empty() {
                String::new()
            } else {
                format!("  (needs {})", needs.join(", "))
            };
            lines.push(format!("    {example}{needs}"));
        }
    }
    lines.push(String::new());
    for name in &requirement.mutants {
        let breaks = catalogue.mutants.get(name).map_or("", |mutant| &mutant.breaks);
        lines.push(format!("  proved by the mutant {name}: {breaks}"));
    }
    for (id, row) in catalogue.faults.caught_by(&requirement.id) {
        lines.push(format!("  would have caught {id}: {} {}", row.wrong, row.source));
    }
    lines.push(format!(
        "  written in features/{}:{}",
        requirement.file, requirement.line
    ));
    lines.push(format!("  run it alone: herm run --only {}", requirement.id));
    lines.join("\n")
}
