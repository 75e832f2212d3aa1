//! `herm completions`: for the shell that a person types in.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::list::print;

/// Print completions for a shell, to be sourced by its start-up file.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let mut script = Vec::new();
    generate(arguments.shell, &mut super::Herm::command(), "herm", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}
