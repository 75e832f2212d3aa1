//! Making and listing directories.

use std::{fs, io, path::Path};

use super::{
    failure::{failure, told},
    stat::info,
};
use crate::wire::{FileErrorKind, FileFailure, FileInfo, MAX_LISTING};

/// Makes a directory with its parents; one that is there already is fine.
pub(super) fn make(path: &Path) -> Result<(), FileFailure> {
    fs::create_dir_all(path).map_err(|error| failure("make the directory", path, &error))
}

/// Lists a directory, hidden names included, in the order of their bytes.
pub(super) fn list(path: &Path) -> Result<Vec<FileInfo>, FileFailure> {
    let failed = |error: io::Error| failure("list", path, &error);
    let mut entries = Vec::new();
    let mut length = 0;
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // It went between the list and the look.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        let name = entry.file_name();
        length += FileInfo::cost(name.as_encoded_bytes());
        if length > MAX_LISTING {
            return Err(told(
                FileErrorKind::LimitExceeded,
                path,
                |shown| format!("the list of {shown} does not fit one message of {MAX_LISTING} bytes"),
                "list it with a command and read its output",
            ));
        }
        entries.push(info(&name, &metadata));
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    // A directory that is changed while it is read may tell of a name twice.
    entries.dedup_by(|left, right| left.name == right.name);
    Ok(entries)
}
