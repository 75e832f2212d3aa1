//! `herm config`: what is set, where it comes from, and changes that leave the file as its owner wrote it.

mod change;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use herm::config::Sources;
use herm_harness::verdict::Exit;

use super::{Refusal, fail, list::print, usage};

/// Read and change the configuration: the sections `terminal` and `proxy` of Hermes' config.yaml.
///
/// It lies in the directory that `HERMES_HOME` names, else in ~/.hermes. What wins: an option of the command line, then the
/// file, then a variable, then the same variable in .env beside the file, then the default. The rest of the file is Hermes'
/// own, and left alone.
///
/// Exit codes: 0 done; 1 there was nothing to take out; 2 the configuration, a key or a value cannot be used; 4 broken.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    act: Act,
}

/// What is done.
#[derive(Debug, Subcommand)]
enum Act {
    /// Print the value of a setting
    Get {
        /// The setting, such as terminal.timeout
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set it in the file, and change nothing else there
    Set {
        /// The setting
        key: String,
        /// The value; lists and mappings as JSON or YAML
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Take it out of the file, and its copy out of .env
    Unset {
        /// The setting
        key: String,
    },
    /// List every setting with its value and where that comes from
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the file
    Path,
    /// Say what is wrong with it, and who contradicts it
    Check,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    match act(arguments.act) {
        Ok(exit) => exit,
        Err((exit, message)) => fail(exit, message),
    }
}

fn act(act: Act) -> Result<ExitCode, Refusal> {
    let sources = Sources::of_this_process().map_err(usage)?;
    match act {
        Act::Get { key, json } => show::get(&sources, &key, json),
        Act::Set { key, value } => change::set(&sources, &key, &value),
        Act::Unset { key } => change::unset(&sources, &key),
        Act::List { json } => show::list(&sources, json),
        Act::Path => Ok(print(&sources.file().display().to_string())),
        Act::Check => show::check(&sources),
    }
}

/// Nothing of that name is there.
fn nothing(message: String) -> Refusal {
    (Exit::NotConformant, message)
}
