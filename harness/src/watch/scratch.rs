//! The folder for temporary files of a run, named after the run, and locked by everybody who uses it.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use herm_protocol::remove_tree::{Locked, remove_tree};

use super::kept;
use crate::tell::tell;

/// How the names of such folders begin; the run's id follows.
const PREFIX: &str = "herm-run-";

/// The file in it that is locked.
const LOCK: &str = ".lock";

/// The scratch folder of a run of this process. It is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

/// A scratch folder that cannot be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// It cannot be made.
    #[error(
        "failed to make the folder for temporary files {path}: {source}; set TMPDIR to a folder that can be written"
    )]
    Make {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It cannot be removed.
    #[error("failed to remove {path}: {source}; remove it by hand")]
    Remove {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The run goes on.
    #[error("run {run} is still going on; end it first")]
    InUse {
        /// The run's id.
        run: String,
    },
    /// There is no such run.
    #[error(
        "there is nothing of a run {run:?} in {folder}; `herm clean` lists what there is, and with `--subject FILE` it looks for what a subject has made elsewhere"
    )]
    Unknown {
        /// The run's id.
        run: String,
        /// Where such folders are.
        folder: PathBuf,
    },
}

impl Scratch {
    /// Makes the folder of a run, for this user alone.
    ///
    /// # Errors
    /// [`ScratchError::Make`].
    pub fn create(run: &str) -> Result<Self, ScratchError> {
        let path = path_of(run);
        let make = |path: &Path| -> io::Result<File> {
            use std::os::unix::fs::DirBuilderExt as _;
            if path.to_str().is_none() {
                // Adapters are told of it in JSON.
                let problem = "its path is not valid UTF-8";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
            fs::DirBuilder::new().mode(0o700).create(path)?;
            hold(path).inspect_err(|_| drop(remove_tree(path, Locked::Open)))
        };
        match make(&path) {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(source) => Err(ScratchError::Make { path, source }),
        }
    }

    /// Where the folder of a run is to be, whether it is there or not.
    #[must_use]
    pub fn path_of(run: &str) -> PathBuf {
        path_of(run)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tell(format_args!("herm: {error}"));
        }
    }
}

/// It is absolute, for processes that start in other folders.
fn path_of(run: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("{PREFIX}{run}"));
    std::path::absolute(&path).unwrap_or(path)
}

/// Takes part in the use of a scratch folder, for as long as the file lives.
///
/// # Errors
/// The lock file cannot be made or locked, or the folder was being removed at this moment.
pub(super) fn hold(scratch: &Path) -> io::Result<File> {
    let path = scratch.join(LOCK);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)?;
    file.lock_shared()?;
    // Whoever removes the folder holds the lock meanwhile, and then the file that was locked is none of it any more.
    let (locked, there) = (file.metadata()?, fs::metadata(&path)?);
    if (locked.dev(), locked.ino()) != (there.dev(), there.ino()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(file)
}

/// Keeps others from using a scratch folder. `None` when somebody uses it.
pub(super) fn claim(scratch: &Path) -> Option<Claim> {
    let Ok(file) = File::options().write(true).open(scratch.join(LOCK)) else {
        // Without a lock nobody can begin to use it.
        return Some(Claim { _lock: None });
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        _ => Some(Claim { _lock: Some(file) }),
    }
}

/// Nobody else uses a scratch folder as long as this lives.
pub(super) struct Claim {
    _lock: Option<File>,
}

/// Whether a folder was made by a run of this user: it has the name, the owner and the lock.
fn is_ours(path: &Path) -> bool {
    let named = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix(PREFIX))
        .is_some_and(is_id);
    let own = rustix::process::getuid().as_raw();
    let owned = |path: &Path, kind: fn(&fs::Metadata) -> bool| {
        fs::symlink_metadata(path).is_ok_and(|found| kind(&found) && found.uid() == own)
    };
    named && owned(path, fs::Metadata::is_dir) && owned(&path.join(LOCK), fs::Metadata::is_file)
}

/// Whether a word has the form of a run's id, `20260102t030405-0a1b2c3d`.
fn is_id(word: &str) -> bool {
    let fits = |byte: u8, shape: u8| match shape {
        b'0' => byte.is_ascii_digit(),
        b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        _ => byte == shape,
    };
    let shape = b"00000000t000000-xxxxxxxx";
    word.len() == shape.len() && word.bytes().zip(shape).all(|(byte, shape)| fits(byte, *shape))
}

pub(super) fn remove(scratch: &Path) -> Result<(), ScratchError> {
    match remove_tree(scratch, Locked::Open) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(ScratchError::Remove {
            path: scratch.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// The ids of runs that have left a folder behind: their processes are gone.
#[must_use]
pub fn leftovers() -> Vec<String> {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return Vec::new();
    };
    let mut runs: Vec<String> = entries
        .flatten()
        .filter(|entry| is_ours(&entry.path()) && claim(&entry.path()).is_some())
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix(PREFIX)
                .map(str::to_owned)
        })
        .collect();
    runs.sort();
    runs
}

/// The scratch folder of a run that has ended. Nobody begins to use it as long as this lives.
pub struct Abandoned {
    path: PathBuf,
    _claim: Claim,
}

impl Abandoned {
    /// The folder that a run has left behind; `None` when there is none.
    ///
    /// # Errors
    /// This is no run's id, or the run still goes on.
    pub fn of(run: &str) -> Result<Option<Self>, ScratchError> {
        if !is_id(run) {
            return Err(unknown(run));
        }
        let path = path_of(run);
        if !is_ours(&path) {
            return Ok(None);
        }
        match claim(&path) {
            Some(claim) => Ok(Some(Self { path, _claim: claim })),
            None => Err(ScratchError::InUse { run: run.into() }),
        }
    }

    /// Removes it, with what the adapters of the run have left behind, and nothing else. Says where it was.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub fn remove(self) -> Result<PathBuf, ScratchError> {
        kept::end_all_kept(&self.path);
        remove(&self.path)?;
        Ok(self.path)
    }
}

fn unknown(run: &str) -> ScratchError {
    ScratchError::Unknown {
        run: run.into(),
        folder: std::env::temp_dir(),
    }
}

/// Removes the scratch folder that a run has left behind, and nothing else.
///
/// # Errors
/// There is nothing of that run, it still goes on, or something cannot be removed.
pub fn clean(run: &str) -> Result<PathBuf, ScratchError> {
    Abandoned::of(run)?.ok_or_else(|| unknown(run))?.remove()
}
