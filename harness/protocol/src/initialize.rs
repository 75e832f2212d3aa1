//! The handshake, and what is missing on the machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `initialize`, the first request of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitializeParams {
    /// The versions that the harness speaks, best first.
    pub protocol: Vec<String>,
    /// The id of this run; whatever the adapter makes should carry it.
    pub run: String,
    /// A directory for temporary files that the harness removes after the run.
    pub scratch: String,
}

/// Answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initialized {
    /// The one version of those offered that is spoken from here on.
    pub protocol: String,
    /// The backend's name.
    pub name: String,
    /// The backend's version.
    pub version: String,
    /// Where to read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// What kind of place commands run in: `local`, `docker`, `ssh` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// How commands are run there: `resident` or `native`, or the backend's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether the service behind it is an emulation.
    #[serde(default)]
    pub emulated: bool,
    /// What works (`herm list capabilities` explains each). What is not named is refused with `unsupported`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Which variant of each choice holds (`herm list choices` explains each).
    #[serde(default)]
    pub choices: BTreeMap<String, String>,
    /// Bounds of the backend.
    #[serde(default)]
    pub limits: Limits,
    /// How many requirements may be tested at the same time; 1 means one after the other.
    #[serde(default = "one")]
    pub parallelism: u32,
}

fn one() -> u32 {
    1
}

/// Bounds that a backend states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The longest message accepted, in bytes without its newline; 16 MiB when not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<u64>,
    /// How many commands of a sandbox can run at the same time; no bound when not stated. One more is refused with
    /// `limit_exceeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_commands: Option<u32>,
}

/// Answer to `preflight`: what is missing on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// Empty when the backend can be used.
    pub problems: Vec<Problem>,
}

/// One thing that is missing, and the step that mends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What is missing, naming it.
    pub what: String,
    /// The step that mends it.
    pub fix: String,
}
