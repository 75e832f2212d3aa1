//! Sandboxes that are kept under a key: any process of this user finds one again, with its files and with what runs in it.
//!
//! A kept sandbox is a directory named after its key, with a resident that outlives whoever started it. The directory is
//! the truth: it is there, or the sandbox is not. A lock beside it makes two that open one key at once share one sandbox.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use herm_protocol::{
    ByteString, Error, ErrorKind, hexadecimal,
    sandbox::{OpenState, SandboxSpec, Variable},
};
use herm_resident::wire::sha256;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{environment::Environment, lock, residence::Residence, sandbox::Sandbox, traces::Traces};
use crate::{files::file_error, resident::Binary};

/// The variable that names the directory of kept sandboxes.
pub const STATE: &str = "HERM_STATE";

/// The longest key, in bytes.
const LONGEST_KEY: usize = 512;

/// The file that says which key a directory is for, and what its sandbox was opened with.
pub(super) const RECORD: &str = "key.json";

/// What that file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    key: String,
    /// The variables of the sandbox. The directory, and so this file, is its user's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<Variable>,
    /// The directory that commands start in, where it is not the sandbox's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<ByteString>,
}

impl Record {
    fn read(directory: &Path) -> Option<Self> {
        let text = fs::read(directory.join(RECORD)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The directory that commands start in.
    fn work(&self, directory: &Path) -> PathBuf {
        self.cwd
            .as_ref()
            .map_or_else(|| Sandbox::own_work(directory), ByteString::to_path)
    }
}

/// Where sandboxes are kept when nobody says: `HERM_STATE`, else `herm` in `XDG_STATE_HOME` or `~/.local/state`.
///
/// # Errors
/// None of these variables is set.
pub(in crate::backend) fn default_base() -> Result<PathBuf, Error> {
    let variable = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let fix = format!("set {STATE} to an absolute path of a directory of yours");
    let base = variable(STATE)
        .map(|base| (STATE, base))
        .or_else(|| variable("XDG_STATE_HOME").map(|home| ("XDG_STATE_HOME", home.join("herm"))))
        .or_else(|| variable("HOME").map(|home| ("HOME", home.join(".local/state/herm"))));
    match base {
        Some((_, base)) if base.is_absolute() => Ok(base),
        Some((name, base)) => {
            let shown = base.display();
            let message = format!(
                "sandboxes would be kept in {shown}, as {name} has it, which is a relative path: from each directory another \
                 place"
            );
            Err(Error::new(ErrorKind::InvalidArgument, name, message).with_fix(fix))
        }
        None => {
            let message =
                format!("there is no directory to keep sandboxes in: neither {STATE} nor HOME names one");
            Err(Error::new(ErrorKind::Unavailable, STATE, message).with_fix(fix))
        }
    }
}

/// A kept sandbox that was opened.
pub(super) struct Kept {
    pub(super) sandbox: Sandbox,
    pub(super) state: OpenState,
    pub(super) notice: Option<String>,
}

/// A kept sandbox as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lying {
    pub(super) id: String,
    pub(super) key: String,
    pub(super) directory: PathBuf,
    /// Where its commands start.
    pub(super) work: PathBuf,
}

/// Opens the sandbox of a key: the one that is there, with what it was opened with when it was made, or a new one with what
/// is asked for.
///
/// # Errors
/// The key cannot be used, the directory is not ours, or no resident can be started.
pub(super) async fn open(
    base: &Path,
    key: &str,
    spec: &SandboxSpec,
    binary: &Binary,
    environment: &Environment,
) -> Result<Kept, Error> {
    check(key)?;
    let _lock = lock::lock(base, key).await?;
    let directory = directory_of(base, key);
    let wanted = Record {
        key: key.to_owned(),
        env: spec.env.clone(),
        cwd: spec.cwd.clone(),
    };
    let (there, record) = blocking(&directory, {
        let directory = directory.clone();
        move || there_or_made(&directory, wanted)
    })
    .await?;
    let home = home_in(&directory);
    // A resident that ends in order takes its socket along: nothing ran then.
    let killed = there && home.join("socket").exists();
    let found = match Residence::attach(&home).await {
        None => clear(base, &home).await?,
        found => found,
    };
    let (residence, running, killed) = match found {
        Some(residence) => (residence, true, killed),
        None => match Residence::start_kept(binary, &home, environment).await {
            Ok(residence) => (residence, false, killed),
            // One that is there and does not answer holds up everybody, for good.
            Err(error) => {
                if !is_there(base, &home).await? {
                    return Err(error);
                }
                Traces::of(&home).await.end(true).await?;
                (
                    Residence::start_kept(binary, &home, environment).await?,
                    false,
                    true,
                )
            }
        },
    };
    let (state, notice) = match (there, running, killed) {
        (false, ..) => (OpenState::Created, None),
        (true, true, _) => (OpenState::Attached, None),
        (true, false, false) => {
            let notice =
                "the sandbox had been stopped: nothing of what ran in it goes on; its files are as they were";
            (OpenState::Attached, Some(notice.to_owned()))
        }
        (true, false, true) => {
            let notice = "what ran in the sandbox was ended from outside; its files are as they were";
            (OpenState::Recreated, Some(notice.to_owned()))
        }
    };
    let work = record.work(&directory);
    let sandbox = Sandbox::kept(record.key, directory, work)
        .with_env(record.env)
        .with_residence(residence);
    Ok(Kept {
        sandbox,
        state,
        notice,
    })
}

/// Ends what still runs in a sandbox whose resident cannot be reached, before another is started. One that was only stopped is
/// let go on, and given; one that is there makes a socket that was removed again, and is waited for.
async fn clear(base: &Path, home: &Path) -> Result<Option<Residence>, Error> {
    let traces = Traces::of(home).await;
    if is_there(base, home).await? {
        traces.wake().await?;
        return Ok(Residence::attach(home).await);
    }
    traces.end(true).await?;
    Ok(None)
}

/// Whether a resident lives in a directory, reached or not.
async fn is_there(base: &Path, home: &Path) -> Result<bool, Error> {
    let (base, looked_at) = (base.to_owned(), home.to_owned());
    blocking(home, move || {
        lock::sweep(&base);
        Ok(is_inhabited(&looked_at))
    })
    .await
}

/// What is wrong with the records of sandboxes that lie in a directory and cannot be listed for that. This blocks.
pub(super) fn damaged(base: &Path) -> Vec<String> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut told: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_id))
        .map(|entry| entry.path())
        .filter(|directory| directory.is_dir())
        .filter(|directory| {
            Record::read(directory).is_none_or(|record| *directory != directory_of(base, &record.key))
        })
        .map(|directory| {
            format!(
                "{} is damaged: its {RECORD} does not say which key it is for; herm exec --key KEY with the key that it had \
                 mends it, herm rm KEY removes it",
                directory.display()
            )
        })
        .collect();
    told.sort();
    told
}

/// Every kept sandbox that lies in a directory, by key. What killed clients have left there is removed. This blocks.
///
/// # Errors
/// The directory cannot be read.
pub(super) fn list(base: &Path) -> Result<Vec<Lying>, Error> {
    lock::sweep(base);
    let entries = match fs::read_dir(base) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file_error("list the sandboxes in", base, &error)),
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let directory = entry.path();
            let record = Record::read(&directory)?;
            (directory == directory_of(base, &record.key)).then(|| Lying {
                id: id_of(&record.key),
                work: record.work(&directory),
                key: record.key,
                directory,
            })
        })
        .collect();
    found.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(found)
}

/// The directory of a key.
pub(in crate::backend) fn directory_of(base: &Path, key: &str) -> PathBuf {
    base.join(id_of(key))
}

/// The same by the digest of the key, in hexadecimal.
pub(in crate::backend) fn directory_named(base: &Path, digest: &str) -> PathBuf {
    base.join(format!("{ID}{digest}"))
}

/// Where the resident of a key is at home.
pub(super) fn home_of(base: &Path, key: &str) -> PathBuf {
    home_in(&directory_of(base, key))
}

/// Where the resident of a sandbox's directory is at home.
pub(super) fn home_in(directory: &Path) -> PathBuf {
    directory.join("resident")
}

/// Whether a resident lives in a directory: it holds a lock there, whether it can be reached or not. This blocks, shortly.
pub(super) fn is_inhabited(home: &Path) -> bool {
    let Ok(file) = File::open(home.join("lock")) else {
        return false;
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// How the ids of kept sandboxes begin.
const ID: &str = "kept-";

/// Whether an id may be that of a kept sandbox.
pub(in crate::backend) fn is_id(id: &str) -> bool {
    id.starts_with(ID)
}

/// The id of the sandbox of a key, the same in every process.
pub(super) fn id_of(key: &str) -> String {
    format!("{ID}{}", hexadecimal(&sha256(key.as_bytes())[..16]))
}

pub(in crate::backend) fn check(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        return Err(Error::invalid_argument("key", "is empty"));
    }
    if key.len() > LONGEST_KEY {
        return Err(Error::invalid_argument(
            "key",
            format!("has {} bytes; it may have {LONGEST_KEY}", key.len()),
        ));
    }
    Ok(())
}

/// Makes the sandbox's directory as it is wanted unless it is there; says whether it was, and what it was made with. A
/// half-made one, whose maker was killed, has no record yet, and is made whole.
fn there_or_made(directory: &Path, wanted: Record) -> Result<(bool, Record), Error> {
    private_directory(directory)?;
    let found = Record::read(directory);
    if let Some(found) = found.as_ref().filter(|found| found.key != wanted.key) {
        let shown = directory.to_string_lossy();
        let message = format!(
            "{shown} is kept for the key {:?}, and not for {:?}",
            found.key, wanted.key
        );
        return Err(Error::new(ErrorKind::Internal, shown.clone(), message));
    }
    let work = Sandbox::own_work(directory);
    match fs::create_dir(&work) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(file_error("make the directory", &work, &error));
        }
        _ => {}
    }
    if let Some(found) = found {
        return Ok((true, found));
    }
    let text = serde_json::to_vec(&wanted).map_err(|error| Error::internal("write down a sandbox", error))?;
    crate::files::write_as(&directory.join(RECORD), &text, 0o600)?;
    Ok((false, wanted))
}

/// Makes a directory that only this user enters, or checks that it is such a one.
pub(in crate::backend) fn private_directory(directory: &Path) -> Result<(), Error> {
    let failed = |error: io::Error| file_error("make the directory", directory, &error);
    if let Some(parent) = directory.parent() {
        // What is made on the way belongs to this user alone, too.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(directory).map_err(failed)?;
    let own = rustix::process::geteuid().as_raw();
    if metadata.is_dir() && metadata.uid() == own && metadata.mode().trailing_zeros() >= 6 {
        return Ok(());
    }
    let shown = directory.to_string_lossy();
    let message = format!("{shown} is not a directory that belongs to this user alone");
    Err(Error::new(ErrorKind::PermissionDenied, shown.clone(), message)
        .with_fix("make it yours and chmod 700 it, or name another"))
}

pub(super) async fn blocking<T: Send + 'static>(
    resource: &Path,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    super::adapter::blocking(&resource.to_string_lossy(), work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_directory_whatever_is_in_it() {
        let base = Path::new("/base");
        let odd = directory_of(base, "../../etc\n\u{0}x");
        assert_eq!(odd.parent(), Some(base));
        assert_ne!(odd, directory_of(base, "../../etc\n\u{0}y"));
        assert!(check("").is_err());
        assert!(check(&"k".repeat(LONGEST_KEY + 1)).is_err());
    }

    #[test]
    fn a_half_made_sandbox_is_made_whole_and_a_whole_one_is_listed() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().join("state");
        private_directory(&base).unwrap();
        let directory = directory_of(&base, "k");
        fs::create_dir(&directory).unwrap();
        let wanted = Record {
            key: "k".into(),
            env: vec![Variable::new("A", b"\xff".as_slice())],
            cwd: Some("/usr".into()),
        };
        let asked = |cwd: &str| Record {
            cwd: Some(cwd.into()),
            ..wanted.clone()
        };
        let made = there_or_made(&directory, wanted.clone());
        assert!(made.is_err(), "others can enter it");
        fs::remove_dir(&directory).unwrap();
        DirBuilder::new().mode(0o700).create(&directory).unwrap();
        assert_eq!(list(&base).unwrap(), []);
        assert_eq!(
            there_or_made(&directory, wanted.clone()).unwrap(),
            (false, wanted.clone())
        );
        assert_eq!(
            there_or_made(&directory, asked("/")).unwrap(),
            (true, wanted.clone())
        );
        let listed = list(&base).unwrap();
        assert_eq!((listed[0].key.as_str(), listed.len()), ("k", 1));
        assert_eq!(listed[0].work, Path::new("/usr"));
        // As it was written when a sandbox had no more than its key.
        fs::write(directory.join(RECORD), r#"{"key":"k"}"#).unwrap();
        let (there, before) = there_or_made(&directory, wanted).unwrap();
        assert_eq!((there, before.env.len()), (true, 0));
        assert_eq!(list(&base).unwrap()[0].work, Sandbox::own_work(&directory));
        assert_eq!(list(&scratch.path().join("none")).unwrap(), []);
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(scratch.path(), &link).unwrap();
        assert_eq!(
            private_directory(&link).unwrap_err().kind(),
            ErrorKind::PermissionDenied
        );
    }
}
