//! A file under a name that nobody else has, until it takes another one.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::system::random;

/// How many names are tried.
const TRIES: u32 = 64;

/// A new file. It is removed when it is dropped, unless it was given its name.
pub(super) struct Temporary {
    pub(super) file: File,
    /// `None` when it has its name.
    path: Option<PathBuf>,
}

impl Temporary {
    /// Makes one with these permissions, but for the process's mask.
    pub(super) fn make(directory: &Path, mode: u32) -> io::Result<Self> {
        let (file, path) = under_fresh_name(directory, |path| {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(path)
        })?;
        Ok(Self {
            file,
            path: Some(path),
        })
    }

    /// Gives it its name, in place of whatever file has it.
    pub(super) fn name(mut self, path: &Path) -> io::Result<()> {
        if let Some(temporary) = &self.path {
            fs::rename(temporary, path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes a directory that only this user may enter.
pub(super) fn private_directory(directory: &Path) -> io::Result<PathBuf> {
    let make = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
    under_fresh_name(directory, make).map(|((), path)| path)
}

fn under_fresh_name<T>(directory: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let path = directory.join(format!(".herm-{:016x}", u64::from_le_bytes(random()?)));
        match make(&path) {
            Ok(new) => return Ok((new, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
