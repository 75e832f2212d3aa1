//! The processes that `herm` starts for itself: guard, janitor.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Args;
use herm_harness::{verdict::Exit, watch};

use super::fail;

/// Run an adapter and end whatever it leaves behind.
#[derive(Debug, Args)]
pub(super) struct GuardArguments {
    /// The scratch folder of the run
    #[arg(long)]
    scratch: PathBuf,
    /// The adapter
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Finish the reports of a run that is killed, and remove its scratch folder.
#[derive(Debug, Args)]
pub(super) struct JanitorArguments {
    /// The run's id
    #[arg(long)]
    run: String,
    /// The folder of its reports
    #[arg(long)]
    reports: Option<PathBuf>,
}

pub(super) fn guard(arguments: &GuardArguments) -> ExitCode {
    match watch::guard(&arguments.scratch, &arguments.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(Exit::Broken, error),
    }
}

pub(super) fn janitor(arguments: &JanitorArguments) -> ExitCode {
    watch::janitor(&arguments.run, arguments.reports.as_deref());
    ExitCode::SUCCESS
}
