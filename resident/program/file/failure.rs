//! From the system's error numbers to kinds, in the words that the host has for them.

use std::{io, path::Path};

use crate::{
    system::errno,
    wire::{FileErrorKind, FileFailure},
};

/// The failure that the system told of; `action` reads on after "failed to" and before the path.
pub(super) fn failure(action: &str, path: &Path, error: &io::Error) -> FileFailure {
    let kind = error
        .raw_os_error()
        .map_or_else(|| kind_without_number(error.kind()), kind_of);
    let shown = path.to_string_lossy();
    FileFailure {
        kind,
        message: format!("failed to {action} {shown}: {error}"),
        resource: shown.into_owned(),
        fix: fix(kind).map(Into::into),
    }
}

fn kind_of(number: i32) -> FileErrorKind {
    match number {
        errno::ENOENT => FileErrorKind::NotFound,
        errno::EACCES | errno::EPERM | errno::EROFS => FileErrorKind::PermissionDenied,
        errno::EISDIR => FileErrorKind::IsADirectory,
        errno::ENOTDIR => FileErrorKind::NotADirectory,
        errno::EEXIST | errno::ENOTEMPTY => FileErrorKind::AlreadyExists,
        errno::ENOSPC | errno::EDQUOT | errno::EFBIG | errno::EMFILE | errno::ENFILE | errno::ENOMEM => {
            FileErrorKind::LimitExceeded
        }
        errno::ENAMETOOLONG | errno::ELOOP | errno::EINVAL | errno::EBUSY => FileErrorKind::InvalidArgument,
        _ => FileErrorKind::Internal,
    }
}

/// The standard library has a few errors of its own.
fn kind_without_number(kind: io::ErrorKind) -> FileErrorKind {
    match kind {
        io::ErrorKind::NotFound => FileErrorKind::NotFound,
        io::ErrorKind::OutOfMemory => FileErrorKind::LimitExceeded,
        _ => FileErrorKind::Internal,
    }
}

fn fix(kind: FileErrorKind) -> Option<&'static str> {
    match kind {
        FileErrorKind::NotFound => Some("check the path, or make what it leads through"),
        FileErrorKind::PermissionDenied => Some("give the user access, or use another path"),
        FileErrorKind::IsADirectory => Some("name a file"),
        FileErrorKind::NotADirectory => Some("name a directory; part of the path is none"),
        FileErrorKind::AlreadyExists => Some("remove what is there, or use another path"),
        FileErrorKind::LimitExceeded => Some("free space or descriptors, and try again"),
        FileErrorKind::InvalidArgument => Some("use another path"),
        FileErrorKind::Unsupported | FileErrorKind::Internal => None,
    }
}

/// A failure in words of its own; `message` is given the path.
pub(super) fn told(
    kind: FileErrorKind,
    path: &Path,
    message: impl FnOnce(&str) -> String,
    fix: &str,
) -> FileFailure {
    let shown = path.to_string_lossy();
    FileFailure {
        kind,
        message: message(&shown),
        resource: shown.into_owned(),
        fix: Some(fix.into()),
    }
}

/// The failure about something that is neither a file nor a directory.
pub(super) fn not_regular(path: &Path) -> FileFailure {
    told(
        FileErrorKind::InvalidArgument,
        path,
        |shown| format!("{shown} is neither a file nor a directory but a device, socket or pipe"),
        "name a regular file",
    )
}

/// The failure about a directory where a file is needed.
pub(super) fn is_a_directory(action: &str, path: &Path) -> FileFailure {
    failure(action, path, &io::Error::from_raw_os_error(errno::EISDIR))
}
