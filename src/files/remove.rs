//! Removing files and directories.

use std::{fs, io, path::Path};

use herm_protocol::{
    Error, ErrorKind,
    remove_tree::{self, Locked},
};

use super::file_error;

/// How often a tree is tried to be removed that somebody keeps writing into.
const TRIES: usize = 5;

/// Removes a file, a link itself, an empty directory, or with `recursive` a directory with everything in it. Nothing of it is
/// removed where the directory itself could not be: something is mounted on it, its parent may not be written to, or the path
/// does not end with a name of its own (`link/`, `a/.`, `a/..`, `/`).
///
/// # Errors
/// `not_found`; `is_a_directory` for a directory that is not empty without `recursive`; and the other kinds of
/// [`file_error`].
pub fn remove(path: &Path, recursive: bool) -> Result<(), Error> {
    let failed = |error: io::Error| file_error("remove", path, &error);
    if !fs::symlink_metadata(path).map_err(failed)?.is_dir() {
        return fs::remove_file(path).map_err(failed);
    }
    // The system says first whether it may go at all.
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
        other => return other.map_err(failed),
    }
    let shown = path.to_string_lossy();
    if !recursive {
        let message = format!("failed to remove {shown}: it is a directory that is not empty");
        return Err(Error::new(ErrorKind::IsADirectory, shown.clone(), message)
            .with_fix("set recursive to remove it with everything in it"));
    }
    if path.file_name().is_none() {
        let message = format!("failed to remove {shown}: it does not end with a name");
        return Err(Error::new(ErrorKind::InvalidArgument, shown.clone(), message)
            .with_fix("name the directory itself"));
    }
    remove_tree::remove_tree(path, Locked::Refuse).map_err(failed)
}

/// Removes a directory that is ours with everything in it, also what a command has locked away by mode or is still
/// writing. That it is not there is no error.
///
/// # Errors
/// Whatever the system says at the last try.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..TRIES {
        result = match remove_tree::remove_tree(path, Locked::Open) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other,
        };
        if result.is_ok() {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use std::{
        fs::Permissions,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    #[test]
    fn a_full_directory_needs_recursive_and_a_link_goes_without_its_target() {
        let directory = tempfile::tempdir().unwrap();
        let [full, link, gone] = ["full", "link", "gone"].map(|name| directory.path().join(name));
        fs::create_dir(&full).unwrap();
        fs::write(full.join("f"), b"").unwrap();
        symlink(&full, &link).unwrap();
        assert_eq!(remove(&gone, true).unwrap_err().kind(), ErrorKind::NotFound);
        let error = remove(&full, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
        assert!(error.data.fix.unwrap().contains("recursive"));
        remove(&link, true).unwrap();
        assert!(full.join("f").exists());
        remove(&full, true).unwrap();
        assert!(!full.exists());
        fs::create_dir(&full).unwrap();
        remove(&full, false).unwrap();
        assert!(!full.exists());
    }

    #[test]
    fn nothing_of_a_directory_goes_that_cannot_go_itself() {
        let directory = tempfile::tempdir().unwrap();
        let [full, link] = ["full", "link"].map(|name| directory.path().join(name));
        fs::create_dir(&full).unwrap();
        fs::write(full.join("f"), b"").unwrap();
        symlink(&full, &link).unwrap();
        for (path, kind) in [
            (link.join(""), ErrorKind::NotADirectory),
            (full.join("."), ErrorKind::InvalidArgument),
            (full.join(".."), ErrorKind::InvalidArgument),
            (full.join("../full/.."), ErrorKind::InvalidArgument),
        ] {
            assert_eq!(
                remove(&path, true).unwrap_err().kind(),
                kind,
                "{}",
                path.display()
            );
            assert!(full.join("f").exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_tree_that_is_locked_away_goes_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/f"), b"").unwrap();
        fs::set_permissions(tree.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(tree.join("a"), Permissions::from_mode(0o500)).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        remove_tree(&tree).unwrap();
    }
}
