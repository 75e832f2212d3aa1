//! Paths of the host and of the container, as people write them.

use std::path::PathBuf;

use super::super::{OWN_DIRECTORY, Refusal};
use crate::config::ThisProcess;

/// What `~`, `$HOME` and `.` stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Here {
    /// The user's home: an absolute path.
    pub home: Option<String>,
    /// The current directory: an absolute path.
    pub directory: Option<String>,
}

impl Here {
    /// Those of this process. What is no UTF-8 counts as not known: an engine takes text only.
    #[must_use]
    pub fn of(process: &ThisProcess) -> Self {
        let text = |path: &Option<PathBuf>| path.as_ref()?.to_str().map(str::to_owned);
        Self {
            home: text(&process.home),
            directory: text(&process.directory),
        }
    }
}

/// How a path of the host begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `/`.
    Absolute,
    /// `~`, `$HOME` or `${HOME}`.
    Home,
    /// `.`: the current directory, its parent, or a name that begins so.
    Relative,
    /// A drive, or `\\`.
    Windows,
    /// Something else: a volume's name, or nothing that can be mounted.
    Other,
}

const HOMES: [&str; 3] = ["~", "${HOME}", "$HOME"];

/// How a source is written.
pub(super) fn form(source: &str) -> Form {
    if source.starts_with('/') {
        Form::Absolute
    } else if below_home(source).is_some() {
        Form::Home
    } else if source.starts_with('.') {
        Form::Relative
    } else if source.starts_with('\\') || begins_with_drive(source) {
        Form::Windows
    } else {
        Form::Other
    }
}

/// Whether a text begins with the drive of a path of Windows, as `C:\` or `c:/`.
pub(super) fn begins_with_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

/// What stands behind the user's home; a slash comes first, if anything does.
fn below_home(source: &str) -> Option<&str> {
    let rest = HOMES.iter().find_map(|home| source.strip_prefix(home))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The absolute path that a text means, without `.`, `..` and doubled slashes.
///
/// # Errors
/// It is none, or what it starts from is not known.
pub fn absolute(source: &str, here: &Here) -> Result<String, Refusal> {
    let from = |place: &Option<String>, what: &str, rest: &str| match place {
        Some(place) => Ok(clean(&format!("{place}/{rest}"))),
        None => Err(Refusal::new(
            format!("{source:?} starts from {what}, which is not known"),
            "write an absolute path",
        )),
    };
    match form(source) {
        Form::Absolute => Ok(clean(source)),
        Form::Home => from(
            &here.home,
            "the user's home",
            below_home(source).unwrap_or_default(),
        ),
        Form::Relative => from(&here.directory, "the current directory", source),
        Form::Windows | Form::Other => Err(Refusal::new(
            format!("{source:?} is no path of this machine"),
            "write an absolute path, or one that begins with ./ or ~/",
        )),
    }
}

/// An absolute path without `.`, `..` and doubled slashes. Links are not followed, and engines do the same.
#[must_use]
pub fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a path is a directory or lies below it.
pub(in super::super) fn is_within(path: &str, directory: &str) -> bool {
    directory == "/"
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Places of a container that nothing is mounted over, with what to do instead.
const TAKEN: [(&str, &str); 4] = [
    ("/proc", "leave it to the engine"),
    ("/sys", "leave it to the engine"),
    (
        "/dev",
        "leave it to the engine; terminal.docker_shm_size is the size of /dev/shm",
    ),
    (OWN_DIRECTORY, "take another directory: this one is herm's own"),
];

/// The path in a container that a text means.
///
/// # Errors
/// It is none, or nothing can be mounted there.
pub(in super::super) fn target(text: &str) -> Result<String, Refusal> {
    if !text.starts_with('/') {
        return Err(Refusal::new(
            format!("{text:?} is no absolute path of the container"),
            "write where it is to appear, as /data",
        ));
    }
    let path = clean(text);
    if path == "/" {
        return Err(Refusal::new(
            "nothing can be mounted over the root of the container",
            "mount it below, as at /data",
        ));
    }
    match TAKEN.iter().find(|(taken, _)| is_within(&path, taken)) {
        Some((taken, fix)) => Err(Refusal::new(
            format!("nothing is mounted over {taken} of the container"),
            *fix,
        )),
        None => Ok(path),
    }
}

/// Refuses what no path holds, and what would be something else in a log.
pub(super) fn no_control(text: &str) -> Result<(), Refusal> {
    if text.chars().any(char::is_control) {
        return Err(Refusal::new(
            format!("{text:?} has a control character in it"),
            "take it out",
        ));
    }
    Ok(())
}
