//! What ends a sandbox when its caller goes, however that ends: a pipe that this process holds open for
//! writing, and whose other end the resident has.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use rustix::fs::{CWD, FileType, Mode, OFlags, fchmod, mknodat, open};

/// The name of the pipe among the sockets of a meeting directory.
pub(super) const NAME: &str = "leash";

/// Makes the pipe in a directory, and holds it for as long as the file is open. One that is there from an earlier sandbox
/// goes. This blocks, shortly.
pub(super) fn make(directory: &Path) -> io::Result<File> {
    let path = directory.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // Opened for both, which does not wait for anybody.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let pipe = open(&path, flags, Mode::empty())?;
    // It is not known as whom the resident runs; nobody has to write to it.
    fchmod(&pipe, Mode::from_raw_mode(0o444))?;
    Ok(pipe.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_other_end_is_read_when_nobody_holds_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let held = make(folder.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut end = File::from(open(folder.path().join(NAME), flags, Mode::empty()).unwrap());
        let nothing = end.read(&mut [0; 1]).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        drop(held);
        assert_eq!(end.read(&mut [0; 1]).unwrap(), 0);
        let _held = make(folder.path()).unwrap();
    }
}
