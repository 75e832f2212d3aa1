//! Finding the program of an argument list, the way execvp(3) does, before anything is started.
//!
//! Looking first tells a missing program from a missing directory, a missing interpreter, or a file that may not be
//! run. It also keeps a file that is no program from being handed to `/bin/sh`, as execvp(3) would do.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use herm_protocol::exec::SetupFailure;
use rustix::fs::Access;

/// Why nothing of a command ran.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: SetupFailure,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(kind: SetupFailure, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

/// The file that a program's name stands for in that directory and with that `PATH`.
pub(super) fn find(name: &OsStr, search: &OsStr, cwd: &Path) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let is_path = name.as_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        vec![cwd.join(name)]
    } else {
        std::env::split_paths(search)
            .map(|directory| cwd.join(directory).join(name))
            .collect()
    };
    let mut denied = None;
    for candidate in candidates {
        match check(&candidate) {
            Verdict::Runs => return Ok(candidate),
            // As for a shell, a directory of PATH that may not be searched has nothing in it.
            Verdict::Hidden if !is_path => {}
            Verdict::Missing => {}
            Verdict::Hidden => {
                let why = "is in a directory that may not be searched";
                denied = Some(format!("{} {why}", candidate.to_string_lossy()));
            }
            Verdict::Denied(why) => {
                denied.get_or_insert_with(|| format!("{} {why}", candidate.to_string_lossy()));
            }
        }
    }
    Err(match denied {
        Some(why) => Failure::new(
            SetupFailure::ProgramDenied,
            format!("program {shown} cannot be run: {why}"),
        ),
        None if is_path => Failure::new(
            SetupFailure::ProgramNotFound,
            format!("program {shown} does not exist"),
        ),
        None => {
            let search = search.to_string_lossy();
            Failure::new(
                SetupFailure::ProgramNotFound,
                format!("program {shown} is not in PATH ({search})"),
            )
        }
    })
}

enum Verdict {
    Runs,
    Missing,
    Hidden,
    Denied(&'static str),
}

fn check(path: &Path) -> Verdict {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Verdict::Denied("is a directory"),
        Ok(metadata) if !metadata.is_file() => Verdict::Denied("is not a regular file"),
        Ok(_) if rustix::fs::access(path, Access::EXEC_OK).is_err() => Verdict::Denied("is not executable"),
        Ok(_) if !has_known_format(path) => {
            Verdict::Denied("is neither a program for this system nor a script that begins with #!")
        }
        Ok(_) => Verdict::Runs,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Verdict::Hidden,
        Err(_) => Verdict::Missing,
    }
}

/// Whether the kernel may be able to run it. A program that may be run but not read is left to the kernel.
fn has_known_format(path: &Path) -> bool {
    let mut start = [0; 4];
    let Ok(mut file) = File::open(path) else {
        return true;
    };
    let length = file.read(&mut start).unwrap_or(0);
    start[..length].starts_with(b"#!")
        || start[..length].starts_with(b"\x7fELF")
        || other_formats_are_registered()
}

/// Whether the machine's administrator has taught the kernel more formats (`binfmt_misc`), which only it can judge.
fn other_formats_are_registered() -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/sys/fs/binfmt_misc") else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name() != "register" && entry.file_name() != "status")
}

/// Why the system would not start a program that was found: it is there, so something it needs is not.
pub(super) fn refused(program: &Path, error: &std::io::Error) -> Failure {
    let shown = program.to_string_lossy();
    let needs = if error.kind() == std::io::ErrorKind::NotFound {
        "; it is there, but the interpreter or loader that it names is not"
    } else {
        ""
    };
    Failure::new(
        SetupFailure::ProgramDenied,
        format!("program {shown} cannot be run: {error}{needs}"),
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn file(directory: &Path, name: &str, content: &[u8], mode: u32) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path();
        file(cwd, "one/tool", b"#!/bin/sh\n", 0o644);
        file(cwd, "two/tool", b"#!/bin/sh\n", 0o755);
        file(cwd, "here", b"#!/bin/sh\n", 0o755);
        file(cwd, "two/plain", b"echo text\n", 0o755);
        file(cwd, "two/empty", b"", 0o755);
        fs::create_dir(cwd.join("two/folder")).unwrap();
        let found = |name: &str, search: &str| {
            find(name.as_ref(), search.as_ref(), cwd).map_err(|failure| failure.kind)
        };
        assert_eq!(found("tool", "one:two"), Ok(cwd.join("two/tool")));
        assert_eq!(found("./here", "/nowhere"), Ok(cwd.join("here")));
        assert_eq!(found("tool", "one"), Err(SetupFailure::ProgramDenied));
        assert_eq!(found("one/tool", ""), Err(SetupFailure::ProgramDenied));
        assert_eq!(found("folder", "two"), Err(SetupFailure::ProgramDenied));
        assert_eq!(found("nothing", "one:two"), Err(SetupFailure::ProgramNotFound));
        assert_eq!(found("./nothing", "one:two"), Err(SetupFailure::ProgramNotFound));
        if !other_formats_are_registered() {
            assert_eq!(found("plain", "two"), Err(SetupFailure::ProgramDenied));
            assert_eq!(found("empty", "two"), Err(SetupFailure::ProgramDenied));
        }
    }
}
