//! Sessions: the directory, exported variables and functions that one command leaves for the next.
//!
//! The state travels in files of the resident's own directory, never through what a command reads or writes. A script that
//! the shell reads before the text brings it back; a trap on the shell's end writes it anew; and only what was written to
//! its end takes the place of what was there. So whatever ends a command half-way, the session is as it was before.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use crate::wire::{StateKept, sha256};

const BASH: &str = include_str!("session.bash");
const POSIX: &str = include_str!("session.sh");
const COMPLETE: &[u8] = b"# complete\n";

/// The files of all sessions begin so.
pub(crate) const PREFIX: &str = "session";

/// Where the state of sessions is.
#[derive(Debug)]
pub(crate) struct Sessions {
    directory: Option<PathBuf>,
}

/// What one command carries of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    directory: PathBuf,
    state: PathBuf,
    new: PathBuf,
    kept: StateKept,
    /// Where the caller has had it start, if it has said so; only another directory is then the session's.
    started_in: Option<Vec<u8>>,
}

impl Sessions {
    /// Writes the scripts; without a directory, or when that fails, there are no sessions.
    pub(crate) fn new(directory: Option<&Path>) -> Self {
        let written = |directory: &&Path| {
            let scripts = [("session.bash", BASH), ("session.sh", POSIX)];
            let all = scripts.map(|(name, script)| write(&directory.join(name), script));
            all.into_iter().all(|result| result.is_ok())
        };
        Self {
            directory: directory.filter(written).map(Path::to_owned),
        }
    }

    pub(crate) fn are_possible(&self) -> bool {
        self.directory.is_some()
    }

    /// What a command carries of the session of that name; `None` when there are no sessions here. `started_in` is where
    /// the caller has it start.
    pub(crate) fn carry(
        &self,
        name: &str,
        kept: StateKept,
        job: u64,
        started_in: Option<Vec<u8>>,
    ) -> Option<Carried> {
        let directory = self.directory.clone()?;
        let state = directory.join(file_name(name));
        let new = directory.join(format!("{}-{job}", file_name(name)));
        Some(Carried {
            directory,
            state,
            new,
            kept,
            started_in,
        })
    }

    /// Forgets a session.
    pub(crate) fn end(&self, name: &str) {
        if let Some(directory) = &self.directory {
            let state = directory.join(file_name(name));
            let _ = fs::remove_file(cwd_of(&state));
            let _ = fs::remove_file(state);
        }
    }
}

impl Carried {
    /// Where the session is: its directory, or the nearest above it that is still there, which is told.
    pub(crate) fn cwd(&self) -> Option<(PathBuf, Option<String>)> {
        let cwd = PathBuf::from(OsString::from_vec(fs::read(cwd_of(&self.state)).ok()?));
        let there = cwd.ancestors().find(|path| path.is_dir())?;
        let notice = (there != cwd).then(|| {
            let (cwd, there) = (cwd.display(), there.display());
            format!("the session's directory {cwd} is gone; the command starts in {there}")
        });
        Some((there.to_owned(), notice))
    }

    /// The variables that tell the scripts what to do. `given` are the caller's own for this command.
    pub(crate) fn variables<'a>(&self, given: impl Iterator<Item = &'a [u8]>) -> Vec<(OsString, OsString)> {
        let names: Vec<_> = given.filter(|name| is_identifier(name)).collect();
        let kept = match self.kept {
            StateKept::CwdEnv => "cwd_env",
            StateKept::Shell => "shell",
        };
        vec![
            ("HERM_SESSION_STATE".into(), self.state.clone().into()),
            ("HERM_SESSION_NEW".into(), self.new.clone().into()),
            ("HERM_SESSION_KIND".into(), kept.into()),
            (
                "HERM_SESSION_GIVEN".into(),
                OsStr::from_bytes(&names.join(&b' ')).into(),
            ),
        ]
    }

    /// The script that bash reads before the text.
    pub(crate) fn bash_script(&self) -> PathBuf {
        self.directory.join("session.bash")
    }

    /// The script that another shell reads before the text.
    pub(crate) fn posix_script(&self) -> PathBuf {
        self.directory.join("session.sh")
    }

    /// Takes what the command has left as the session's state, if it is complete.
    pub(crate) fn take(&self) {
        let complete = fs::read(&self.new).is_ok_and(|state| state.ends_with(COMPLETE));
        let (new_cwd, cwd) = (cwd_of(&self.new), cwd_of(&self.state));
        if complete {
            let moved = fs::read(&new_cwd).is_ok_and(|new| Some(new) != self.started_in);
            if moved {
                let _ = fs::rename(&new_cwd, cwd);
            }
            let _ = fs::rename(&self.new, &self.state);
        }
        let _ = fs::remove_file(new_cwd);
        let _ = fs::remove_file(&self.new);
    }
}

fn file_name(name: &str) -> String {
    let digest = sha256(name.as_bytes());
    let number = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
    format!("{PREFIX}-{number:032x}")
}

fn cwd_of(state: &Path) -> PathBuf {
    let mut path = state.as_os_str().to_owned();
    path.push(".cwd");
    path.into()
}

fn is_identifier(name: &[u8]) -> bool {
    let starts = name
        .first()
        .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_');
    starts
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn write(path: &Path, script: &str) -> io::Result<()> {
    let _ = fs::remove_file(path);
    crate::supervisor::write_private(path, script.as_bytes())
}
