//! `herm prove`: the checks, proved by mutants.

use std::{ffi::OsString, fmt::Write as _, process::ExitCode, time::Instant};

use clap::Args;
use herm_harness::{
    contract::Contract,
    matrix::{Matrix, Shard},
    near_miss::hint,
    prove::{MutantProof, Proof, ProofOptions, prove},
    runner::RunOptions,
    stop::Stop,
    subject::Subject,
    verdict::Exit,
};

use super::{
    Refusal, broken,
    collect::CollectArguments,
    contract::ContractArguments,
    fail,
    list::try_print,
    run::{guard, run_id},
    runtime::block_on,
    signals::EndSignals,
    subjects::{named, this_program},
    usage,
    workspace::{Workspace, obey},
};

/// Prove the checks: run a subject broken in one stated way after the other, and see each requirement turn red for it.
///
/// What comes out otherwise than stated is tried a second time before it is told: a moment's load is no finding, and some
/// faults strike only now and then.
///
/// Exit codes: 0 every check is proved; 6 a mutant survived, something else turned red, or a requirement is unproved.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The subject to break; it has to be green itself
    #[arg(long, value_name = "NAME|FILE", default_value = "local")]
    subject: String,
    /// Only these mutants
    #[arg(long = "mutant", value_name = "NAME", value_delimiter = ',')]
    mutants: Vec<String>,
    /// Run every mutant against every requirement, and not only against its own chapters and the sentinels: several at once,
    /// and wherever one of them may be seen each alone
    #[arg(long)]
    full: bool,
    /// How many mutants are run at once at first; 1 runs each alone
    #[arg(long, value_name = "N", default_value_t = 8, requires = "full", value_parser = clap::value_parser!(u16).range(1..=64))]
    at_once: u16,
    /// Only the K-th of N parts of the mutants
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// How many mutants at the same time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    collect: CollectArguments,
    #[command(flatten)]
    contract: ContractArguments,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        match prove_all(&arguments).await {
            Ok(exit) => ExitCode::from(exit.code()),
            Err((exit, message)) => fail(exit, message),
        }
    })
}

async fn prove_all(arguments: &Arguments) -> Result<Exit, Refusal> {
    let started = Instant::now();
    let contract = arguments.contract.load_valid().map_err(usage)?;
    if arguments.collect.is_asked() {
        let (proof, matrix) = arguments.collect.run(&contract)?;
        tell_all(arguments, &proof, started, Some(matrix.line(&contract)))?;
        return Ok(proof.exit());
    }
    check_names(&arguments.mutants, &contract).map_err(usage)?;
    let subject = named(&arguments.subject).map_err(usage)?;
    let run = run_id();
    let stop = Stop::default();
    let signals = EndSignals::take().map_err(broken)?;
    let workspace = Workspace::make(&run, None)?;
    let options = ProofOptions {
        run: RunOptions::new(
            run,
            workspace.path().to_owned(),
            guard(workspace.path()).map_err(broken)?,
            stop.clone(),
        ),
        mutants: arguments.mutants.clone(),
        full: arguments.full.then_some(arguments.at_once.into()),
        shard: arguments.shard.unwrap_or(Shard::WHOLE),
        jobs: arguments.jobs.into(),
    };
    let this = this_program().map_err(broken)?;
    let mutate = |names: &[&str]| mutant_of(&subject, &this, names);
    let progress = |proof: &MutantProof| {
        if !arguments.json {
            // A line that cannot be written does not stop the proof; the summary tells of it.
            let _ = try_print(&line_of(proof));
        }
    };
    tokio::spawn(obey(signals, stop));
    let proof = prove(&contract, &subject, &options, mutate, progress).await;
    if let Some(signal) = options.run.stop.signal() {
        return Ok(Exit::Interrupted { signal });
    }
    let proof = proof.map_err(broken)?;
    // A contract of somebody's own has no matrix on record.
    let matrix = if arguments.contract.is_whole() {
        Some(last_matrix(&contract)?)
    } else {
        None
    };
    tell_all(arguments, &proof, started, matrix)?;
    Ok(proof.exit())
}

/// Prints what came out.
fn tell_all(
    arguments: &Arguments,
    proof: &Proof,
    started: Instant,
    matrix: Option<String>,
) -> Result<(), Refusal> {
    if arguments.json {
        return try_print(&serde_json::to_string_pretty(proof).map_err(broken)?);
    }
    let mut text = summary(proof, started);
    if let Some(matrix) = matrix {
        let _ = write!(text, "\n{matrix}");
    }
    try_print(&text)
}

/// When every mutant was last run against every requirement, and what came out.
fn last_matrix(contract: &Contract) -> Result<String, Refusal> {
    let matrix = Matrix::embedded().map_err(broken)?;
    Ok(matrix.map_or_else(
        || "no full matrix is on record; ci/matrix runs one".into(),
        |matrix| matrix.line(contract),
    ))
}

fn check_names(names: &[String], contract: &Contract) -> Result<(), String> {
    let known = &contract.catalogue.mutants;
    match names.iter().find(|name| !known.contains_key(*name)) {
        None => Ok(()),
        Some(name) => {
            let hint = hint(name, known.keys().map(String::as_str));
            Err(format!(
                "there is no mutant {name:?}{hint}; `herm list mutants` names all"
            ))
        }
    }
}

/// The subject behind proxies that break it, one in each of these ways.
fn mutant_of(subject: &Subject, this: &OsString, names: &[&str]) -> Subject {
    let proxies = names
        .iter()
        .flat_map(|name| [this.clone(), "mutant".into(), name.into(), "--".into()]);
    let broken = match names {
        [name] => (*name).to_owned(),
        names => format!("{} mutants", names.len()),
    };
    Subject {
        name: format!("{}+{broken}", subject.name),
        adapter: proxies.chain(subject.adapter.iter().cloned()).collect(),
        ..subject.clone()
    }
}

fn line_of(proof: &MutantProof) -> String {
    let mut line = format!(
        "{:<40} killed {}/{}",
        proof.name,
        proof.killed_by.len(),
        proof.kills.len()
    );
    if let Some(why) = &proof.broken {
        let _ = write!(line, "  BROKEN: {why}");
    }
    let survived = proof.survived();
    if proof.broken.is_none() && !survived.is_empty() {
        let _ = write!(line, "  SURVIVED {}", survived.join(" "));
    }
    if !proof.collateral.is_empty() {
        let _ = write!(line, "  COLLATERAL {}", proof.collateral.join(" "));
    }
    for (id, seen) in &proof.seen {
        let _ = write!(line, "\n    {id}: {seen}");
    }
    line
}

fn summary(proof: &Proof, started: Instant) -> String {
    let killed = proof
        .mutants
        .iter()
        .filter(|mutant| mutant.survived().is_empty() && mutant.broken.is_none())
        .count();
    let collateral: usize = proof.mutants.iter().map(|mutant| mutant.collateral.len()).sum();
    let mut text = format!(
        "\n{killed} of {} mutants killed, {collateral} collateral, {} unproved, in {} s",
        proof.mutants.len(),
        proof.unproved.len(),
        started.elapsed().as_secs()
    );
    if !proof.unproved.is_empty() {
        let _ = write!(text, "\nunproved: {}", proof.unproved.join(" "));
    }
    if !proof.left_out.is_empty() {
        let _ = write!(
            text,
            "\nleft out, since the subject itself cannot be tested for it: {}",
            proof.left_out.join(" ")
        );
    }
    text
}
