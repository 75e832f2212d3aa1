//! Removing files and directories, however deep they are.
//!
//! A command can make a tree that is deeper than a stack or the table of descriptors bears. So the walk goes down a few
//! levels only; a directory that is deeper is moved up to the top of the tree under a fresh name, and its turn comes there.
//! Everything is named from an open directory, through the system's own links to descriptors; no other link is followed, and
//! nothing outside the tree is touched.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::failure::{failure, told};
use crate::{
    system::open,
    wire::{FileErrorKind, FileFailure},
};

/// How many levels the walk goes down; it holds descriptors for each.
const DEPTH: usize = 16;

/// How often a tree is gone over without moving anything up: somebody may still be writing into it.
const TRIES: u32 = 5;

/// Removes a file, a link itself, an empty directory, or with `recursive` a directory with everything in it. Nothing of it is
/// removed where the directory itself could not be.
pub(super) fn remove(path: &Path, recursive: bool) -> Result<(), FileFailure> {
    let failed = |error: io::Error| failure("remove", path, &error);
    if !fs::symlink_metadata(path).map_err(failed)?.is_dir() {
        return fs::remove_file(path).map_err(failed);
    }
    // The system says first whether it may go at all.
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
        other => return other.map_err(failed),
    }
    if !recursive {
        return Err(told(
            FileErrorKind::IsADirectory,
            path,
            |shown| format!("failed to remove {shown}: it is a directory that is not empty"),
            "set recursive to remove it with everything in it",
        ));
    }
    if path.file_name().is_none() {
        return Err(told(
            FileErrorKind::InvalidArgument,
            path,
            |shown| format!("failed to remove {shown}: it does not end with a name"),
            "name the directory itself",
        ));
    }
    remove_tree(path).map_err(failed)
}

fn remove_tree(path: &Path) -> io::Result<()> {
    let mut walk = Walk {
        top: Held::open(path)?,
        names: 0,
    };
    let mut tries = 0;
    loop {
        let moved = walk.names;
        let top = Held::open(&walk.top.at("."))?;
        match walk.empty(&top, 0).and_then(|()| fs::remove_dir(path)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                tries += u32::from(walk.names == moved);
                if tries == TRIES {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// A directory that stays the same one, whatever happens to its path.
struct Held(File);

impl Held {
    /// Opens a directory, and not one that a link leads to.
    fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .custom_flags(open::DIRECTORY | open::NO_FOLLOW)
            .open(path)
            .map(Self)
    }

    /// The path of something in it.
    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.0.as_raw_fd().to_string())
            .join(name)
    }
}

struct Walk {
    top: Held,
    /// How many fresh names were used.
    names: u64,
}

impl Walk {
    /// Removes what is in a directory. What somebody else removes or adds meanwhile is no error.
    fn empty(&mut self, directory: &Held, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(directory.at("."))? {
            let entry = entry?;
            let path = directory.at(entry.file_name());
            let removed = match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.remove_directory(&path, depth),
                Ok(_) => fs::remove_file(&path),
                Err(error) => Err(error),
            };
            match removed {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    fn remove_directory(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            removed => return removed,
        }
        if depth == DEPTH {
            return self.move_up(path);
        }
        self.empty(&Held::open(path)?, depth + 1)?;
        match fs::remove_dir(path) {
            // The next time over the tree meets it again.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed,
        }
    }

    fn move_up(&mut self, path: &Path) -> io::Result<()> {
        loop {
            self.names += 1;
            let fresh = format!(".removing-{}-{}", std::process::id(), self.names);
            match fs::rename(path, self.top.at(fresh)) {
                Err(error) if is_taken(&error) => {}
                moved => return moved,
            }
        }
    }
}

/// Whether something has the name that a directory was to get.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
    )
}
