//! The locks of keys: whoever makes or removes a sandbox holds that of its key. What clients leave that are killed meanwhile
//! is removed by the next one.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, Instant},
};

use herm_protocol::Error;
use rustix::fs::{FlockOperation, flock};

use super::{
    kept::{RECORD, blocking, directory_of, is_id, private_directory},
    sandbox::Sandbox,
};
use crate::files::file_error;

/// How long another process may hold the lock of a key.
const LOCK: Duration = Duration::from_secs(30);

/// How files begin that are being written.
const UNFINISHED: &[u8] = b".herm-";

/// How the names of locks end.
const LOCK_ENDING: &str = "lock";

/// Takes the lock of a key, and keeps it for as long as the file is open.
///
/// # Errors
/// Somebody else holds it for too long, or it cannot be made.
pub(super) async fn lock(base: &Path, key: &str) -> Result<File, Error> {
    let path = directory_of(base, key).with_extension(LOCK_ENDING);
    let base = base.to_owned();
    blocking(&path.clone(), move || {
        private_directory(&base)?;
        let failed = |error: io::Error| file_error("lock", &path, &error);
        let until = Instant::now() + LOCK;
        loop {
            let file = lock_once(&path, until).map_err(failed)?;
            // Whoever removes a sandbox removes its lock, too; one that was waited for may be gone.
            let same = |there: fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == there.ino());
            if fs::symlink_metadata(&path).is_ok_and(same) {
                return Ok(file);
            }
        }
    })
    .await
}

/// The lock of a key, if nobody holds it now. This blocks, shortly.
pub(super) fn try_lock(base: &Path, key: &str) -> Option<File> {
    lock_once(
        &directory_of(base, key).with_extension(LOCK_ENDING),
        Instant::now(),
    )
    .ok()
}

fn lock_once(path: &Path, until: Instant) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK || Instant::now() > until {
            return Err(error.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(file)
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

/// Whether a directory has no record: its maker has not come so far.
fn is_half_made(directory: &Path) -> bool {
    directory.is_dir() && matches!(directory.join(RECORD).try_exists(), Ok(false))
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
