//! Work on files: every operation, run by the real program, on names, links, permissions and disks of every kind.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
#[path = "../support/mod.rs"]
mod support;

mod content;
mod tree;

use std::{
    ffi::{OsStr, OsString},
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

use herm_resident::wire::{
    FILE_FAILED, FileAnswer, FileErrorKind, FileFailure, FileInfo, FileKind, MAX_FILE_DATA, encode_base64,
};
use support::program;

/// A user who may do nothing in particular.
const NOBODY: u32 = 65534;

/// Names that a careless program gets wrong.
const ODD: [&[u8]; 9] = [
    b"plain",
    b"with a space",
    b"-n",
    b"--base64",
    b"two\nlines",
    b"$HOME `id` 'q' \"q\"",
    "grün-日本".as_bytes(),
    b"\xff\xfe",
    b".hidden",
];

fn command(operation: &str, words: &[&OsStr]) -> Command {
    let mut command = Command::new(program());
    command.args(["file", operation]).args(words);
    command
}

/// Runs the program, and gives what it answered.
fn answer_of(command: &mut Command, input: &[u8]) -> FileAnswer {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feed = std::thread::spawn(move || {
        // It may have ended before it has read anything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    let answer = FileAnswer::decode(&output.stdout);
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let is_failure = matches!(answer, FileAnswer::Failed(_));
    let expected = if is_failure { i32::from(FILE_FAILED) } else { 0 };
    assert_eq!(output.status.code(), Some(expected), "{answer:?}");
    assert_eq!(output.stderr, b"");
    answer
}

fn ask(operation: &str, words: &[&OsStr]) -> FileAnswer {
    answer_of(&mut command(operation, words), b"")
}

fn read(path: &Path, offset: &str, length: &str) -> FileAnswer {
    ask("read", &[path.as_os_str(), offset.as_ref(), length.as_ref()])
}

fn write(path: &Path, data: &[u8]) -> FileAnswer {
    let length = data.len().to_string();
    answer_of(&mut command("write", &[path.as_os_str(), length.as_ref()]), data)
}

fn content(data: &[u8], size: u64) -> FileAnswer {
    FileAnswer::Content {
        size,
        data: data.to_vec(),
    }
}

#[track_caller]
fn failure(answer: FileAnswer) -> FileFailure {
    match answer {
        FileAnswer::Failed(failure) => failure,
        other => panic!("{other:?} is no failure"),
    }
}

#[track_caller]
fn assert_refused(answer: FileAnswer, kind: FileErrorKind, path: &Path) {
    let failure = failure(answer);
    assert_eq!(failure.kind, kind, "{failure:?}");
    assert_eq!(failure.resource, path.to_string_lossy());
    assert!(failure.message.contains(&*path.to_string_lossy()), "{failure:?}");
    assert!(failure.fix.is_some_and(|fix| !fix.is_empty()));
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn names(directory: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

fn every_byte(length: usize) -> Vec<u8> {
    (0..=255).cycle().take(length).collect()
}
