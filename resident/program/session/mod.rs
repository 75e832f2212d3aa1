//! Sessions: the directory, exported variables, functions and aliases that one command leaves for the next.
//!
//! The state travels in files of the resident's own directory, never through what a command reads or writes. A script that
//! the shell reads before the text brings it back; a trap on the shell's end writes it anew; and only what was written to
//! its end, by a shell that came to its own end, takes the place of what was there. So whatever ends a command half-way,
//! the session is as it was before.
//!
//! A command holds the state that it begins with under a name of its own. So the end of another command does not change it
//! while it is read, and of two at the same time the last to end leaves all of its state.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::DirBuilderExt as _,
    },
    path::{Path, PathBuf},
};

use crate::wire::{Session, StateKept, sha256};

const BASH: &str = include_str!("session.bash");
const POSIX: &str = include_str!("session.sh");
const COMPLETE: &[u8] = b"# complete\n";

/// What stands in the file for the new state until the shell comes to write it: a shell that was replaced, or has given up
/// the saving, leaves it so, which is told.
const UNTOUCHED: &[u8] = b"# untouched\n";

/// What stands in it for a POSIX shell until that has read its script. It comes to that with the first line of the text:
/// one that cannot be parsed has not run, and has lost nothing.
const UNREAD: &[u8] = b"# unread\n";

/// Why a shell leaves the file as it was.
const GAVE_UP: &str = "the shell did not come to write it; a command that replaces the shell (exec), or takes away what saves \
    the state (its trap on EXIT, its functions, its descriptors), leaves none";

/// Variables that shells set by themselves, and that are no session's.
const OF_SHELLS: [&[u8]; 4] = [b"PWD", b"OLDPWD", b"SHLVL", b"_"];

/// How many bytes of names the script of a POSIX shell is told. A string of an environment has room for 128 KiB (execve(2)).
const LONGEST_NAMES: usize = 120 * 1024;

/// The files of one command begin so; those of sessions, which outlive a resident, do not.
pub(crate) const PREFIX: &str = "carried-";

/// Where the state of sessions is.
#[derive(Debug)]
pub(crate) struct Sessions {
    directory: Option<PathBuf>,
}

/// What one command carries of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    directory: PathBuf,
    /// The session's state.
    state: PathBuf,
    /// The state that the command begins with.
    held: PathBuf,
    /// The state that it leaves.
    new: PathBuf,
    session: Session,
}

impl Sessions {
    /// Writes the scripts; without a directory, or when that fails, there are no sessions.
    pub(crate) fn new(directory: Option<&Path>) -> Self {
        Self {
            directory: directory
                .filter(|directory| write_scripts(directory))
                .map(Path::to_owned),
        }
    }

    pub(crate) fn are_possible(&self) -> bool {
        self.directory.is_some()
    }

    /// What a command carries of a session; `None` when there are no sessions here. Nothing is made or changed.
    pub(crate) fn carry(&self, session: &Session, job: u64) -> Option<Carried> {
        let directory = self.directory.clone()?;
        Some(Carried {
            state: directory.join(file_name(&session.name)),
            held: directory.join(format!("{PREFIX}{job}-held")),
            new: directory.join(format!("{PREFIX}{job}-new")),
            directory,
            session: session.clone(),
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
    pub(crate) fn is_of(&self, name: &str) -> bool {
        self.session.name == name
    }

    /// From here on the command leaves nothing to the session.
    pub(crate) fn leave_nothing(&mut self) {
        self.session.leaves = false;
    }

    /// The session's directory, if a command has changed it.
    pub(crate) fn cwd(&self) -> Option<Vec<u8>> {
        fs::read(cwd_of(&self.state)).ok()
    }

    /// Holds the state, and makes the files that the shell writes, so that nobody else can read them whatever it does to
    /// its umask. `Err` tells that the state cannot be brought back; the command leaves nothing to the session then, which
    /// it would replace by less.
    pub(crate) fn hold(&mut self) -> Result<(), String> {
        self.release();
        // A command may have removed the directory with all that was in it: its own session, and those of others.
        if !self.posix_script().exists() || !self.bash_script().exists() {
            let _ = fs::DirBuilder::new().mode(0o700).create(&self.directory);
            write_scripts(&self.directory);
        }
        let held = fs::hard_link(&self.state, &self.held).or_else(|error| match error.kind() {
            // A session that is new has no state.
            io::ErrorKind::NotFound => Ok(()),
            // Not every file system has hard links.
            _ => fs::read(&self.state).and_then(|state| crate::supervisor::write_private(&self.held, &state)),
        });
        if held.is_err() {
            self.leave_nothing();
        }
        // What cannot be written now cannot be saved at the end most likely, which is told then.
        for (path, content) in [(&self.new, UNTOUCHED), (&cwd_of(&self.new), b"")] {
            let _ = crate::supervisor::write_private(path, content);
        }
        held.map_err(|error| {
            format!(
                "the state of the session could not be brought back, and is as it was before the command: {error}; see \
                 whether there is space in {}",
                self.directory.display()
            )
        })
    }

    /// The variables that tell either script what to do.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let own: Vec<_> = self
            .session
            .own
            .iter()
            .map(Vec::as_slice)
            .filter(|name| is_identifier(name))
            .collect();
        let kept = match self.session.kept {
            StateKept::CwdEnv => "cwd_env",
            StateKept::Shell => "shell",
        };
        let cwd = OsString::from_vec(self.session.cwd.clone().unwrap_or_default());
        vec![
            ("HERM_SESSION_STATE".into(), self.held.clone().into()),
            ("HERM_SESSION_NEW".into(), self.new.clone().into()),
            ("HERM_SESSION_KIND".into(), kept.into()),
            ("HERM_SESSION_CWD".into(), cwd),
            (
                "HERM_SESSION_OWN".into(),
                OsStr::from_bytes(&own.join(&b' ')).into(),
            ),
        ]
    }

    /// The variables that tell the script of a POSIX shell, besides, which names a command that is read as `text` finds in
    /// its environment, and whether what it calls trap is seen to.
    pub(crate) fn posix_variables<'a>(
        &self,
        environment: impl Iterator<Item = &'a OsStr>,
        text: &[u8],
    ) -> Vec<(OsString, OsString)> {
        // Nothing of an alias is to be seen by a text that looks at aliases, unless it may need ours.
        let is_covered = contains(text, b"trap") || !contains(text, b"alias");
        let alias = if is_covered { "trap" } else { "" };
        vec![
            ("HERM_SESSION_NAMES".into(), self.names(environment)),
            ("HERM_SESSION_ALIAS".into(), alias.into()),
        ]
    }

    /// Has a text that a POSIX shell does not come to read be told from one whose state is lost.
    pub(crate) fn expect_posix_script(&self) {
        let file = OpenOptions::new().write(true).truncate(true).open(&self.new);
        // Where that fails, the one is taken for the other, and told.
        let _ = file.and_then(|mut file| file.write_all(UNREAD));
    }

    /// The names of variables that are neither the command's own nor the shell's to set. Those that one string of an
    /// environment has no room for come back when they are taken away.
    fn names<'a>(&self, environment: impl Iterator<Item = &'a OsStr>) -> OsString {
        let own: BTreeSet<&[u8]> = self.session.own.iter().map(Vec::as_slice).collect();
        let mut names = Vec::new();
        for name in environment {
            let name = name.as_bytes();
            let is_ours = own.contains(name) || OF_SHELLS.contains(&name);
            if is_identifier(name) && !is_ours && names.len() + name.len() < LONGEST_NAMES {
                names.extend_from_slice(name);
                names.push(b' ');
            }
        }
        OsString::from_vec(names)
    }

    /// The script that bash reads before the text.
    pub(crate) fn bash_script(&self) -> PathBuf {
        self.directory.join("session.bash")
    }

    /// The script that another shell reads before the text.
    pub(crate) fn posix_script(&self) -> PathBuf {
        self.directory.join("session.sh")
    }

    /// Takes what the command, which came to its own end, has left as the session's state. `Err` tells that it could not be
    /// saved, and why; the session is as it was then.
    pub(crate) fn take(&self) -> Result<(), String> {
        let taken = if self.session.leaves {
            self.take_new()
        } else {
            Ok(())
        };
        self.release();
        taken.map_err(|why| {
            format!("the state of the session could not be saved, and is as it was before the command: {why}")
        })
    }

    fn take_new(&self) -> Result<(), String> {
        let space = format!("see whether there is space in {}", self.directory.display());
        let failed = |error: io::Error| format!("{error}; {space}");
        let state = fs::read(&self.new).map_err(failed)?;
        if state == UNREAD {
            return Ok(());
        }
        if state == UNTOUCHED {
            return Err(GAVE_UP.into());
        }
        let cwd = fs::metadata(cwd_of(&self.new)).map_err(failed)?;
        if !state.ends_with(COMPLETE) || cwd.len() == 0 {
            return Err(format!(
                "the shell could not write it to its end; see whether the command set a limit (ulimit) or a name that \
                 keeps it from that, and {space}"
            ));
        }
        fs::rename(cwd_of(&self.new), cwd_of(&self.state))
            .and_then(|()| fs::rename(&self.new, &self.state))
            .map_err(failed)
    }

    /// Removes the command's files.
    pub(crate) fn release(&self) {
        for path in [&self.held, &self.new, &cwd_of(&self.new)] {
            let _ = fs::remove_file(path);
        }
    }
}

/// The directory, or the nearest above it that can be entered, which is told.
pub(crate) fn nearest(cwd: &Path) -> (PathBuf, Option<String>) {
    // To look at the entry `.` of a directory needs the right to enter it.
    let there = cwd.ancestors().find(|path| fs::metadata(path.join(".")).is_ok());
    let there = there.unwrap_or(Path::new("/"));
    let notice = (there != cwd).then(|| {
        let (cwd, there) = (cwd.display(), there.display());
        format!("the session's directory {cwd} cannot be entered any more; the command starts in {there}")
    });
    (there.to_owned(), notice)
}

fn file_name(name: &str) -> String {
    let digest = sha256(name.as_bytes());
    let number = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
    format!("session-{number:032x}")
}

fn cwd_of(state: &Path) -> PathBuf {
    let mut path = state.as_os_str().to_owned();
    path.push(".cwd");
    path.into()
}

/// Whether bytes are somewhere in a text.
pub(crate) fn contains(text: &[u8], bytes: &[u8]) -> bool {
    text.windows(bytes.len()).any(|window| window == bytes)
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

/// Writes the scripts that shells read first; says whether they are there.
fn write_scripts(directory: &Path) -> bool {
    let scripts = [("session.bash", BASH), ("session.sh", POSIX)];
    let all = scripts.map(|(name, script)| write(&directory.join(name), script));
    all.into_iter().all(|result| result.is_ok())
}

fn write(path: &Path, script: &str) -> io::Result<()> {
    let _ = fs::remove_file(path);
    crate::supervisor::write_private(path, script.as_bytes())
}
