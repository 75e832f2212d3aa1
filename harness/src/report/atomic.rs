//! Files that are there whole or not at all.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// How the names of temporary files end.
const SUFFIX: &str = ".tmp";

/// Writes a temporary file beside `path`, then renames it over `path`. On failure the temporary file is removed and what
/// was at `path` is untouched. `tag` (a run id) is part of the temporary name, so that a leftover tells whose it is.
pub(crate) fn write(path: &Path, tag: &str, content: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(&prefix(path, tag))
        .suffix(SUFFIX)
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(directory)
        .map_err(|error| cause(&error))?;
    file.write_all(content).map_err(|error| cause(&error))?;
    // Without this a full disk may show only after the rename, with the old file gone.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

/// Removes what [`write`] left beside `path` when it was killed.
pub(crate) fn remove_leftovers(path: &Path, tag: &str) {
    let Some(entries) = path.parent().and_then(|folder| fs::read_dir(folder).ok()) else {
        return;
    };
    let prefix = prefix(path, tag);
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(SUFFIX) {
            // One that cannot be removed tells by its name whose it is.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// How the names of temporary files begin.
fn prefix(path: &Path, tag: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let tag: String = tag
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '-')
        .take(64)
        .collect();
    format!(".{name}.{tag}.")
}

/// The system's own words, without the random name of the temporary file.
fn cause(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let words = text
        .split_once(" at path ")
        .map_or(text.as_str(), |(words, _)| words);
    io::Error::new(error.kind(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        write(&path, "run/../1", b"old").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o600,
            0o600
        );
        let taken = directory.path().join("folder");
        std::fs::create_dir(&taken).unwrap();
        write(&taken, "run", b"new").unwrap_err();
        let mut left: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a.json", "folder"]);
    }

    #[test]
    fn only_leftovers_of_the_same_file_and_run_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let names = [
            ".a.json.run-1.Xy.tmp",
            ".a.json.run-2.Xy.tmp",
            ".b.json.run-1.Xy.tmp",
            "a.json",
        ];
        for name in names {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        remove_leftovers(&directory.path().join("a.json"), "run-1");
        let left = names.map(|name| directory.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
    }

    #[test]
    fn a_missing_directory_is_told_without_the_temporary_name() {
        let error = write(Path::new("/nonexistent-herm/a.json"), "run", b"").unwrap_err();
        assert!(!error.to_string().contains(".tmp"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
