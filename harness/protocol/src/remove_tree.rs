//! Removing a directory with everything in it, however deep it is.
//!
//! A command can make a tree that is deeper than a stack or the table of descriptors bears. So the walk goes down a few
//! levels only; a directory that is deeper is moved up to the top of the tree under a fresh name, and its turn comes
//! there. Everything is named from an open directory, no link is followed, and nothing outside the tree is touched.

use std::{
    ffi::{CStr, CString},
    fs, io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags},
    io::Errno,
};

/// How many levels the walk goes down; it holds a descriptor for each.
const DEPTH: usize = 16;

/// How often a tree is gone over without moving anything up: somebody may still be writing into it.
const TRIES: u32 = 5;

/// What is done with a directory whose mode keeps its owner from emptying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// It is an error.
    Refuse,
    /// Its mode is changed.
    Open,
}

/// Removes a directory with everything in it. A link is removed itself; its target stays.
///
/// # Errors
/// Whatever the system says; a part of the tree may be gone then, and deep parts moved up to its top. That it is not
/// there, or no directory, is an error too.
pub fn remove_tree(path: &Path, locked: Locked) -> io::Result<()> {
    let top = open(CWD, &CString::new(path.as_os_str().as_encoded_bytes())?, locked)?;
    let mut walk = Walk {
        top,
        locked,
        names: 0,
    };
    let mut tries = 0;
    loop {
        let moved = walk.names;
        let emptied = walk.empty(open(walk.top.as_fd(), c".", locked)?, 0);
        match emptied.and_then(|()| fs::remove_dir(path)) {
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

struct Walk {
    top: OwnedFd,
    locked: Locked,
    /// How many fresh names were used.
    names: u64,
}

impl Walk {
    /// Removes what is in a directory. What somebody else removes or adds meanwhile is no error.
    fn empty(&mut self, directory: OwnedFd, depth: usize) -> io::Result<()> {
        let mut directory = Dir::new(directory)?;
        while let Some(entry) = directory.read() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let parent = directory.fd()?;
            let removed = if is_directory(parent, &entry)? {
                self.remove_directory(parent, name, depth)
            } else {
                rustix::fs::unlinkat(parent, name, AtFlags::empty()).map_err(io::Error::from)
            };
            match removed {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    fn remove_directory(&mut self, parent: BorrowedFd, name: &CStr, depth: usize) -> io::Result<()> {
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            removed => return Ok(removed?),
        }
        if depth == DEPTH {
            return self.move_up(parent, name);
        }
        self.empty(open(parent, name, self.locked)?, depth + 1)?;
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // The next time over the tree meets it again.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            removed => Ok(removed?),
        }
    }

    fn move_up(&mut self, parent: BorrowedFd, name: &CStr) -> io::Result<()> {
        let mut unlocked = self.locked == Locked::Refuse;
        loop {
            self.names += 1;
            let fresh = CString::new(format!(".removing-{}-{}", std::process::id(), self.names))?;
            match rustix::fs::renameat(parent, name, &self.top, &fresh) {
                // The name is taken.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                // A directory that is to have another parent must be writable.
                Err(Errno::ACCESS) if !unlocked => {
                    unlock(parent, name)?;
                    unlocked = true;
                }
                moved => return Ok(moved?),
            }
        }
    }
}

fn is_directory(parent: BorrowedFd, entry: &DirEntry) -> io::Result<bool> {
    if entry.file_type() != FileType::Unknown {
        return Ok(entry.file_type() == FileType::Directory);
    }
    match rustix::fs::statat(parent, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory so that it can be emptied.
fn open(parent: BorrowedFd, name: &CStr, locked: Locked) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(parent, name, flags, Mode::empty());
    let directory = match open() {
        Err(Errno::ACCESS) if locked == Locked::Open => {
            unlock(parent, name)?;
            open()?
        }
        directory => directory?,
    };
    if locked == Locked::Open {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&directory)?.st_mode);
        if !mode.contains(Mode::RWXU) {
            rustix::fs::fchmod(&directory, Mode::RWXU)?;
        }
    }
    Ok(directory)
}

/// Makes a directory one that its owner may open, and not what a link leads to that has just taken its place.
#[cfg(target_os = "linux")]
fn unlock(parent: BorrowedFd, name: &CStr) -> io::Result<()> {
    use std::{
        fs::Permissions,
        os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

#[cfg(not(target_os = "linux"))]
fn unlock(parent: BorrowedFd, name: &CStr) -> io::Result<()> {
    Ok(rustix::fs::chmodat(
        parent,
        name,
        Mode::RWXU,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Makes a chain of directories with a file in each; every third has a mode, if one is given.
    fn chain(top: &Path, levels: u32, mode: Option<u32>) {
        fs::create_dir(top).unwrap();
        let mut here = open(CWD, &CString::new(top.to_str().unwrap()).unwrap(), Locked::Refuse).unwrap();
        for level in 0..levels {
            rustix::fs::mkdirat(&here, c"d", Mode::RWXU).unwrap();
            let flags = OFlags::CREATE | OFlags::WRONLY;
            rustix::fs::openat(&here, c"f", flags, Mode::RWXU).unwrap();
            let next = open(here.as_fd(), c"d", Locked::Refuse).unwrap();
            if let Some(mode) = mode.filter(|_| level % 3 == 0) {
                rustix::fs::fchmod(&here, Mode::from_raw_mode(mode)).unwrap();
            }
            here = next;
        }
    }

    #[test]
    fn a_tree_is_removed_that_is_deeper_than_stack_and_descriptors() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("top");
        chain(&top, 20_000, None);
        // Two mebibytes of stack, which a walk by calls would need for some thousand levels.
        remove_tree(&top, Locked::Refuse).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_deep_tree_that_is_locked_away_is_removed_when_locks_are_opened() {
        for mode in [0o000, 0o500] {
            let directory = tempfile::tempdir().unwrap();
            let top = directory.path().join("top");
            chain(&top, 100, Some(mode));
            remove_tree(&top, Locked::Open).unwrap();
            assert!(!top.exists());
        }
    }

    #[test]
    fn targets_of_links_stay_and_names_that_look_fresh_go() {
        let directory = tempfile::tempdir().unwrap();
        let [top, outside] = ["top", "outside"].map(|name| directory.path().join(name));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), b"").unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
        chain(&top, 50, None);
        for number in 1..4 {
            let taken = top.join(format!(".removing-{}-{number}", std::process::id()));
            fs::create_dir(&taken).unwrap();
            symlink(&outside, taken.join("link")).unwrap();
        }
        symlink(&outside, top.join("link")).unwrap();
        assert!(remove_tree(&top.join("link"), Locked::Open).is_err());
        remove_tree(&top, Locked::Open).unwrap();
        assert!(!top.exists() && outside.join("f").exists());
        let mode = fs::metadata(&outside).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let error = remove_tree(Path::new("/no/such/tree"), Locked::Open).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
