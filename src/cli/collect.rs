//! `herm prove --collect`: the shards of a full matrix, put together, and their record.

use std::{fs, path::PathBuf};

use clap::Args;
use herm_harness::{
    contract::Contract,
    matrix::{Matrix, collect},
    prove::Proof,
};

use super::{Refusal, broken, usage};

/// What is collected, and where the record goes.
#[derive(Debug, Args)]
pub(super) struct CollectArguments {
    /// Put the results of all shards of a full matrix together instead of proving anything
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["subject", "mutants", "full", "shard", "jobs", "features"])]
    collect: Vec<PathBuf>,
    /// Write the record of the matrix to this file; herm is built with that in harness/catalogue/matrix.json
    #[arg(long, value_name = "FILE", requires = "collect", requires = "commit")]
    record: Option<PathBuf>,
    /// The commit that was proved, for the record
    #[arg(long, value_name = "ID", requires = "record")]
    commit: Option<String>,
}

impl CollectArguments {
    /// Whether something is to be collected.
    pub(super) fn is_asked(&self) -> bool {
        !self.collect.is_empty()
    }

    /// The whole proof; its record is written where that was asked for.
    pub(super) fn run(&self, contract: &Contract) -> Result<(Proof, Matrix), Refusal> {
        let mut parts = Vec::new();
        for path in &self.collect {
            let name = path.display().to_string();
            let text = fs::read_to_string(path)
                .map_err(|error| usage(format_args!("failed to read {name}: {error}")))?;
            let proof = serde_json::from_str(&text).map_err(|error| {
                usage(format_args!(
                    "failed to read {name}: {error}; it has to be the output of `herm prove --full --shard K/N --json`"
                ))
            })?;
            parts.push((name, proof));
        }
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let commit = self.commit.clone().unwrap_or_default();
        let (proof, matrix) = collect(contract, parts, date, commit).map_err(usage)?;
        if let Some(path) = &self.record {
            matrix.write(path).map_err(broken)?;
        }
        Ok((proof, matrix))
    }
}
