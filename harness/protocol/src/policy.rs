//! Judging what a sandbox may do, before or while it does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `policy.classify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClassifyParams {
    /// Mounts, each as `docker run` takes it: the value of `--volume` or that of `--mount`. Nothing is mounted.
    pub mounts: Vec<String>,
}

/// Answer to `policy.classify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostAccess {
    /// How far a sandbox with all of these mounts reaches: as far as the one that reaches furthest.
    pub level: AccessLevel,
    /// How far each reaches, in the order of the request.
    pub mounts: Vec<MountAccess>,
}

/// How far one mount reaches, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountAccess {
    /// The mount, as it was asked for.
    pub mount: String,
    /// How far it reaches.
    pub level: AccessLevel,
    /// Why, for people: what is reached, or why nothing is.
    pub reason: String,
}

/// How far commands reach out of their sandbox. Each level includes those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccessLevel {
    /// Nothing outside is reached.
    #[default]
    None,
    /// Files outside are read.
    Read,
    /// Files outside are changed.
    Write,
    /// The host does what a command wants: through the engine's own socket, or a device.
    Control,
}
