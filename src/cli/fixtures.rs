//! The broken subjects that `herm` tests itself with: mutants, and adapters that misbehave.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;
use herm_fixtures::{misbehaving, mutant};
use herm_harness::verdict::Exit;

use super::{fail, runtime::block_on};

/// Stand between a harness and an adapter, and break it in one stated way.
#[derive(Debug, Args)]
pub(super) struct MutantArguments {
    /// The mutant; `herm list mutants` names all
    name: String,
    /// The adapter
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Be an adapter that misbehaves in one stated way.
#[derive(Debug, Args)]
pub(super) struct MisbehaveArguments {
    /// How
    kind: String,
}

pub(super) fn mutant(arguments: MutantArguments) -> ExitCode {
    block_on(async move {
        match mutant::serve(&arguments.name, arguments.command).await {
            Ok(code) => code,
            Err(error) => fail(Exit::Usage, error),
        }
    })
}

pub(super) fn misbehave(arguments: MisbehaveArguments) -> ExitCode {
    block_on(async move {
        match misbehaving::serve(&arguments.kind).await {
            Ok(code) => code,
            Err(error) => fail(Exit::Usage, error),
        }
    })
}
