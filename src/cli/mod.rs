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
mod limits;
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

use std::{fmt::Display, io::Write as _, process::ExitCode};

use clap::{Parser, Subcommand};
use herm_harness::{tell::tell, verdict::Exit};
use herm_protocol::exec::Stream;

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
    Reap(kept::ReapArguments),
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
    if let Err((exit, message)) = limits::check_stack() {
        return fail(exit, message);
    }
    let command = match Herm::try_parse() {
        Ok(herm) => herm.command,
        Err(told) => return tell_of_usage(&told),
    };
    if !command.is_of_the_executor() {
        return command.run();
    }
    limits::keep_own_rights();
    match limits::check() {
        Ok(()) => limits::without_panic(|| command.run()),
        Err((exit, message)) => fail(exit, message),
    }
}

/// Prints what the command line asked for, such as the help, or what is wrong with it.
fn tell_of_usage(told: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(u8::MAX));
    let printed = told.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(error) if !told.use_stderr() => exec::unwritten(Stream::Stdout, &error),
        _ => code,
    }
}

impl Command {
    /// Whether it makes what outlives it, and so must be able to come to its end.
    fn is_of_the_executor(&self) -> bool {
        matches!(
            self,
            Self::Exec(_)
                | Self::Ps(_)
                | Self::Reap(_)
                | Self::Rm(_)
                | Self::Jobs(_)
                | Self::Doctor(_)
                | Self::Config(_)
        )
    }

    fn run(self) -> ExitCode {
        match self {
            Self::Run(arguments) => run::run(arguments),
            Self::Init(arguments) => init::run(&arguments),
            Self::Smoke(arguments) => smoke::run(arguments),
            Self::List(arguments) => list::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Prove(arguments) => prove::run(arguments),
            Self::Bench(arguments) => bench::run(arguments),
            Self::Exec(arguments) => exec::run(arguments),
            Self::Ps(arguments) => kept::list(&arguments),
            Self::Reap(arguments) => kept::reap(&arguments),
            Self::Rm(arguments) => kept::remove(&arguments),
            Self::Jobs(arguments) => jobs::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Clean(arguments) => clean::run(arguments),
            Self::Config(arguments) => config::run(arguments),
            Self::Adapter(arguments) => adapter::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Mutant(arguments) => fixtures::mutant(arguments),
            Self::Misbehave(arguments) => fixtures::misbehave(arguments),
            Self::Guard(arguments) => watch::guard(&arguments),
            Self::Keeper(arguments) => watch::keeper(&arguments),
            Self::Leash(arguments) => watch::leash(&arguments),
            Self::ToolGuard(arguments) => watch::tool_guard(&arguments),
            Self::Janitor(arguments) => watch::janitor(&arguments),
        }
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
