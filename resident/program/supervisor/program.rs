//! Finding the program of an argument list, the way execvp(3) does, before anything is started.
//!
//! Looking first tells a missing program from a missing directory, a missing interpreter, or a file that may not be
//! run. It also keeps a file that is no program from being handed to `/bin/sh`, as execvp(3) would do.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::report::Failure;
use crate::{system::may_execute, wire::SetupFailure};

/// Where programs are looked for when there is no `PATH`.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file that a program's name stands for with that `PATH`, relative to the current directory.
pub(crate) fn find(name: &OsStr, search: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let is_path = name.as_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        vec![name.into()]
    } else {
        std::env::split_paths(search)
            .map(|directory| in_directory(&directory, name))
            .collect()
    };
    let mut denied = None;
    for candidate in candidates {
        match look(&candidate) {
            Look::Runs => return Ok(candidate),
            // As for a shell, a directory of PATH that may not be searched has nothing in it.
            Look::Hidden if !is_path => {}
            Look::Missing => {}
            Look::Hidden => {
                let why = "is in a directory that may not be searched";
                denied = Some(format!("{} {why}", candidate.to_string_lossy()));
            }
            Look::Denied(why) => {
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

/// An empty part of `PATH` means the current directory (POSIX, environment variables).
fn in_directory(directory: &Path, name: &OsStr) -> PathBuf {
    if directory.as_os_str().is_empty() {
        let mut path = OsString::from("./");
        path.push(name);
        return path.into();
    }
    directory.join(name)
}

enum Look {
    Runs,
    Missing,
    Hidden,
    Denied(&'static str),
}

fn look(path: &Path) -> Look {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Look::Denied("is a directory"),
        Ok(metadata) if !metadata.is_file() => Look::Denied("is not a regular file"),
        Ok(_) if !may_execute(path) => Look::Denied("is not executable"),
        Ok(_) if !has_known_format(path) => {
            Look::Denied("is neither a program for this system nor a script that begins with #!")
        }
        Ok(_) => Look::Runs,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Look::Hidden,
        Err(_) => Look::Missing,
    }
}

/// Whether the kernel may be able to run it. A program that may be run but not read is left to the kernel.
fn has_known_format(path: &Path) -> bool {
    let mut start = [0; 4];
    let Ok(length) = File::open(path).and_then(|mut file| file.read(&mut start)) else {
        return true;
    };
    let start = start.get(..length).unwrap_or_default();
    start.starts_with(b"#!") || start.starts_with(b"\x7fELF") || other_formats_are_registered()
}

/// Whether the machine's administrator has taught the kernel more formats (`binfmt_misc`), which only it can judge.
fn other_formats_are_registered() -> bool {
    let entries = std::fs::read_dir("/proc/sys/fs/binfmt_misc")
        .into_iter()
        .flatten()
        .flatten();
    entries
        .into_iter()
        .any(|entry| entry.file_name() != "register" && entry.file_name() != "status")
}

/// Why the system would not start a program that was found: it is there, so something it needs is not.
pub(crate) fn refused(program: &Path, error: &io::Error) -> Failure {
    let shown = program.to_string_lossy();
    let needs = if error.kind() == io::ErrorKind::NotFound {
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

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).into_os_string();
        let file = |name: &str, content: &[u8], mode| {
            fs::create_dir_all(Path::new(&path(name)).parent().unwrap()).unwrap();
            fs::write(path(name), content).unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        file("one/tool", b"#!/bin/sh\n", 0o644);
        file("two/tool", b"#!/bin/sh\n", 0o755);
        file("two/plain", b"echo text\n", 0o755);
        fs::create_dir(path("two/folder")).unwrap();
        let find = |name: &OsStr, search: &[&str]| {
            let search = std::env::join_paths(search.iter().map(|name| path(name))).unwrap();
            find(name, &search).map_err(|failure| failure.kind)
        };
        assert_eq!(
            find("tool".as_ref(), &["one", "two"]),
            Ok(path("two/tool").into())
        );
        assert_eq!(find(&path("two/tool"), &[]), Ok(path("two/tool").into()));
        assert_eq!(find("tool".as_ref(), &["one"]), Err(SetupFailure::ProgramDenied));
        assert_eq!(
            find("folder".as_ref(), &["two"]),
            Err(SetupFailure::ProgramDenied)
        );
        assert_eq!(
            find("nothing".as_ref(), &["one", "two"]),
            Err(SetupFailure::ProgramNotFound)
        );
        assert_eq!(
            find(&path("two/nothing"), &[]),
            Err(SetupFailure::ProgramNotFound)
        );
        if !other_formats_are_registered() {
            assert_eq!(find("plain".as_ref(), &["two"]), Err(SetupFailure::ProgramDenied));
        }
        assert_eq!(in_directory(Path::new(""), "tool".as_ref()), Path::new("./tool"));
    }
}
