//! Moving files and directories.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use herm_protocol::{Error, ErrorKind};

use super::file_error;

/// Moves what is at `from` to `to`, replacing a file or an empty directory there. Missing parents of `to` are made.
/// A link is moved itself. To another file system only files and links can be moved.
///
/// # Errors
/// `not_found` names `from`; `already_exists` a directory at `to` that is not empty; and the other kinds of
/// [`file_error`].
pub fn move_path(from: &Path, to: &Path) -> Result<(), Error> {
    let metadata = fs::symlink_metadata(from).map_err(|error| file_error("move", from, &error))?;
    let failed = |error: io::Error| {
        let action = format!("move {} to", from.to_string_lossy());
        file_error(&action, to, &error)
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
    let shown = from.to_string_lossy();
    let message = format!("{shown} cannot be moved to another file system: it is no file");
    Err(Error::new(ErrorKind::Unsupported, shown.clone(), message)
        .with_fix("copy it with a command, then remove it"))
}

fn move_link(from: &Path, to: &Path) -> io::Result<()> {
    let directory = tempfile::Builder::new().prefix(".herm-").tempdir_in(parent(to))?;
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(fs::read_link(from)?, &link)?;
    fs::rename(link, to)?;
    fs::remove_file(from)
}

fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = tempfile::Builder::new()
        .prefix(".herm-")
        .tempfile_in(parent(to))?;
    let mut source = File::open(from)?;
    io::copy(&mut source, copy.as_file_mut())?;
    copy.as_file().set_permissions(source.metadata()?.permissions())?;
    copy.persist(to)?;
    fs::remove_file(from)
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_a_file_and_parents_are_made() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "new/two"].map(|name| directory.path().join(name));
        fs::write(&one, b"1").unwrap();
        move_path(&one, &two).unwrap();
        fs::write(&one, b"2").unwrap();
        move_path(&one, &two).unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"2");
        assert!(!one.exists());
    }

    #[test]
    fn a_refused_move_is_typed_and_makes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("full/sub")).unwrap();
        fs::create_dir(at("dir")).unwrap();
        fs::write(at("file"), b"").unwrap();
        for (from, to, kind) in [
            ("missing", "new/x", ErrorKind::NotFound),
            ("file", "dir", ErrorKind::IsADirectory),
            ("dir", "file", ErrorKind::NotADirectory),
            ("dir", "full", ErrorKind::AlreadyExists),
            ("full", "full/sub/x", ErrorKind::InvalidArgument),
        ] {
            let error = move_path(&at(from), &at(to)).unwrap_err();
            assert_eq!(error.kind(), kind, "{from} to {to}: {error}");
        }
        assert!(!at("new").exists());
    }

    #[test]
    fn a_file_goes_to_another_file_system_with_its_mode() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (Ok(here), Ok(there)) = (tempfile::tempdir(), tempfile::tempdir_in("/dev/shm")) else {
            return;
        };
        let (from, to) = (here.path().join("f"), there.path().join("f"));
        fs::write(&from, b"x").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o751)).unwrap();
        move_path(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o751);
        assert!(!from.exists());
        std::os::unix::fs::symlink("target", &from).unwrap();
        move_path(&from, &to).unwrap();
        assert_eq!(fs::read_link(&to).unwrap(), Path::new("target"));
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 1);
    }
}
