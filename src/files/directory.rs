//! Making and listing directories.

use std::{fs, io, path::Path};

use herm_protocol::{DEFAULT_MAX_MESSAGE_BYTES, Error, ErrorKind, file::DirectoryListing};

use super::{file_error, stat::info};

/// Bytes of one entry on the wire beside its name, at most.
const ENTRY: usize = 128;

/// Bytes of one entry on the wire, at most.
pub(super) fn cost(name: &[u8]) -> usize {
    name.len() * 6 + ENTRY
}

/// Makes a directory with its parents; one that is there already is fine.
///
/// # Errors
/// `already_exists` when something else is there, and the other kinds of [`file_error`].
pub fn make_directory(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|error| file_error("make the directory", path, &error))
}

/// Lists a directory, hidden names included, in the order of their bytes.
///
/// # Errors
/// `not_a_directory`, `limit_exceeded` when the list does not fit one message, and the other kinds of [`file_error`].
pub fn list_directory(path: &Path) -> Result<DirectoryListing, Error> {
    let failed = |error: io::Error| file_error("list", path, &error);
    let mut entries = Vec::new();
    let mut length = 0;
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            // It went between the list and the look.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        let name = entry.file_name();
        length += cost(name.as_encoded_bytes());
        if length > DEFAULT_MAX_MESSAGE_BYTES {
            return Err(too_many(path));
        }
        entries.push(info(name.as_ref(), &metadata));
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(DirectoryListing { entries })
}

/// The error about a list that does not fit one message.
pub(super) fn too_many(path: &Path) -> Error {
    let shown = path.to_string_lossy();
    let message =
        format!("the list of {shown} does not fit one message of {DEFAULT_MAX_MESSAGE_BYTES} bytes");
    Error::new(ErrorKind::LimitExceeded, shown.clone(), message)
        .with_fix("list it with a command and read its output")
}

#[cfg(test)]
mod tests {
    use std::os::unix::{ffi::OsStrExt as _, fs::symlink};

    use herm_protocol::file::FileKind;

    use super::*;

    #[test]
    fn names_come_in_the_order_of_their_bytes_and_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        for name in [&b"b"[..], b"a", b".hidden", b"\xff", b"B"] {
            let name = std::ffi::OsStr::from_bytes(name);
            fs::write(directory.path().join(name), b"12").unwrap();
        }
        symlink("nowhere", directory.path().join("link")).unwrap();
        fs::create_dir(directory.path().join("dir")).unwrap();
        let listing = list_directory(directory.path()).unwrap();
        let names: Vec<_> = listing
            .entries
            .iter()
            .map(|entry| entry.name.as_bytes())
            .collect();
        let expected: [&[u8]; 7] = [b".hidden", b"B", b"a", b"b", b"dir", b"link", b"\xff"];
        assert_eq!(names, expected);
        assert_eq!(listing.entries[0].size, 2);
        assert_eq!(listing.entries[4].kind, FileKind::Directory);
        assert_eq!(listing.entries[5].kind, FileKind::Symlink);
    }

    #[test]
    fn making_what_is_there_is_fine_unless_it_is_something_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        make_directory(&path).unwrap();
        make_directory(&path).unwrap();
        assert!(path.is_dir());
        let file = directory.path().join("f");
        fs::write(&file, b"").unwrap();
        assert_eq!(
            make_directory(&file).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        assert_eq!(
            list_directory(&file).unwrap_err().kind(),
            ErrorKind::NotADirectory
        );
        let missing = directory.path().join("missing");
        assert_eq!(list_directory(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
