//! The folder for temporary files of a run, named after the run, and locked by everybody who uses it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

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
    #[error("failed to remove {path}: {source}")]
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
    #[error("there is nothing of a run {run:?} in {folder}; `herm clean` lists what there is")]
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
            fs::DirBuilder::new().mode(0o700).create(path)?;
            hold(path)
        };
        match make(&path) {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(source) => Err(ScratchError::Make { path, source }),
        }
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
            eprintln!("herm: {error}");
        }
    }
}

fn path_of(run: &str) -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{run}"))
}

/// Takes part in the use of a scratch folder, for as long as the file lives.
///
/// # Errors
/// The lock file cannot be made or locked.
pub(super) fn hold(scratch: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(scratch.join(LOCK))?;
    file.lock_shared()?;
    Ok(file)
}

/// Whether nobody uses a scratch folder any more.
pub(super) fn is_free(scratch: &Path) -> bool {
    match File::options().write(true).open(scratch.join(LOCK)) {
        Ok(file) => !matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => true,
    }
}

pub(super) fn remove(scratch: &Path) -> Result<(), ScratchError> {
    match fs::remove_dir_all(scratch) {
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
        .filter(|entry| is_free(&entry.path()))
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

/// Removes what a run has left behind, and nothing else.
///
/// # Errors
/// There is nothing of that run, it still goes on, or something cannot be removed.
pub fn clean(run: &str) -> Result<PathBuf, ScratchError> {
    let path = path_of(run);
    let plain = !run.is_empty()
        && run
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !plain || !path.join(LOCK).is_file() {
        return Err(ScratchError::Unknown {
            run: run.into(),
            folder: std::env::temp_dir(),
        });
    }
    if !is_free(&path) {
        return Err(ScratchError::InUse { run: run.into() });
    }
    remove(&path)?;
    Ok(path)
}
