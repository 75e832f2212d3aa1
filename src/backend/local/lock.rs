//! The locks of keys: whoever makes or removes a sandbox holds that of its key. What clients leave that are killed meanwhile
//! is removed by the next one.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use herm_protocol::{Error, ErrorKind};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};

use super::{
    kept::{RECORD, blocking, directory_of, is_id, private_directory},
    process_table,
    sandbox::Sandbox,
};
use crate::files::file_error;

/// How long another process may hold the lock of a key.
const LOCK: Duration = Duration::from_secs(30);

/// How files begin that are being written.
const UNFINISHED: &[u8] = b".herm-";

/// How the names of locks end.
const LOCK_ENDING: &str = "lock";

/// The mode of a lock, whatever the umask.
const LOCK_MODE: u32 = 0o600;

/// Takes the lock of a key, and keeps it for as long as the file is open.
///
/// # Errors
/// Somebody else holds it for too long, which is named, or it cannot be made.
pub(in crate::backend) async fn lock(base: &Path, key: &str) -> Result<File, Error> {
    let path = directory_of(base, key).with_extension(LOCK_ENDING);
    let base = base.to_owned();
    blocking(&path.clone(), move || {
        private_directory(&base)?;
        let until = Instant::now() + LOCK;
        loop {
            let file = lock_once(&path, until).map_err(|error| refused(&path, &error))?;
            // Whoever removes a sandbox removes its lock, too; one that was waited for may be gone.
            let same = |there: fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == there.ino());
            if fs::symlink_metadata(&path).is_ok_and(same) {
                return Ok(file);
            }
        }
    })
    .await
}

/// Why a lock is not to be had, and what its user can do.
fn refused(path: &Path, error: &io::Error) -> Error {
    let shown = path.to_string_lossy();
    let error_of = |kind, message, fix: String| Error::new(kind, shown.clone(), message).with_fix(fix);
    match Errno::from_io_error(error) {
        Some(Errno::WOULDBLOCK) => {
            let waited = LOCK.as_secs();
            match holder(path) {
                Some((pid, name, stopped)) => error_of(
                    ErrorKind::TimedOut,
                    format!(
                        "the lock {shown} of the sandbox is held by process {pid} ({name}){}, for more than {waited} seconds",
                        if stopped { ", which is stopped" } else { "" }
                    ),
                    if stopped {
                        format!(
                            "let it go on with kill -CONT {pid}, or end it with kill -KILL {pid}, and try again"
                        )
                    } else {
                        format!("wait for it, or end it with kill {pid}, and try again")
                    },
                ),
                None => error_of(
                    ErrorKind::TimedOut,
                    format!(
                        "the lock {shown} of the sandbox is held by another process for more than {waited} seconds"
                    ),
                    format!("find it with fuser {shown} or in /proc/locks, end it, and try again"),
                ),
            }
        }
        Some(Errno::LOOP) => error_of(
            ErrorKind::Unavailable,
            format!("the lock {shown} of the sandbox is a symbolic link, which herm does not make"),
            format!("remove it with rm {shown}"),
        ),
        Some(Errno::ISDIR) => error_of(
            ErrorKind::Unavailable,
            format!("the lock {shown} of the sandbox is a directory, which herm does not make"),
            format!("remove it with rmdir {shown}"),
        ),
        _ => file_error("lock", path, error),
    }
}

/// Who holds the lock of a file: number and name of the process, and whether it is stopped. The number in `proc_locks(5)` is
/// that of whoever took it, which may have handed it on; so the descriptors are looked at.
fn holder(path: &Path) -> Option<(i32, String, bool)> {
    let wanted = fs::symlink_metadata(path).ok()?;
    let processes = process_table::all().ok()?;
    let pid = processes
        .iter()
        .map(|process| process.pid)
        .find(|pid| holds(*pid, &wanted).unwrap_or(false))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    Some((pid, name.trim_end().to_owned(), state.starts_with(['T', 't'])))
}

/// Whether a process has a descriptor of that file with a lock on it; others wait for it with one of their own.
fn holds(pid: i32, wanted: &fs::Metadata) -> io::Result<bool> {
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        let same = |there: fs::Metadata| there.ino() == wanted.ino() && there.dev() == wanted.dev();
        if !fs::metadata(entry.path()).is_ok_and(same) {
            continue;
        }
        let number = entry.file_name();
        let details = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", number.display()))?;
        if details.lines().any(|line| line.starts_with("lock:")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The lock of a key, if nobody holds it now. This blocks, shortly.
pub(super) fn try_lock(base: &Path, key: &str) -> Option<File> {
    lock_within(&directory_of(base, key), Duration::ZERO)
}

/// The same by the directory of a sandbox, which need not be there, if it is to be had within a time. This blocks for that
/// long.
pub(in crate::backend) fn lock_within(directory: &Path, patience: Duration) -> Option<File> {
    lock_once(&directory.with_extension(LOCK_ENDING), Instant::now() + patience).ok()
}

/// Removes the lock of a directory that is gone, which the caller holds, so that nobody waits for a file that nobody else sees.
pub(in crate::backend) fn remove_held(directory: &Path, lock: File) {
    let _ = fs::remove_file(directory.with_extension(LOCK_ENDING));
    drop(lock);
}

fn lock_once(path: &Path, until: Instant) -> io::Result<File> {
    let file = match open_lock(path) {
        // Made under an umask that took its owner's rights away.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_own_file(path) => {
            fs::set_permissions(path, Permissions::from_mode(LOCK_MODE))?;
            open_lock(path)?
        }
        opened => opened?,
    };
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != Errno::WOULDBLOCK || Instant::now() > until {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(file)
}

/// A link is not followed: what it leads to would be another file for each who looks.
fn open_lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(LOCK_MODE)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.mode() & 0o777 != LOCK_MODE {
        // That of another user is left as it is.
        let _ = file.set_permissions(Permissions::from_mode(LOCK_MODE));
    }
    Ok(file)
}

fn is_own_file(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.uid() == own)
}

/// Removes what clients have left that were killed while they made or removed a sandbox: locks that nobody holds and that are
/// for no sandbox, and directories in which nothing is yet. What cannot be removed now is left to the next one. This blocks.
pub(super) fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(is_id) {
            continue;
        }
        if path.extension().is_some_and(|ending| ending == LOCK_ENDING) {
            let _ = remove_stale_lock(&path);
        } else if is_half_made(&path) {
            let _ = remove_half_made(&path);
        }
    }
}

/// Removes locks that nobody holds and that are for no sandbox. This blocks.
pub(in crate::backend) fn sweep_locks(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_str().is_some_and(is_id);
        if is_ours && path.extension().is_some_and(|ending| ending == LOCK_ENDING) {
            let _ = remove_stale_lock(&path);
        }
    }
}

/// Removes a lock while it is held, so that nobody waits for a file that nobody else sees.
fn remove_stale_lock(path: &Path) -> io::Result<()> {
    let directory = path.with_extension("");
    if directory.try_exists()? {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let ours = file.metadata()?.ino();
    if fs::symlink_metadata(path)?.ino() == ours && !directory.try_exists()? {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether a directory of ours has no record: its maker has not come so far. What is somebody else's is none of a maker.
fn is_half_made(directory: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_ours = fs::symlink_metadata(directory).is_ok_and(|there| there.is_dir() && there.uid() == own);
    is_ours && matches!(directory.join(RECORD).try_exists(), Ok(false))
}

fn remove_half_made(directory: &Path) -> io::Result<()> {
    let path = directory.with_extension(LOCK_ENDING);
    // Nobody is waited for: whoever holds it is about to make the sandbox.
    let _lock = lock_once(&path, Instant::now())?;
    if is_half_made(directory) {
        // Nothing with anything in it is removed so, but for a record that was not written to its end.
        let _ = fs::remove_dir(Sandbox::own_work(directory));
        for entry in fs::read_dir(directory)?.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        fs::remove_dir(directory)?;
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_a_lock_for_too_long_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept-a.lock");
        let held = lock_once(&path, Instant::now()).unwrap();
        let error = lock_once(&path, Instant::now()).unwrap_err();
        let told = refused(&path, &error);
        assert_eq!(told.kind(), ErrorKind::TimedOut, "{told}");
        let own = std::process::id();
        for part in [path.to_str().unwrap(), &format!("process {own} ("), "30 seconds"] {
            assert!(told.message.contains(part), "{told}");
        }
        assert!(told.data.fix.unwrap().contains(&format!("kill {own}")));
        drop(held);
        assert!(holder(&path).is_none());
        assert!(lock_once(&path, Instant::now()).is_ok());
    }
}
