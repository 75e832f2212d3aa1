//! What a path names.

use std::{
    ffi::OsStr,
    fs::{self, FileType, Metadata},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

use super::failure::failure;
use crate::wire::{FileFailure, FileInfo, FileKind};

/// Describes what the path names; a link is not followed.
pub(super) fn stat(path: &Path) -> Result<FileInfo, FileFailure> {
    let metadata = fs::symlink_metadata(path).map_err(|error| failure("look at", path, &error))?;
    // A path that ends in ".." or is the root has no last part of its own.
    Ok(info(path.file_name().unwrap_or(path.as_os_str()), &metadata))
}

pub(super) fn info(name: &OsStr, metadata: &Metadata) -> FileInfo {
    FileInfo {
        name: name.as_bytes().to_vec(),
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
