//! `herm clean`: what a run has left behind.

use std::process::ExitCode;

use clap::Args;
use herm_harness::{verdict::Exit, watch};

use super::{fail, list::print};

/// Remove what a run that was killed has left behind, and nothing else. Without --run, list such runs.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's id, as its reports tell it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let Some(run) = &arguments.run else {
        let runs = watch::leftovers();
        let text = match runs.as_slice() {
            [] => "no run has left anything behind".to_owned(),
            runs => runs
                .iter()
                .map(|run| format!("herm clean --run {run}"))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        return print(&text);
    };
    match watch::clean(run) {
        Ok(path) => print(&format!("removed {}", path.display())),
        Err(error) => fail(Exit::Usage, error),
    }
}
