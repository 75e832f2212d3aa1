//! Writing the files of a template: all of them, or none.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::template::TemplateFile;

/// The mode of a new file, before the process's mask.
const MODE: u32 = 0o666;

/// How many files in the way are named.
const SHOWN: usize = 10;

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Each file's path below the directory, and what it is; what needs no words is counted with its directory.
    pub(super) files: Vec<(String, Option<&'static str>)>,
}

/// Why nothing was written.
#[derive(Debug)]
pub(super) struct Unwritten(String);

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes all files below a directory, which is made when it is not there.
///
/// Every file is written under another name first, and takes its own when all are there; so what fails, fails before
/// anything has been changed, and what had been made is removed.
///
/// # Errors
/// What is in the way, or what the system says, with the path and the next step. Nothing was written then.
pub(super) fn write(directory: &Path, files: &[TemplateFile], force: bool) -> Result<Written, Unwritten> {
    check(directory, files, force)?;
    let mut made = Made::default();
    let mut staged = Vec::new();
    for file in files {
        let target = directory.join(&file.path);
        let temporary = made.stage(&target, &file.content).map_err(|(path, error)| {
            Unwritten(format!(
                "failed to write {}: {error}; make that place writable, or name another directory. Nothing was written",
                path.to_string_lossy()
            ))
        })?;
        staged.push((temporary, target));
    }
    for (temporary, target) in staged {
        let kept = if force {
            temporary.persist(&target).map_err(|error| error.error)
        } else {
            temporary.persist_noclobber(&target).map_err(|error| error.error)
        };
        match kept {
            Ok(_) if force => {}
            Ok(_) => made.files.push(target),
            Err(error) => {
                let shown = target.to_string_lossy();
                return Err(Unwritten(format!(
                    "failed to write {shown}: {error}; see who else writes there, and try again"
                )));
            }
        }
    }
    made.keep();
    Ok(written(files))
}

/// What a person is told of the files that were written.
fn written(files: &[TemplateFile]) -> Written {
    let mut told = Written::default();
    for file in files {
        let path = match file.about {
            Some(_) => file.path.to_string_lossy().into_owned(),
            // The source of a crate is one line.
            None => "protocol/src/".to_owned(),
        };
        if told.files.last().is_none_or(|(last, _)| *last != path) {
            told.files.push((path, file.about));
        }
    }
    told
}

/// Looks for what is in the way.
fn check(directory: &Path, files: &[TemplateFile], force: bool) -> Result<(), Unwritten> {
    let mut in_the_way = Vec::new();
    for file in files {
        let path = directory.join(&file.path);
        let inner = file.path.ancestors().skip(1);
        let mut inner = inner
            .filter(|inner| !inner.as_os_str().is_empty())
            .map(|inner| directory.join(inner));
        // The project may be behind a link; a part of it would be written to somewhere else.
        if let Some(link) = inner.find(|inner| inner.is_symlink()) {
            let shown = link.to_string_lossy();
            return Err(Unwritten(format!(
                "{shown} is in the way: it is a link, and leads to somewhere else; move it, or name another directory. \
                 Nothing was written"
            )));
        }
        let above = path
            .ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty());
        let blocked = above
            .filter(|above| fs::symlink_metadata(above).is_ok() && !above.is_dir())
            .map(Path::to_owned)
            .last();
        if let Some(blocked) = blocked {
            let shown = blocked.to_string_lossy();
            return Err(Unwritten(format!(
                "{shown} is in the way: a directory is needed there, and it is none; move it, or name another directory. \
                 Nothing was written"
            )));
        }
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let shown = path.to_string_lossy();
                return Err(Unwritten(format!(
                    "{shown} is in the way: it is a directory; move it, or name another directory. Nothing was written"
                )));
            }
            Ok(_) if !force => in_the_way.push(path.to_string_lossy().into_owned()),
            _ => {}
        }
    }
    if in_the_way.is_empty() {
        return Ok(());
    }
    let more = in_the_way.len().saturating_sub(SHOWN);
    in_the_way.truncate(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Err(Unwritten(format!(
        "in the way: {}{more}; move what is there, name another directory, or overwrite it with --force. \
         Nothing was written",
        in_the_way.join(", ")
    )))
}

/// What was made so far; it is removed again unless it is kept.
#[derive(Debug, Default)]
struct Made {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    /// Writes a file under another name beside its own. An error comes with the path that it is about.
    fn stage(&mut self, target: &Path, content: &[u8]) -> Result<NamedTempFile, (PathBuf, io::Error)> {
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        self.make(parent)?;
        let mut file = tempfile::Builder::new()
            .prefix(".herm-init-")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(parent)
            .map_err(|error| (target.to_owned(), bare(error)))?;
        file.as_file_mut()
            .write_all(content)
            .map_err(|error| (target.to_owned(), error))?;
        Ok(file)
    }

    /// Makes a directory and those above it.
    fn make(&mut self, directory: &Path) -> Result<(), (PathBuf, io::Error)> {
        if directory.is_dir() {
            return Ok(());
        }
        if let Some(above) = directory.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.make(above)?;
        }
        match fs::create_dir(directory) {
            Ok(()) => self.directories.push(directory.to_owned()),
            // Somebody else made it meanwhile, or the path names it in two ways, as `new/..` does.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err((directory.to_owned(), error)),
        }
        Ok(())
    }

    fn keep(mut self) {
        self.directories.clear();
        self.files.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // The last one made is the deepest one. One that somebody else has put something into stays.
        for directory in self.directories.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// The system's own words, without the name of the temporary file, which nobody has heard of.
fn bare(error: io::Error) -> io::Error {
    let kind = error.kind();
    match error.get_ref() {
        Some(_) => io::Error::from(kind),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<TemplateFile> {
        let file = |path: &&str| TemplateFile {
            path: path.into(),
            content: b"new".to_vec(),
            about: Some("a file"),
        };
        paths.iter().map(file).collect()
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_in_the_way_is_named_and_nothing_is_written() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("b"), "old").unwrap();
        let error = write(home.path(), &files(&["a/x", "b"]), false).unwrap_err().0;
        assert!(error.contains("/b;") && error.contains("--force"), "{error}");
        assert_eq!(names(home.path()), ["b"]);
        let error = write(home.path(), &files(&["a", "b/under"]), true).unwrap_err().0;
        assert!(
            error.contains("/b is in the way: a directory is needed"),
            "{error}"
        );
        fs::create_dir(home.path().join("d")).unwrap();
        let error = write(home.path(), &files(&["a", "d"]), true).unwrap_err().0;
        assert!(error.contains("/d is in the way: it is a directory"), "{error}");
        assert_eq!(names(home.path()), ["b", "d"]);
        write(home.path(), &files(&["a", "b"]), true).unwrap();
        assert_eq!(fs::read(home.path().join("b")).unwrap(), b"new");
        assert_eq!(names(home.path()), ["a", "b", "d"]);
    }

    #[test]
    fn what_fails_half_way_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let long = "n".repeat(300);
        let error = write(
            &home.path().join("p/q"),
            &files(&["a", "c/d", &format!("{long}/x")]),
            false,
        );
        assert!(error.unwrap_err().0.contains(&long));
        assert!(names(home.path()).is_empty());
    }

    #[test]
    fn nothing_is_written_through_a_link_in_the_project() {
        let home = tempfile::tempdir().unwrap();
        let (project, other) = (home.path().join("project"), home.path().join("other"));
        fs::create_dir_all(project.join("a")).unwrap();
        fs::create_dir_all(other.join("c")).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        std::os::unix::fs::symlink(&other, project.join("a/b")).unwrap();
        for force in [false, true] {
            let error = write(&link, &files(&["x", "a/b/c/y"]), force).unwrap_err().0;
            assert!(error.contains("a/b is in the way: it is a link"), "{error}");
        }
        assert!(names(&other.join("c")).is_empty());
        assert_eq!(names(&project), ["a"]);
        write(&link, &files(&["x", "a/y"]), false).unwrap();
        assert_eq!(names(&project), ["a", "x"]);
    }

    #[test]
    fn a_link_to_nowhere_is_in_the_way_too() {
        let home = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", home.path().join("a")).unwrap();
        assert!(write(home.path(), &files(&["a"]), false).is_err());
        write(home.path(), &files(&["a"]), true).unwrap();
        assert!(!home.path().join("nowhere").exists());
        assert_eq!(fs::read(home.path().join("a")).unwrap(), b"new");
    }
}
