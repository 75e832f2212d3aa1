//! Setting permission bits.

use std::{io, os::fd::AsRawFd as _, path::Path};

use herm_protocol::{Error, ErrorKind};
use rustix::fs::{FileType, Mode, OFlags};

use super::file_error;

/// Sets the permission bits of a file or directory. A link is refused rather than followed: its target may lie where
/// the caller did not mean to change anything, and a link has no bits of its own.
///
/// # Errors
/// `invalid_argument` for bits beyond octal 7777 and for a link; and the other kinds of [`file_error`].
pub fn change_mode(path: &Path, mode: u32) -> Result<(), Error> {
    check(mode)?;
    let failed = |error: io::Error| file_error("change the mode of", path, &error);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let status = rustix::fs::fstat(&found).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(status.st_mode) == FileType::Symlink {
        let shown = path.to_string_lossy();
        let message = format!("{shown} is a symbolic link, which has no mode of its own");
        return Err(Error::new(ErrorKind::InvalidArgument, shown.clone(), message)
            .with_fix("name what the link leads to"));
    }
    // Through the descriptor, so that no link can take the place of what was looked at.
    let held = format!("/proc/self/fd/{}", found.as_raw_fd());
    rustix::fs::chmod(held, Mode::from_raw_mode(mode)).map_err(|error| failed(error.into()))
}

/// Whether there are such bits.
pub(super) fn check(mode: u32) -> Result<(), Error> {
    if mode > 0o7777 {
        let problem = format!("is {mode:o} in octal, beyond 7777");
        return Err(Error::invalid_argument("mode", problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, symlink},
    };

    use super::*;

    #[test]
    fn bits_are_set_and_links_are_never_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| directory.path().join(name));
        fs::write(&file, b"").unwrap();
        symlink("file", &link).unwrap();
        change_mode(&file, 0o4751).unwrap();
        assert_eq!(
            change_mode(&link, 0o600).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        assert_eq!(
            change_mode(&file, 0o10000).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o4751);
        let missing = directory.path().join("missing");
        assert_eq!(
            change_mode(&missing, 0o600).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
