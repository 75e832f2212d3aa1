//! The configuration of a command, and the backend that it names.

use clap::Args;
use herm::{
    backend::{Backend, local::SpoolFull, open_backend},
    config::{Config, Sources},
};

use herm_harness::tell::tell;

use super::{Refusal, usage};

/// The option that wins over the configuration.
const OPTION: &str = "--backend";

/// Where commands run.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct BackendArguments {
    /// Where commands run [default: what terminal.backend of the configuration says, local when nobody says]
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
}

impl BackendArguments {
    /// What the configuration is made of. This blocks.
    fn sources(&self) -> Result<Sources, Refusal> {
        let sources = Sources::of_this_process().map_err(usage)?;
        Ok(sources.with(OPTION, "terminal.backend", self.backend.as_deref()))
    }

    /// The backend whose sandboxes are looked after. Where the command line names it, what is wrong with the configuration
    /// is told, and does not keep anybody from cleaning up. This blocks.
    pub(super) fn open_to_look_after(&self) -> Result<Backend, Refusal> {
        let sources = self.sources()?;
        let config = match (Config::load(&sources), &self.backend) {
            (Ok(config), _) => config,
            (Err(problems), Some(_)) => {
                let config = Config::of_arguments(&sources).map_err(usage)?;
                tell(format_args!("herm: {problems}"));
                config
            }
            (Err(problems), None) => {
                return Err(usage(format_args!(
                    "{problems}\nherm: with {OPTION} NAME this is done without the configuration"
                )));
            }
        };
        open_backend(&config, &sources, SpoolFull::default()).map_err(usage)
    }

    /// The backend that is asked for, and no other, with the configuration that it was made from; its jobs do that when no
    /// more of their output can be kept. This blocks.
    pub(super) fn open(&self, spool_full: SpoolFull) -> Result<(Backend, Config), Refusal> {
        let sources = self.sources()?;
        let config = Config::load(&sources).map_err(usage)?;
        let backend = open_backend(&config, &sources, spool_full).map_err(usage)?;
        Ok((backend, config))
    }
}
