//! The processes that `herm` starts for itself: guard, keeper, leash, janitor, and the guard of a tool.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use herm_harness::{verdict::Exit, watch};

use super::{fail, subjects::this_program};

/// Run an adapter and end whatever it leaves behind.
#[derive(Debug, Args)]
pub(super) struct GuardArguments {
    /// The scratch folder of the run
    #[arg(long)]
    scratch: PathBuf,
    /// Keep what it leaves behind until the run is over; a folder of the run's for what is kept
    #[arg(long)]
    keep: Option<PathBuf>,
    /// The adapter
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Run an adapter for a guard, and keep what it leaves behind until the run is over.
#[derive(Debug, Args)]
pub(super) struct KeeperArguments {
    /// The scratch folder of the run
    #[arg(long)]
    scratch: PathBuf,
    /// The folder for what is kept
    #[arg(long)]
    keep: PathBuf,
    /// The process number of the guard
    #[arg(long)]
    guard: u32,
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

/// Run a tool of `herm exec --rpc`, and end everything that it has started with it.
#[derive(Debug, Args)]
pub(super) struct ToolGuardArguments {
    /// The tool's program
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
    let guarded = match &arguments.keep {
        None => leashed(&arguments.command).and_then(|command| watch::guard(&arguments.scratch, &command)),
        Some(keep) => {
            kept(arguments, keep).and_then(|command| watch::keeping_guard(&arguments.scratch, keep, &command))
        }
    };
    exit_with(guarded)
}

pub(super) fn keeper(arguments: &KeeperArguments) -> ExitCode {
    let KeeperArguments {
        scratch,
        keep,
        guard,
        command,
    } = arguments;
    exit_with(leashed(command).and_then(|command| watch::keeper(scratch, keep, *guard, &command)))
}

/// The words that start an adapter which ends with this process.
fn leashed(adapter: &[OsString]) -> io::Result<Vec<OsString>> {
    let own = std::process::id().to_string();
    let leash = [this_program()?, "leash".into(), "--guard".into(), own.into()];
    Ok(after(leash.into(), adapter))
}

/// The words that start the keeper of an adapter.
fn kept(arguments: &GuardArguments, keep: &Path) -> io::Result<Vec<OsString>> {
    let own = std::process::id().to_string();
    let keeper = vec![
        this_program()?,
        "keeper".into(),
        "--scratch".into(),
        arguments.scratch.clone().into(),
        "--keep".into(),
        keep.into(),
        "--guard".into(),
        own.into(),
    ];
    Ok(after(keeper, &arguments.command))
}

fn after(mut words: Vec<OsString>, adapter: &[OsString]) -> Vec<OsString> {
    words.push("--".into());
    words.extend_from_slice(adapter);
    words
}

fn exit_with(guarded: io::Result<u8>) -> ExitCode {
    match guarded {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(Exit::Broken, error),
    }
}

pub(super) fn leash(arguments: &LeashArguments) -> ExitCode {
    fail(Exit::Broken, watch::leash(arguments.guard, &arguments.command))
}

pub(super) fn tool_guard(arguments: &ToolGuardArguments) -> ExitCode {
    exit_with(watch::guard_tool(&arguments.command).map(|()| 0))
}

/// The words that run a program of this machine under a guard that ends with whoever holds the other end of its input.
pub(super) fn guarded_tool(program: &Path) -> io::Result<Vec<OsString>> {
    let words = vec![this_program()?, "tool-guard".into()];
    Ok(after(words, &[program.into()]))
}

pub(super) fn janitor(arguments: &JanitorArguments) -> ExitCode {
    watch::janitor(&arguments.run, arguments.reports.as_deref());
    ExitCode::SUCCESS
}
