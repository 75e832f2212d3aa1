//! What was found out once and holds for good, so that the next process need not ask again: which version of its API an
//! engine speaks, which programs an image has, and what an engine said when a container was made.
//!
//! All of it lies in directories of this user's alone, and may be missing, old or broken at any time: then it is asked again.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{facts::Said, image::Programs};
use crate::{
    backend::local::{adapter::blocking, kept},
    files,
};

/// Versions by the addresses of engines, in the directory of the owner.
const ENGINES: &str = "engines.json";

/// Programs by the ids of images, in the directory of the owner.
const IMAGES: &str = "images.json";

/// What the engine said, in the directory of a key.
const SAID: &str = "said.json";

/// The most that a file holds; when there is more, it begins anew.
const ENTRIES: usize = 128;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// A version of an engine's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) major: usize,
    pub(super) minor: usize,
}

/// What an engine had said when it made a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SaidThen {
    /// The id of that container.
    pub(super) container: String,
    pub(super) said: Said,
}

impl SaidThen {
    /// What is kept in the directory of a key. This blocks.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        read(&directory.join(SAID))
    }

    /// Keeps it for later processes. Without it they ask. This blocks.
    pub(super) fn write(&self, directory: &Path) {
        write(&directory.join(SAID), self);
    }
}

/// The version that an engine spoke when it was met last.
pub(super) async fn version(base: &Path, address: &str) -> Option<Version> {
    entry(base.join(ENGINES), address).await
}

/// Keeps it for later processes.
pub(super) async fn keep_version(base: &Path, address: &str, version: Version) {
    keep(base, ENGINES, address, version).await;
}

/// The programs of an image that was looked into.
pub(super) async fn programs(base: &Path, image: &str) -> Option<Programs> {
    let written: [Option<String>; 3] = entry(base.join(IMAGES), image).await?;
    Programs::of_paths(written.each_ref().map(Option::as_deref))
}

/// Keeps them for later processes.
pub(super) async fn keep_programs(base: &Path, image: &str, programs: Programs) {
    let written = programs.paths().map(|path| path.map(str::to_owned));
    keep(base, IMAGES, image, written).await;
}

async fn entry<T: DeserializeOwned + Send + 'static>(path: PathBuf, name: &str) -> Option<T> {
    let name = name.to_owned();
    let looking = blocking("what is remembered", move || {
        let all: Option<BTreeMap<String, T>> = read(&path);
        Ok(all.and_then(|mut all| all.remove(&name)))
    });
    looking.await.ok().flatten()
}

async fn keep<T>(base: &Path, file: &str, name: &str, value: T)
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    let (base, path, name) = (base.to_owned(), base.join(file), name.to_owned());
    let keeping = blocking("what is remembered", move || {
        kept::private_directory(&base)?;
        // Of two that write at once one is lost, and asked for again.
        let mut all: BTreeMap<String, T> = read(&path).unwrap_or_default();
        if all.len() >= ENTRIES {
            all.clear();
        }
        all.insert(name, value);
        write(&path, &all);
        Ok(())
    });
    // Whoever cannot keep it asks again.
    let _ = keeping.await;
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let known = fs::symlink_metadata(path).ok()?;
    if !known.is_file() || known.len() > LARGEST {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(path: &Path, value: &impl Serialize) {
    if let Ok(text) = serde_json::to_vec(value) {
        let _ = files::write_as(path, &text, 0o600);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::HostFacts;

    #[tokio::test]
    async fn what_is_kept_is_found_by_its_name_and_what_is_broken_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("docker");
        let version = Version { major: 1, minor: 41 };
        assert_eq!(super::version(&base, "unix:///a").await, None);
        keep_version(&base, "unix:///a", version).await;
        assert_eq!(super::version(&base, "unix:///a").await, Some(version));
        assert_eq!(super::version(&base, "unix:///b").await, None);
        let programs = Programs::of_paths([Some("/bin/bash"), Some("/bin/sh"), None]).unwrap();
        keep_programs(&base, "sha256:1", programs).await;
        assert_eq!(super::programs(&base, "sha256:1").await, Some(programs));
        keep_programs(&base, "sha256:2", Programs::default()).await;
        assert_eq!(
            super::programs(&base, "sha256:2").await,
            Some(Programs::default())
        );
        fs::write(base.join(IMAGES), br#"{"sha256:1":["/tmp/planted",null,null]}"#).unwrap();
        assert_eq!(super::programs(&base, "sha256:1").await, None);
        fs::write(base.join(ENGINES), b"{").unwrap();
        assert_eq!(super::version(&base, "unix:///a").await, None);
    }

    #[tokio::test]
    async fn no_more_is_kept_than_is_of_use() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("docker");
        for number in 0..=ENTRIES {
            keep_version(
                &base,
                &number.to_string(),
                Version {
                    major: 1,
                    minor: number,
                },
            )
            .await;
        }
        assert_eq!(version(&base, "0").await, None);
        assert!(version(&base, &ENTRIES.to_string()).await.is_some());
    }

    #[test]
    fn what_was_said_is_kept_with_its_container() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(SaidThen::read(folder.path()), None);
        let then = SaidThen {
            container: "c".into(),
            said: Said {
                host: HostFacts::complete(),
                makes_directories: true,
            },
        };
        then.write(folder.path());
        assert_eq!(SaidThen::read(folder.path()), Some(then));
    }
}
