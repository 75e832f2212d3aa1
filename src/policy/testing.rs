//! Configurations for tests.

use std::fs;

use herm_protocol::Error;
use herm_protocol::sandbox::SandboxSpec;

use super::{HostFacts, Plan, Weakening, plan};
use crate::config::{Config, DockerConfig, Sources};

/// What the lines of the section `terminal` make, with these variables in `.env`.
pub(super) fn config_with(section: &str, dotenv: &str) -> DockerConfig {
    let home = tempfile::tempdir().unwrap();
    let text = format!("terminal:\n  backend: docker\n{section}");
    fs::write(home.path().join("config.yaml"), text).unwrap();
    fs::write(home.path().join(".env"), dotenv).unwrap();
    let sources = Sources {
        home: home.path().to_owned(),
        ..Sources::default()
    };
    let mut config = Config::load(&sources).unwrap().docker(&sources).unwrap();
    config.here.directory = Some("/home/me/project".into());
    config.here.home = Some("/home/me".into());
    config.here.user = (1000, 1001);
    config
}

/// What the lines of the section `terminal` make.
pub(super) fn config(section: &str) -> DockerConfig {
    config_with(section, "")
}

/// The configuration with these options of `docker run`.
pub(super) fn with_args(arguments: &[&str]) -> DockerConfig {
    let mut config = config("");
    config.extra_args.value = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    config
}

/// The plan on a host that enforces everything, and what is told.
pub(super) fn planned(config: &DockerConfig, spec: &SandboxSpec) -> (Plan, Vec<Weakening>) {
    plan(config, spec, &HostFacts::complete()).unwrap()
}

/// Why there is none.
pub(super) fn refused(config: &DockerConfig, spec: &SandboxSpec) -> Error {
    plan(config, spec, &HostFacts::complete()).unwrap_err()
}
