//! Files of a sandbox with a file system of its own: each operation is one run of the resident's program in there.
//!
//! The host never opens a path of such a sandbox: some of it cannot be reached from outside (a tmpfs), and a link that was
//! planted could lead the host anywhere. What an operation means, and which errors it has, is the same as for the other
//! functions of [`files`](super).
//!
//! A function here makes a [`Call`]. Whoever can run a program in the sandbox runs its [`Call::argv`] there, with
//! [`Call::stdin`] as input, and hands what came out to [`Call::finish`]:
//!
//! - The user of the run decides what is allowed, and its directory where relative paths begin.
//! - Standard output is to be kept apart from everything else, and to be read up to [`MAX_OUTPUT`] bytes; with more, or with
//!   no end within a deadline of the caller's, the program was not the one that it was meant to be.
//! - The program reads no more input than it was told and need not see its end. When it fails it may read none: that input
//!   could not be written is no failure by itself.
//!
//! Whatever comes out is hostile. It is bounded and checked against what was asked before it is believed; texts of errors are
//! shown to people as they are.

use std::{fmt, os::unix::ffi::OsStrExt as _, path::PathBuf};

use herm_protocol::{
    ByteString, Error, ErrorKind,
    file::{DirectoryListing, FileContent, FileInfo, FileKind},
};
use herm_resident::wire::{self, FILE_FAILED, FileAnswer, FileErrorKind, FileFailure, MAX_FILE_ANSWER};
use rustix::io::Errno;

use super::{
    change_mode::check as check_mode,
    directory::{cost, too_many},
    file_error,
    read::{LONGEST, length_on_the_wire, too_long},
};

/// The most bytes of standard output that a call can have.
pub const MAX_OUTPUT: usize = MAX_FILE_ANSWER;

/// The longest path that the system takes, in bytes with its final NUL (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;

/// One operation, to be run in a sandbox; what it comes to is a `T`.
pub struct Call<T> {
    argv: Vec<String>,
    stdin: ByteString,
    asked: Asked,
    take: Take<T>,
}

/// Makes a result of an answer, if it is one to what was asked.
type Take<T> = Box<dyn FnOnce(FileAnswer, &Asked) -> Result<T, Unusable> + Send + Sync>;

/// What errors are about.
struct Asked {
    /// Reads on after "failed to" and before the path.
    action: &'static str,
    paths: Vec<ByteString>,
}

/// Why an answer is no result.
enum Unusable {
    /// It says something that cannot be; reads on after "it".
    Lie(&'static str),
    /// It is right, and more than a caller can be given.
    TooMuch(Error),
}

impl<T> Call<T> {
    /// The program and its arguments. All are text, whatever the paths are.
    #[must_use]
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// What the program reads.
    #[must_use]
    pub fn stdin(&self) -> &[u8] {
        self.stdin.as_bytes()
    }

    /// What the operation came to, by the program's exit code (128 + n when signal n ended it) and everything that it
    /// printed on standard output.
    ///
    /// # Errors
    /// As the function of the same name in [`files`](super). `unavailable` when the program could not answer: it was not
    /// started, or was killed. `internal` when what answered cannot have been that program.
    pub fn finish(self, exit: i64, stdout: &[u8]) -> Result<T, Error> {
        let Self { asked, take, .. } = self;
        let is_failure = exit == i64::from(FILE_FAILED);
        if exit != 0 && !is_failure {
            return Err(asked.no_answer(exit));
        }
        if stdout.len() > MAX_OUTPUT {
            return Err(asked.lie("is longer than an answer can be"));
        }
        match FileAnswer::decode(stdout) {
            Ok(FileAnswer::Failed(failure)) if is_failure => Err(asked.failure(failure)),
            Ok(FileAnswer::Failed(_)) => Err(asked.lie("tells of a failure, and its exit code of success")),
            Ok(_) if is_failure => Err(asked.lie("tells of success, and its exit code of a failure")),
            Ok(answer) => take(answer, &asked).map_err(|unusable| match unusable {
                Unusable::Lie(why) => asked.lie(why),
                Unusable::TooMuch(error) => error,
            }),
            Err(error) => Err(asked.lie(error)),
        }
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

/// Reads as [`files::read`](super::read) does.
///
/// # Errors
/// As [`Call::finish`] for what can be told before anything is run: a path that cannot be passed on.
pub fn read(
    program: &str,
    path: &ByteString,
    offset: u64,
    length: Option<u64>,
) -> Result<Call<FileContent>, Error> {
    // One byte more tells whether there is too much.
    let most = length.unwrap_or(u64::MAX).min(LONGEST as u64 + 1);
    let words = [offset.to_string(), most.to_string()];
    call(program, "read", "read", &[path], &words, move |answer, asked| {
        let FileAnswer::Content { size, data } = answer else {
            return Err(Unusable::Lie("is none to this question"));
        };
        let length = data.len() as u64;
        if length > most {
            return Err(Unusable::Lie("has more bytes than were asked for"));
        }
        if length > 0 && offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(Unusable::Lie("has bytes from behind the end of the file"));
        }
        if length_on_the_wire(&data) > LONGEST {
            return Err(Unusable::TooMuch(too_long(&asked.path(), size)));
        }
        Ok(FileContent {
            data: data.into(),
            size,
        })
    })
}

/// Writes as [`files::write`](super::write) does. Input that is cut off changes nothing.
///
/// # Errors
/// As [`read`].
pub fn write(program: &str, path: &ByteString, data: ByteString) -> Result<Call<()>, Error> {
    let words = [data.len().to_string()];
    let call = call(program, "write", "write", &[path], &words, done)?;
    Ok(Call { stdin: data, ..call })
}

/// Describes as [`files::stat`](super::stat) does.
///
/// # Errors
/// As [`read`].
pub fn stat(program: &str, path: &ByteString) -> Result<Call<FileInfo>, Error> {
    call(program, "stat", "look at", &[path], &[], |answer, asked| {
        let FileAnswer::Info(info) = answer else {
            return Err(Unusable::Lie("is none to this question"));
        };
        let path = asked.path();
        if info.name != path.file_name().unwrap_or(path.as_os_str()).as_bytes() {
            return Err(Unusable::Lie("is about something with another name"));
        }
        Ok(in_the_protocol(info))
    })
}

/// Lists as [`files::list_directory`](super::list_directory) does.
///
/// # Errors
/// As [`read`].
pub fn list_directory(program: &str, path: &ByteString) -> Result<Call<DirectoryListing>, Error> {
    call(program, "list", "list", &[path], &[], |answer, asked| {
        let FileAnswer::Listing(entries) = answer else {
            return Err(Unusable::Lie("is none to this question"));
        };
        if !entries.iter().all(|entry| is_name(&entry.name)) {
            return Err(Unusable::Lie("has a name in it that no file can have"));
        }
        if !entries.is_sorted_by(|left, right| left.name < right.name) {
            return Err(Unusable::Lie("has names in it twice, or in no order"));
        }
        let costs = entries.iter().map(|entry| cost(&entry.name));
        if costs.sum::<usize>() > herm_protocol::DEFAULT_MAX_MESSAGE_BYTES {
            return Err(Unusable::TooMuch(too_many(&asked.path())));
        }
        let entries = entries.into_iter().map(in_the_protocol).collect();
        Ok(DirectoryListing { entries })
    })
}

/// Makes a directory as [`files::make_directory`](super::make_directory) does.
///
/// # Errors
/// As [`read`].
pub fn make_directory(program: &str, path: &ByteString) -> Result<Call<()>, Error> {
    call(program, "mkdir", "make the directory", &[path], &[], done)
}

/// Removes as [`files::remove`](super::remove) does.
///
/// # Errors
/// As [`read`].
pub fn remove(program: &str, path: &ByteString, recursive: bool) -> Result<Call<()>, Error> {
    let words = recursive.then(|| "recursive".to_owned());
    call(program, "remove", "remove", &[path], words.as_slice(), done)
}

/// Moves as [`files::move_path`](super::move_path) does.
///
/// # Errors
/// As [`read`].
pub fn move_path(program: &str, from: &ByteString, to: &ByteString) -> Result<Call<()>, Error> {
    call(program, "move", "move", &[from, to], &[], done)
}

/// Sets permission bits as [`files::change_mode`](super::change_mode) does.
///
/// # Errors
/// As [`read`], and `invalid_argument` for bits beyond octal 7777.
pub fn change_mode(program: &str, path: &ByteString, mode: u32) -> Result<Call<()>, Error> {
    check_mode(mode)?;
    let words = [format!("{mode:o}")];
    call(program, "chmod", "change the mode of", &[path], &words, done)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the others take parts of their answer"
)]
fn done(answer: FileAnswer, _: &Asked) -> Result<(), Unusable> {
    match answer {
        FileAnswer::Done => Ok(()),
        _ => Err(Unusable::Lie("is none to this question")),
    }
}

fn call<T>(
    program: &str,
    word: &str,
    action: &'static str,
    paths: &[&ByteString],
    rest: &[String],
    take: impl FnOnce(FileAnswer, &Asked) -> Result<T, Unusable> + Send + Sync + 'static,
) -> Result<Call<T>, Error> {
    for path in paths {
        check_path(action, path)?;
    }
    let mut argv = vec![program.to_owned(), "file".into()];
    let texts: Option<Vec<_>> = paths
        .iter()
        .map(|path| std::str::from_utf8(path.as_bytes()).ok().map(str::to_owned))
        .collect();
    let texts = texts.unwrap_or_else(|| {
        argv.push("--base64".into());
        let encoded = paths.iter().map(|path| wire::encode_base64(path.as_bytes()));
        encoded.collect()
    });
    argv.push(word.into());
    argv.extend(texts);
    argv.extend_from_slice(rest);
    Ok(Call {
        argv,
        stdin: ByteString::default(),
        asked: Asked {
            action,
            paths: paths.iter().copied().cloned().collect(),
        },
        take: Box::new(take),
    })
}

fn check_path(action: &str, path: &ByteString) -> Result<(), Error> {
    if path.is_empty() {
        return Err(Error::invalid_argument("path", "is empty"));
    }
    if path.has_nul() {
        let problem = "has a NUL byte in it, which the system cannot pass on";
        return Err(Error::invalid_argument("path", problem));
    }
    // The system would say so, if such an argument could be passed on at all.
    if path.len() >= LONGEST_PATH {
        return Err(file_error(action, &path.to_path(), &Errno::NAMETOOLONG.into()));
    }
    Ok(())
}

/// Whether something in a directory can be called that.
fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

fn in_the_protocol(info: wire::FileInfo) -> FileInfo {
    FileInfo {
        name: info.name.into(),
        kind: match info.kind {
            wire::FileKind::File => FileKind::File,
            wire::FileKind::Directory => FileKind::Directory,
            wire::FileKind::Symlink => FileKind::Symlink,
            wire::FileKind::Other => FileKind::Other,
        },
        size: info.size,
        mode: info.mode,
    }
}

impl Asked {
    /// The path that it is first of all about.
    fn path(&self) -> PathBuf {
        self.paths.first().map(ByteString::to_path).unwrap_or_default()
    }

    fn shown(&self) -> String {
        let shown: Vec<_> = self.paths.iter().map(ByteString::to_string_lossy).collect();
        shown.join(" to ")
    }

    /// What the program told of.
    fn failure(&self, failure: FileFailure) -> Error {
        let FileFailure {
            kind,
            resource,
            message,
            fix,
        } = failure;
        if !self.paths.iter().any(|path| path.to_string_lossy() == resource) {
            return self.lie("is about another path");
        }
        let error = Error::new(in_the_protocol_kind(kind), resource, message);
        match fix {
            Some(fix) => error.with_fix(fix),
            None => error,
        }
    }

    /// The program ended in another way than with an answer.
    fn no_answer(&self, exit: i64) -> Error {
        let why = match exit {
            126 | 127 => "could not be started".to_owned(),
            129..=192 => format!("was ended by signal {}", exit - 128),
            _ => format!("ended with {exit} and gave no answer"),
        };
        let (action, shown) = (self.action, self.shown());
        let message =
            format!("failed to {action} {shown}: the program that works on files in the sandbox {why}");
        Error::new(ErrorKind::Unavailable, self.path().to_string_lossy(), message)
            .with_fix("see whether the sandbox runs and has memory left, and call again")
    }

    /// What answered was not the program that was asked; `why` reads on after "it".
    fn lie(&self, why: impl fmt::Display) -> Error {
        let (action, shown) = (self.action, self.shown());
        let message =
            format!("failed to {action} {shown}: the sandbox gave an answer that is none: it {why}");
        Error::new(ErrorKind::Internal, self.path().to_string_lossy(), message).with_fix(
            "open another sandbox: in this one, something answers in place of the program that was asked",
        )
    }
}

fn in_the_protocol_kind(kind: FileErrorKind) -> ErrorKind {
    match kind {
        FileErrorKind::NotFound => ErrorKind::NotFound,
        FileErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        FileErrorKind::IsADirectory => ErrorKind::IsADirectory,
        FileErrorKind::NotADirectory => ErrorKind::NotADirectory,
        FileErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        FileErrorKind::LimitExceeded => ErrorKind::LimitExceeded,
        FileErrorKind::InvalidArgument => ErrorKind::InvalidArgument,
        FileErrorKind::Unsupported => ErrorKind::Unsupported,
        FileErrorKind::Internal => ErrorKind::Internal,
    }
}

#[cfg(test)]
mod tests;
