//! What is kept on this machine of a sandbox under a key.

use std::{fs, path::Path};

use herm_protocol::{
    Error, ErrorKind,
    sandbox::{ResourceLimits, SandboxSpec},
};
use serde::{Deserialize, Serialize};

use crate::{backend::local::kept, files};

/// The file in the sandbox's private directory.
const FILE: &str = "key.json";

/// The file that names the start of the resident that was met last.
const START: &str = "start";

/// The start of the resident that was met last in the sandbox of a directory. This blocks.
pub(super) fn last_start(directory: &Path) -> Option<String> {
    fs::read_to_string(directory.join(START)).ok()
}

/// Keeps which it was. This blocks.
///
/// # Errors
/// It cannot be written there.
pub(super) fn keep_start(directory: &Path, start: &str) -> Result<(), Error> {
    files::write_as(&directory.join(START), start.as_bytes(), 0o600)
}

/// The key of a sandbox, and what it was opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) key: String,
    /// What it was opened with when it was made. The directory, and so this file, is its user's alone.
    pub(super) spec: SandboxSpec,
    /// Whether nothing of it is to stay when it has ended.
    #[serde(default)]
    pub(super) once: bool,
    /// Whether it was not made to the end: nobody has been given it.
    #[serde(default)]
    pub(super) unfinished: bool,
    /// Whether its caller has stopped it, and nobody has opened it since.
    #[serde(default)]
    pub(super) stopped: bool,
}

impl Record {
    /// What is asked for now, and where nothing is, what it was made with. Variables and the directory are looked at apart.
    pub(super) fn with(&self, asked: &SandboxSpec) -> SandboxSpec {
        let made = &self.spec;
        let limits = &asked.limits;
        SandboxSpec {
            image: asked.image.clone().or_else(|| made.image.clone()),
            mounts: if asked.mounts.is_empty() {
                made.mounts.clone()
            } else {
                asked.mounts.clone()
            },
            network: asked.network.clone().or_else(|| made.network.clone()),
            limits: ResourceLimits {
                memory_bytes: limits.memory_bytes.or(made.limits.memory_bytes),
                pids: limits.pids.or(made.limits.pids),
                cpu_millis: limits.cpu_millis.or(made.limits.cpu_millis),
                disk_bytes: limits.disk_bytes.or(made.limits.disk_bytes),
            },
            user: asked.user.clone().or_else(|| made.user.clone()),
            idle_ms: asked.idle_ms.or(made.idle_ms),
            ..asked.clone()
        }
    }

    /// What is written in a directory, if it is for that key. This blocks.
    ///
    /// # Errors
    /// It is for another key.
    pub(super) fn read(directory: &Path, key: &str) -> Result<Option<Self>, Error> {
        let Some(found) = Self::of(directory) else {
            return Ok(None);
        };
        if found.key == key {
            return Ok(Some(found));
        }
        let shown = directory.to_string_lossy();
        let message = format!("{shown} is kept for the key {:?}, and not for {key:?}", found.key);
        Err(Error::new(ErrorKind::Internal, shown.clone(), message))
    }

    /// What is written in a directory, for whatever key. This blocks.
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let text = fs::read(directory.join(FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes it into a directory, which is made. This blocks.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(super) fn write(&self, directory: &Path) -> Result<(), Error> {
        kept::private_directory(directory)?;
        let text =
            serde_json::to_vec(self).map_err(|error| Error::internal("write down a sandbox", error))?;
        files::write_as(&directory.join(FILE), &text, 0o600)
    }
}

/// Whether anything is written in a directory. This blocks.
///
/// # Errors
/// It cannot be looked at.
pub(super) fn is_there(directory: &Path) -> std::io::Result<bool> {
    directory.join(FILE).try_exists()
}

/// Every record below a directory, with where it lies. This blocks.
pub(super) fn all(base: &Path) -> Vec<(Record, std::path::PathBuf)> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let directory = entry.path();
            let record = Record::of(&directory)?;
            (directory == kept::directory_of(base, &record.key)).then_some((record, directory))
        })
        .collect();
    found.sort_by(|(left, _), (right, _)| left.key.cmp(&right.key));
    found
}

#[cfg(test)]
mod tests {
    use herm_protocol::sandbox::Network;

    use super::*;

    #[test]
    fn what_nobody_asks_for_is_as_the_sandbox_was_made() {
        let made = Record {
            key: "k".into(),
            spec: SandboxSpec {
                image: Some("i".into()),
                network: Some(Network::None),
                limits: ResourceLimits {
                    pids: Some(7),
                    memory_bytes: Some(8),
                    ..ResourceLimits::default()
                },
                ..SandboxSpec::default()
            },
            ..Record::default()
        };
        assert_eq!(made.with(&SandboxSpec::default()), made.spec);
        let asked = SandboxSpec {
            network: Some(Network::Default),
            limits: ResourceLimits {
                pids: Some(9),
                ..ResourceLimits::default()
            },
            ..SandboxSpec::default()
        };
        let with = made.with(&asked);
        assert_eq!(with.network, Some(Network::Default));
        assert_eq!((with.limits.pids, with.limits.memory_bytes), (Some(9), Some(8)));
        assert_eq!(with.image.as_deref(), Some("i"));
    }

    #[test]
    fn a_record_is_for_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("d");
        let record = Record {
            key: "k".into(),
            ..Record::default()
        };
        assert_eq!(Record::read(&directory, "k"), Ok(None));
        record.write(&directory).unwrap();
        assert_eq!(Record::read(&directory, "k"), Ok(Some(record)));
        assert!(Record::read(&directory, "other").is_err());
    }
}
