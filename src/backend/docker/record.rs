//! What is kept on this machine of a sandbox under a key.

use std::{fs, path::Path};

use herm_protocol::{ByteString, Error, ErrorKind, sandbox::Variable};
use serde::{Deserialize, Serialize};

use crate::{backend::local::kept, files};

/// The file in the sandbox's private directory.
const FILE: &str = "key.json";

/// The key of a sandbox, and what it was opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) key: String,
    /// The variables of the sandbox. The directory, and so this file, is its user's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) env: Vec<Variable>,
    /// The directory that commands start in, where it is not that of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<ByteString>,
}

impl Record {
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
