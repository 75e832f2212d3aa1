//! The contract that a subcommand works with.

use std::path::PathBuf;

use clap::Args;
use herm_harness::{
    catalogue::Catalogue,
    contract::{Contract, FeatureSource, Problem},
};

/// Where the contract comes from.
#[derive(Clone, Debug, Args)]
pub(super) struct ContractArguments {
    /// Read the features of this folder instead of those that herm was built with
    #[arg(long, value_name = "FOLDER")]
    features: Option<PathBuf>,
}

impl ContractArguments {
    fn source(&self) -> FeatureSource {
        self.features
            .clone()
            .map_or(FeatureSource::Embedded, FeatureSource::Folder)
    }

    /// Whether it is the contract that herm was built with, and so all of it.
    pub(super) fn is_whole(&self) -> bool {
        self.features.is_none()
    }

    /// The contract, and whatever is wrong with it.
    pub(super) fn load(&self) -> Result<(Contract, Vec<Problem>), String> {
        let catalogue = Catalogue::embedded().map_err(|error| error.to_string())?;
        Ok(Contract::load(&self.source(), catalogue))
    }

    /// The contract; something wrong with it is an error that tells the first places.
    pub(super) fn load_valid(&self) -> Result<Contract, String> {
        let (contract, problems) = self.load()?;
        if problems.is_empty() {
            return Ok(contract);
        }
        Err(describe(&problems))
    }
}

/// The first problems, one a line.
pub(super) fn describe(problems: &[Problem]) -> String {
    const SHOWN: usize = 10;
    let mut lines: Vec<String> = problems.iter().take(SHOWN).map(ToString::to_string).collect();
    if problems.len() > SHOWN {
        lines.push(format!(
            "… and {} more; `herm list --check` names all",
            problems.len() - SHOWN
        ));
    }
    format!("the features are no contract:\n  {}", lines.join("\n  "))
}
