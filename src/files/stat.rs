//! What a path names.

use std::{
    fs::{self, FileType, Metadata},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use herm_protocol::{
    Error,
    file::{FileInfo, FileKind},
};

use super::file_error;

/// Describes what the path names; a link is not followed.
///
/// # Errors
/// `not_found` and the other kinds of [`file_error`].
pub fn stat(path: &Path) -> Result<FileInfo, Error> {
    let metadata = fs::symlink_metadata(path).map_err(|error| file_error("look at", path, &error))?;
    // A path that ends in ".." or is the root has no last part of its own.
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(info(name.as_ref(), &metadata))
}

pub(super) fn info(name: &Path, metadata: &Metadata) -> FileInfo {
    FileInfo {
        name: name.into(),
        kind: kind(metadata.file_type()),
        size: metadata.len(),
        mode: metadata.permissions().mode() & 0o7777,
    }
}

fn kind(file_type: FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else if file_type.is_symlink() {
        FileKind::Symlink
    } else {
        FileKind::Other
    }
}
