//! `herm list`: what the contract holds.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use herm_harness::{
    book,
    catalogue::Strikes,
    contract::{Contract, Problem, RequirementInfo},
    coverage, manifest,
    tell::tell,
    verdict::Exit,
};
use serde::Serialize;

use super::{Refusal, broken, contract::ContractArguments, coverage as rows, fail};

/// List the requirements of the contract, or its vocabulary.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    contract: ContractArguments,
    /// What to list
    #[arg(value_enum, default_value_t = What::Requirements)]
    what: What,
    /// Check the features, and the rows of faults and peers: ids, reasons, vocabulary, steps; problems are told with file and line, and give exit code 2
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    measured: MeasuredBy,
    /// Write the pages of the contract into the folder of a book: `contract/*.md`, and their part of `SUMMARY.md`
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["what", "faults", "peers", "check", "json"])]
    book: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Short ways to two of the lists.
#[derive(Clone, Copy, Debug, Args)]
struct MeasuredBy {
    /// The same as `herm list faults`
    #[arg(long, conflicts_with_all = ["what", "peers"])]
    faults: bool,
    /// The same as `herm list peers`
    #[arg(long, conflicts_with = "what")]
    peers: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The requirements of the contract.
    Requirements,
    /// What a backend can declare to work.
    Capabilities,
    /// Where both ways are right, and a backend declares its own.
    Choices,
    /// What can be done to a subject's world by way of test.
    Conditions,
    /// Named sets of requirements.
    Profiles,
    /// The broken subjects that prove the requirements.
    Mutants,
    /// How backends have failed in public, and which requirement would have caught it.
    Faults,
    /// What other suites check, and which requirement asks for the same.
    Peers,
    /// The JSON Schema of a manifest, for editors.
    ManifestSchema,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (contract, problems) = match arguments.contract.load() {
        Ok(loaded) => loaded,
        Err(error) => return fail(Exit::Broken, error),
    };
    if arguments.check {
        return check(&contract, problems, arguments.contract.is_whole());
    }
    if !problems.is_empty() {
        return fail(Exit::Usage, super::contract::describe(&problems));
    }
    if let Some(folder) = &arguments.book {
        return write_book(&contract, folder);
    }
    let what = match arguments.measured {
        MeasuredBy { faults: true, .. } => What::Faults,
        MeasuredBy { peers: true, .. } => What::Peers,
        MeasuredBy { .. } => arguments.what,
    };
    let text = if arguments.json {
        json(what, &contract)
    } else {
        text(what, &contract)
    };
    print(&text)
}

fn write_book(contract: &Contract, folder: &Path) -> ExitCode {
    match book::write(contract, folder) {
        Ok(pages) => print(&format!(
            "{pages} pages written to {}",
            folder.join("contract").display()
        )),
        Err(error) => fail(Exit::Broken, error),
    }
}

/// Prints to standard output, as the whole work of a subcommand.
pub(super) fn print(text: &str) -> ExitCode {
    match try_print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err((exit, message)) => fail(exit, message),
    }
}

/// Prints to standard output; a reader that has gone is none of our business.
pub(super) fn try_print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(broken(format_args!(
            "failed to write to standard output: {error}; free space there, or send it elsewhere"
        ))),
        _ => Ok(()),
    }
}

/// Rows of faults and peers name requirements of the whole contract; with features of one's own they say nothing.
fn check(contract: &Contract, mut problems: Vec<Problem>, whole: bool) -> ExitCode {
    if whole {
        problems.extend(coverage::check(contract));
    }
    if problems.is_empty() {
        let requirements = contract.requirements.len();
        let steps = herm_harness::step::StepTable::new().len();
        return print(&format!(
            "{requirements} requirements, {} mutants, {steps} steps: no problem",
            contract.catalogue.mutants.len()
        ));
    }
    for problem in &problems {
        tell(problem);
    }
    fail(
        Exit::Usage,
        format_args!(
            "{} problems in the features and the catalogue; each is told above with its place",
            problems.len()
        ),
    )
}

fn json(what: What, contract: &Contract) -> String {
    let catalogue = &contract.catalogue;
    match what {
        What::Requirements => {
            let requirements: Vec<_> = contract.requirements.iter().map(RequirementInfo::from).collect();
            pretty(&requirements)
        }
        What::Capabilities => pretty(&catalogue.capabilities),
        What::Choices => pretty(&catalogue.choices),
        What::Conditions => pretty(&catalogue.conditions),
        What::Profiles => pretty(&catalogue.profiles),
        What::Mutants => pretty(&catalogue.mutants),
        What::Faults => pretty(&rows::faults(catalogue)),
        What::Peers => pretty(&rows::peers(catalogue)),
        What::ManifestSchema => pretty(&manifest::schema::document(catalogue)),
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn text(what: What, contract: &Contract) -> String {
    let catalogue = &contract.catalogue;
    match what {
        What::ManifestSchema => json(what, contract),
        What::Requirements => requirements(contract),
        What::Faults => rows::faults_text(catalogue),
        What::Peers => rows::peers_text(catalogue),
        What::Capabilities => explained(&catalogue.capabilities),
        What::Conditions => table(catalogue.conditions.iter().map(|(name, condition)| {
            let struck = match condition.strikes {
                Strikes::Sandbox => "a sandbox",
                Strikes::Subject => "the subject",
            };
            (name.as_str(), format!("{} [{struck}]", condition.explains))
        })),
        What::Profiles => explained(&catalogue.profiles),
        What::Choices => {
            let blocks = catalogue.choices.iter().map(|(name, choice)| {
                format!(
                    "{name}: {}\n  {}",
                    choice.explains,
                    explained(&choice.values).replace('\n', "\n  ")
                )
            });
            blocks.collect::<Vec<_>>().join("\n")
        }
        What::Mutants => table(catalogue.mutants.iter().map(|(name, mutant)| {
            (
                name.as_str(),
                format!("{} [{}]", mutant.breaks, mutant.kills.join(" ")),
            )
        })),
    }
}

fn explained(words: &BTreeMap<String, String>) -> String {
    table(
        words
            .iter()
            .map(|(name, explains)| (name.as_str(), explains.clone())),
    )
}

/// The requirements under the titles of their chapters.
fn requirements(contract: &Contract) -> String {
    let mut lines = Vec::new();
    let mut chapter = "";
    for requirement in &contract.requirements {
        if requirement.chapter != chapter {
            chapter = &requirement.chapter;
            let title = contract
                .catalogue
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
