//! The processes that `herm` starts for itself: guard, janitor.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Args;
use herm_harness::{verdict::Exit, watch};

use super::{fail, subjects::this_program};

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

/// Become an adapter that ends with its guard.
#[derive(Debug, Args)]
pub(super) struct LeashArguments {
    /// The process number of the guard
    #[arg(long)]
    guard: u32,
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
    let leash = this_program().map(|this| {
        let own = std::process::id().to_string();
        [this, "leash".into(), "--guard".into(), own.into(), "--".into()]
    });
    let guarded = leash.and_then(|leash| {
        let command: Vec<_> = leash
            .into_iter()
            .chain(arguments.command.iter().cloned())
            .collect();
        watch::guard(&arguments.scratch, &command)
    });
    match guarded {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(Exit::Broken, error),
    }
}

pub(super) fn leash(arguments: &LeashArguments) -> ExitCode {
    fail(Exit::Broken, watch::leash(arguments.guard, &arguments.command))
}

pub(super) fn janitor(arguments: &JanitorArguments) -> ExitCode {
    watch::janitor(&arguments.run, arguments.reports.as_deref());
    ExitCode::SUCCESS
}
