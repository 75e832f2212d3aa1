//! `herm completions`: for the shell that a person types in.

use std::{io, process::ExitCode};

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

/// Print completions for a shell, to be sourced by its start-up file.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    generate(
        arguments.shell,
        &mut super::Herm::command(),
        "herm",
        &mut io::stdout(),
    );
    ExitCode::SUCCESS
}
