//! What `herm exec` without a key leaves when it is killed before its guard knows of the sandbox: the next one removes it.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::process_table;
use crate::files::remove_tree;

/// How the names of such sandboxes begin; the number of their process follows.
const PREFIX: &str = "herm-exec-";

/// Holds the directory of a sandbox for as long as the file is open, so that nobody takes it for a leftover.
pub(super) fn hold(directory: &Path) -> io::Result<File> {
    let file = open(directory)?;
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    Ok(file)
}

/// Removes the sandboxes of processes that are gone. What cannot be removed now is left to the next one. This blocks.
pub(super) fn sweep(scratch: &Path) {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let maker = name.to_str().and_then(maker_of);
        if let Some(maker) = maker
            && process_table::live(maker).is_none()
        {
            let _ = remove_if_left(&entry.path());
        }
    }
}

/// The number of the process that made a sandbox, as its name has it.
fn maker_of(name: &str) -> Option<i32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// A process that this one cannot see, such as that of another container, holds its directory.
fn remove_if_left(directory: &Path) -> io::Result<()> {
    let file = open(directory)?;
    let own = file.metadata()?.uid() == rustix::process::geteuid().as_raw();
    if own && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        remove_tree(directory)?;
    }
    Ok(())
}

fn open(directory: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = flags.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_that_is_gone_has_left_is_removed_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |name: String| {
            let directory = scratch.path().join(name);
            fs::create_dir_all(directory.join("work")).unwrap();
            directory
        };
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let gone = ended.id();
        ended.wait().unwrap();
        let left = make(format!("{PREFIX}{gone}-aaaa"));
        let held = make(format!("{PREFIX}{gone}-bbbb"));
        let runs = make(format!("{PREFIX}{}-cccc", std::process::id()));
        let others = [
            make(format!("herm-run-{gone}-x")),
            make(format!("{PREFIX}{gone}")),
            make(format!("{PREFIX}x-y")),
        ];
        let target = make("target".into());
        std::os::unix::fs::symlink(&target, scratch.path().join(format!("{PREFIX}{gone}-link"))).unwrap();
        let _hold = hold(&held).unwrap();
        sweep(scratch.path());
        assert!(!left.exists());
        for stays in [&held, &runs, &target].into_iter().chain(&others) {
            assert!(stays.join("work").exists(), "{}", stays.display());
        }
    }
}
