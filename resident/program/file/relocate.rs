//! Moving files and directories.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::Path,
};

use super::{
    failure::{failure, told},
    temporary::{Temporary, private_directory},
};
use crate::wire::{FileErrorKind, FileFailure};

/// Moves what is at `from` to `to`, replacing a file or an empty directory there. Missing parents of `to` are made.
/// A link is moved itself. To another file system only files and links can be moved.
pub(super) fn move_path(from: &Path, to: &Path) -> Result<(), FileFailure> {
    let metadata = fs::symlink_metadata(from).map_err(|error| failure("move", from, &error))?;
    let failed = |error: io::Error| {
        let action = format!("move {} to", from.to_string_lossy());
        failure(&action, to, &error)
    };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        other => return other.map_err(failed),
    }
    if metadata.is_symlink() {
        return move_link(from, to).map_err(failed);
    }
    if metadata.is_file() {
        return move_file(from, to).map_err(failed);
    }
    Err(told(
        FileErrorKind::Unsupported,
        from,
        |shown| format!("{shown} cannot be moved to another file system: it is no file"),
        "copy it with a command, then remove it",
    ))
}

fn move_link(from: &Path, to: &Path) -> io::Result<()> {
    let directory = private_directory(parent(to))?;
    let link = directory.join("link");
    let moved = fs::read_link(from)
        .and_then(|target| symlink(target, &link))
        .and_then(|()| fs::rename(&link, to));
    if moved.is_err() {
        let _ = fs::remove_file(&link);
    }
    let _ = fs::remove_dir(&directory);
    moved.and_then(|()| fs::remove_file(from))
}

fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = Temporary::make(parent(to), 0o600)?;
    let mut source = File::open(from)?;
    io::copy(&mut source, &mut copy.file)?;
    copy.file.set_permissions(source.metadata()?.permissions())?;
    copy.name(to)?;
    fs::remove_file(from)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}
