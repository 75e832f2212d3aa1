//! What containers are called, and whose they are.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use herm_protocol::hexadecimal;
use herm_resident::wire::sha256;

use crate::{backend::local::kept, lifecycle::Maker};

/// How every name that is made here begins.
pub(super) const PREFIX: &str = "herm-";

/// The label that says whose a container or a volume is. What does not bear the own one is neither taken nor removed.
pub(super) const OWNER: &str = "herm.owner";

/// The label that names the run that made it.
pub(super) const RUN: &str = "herm.run";

/// The label that says where its owner keeps what belongs to it.
pub(super) const STATE: &str = "herm.state";

/// The label that tells what a container was made of.
pub(super) const FINGERPRINT: &str = "herm.fingerprint";

/// The label that tells the same by parts, so that what has changed can be told.
pub(super) const PARTS: &str = "herm.parts";

/// The label that says that a container is kept under a key; those without end with their caller.
pub(super) const KEPT: &str = "herm.kept";

/// The label that says which process made what is to end with it: see [`crate::lifecycle::Maker`].
pub(super) const MAKER: &str = "herm.maker";

/// Bytes of a digest in an owner's name.
const OWNER_BYTES: usize = 6;

/// The longest part of a run's id that a name carries.
const LONGEST_RUN: usize = 64;

/// Who makes and finds containers: a user with a directory in which what belongs to them is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// Short, and the same in every process of the user that keeps its sandboxes there.
    pub(super) name: String,
    /// The directory.
    pub(super) base: PathBuf,
}

impl Owner {
    /// The owner whose sandboxes are kept in a directory, which need not be there. This blocks.
    pub(super) fn of(base: &Path) -> Self {
        let base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
        let mut whole = rustix::process::geteuid().as_raw().to_le_bytes().to_vec();
        whole.extend_from_slice(base.as_os_str().as_encoded_bytes());
        Self {
            name: hexadecimal(&sha256(&whole)[..OWNER_BYTES]),
            base,
        }
    }

    /// The name of the container of a key, the same in every process, so that the engine itself lets only one be made.
    pub(super) fn container_of(&self, key: &str) -> String {
        let digest = hexadecimal(&sha256(key.as_bytes())[..16]);
        format!("{PREFIX}{}-{digest}", self.name)
    }

    /// Where the sandbox of a key lies on this machine whose container has that name; none for other names.
    pub(super) fn directory_of(&self, container: &str) -> Option<PathBuf> {
        let digest = container
            .strip_prefix(PREFIX)?
            .strip_prefix(&self.name)?
            .strip_prefix('-')?;
        let is_one = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then(|| kept::directory_named(&self.base, digest))
    }

    /// The labels of what is to end with this process.
    pub(super) fn labels_of_process(&self, run: &str) -> HashMap<String, String> {
        let mut labels = self.labels(run);
        labels.extend(Maker::this_process().map(|maker| (MAKER.to_owned(), maker.to_string())));
        labels
    }

    /// The labels of whatever is made.
    pub(super) fn labels(&self, run: &str) -> HashMap<String, String> {
        let mut labels: HashMap<String, String> = [
            (OWNER.to_owned(), self.name.clone()),
            (STATE.to_owned(), self.base.to_string_lossy().into_owned()),
        ]
        .into();
        if !run.is_empty() {
            labels.insert(RUN.to_owned(), run.to_owned());
        }
        labels
    }
}

/// The beginning of the name of a sandbox without a key: ours, and of which run.
pub(super) fn prefix(run: &str) -> String {
    let safe = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let run: String = run.chars().map(safe).take(LONGEST_RUN).collect();
    if run.is_empty() {
        PREFIX.into()
    } else {
        format!("{PREFIX}{run}-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_owner_and_key_has_a_name_that_an_engine_takes() {
        let (one, other) = (Owner::of(Path::new("/no/a")), Owner::of(Path::new("/no/b")));
        assert_ne!(one.name, other.name);
        assert_eq!(one, Owner::of(Path::new("/no/a")));
        let names = [
            one.container_of("a"),
            one.container_of("../a b\n"),
            other.container_of("a"),
            prefix("r/../ü") + "x",
            prefix("") + "x",
        ];
        for name in &names {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            assert!(name.bytes().all(fits) && name.starts_with("herm-"), "{name}");
        }
        assert_eq!(
            names.iter().collect::<std::collections::BTreeSet<_>>().len(),
            names.len()
        );
        assert_eq!(one.labels("r")[RUN], "r");
        assert!(!one.labels("").contains_key(RUN));
        assert!(one.labels_of_process("").contains_key(MAKER) && !one.labels("").contains_key(MAKER));
    }

    #[test]
    fn the_place_of_a_key_is_found_by_the_name_of_its_container() {
        let one = Owner::of(Path::new("/no/a"));
        let place = kept::directory_of(&one.base, "k");
        assert_eq!(one.directory_of(&one.container_of("k")), Some(place));
        let other = Owner::of(Path::new("/no/b"));
        for name in [
            other.container_of("k"),
            format!("{}-x", one.container_of("k")),
            format!("herm-{}-..", one.name),
            "herm-abc".into(),
        ] {
            assert_eq!(one.directory_of(&name), None, "{name}");
        }
    }
}
