//! Which shell runs shell text, and how text reaches it.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
};

use super::{check::LONGEST_STRING, program};

/// The shell of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shell {
    /// Where it is.
    pub(super) path: PathBuf,
    /// What it is called in its own messages and in `$0`.
    pub(super) name: &'static str,
    /// The variant of the choice `shell`.
    pub(super) choice: &'static str,
}

impl Shell {
    /// Bash if it is there, else the POSIX shell.
    pub(super) fn find(search: &OsStr) -> Option<Self> {
        let find = |name: &'static str, choice| {
            let path = program::find(name.as_ref(), search, Path::new("/")).ok()?;
            Some(Self { path, name, choice })
        };
        find("bash", "bash").or_else(|| find("sh", "posix"))
    }
}

/// Text that is too long for an argument, in a file of its own that goes with this value.
#[derive(Debug)]
pub(super) struct TextFile(PathBuf);

impl Drop for TextFile {
    fn drop(&mut self) {
        // A leftover goes with the sandbox's directory.
        let _ = fs::remove_file(&self.0);
    }
}

/// The argument after `-c`. Text that fits is passed as it is. Longer text is written to `path`, for the user only, and
/// the argument is a command that reads it in the same shell: `$0`, positional parameters, exit code and traps are as
/// they would be; only the shell's own messages name the file.
pub(super) fn argument(text: &[u8], path: PathBuf) -> io::Result<(OsString, Option<TextFile>)> {
    if text.len() < LONGEST_STRING {
        return Ok((OsStr::from_bytes(text).to_owned(), None));
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    let held = TextFile(path);
    file.write_all(text)?;
    Ok((source(held.0.as_os_str()), Some(held)))
}

/// `. 'PATH'`, quoted so that no byte of the path means anything to a shell.
fn source(path: &OsStr) -> OsString {
    let mut command = b". '".to_vec();
    for byte in path.as_bytes() {
        match byte {
            b'\'' => command.extend_from_slice(br"'\''"),
            byte => command.push(*byte),
        }
    }
    command.push(b'\'');
    OsString::from_vec(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        assert_eq!(source(OsStr::new("/a b/it's $x")), r". '/a b/it'\''s $x'");
    }

    #[test]
    fn long_text_goes_by_a_private_file_that_does_not_stay() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        let (_, held) = argument(b"true", path.clone()).unwrap();
        assert!(held.is_none() && !path.exists());
        let (_, held) = argument(&vec![b'\n'; LONGEST_STRING], path.clone()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        drop(held);
        assert!(!path.exists());
    }
}
