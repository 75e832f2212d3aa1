//! Writing a whole file, all at once.

use std::{
    fs::{self, Metadata, Permissions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use herm_protocol::Error;
use rustix::fs::{Access, Gid, Uid};
use tempfile::NamedTempFile;

use super::{
    error::{is_a_directory, not_regular},
    file_error,
};

/// The mode of a new file, before the process's mask: that of a file that a command makes.
const NEW_FILE_MODE: u32 = 0o666;

/// How many links in a row are followed, as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Makes `data` the content of the file. Readers see the old content or the new, never a part; a failed write changes
/// nothing and leaves nothing. Missing parents are made, the mode of a file that is there is kept, and a link stays a
/// link to a file with the new content.
///
/// # Errors
/// `is_a_directory`, `permission_denied` (also for a file that is read-only), `limit_exceeded` on a full disk, and the
/// other kinds of [`file_error`].
pub fn write(path: &Path, data: &[u8]) -> Result<(), Error> {
    write_as(path, data, NEW_FILE_MODE)
}

/// As [`write`], with the mode of a file that is not there yet, before the process's mask.
pub(crate) fn write_as(path: &Path, data: &[u8], new_mode: u32) -> Result<(), Error> {
    let failed = |error: io::Error| file_error("write", path, &error);
    let target = follow(path).map_err(failed)?;
    let old = match fs::symlink_metadata(&target) {
        Ok(metadata) => Some(replaceable(path, &target, metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let ends_as_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let (Some(parent), false) = (target.parent(), ends_as_directory) else {
        return Err(is_a_directory("write", path));
    };
    if old.is_none() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    replace(&target, parent, old.as_ref(), data, new_mode).map_err(failed)
}

fn replaceable(path: &Path, target: &Path, metadata: Metadata) -> Result<Metadata, Error> {
    if metadata.is_dir() {
        return Err(is_a_directory("write", path));
    }
    if !metadata.is_file() {
        return Err(not_regular(path));
    }
    // A rename asks only the directory; the file's own mode has a say here as it has in a plain write.
    rustix::fs::access(target, Access::WRITE_OK).map_err(|error| file_error("write", path, &error.into()))?;
    Ok(metadata)
}

fn replace(
    target: &Path,
    parent: &Path,
    old: Option<&Metadata>,
    data: &[u8],
    new_mode: u32,
) -> io::Result<()> {
    let mut file: NamedTempFile = tempfile::Builder::new()
        .prefix(".herm-")
        .permissions(Permissions::from_mode(new_mode))
        .tempfile_in(parent)?;
    file.as_file_mut().write_all(data)?;
    if let Some(old) = old {
        keep_owner_and_mode(&file, old)?;
    }
    file.persist(target)?;
    Ok(())
}

fn keep_owner_and_mode(file: &NamedTempFile, old: &Metadata) -> io::Result<()> {
    let new = file.as_file().metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away; anybody else becomes the owner of what they write.
        let _ = rustix::fs::fchown(
            file,
            Some(Uid::from_raw(old.uid())),
            Some(Gid::from_raw(old.gid())),
        );
    }
    file.as_file()
        .set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// The path at the end of a chain of links, whether or not something is there.
pub(crate) fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
                ) =>
            {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use herm_protocol::ErrorKind;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_byte_comes_back_and_parents_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/c");
        let data: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        write(&path, &data).unwrap();
        assert_eq!(fs::read(&path).unwrap(), data);
        assert_eq!(names(path.parent().unwrap()), ["c"]);
        write(&path, b"").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn the_mode_of_an_old_file_is_kept_and_a_new_one_has_that_of_any_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        write(&path, b"1").unwrap();
        let usual = directory.path().join("usual");
        fs::write(&usual, b"").unwrap();
        assert_eq!(mode(&path), mode(&usual));
        for kept in [0o664, 0o755, 0o600, 0o4711] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            write(&path, b"2").unwrap();
            assert_eq!(mode(&path), kept);
        }
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_gets_the_content() {
        let directory = tempfile::tempdir().unwrap();
        let [link, target, fresh] = ["link", "target", "fresh"].map(|name| directory.path().join(name));
        fs::write(&target, b"old").unwrap();
        symlink("target", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        fs::remove_file(&link).unwrap();
        symlink("fresh", &link).unwrap();
        write(&link, b"made").unwrap();
        assert_eq!(fs::read(&fresh).unwrap(), b"made");
        fs::remove_file(&link).unwrap();
        symlink("link", &link).unwrap();
        assert_eq!(write(&link, b"x").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn a_refused_write_changes_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("d")).unwrap();
        fs::write(directory.path().join("f"), b"old").unwrap();
        for (path, kind) in [
            ("d", ErrorKind::IsADirectory),
            ("new/", ErrorKind::IsADirectory),
            ("f/under", ErrorKind::NotADirectory),
            (&"n".repeat(300), ErrorKind::InvalidArgument),
        ] {
            let error = write(&directory.path().join(path), b"new").unwrap_err();
            assert_eq!(error.kind(), kind, "{path}: {error}");
            assert!(error.message.contains(path), "{error}");
        }
        assert_eq!(names(directory.path()), ["d", "f"]);
        assert_eq!(fs::read(directory.path().join("f")).unwrap(), b"old");
    }

    #[test]
    fn a_full_disk_is_a_limit() {
        let full = file_error("write", Path::new("/f"), &rustix::io::Errno::NOSPC.into());
        assert_eq!(full.kind(), ErrorKind::LimitExceeded);
        let wrapped = NamedTempFile::new_in("/no/such/directory/at/all").unwrap_err();
        let missing = file_error("write", Path::new("/f"), &wrapped);
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
