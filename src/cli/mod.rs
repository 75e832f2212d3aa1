//! The command line: one file a subcommand.

mod adapter;
mod exec;
mod runtime;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    Adapter(adapter::Arguments),
    Exec(exec::Arguments),
}

/// Reads the command line and does what it says. What cannot be read ends with exit code 2.
pub(crate) fn main() -> ExitCode {
    match Herm::parse().command {
        Command::Adapter(arguments) => adapter::run(&arguments),
        Command::Exec(arguments) => exec::run(arguments),
    }
}

/// Tells what stopped a subcommand, and gives the exit code for it.
fn fail(exit: herm_harness::verdict::Exit, message: impl std::fmt::Display) -> ExitCode {
    eprintln!("herm: {message}");
    ExitCode::from(exit.code())
}
