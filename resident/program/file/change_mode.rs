//! Setting permission bits.

use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    },
    path::Path,
};

use super::failure::{failure, told};
use crate::{
    system::open,
    wire::{FileErrorKind, FileFailure},
};

/// Sets the permission bits of a file or directory. A link is refused rather than followed.
pub(super) fn change_mode(path: &Path, mode: u32) -> Result<(), FileFailure> {
    if mode > 0o7777 {
        return Err(FileFailure {
            kind: FileErrorKind::InvalidArgument,
            resource: "mode".into(),
            message: format!("mode is {mode:o} in octal, beyond 7777"),
            fix: Some("correct mode and call again".into()),
        });
    }
    let failed = |error: io::Error| failure("change the mode of", path, &error);
    let found = OpenOptions::new()
        .read(true)
        .custom_flags(open::PATH_ONLY | open::NO_FOLLOW)
        .open(path)
        .map_err(failed)?;
    if found.metadata().map_err(failed)?.is_symlink() {
        return Err(told(
            FileErrorKind::InvalidArgument,
            path,
            |shown| format!("{shown} is a symbolic link, which has no mode of its own"),
            "name what the link leads to",
        ));
    }
    // Through the descriptor, so that no link can take the place of what was looked at.
    let held = format!("/proc/self/fd/{}", found.as_raw_fd());
    fs::set_permissions(held, Permissions::from_mode(mode)).map_err(failed)
}
