//! From the system's error numbers to the protocol's kinds.

use std::{io, path::Path};

use herm_protocol::{Error, ErrorKind};
use rustix::io::Errno;

/// The typed error for what the system said; `action` reads on after "failed to" and before the path.
pub fn file_error(action: &str, path: &Path, error: &io::Error) -> Error {
    let kind = Errno::from_io_error(error).map_or_else(|| kind_without_number(error.kind()), kind_of);
    let shown = path.to_string_lossy();
    let typed = Error::new(
        kind,
        shown.clone(),
        format!("failed to {action} {shown}: {error}"),
    );
    match kind {
        ErrorKind::NotFound => typed.with_fix("check the path, or make what it leads through"),
        ErrorKind::PermissionDenied => typed.with_fix("give the user access, or use another path"),
        ErrorKind::IsADirectory => typed.with_fix("name a file"),
        ErrorKind::NotADirectory => typed.with_fix("name a directory; part of the path is none"),
        ErrorKind::AlreadyExists => typed.with_fix("remove what is there, or use another path"),
        ErrorKind::LimitExceeded => typed.with_fix("free space or descriptors, and try again"),
        ErrorKind::InvalidArgument => typed.with_fix("use another path"),
        _ => typed,
    }
}

fn kind_of(errno: Errno) -> ErrorKind {
    match errno {
        Errno::NOENT => ErrorKind::NotFound,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::PermissionDenied,
        Errno::ISDIR => ErrorKind::IsADirectory,
        Errno::NOTDIR => ErrorKind::NotADirectory,
        Errno::EXIST | Errno::NOTEMPTY => ErrorKind::AlreadyExists,
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            ErrorKind::LimitExceeded
        }
        Errno::NAMETOOLONG | Errno::LOOP | Errno::INVAL | Errno::BUSY => ErrorKind::InvalidArgument,
        _ => ErrorKind::Internal,
    }
}

/// A library that puts its own words around an error keeps its kind, not the system's number.
fn kind_without_number(kind: io::ErrorKind) -> ErrorKind {
    match kind {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::PermissionDenied,
        io::ErrorKind::NotADirectory => ErrorKind::NotADirectory,
        io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::LimitExceeded,
        io::ErrorKind::InvalidFilename => ErrorKind::InvalidArgument,
        _ => ErrorKind::Internal,
    }
}

/// The error about something that is neither a file nor a directory.
pub(super) fn not_regular(path: &Path) -> Error {
    let shown = path.to_string_lossy();
    let message = format!("{shown} is neither a file nor a directory but a device, socket or pipe");
    Error::new(ErrorKind::InvalidArgument, shown.clone(), message).with_fix("name a regular file")
}

/// The error about a directory where a file is needed.
pub(super) fn is_a_directory(action: &str, path: &Path) -> Error {
    file_error(action, path, &Errno::ISDIR.into())
}
