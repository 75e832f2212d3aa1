//! What the configuration says of containers.

mod read;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use super::{ExecMode, Origin, Secret};

/// A value with who asks for it: nobody does when it is the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<T> {
    /// The value.
    pub value: T,
    /// The name of its setting.
    pub key: &'static str,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Asked<T> {
    /// Whether somebody set it.
    #[must_use]
    pub fn is_explicit(&self) -> bool {
        self.origin != Origin::Default
    }

    /// The setting and where it came from, for people.
    #[must_use]
    pub fn asker(&self) -> String {
        format!("{} ({})", self.key, self.origin)
    }
}

/// The directory that commands start in, as the configuration says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartIn {
    /// Nothing: the backend's own.
    Default,
    /// A path of the container.
    Inside(Asked<String>),
    /// What looks like a directory of this machine, and means nothing in a container.
    OfThisMachine(Asked<String>),
}

/// A file of Hermes' directory that the container sees, read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialFile {
    /// Its absolute path on this machine.
    pub source: PathBuf,
    /// Its absolute path in the container.
    pub target: String,
}

/// Whether containers reach the network through the egress proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressProxy {
    /// They do not.
    Off,
    /// They do where it can be used.
    Preferred,
    /// They do, or there is no container.
    Required,
}

/// What this process is on this machine, for the settings that mean it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThisProcess {
    /// The current directory, if there is one.
    pub directory: Option<PathBuf>,
    /// The user's home, if it is known.
    pub home: Option<PathBuf>,
    /// The numbers of user and group.
    pub user: (u32, u32),
}

/// The settings that matter in containers. Values of variables are never shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DockerConfig {
    /// The image.
    pub image: Asked<String>,
    /// The directory that commands start in.
    pub cwd: StartIn,
    /// The directory of this machine that is mounted at /workspace, if one is.
    pub workspace: Option<Asked<PathBuf>>,
    /// Variables of commands: those that are set, and those that are passed on.
    pub env: BTreeMap<String, Secret<String>>,
    /// Names of variables that should be passed on and are not set.
    pub unset: Vec<String>,
    /// Mounts, as they stand in the configuration.
    pub volumes: Asked<Vec<String>>,
    /// Files of Hermes' directory.
    pub credential_files: Vec<CredentialFile>,
    /// Names of such files that are not there.
    pub missing_files: Vec<String>,
    /// More options of `docker run`, as they stand in the configuration.
    pub extra_args: Asked<Vec<String>>,
    /// Whether the container has a network.
    pub network: Asked<bool>,
    /// Bytes of /dev/shm; none leaves it to the engine.
    pub shm_bytes: Asked<Option<u64>>,
    /// Whether commands run as this user's id.
    pub run_as_host_user: Asked<bool>,
    /// Whether what Docker from a snap cannot do is left out.
    pub snap_compat: Asked<bool>,
    /// Thousandths of a processor.
    pub cpu_millis: Asked<u64>,
    /// Bytes of memory.
    pub memory_bytes: Asked<u64>,
    /// Bytes of disk; none is no bound.
    pub disk_bytes: Asked<Option<u64>>,
    /// Whether files are kept from session to session.
    pub persistent: Asked<bool>,
    /// Whether a container outlives the process that made it.
    pub persist_across_processes: bool,
    /// Whether containers of owners that are gone are removed.
    pub orphan_reaper: bool,
    /// A key under which several tasks share one container.
    pub shared_key: Option<String>,
    /// How long a container may be idle before it is ended, where it does not outlive its process.
    pub lifetime: Duration,
    /// The deadline of a command that has none of its own; none is no deadline.
    pub timeout: Option<Duration>,
    /// How commands are run.
    pub exec_mode: ExecMode,
    /// Whether containers reach the network through the egress proxy.
    pub egress: EgressProxy,
    /// What this process is.
    pub here: ThisProcess,
}
