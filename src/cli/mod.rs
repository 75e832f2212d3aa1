//! The command line: one file a subcommand.

mod adapter;
mod bench;
mod clean;
mod collect;
mod color;
mod completions;
mod config;
mod configured;
mod contract;
mod coverage;
mod doctor;
mod exec;
mod explain;
mod fixtures;
mod init;
mod jobs;
mod kept;
mod list;
mod prove;
mod run;
mod runtime;
mod signals;
mod smoke;
mod standard_streams;
mod subjects;
mod watch;
mod workspace;

use std::{fmt::Display, process::ExitCode};

use clap::{Parser, Subcommand};
use herm_harness::{tell::tell, verdict::Exit};

/// Conformance suite for agent sandbox backends, with a reference executor that keeps its own contract.
#[derive(Debug, Parser)]
#[command(name = "herm", version, max_term_width = 100)]
struct Herm {
    #[command(subcommand)]
    command: Command,
}

/// Every subcommand. A new one is a variant here, a file beside this one, and a line in [`main`].
#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Init(init::Arguments),
    Smoke(smoke::Arguments),
    List(list::Arguments),
    Explain(explain::Arguments),
    Prove(prove::Arguments),
    Bench(bench::Arguments),
    Exec(exec::Arguments),
    Ps(kept::ListArguments),
    Rm(kept::RemoveArguments),
    Jobs(jobs::Arguments),
    Doctor(doctor::Arguments),
    Clean(clean::Arguments),
    Config(config::Arguments),
    Adapter(adapter::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Mutant(fixtures::MutantArguments),
    #[command(hide = true)]
    Misbehave(fixtures::MisbehaveArguments),
    #[command(hide = true)]
    Guard(watch::GuardArguments),
    #[command(hide = true)]
    Keeper(watch::KeeperArguments),
    #[command(hide = true)]
    Leash(watch::LeashArguments),
    #[command(hide = true)]
    ToolGuard(watch::ToolGuardArguments),
    #[command(hide = true)]
    Janitor(watch::JanitorArguments),
}

/// Reads the command line and does what it says. What cannot be read ends with exit code 2.
pub(crate) fn main() -> ExitCode {
    standard_streams::make_blocking();
    match Herm::parse().command {
        Command::Run(arguments) => run::run(arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Smoke(arguments) => smoke::run(arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Prove(arguments) => prove::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Exec(arguments) => exec::run(arguments),
        Command::Ps(arguments) => kept::list(&arguments),
        Command::Rm(arguments) => kept::remove(&arguments),
        Command::Jobs(arguments) => jobs::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Clean(arguments) => clean::run(arguments),
        Command::Config(arguments) => config::run(arguments),
        Command::Adapter(arguments) => adapter::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Mutant(arguments) => fixtures::mutant(arguments),
        Command::Misbehave(arguments) => fixtures::misbehave(arguments),
        Command::Guard(arguments) => watch::guard(&arguments),
        Command::Keeper(arguments) => watch::keeper(&arguments),
        Command::Leash(arguments) => watch::leash(&arguments),
        Command::ToolGuard(arguments) => watch::tool_guard(&arguments),
        Command::Janitor(arguments) => watch::janitor(&arguments),
    }
}

/// Tells what stopped a subcommand, and gives the exit code for it.
fn fail(exit: Exit, message: impl Display) -> ExitCode {
    tell(format_args!("herm: {message}"));
    ExitCode::from(exit.code())
}

/// An end before the work was done: the exit code, and why.
type Refusal = (Exit, String);

/// What the user has given cannot be used.
fn usage(error: impl Display) -> Refusal {
    (Exit::Usage, error.to_string())
}

/// Something of herm itself broke.
fn broken(error: impl Display) -> Refusal {
    (Exit::Broken, error.to_string())
}
