//! The words behind the second colon of `--volume`.

use super::{Propagation, Refusal, Relabel};

/// What the words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) read_only: bool,
    pub(super) relabel: Option<Relabel>,
    pub(super) no_copy: bool,
    pub(super) propagation: Option<Propagation>,
}

/// How a word is meant; two of one kind contradict each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Access,
    Label,
    Copy,
    Propagation,
    Consistency,
}

const TAKEN: &str = "take it out; ro, rw, z, Z, nocopy, private, rprivate, slave and rslave are taken";

/// Reads them.
pub(super) fn read(text: &str) -> Result<Words, Refusal> {
    let mut words = Words::default();
    let mut seen = Vec::new();
    for word in text.split(',') {
        let kind = words.take(word)?;
        if seen.contains(&kind) {
            return Err(Refusal::new(
                format!("{text:?} says twice how it is mounted"),
                "leave one of the words",
            ));
        }
        seen.push(kind);
    }
    Ok(words)
}

impl Words {
    fn take(&mut self, word: &str) -> Result<Kind, Refusal> {
        match word {
            "ro" | "rw" => {
                self.read_only = word == "ro";
                Ok(Kind::Access)
            }
            "z" | "Z" => {
                let shared = word == "z";
                self.relabel = Some(if shared { Relabel::Shared } else { Relabel::Private });
                Ok(Kind::Label)
            }
            "nocopy" => {
                self.no_copy = true;
                Ok(Kind::Copy)
            }
            // What they tell is heard on other systems only.
            "consistent" | "cached" | "delegated" => Ok(Kind::Consistency),
            word => {
                self.propagation = Some(propagation(word)?);
                Ok(Kind::Propagation)
            }
        }
    }
}

/// What a word says of later mounts.
///
/// # Errors
/// It is no such word, or one that lets the container mount something on the host.
pub(super) fn propagation(word: &str) -> Result<Propagation, Refusal> {
    match word {
        "private" => Ok(Propagation::Private),
        "rprivate" => Ok(Propagation::Rprivate),
        "slave" => Ok(Propagation::Slave),
        "rslave" => Ok(Propagation::Rslave),
        "shared" | "rshared" => Err(Refusal::new(
            format!("{word} lets what is mounted in the container appear on the host"),
            "take it out, or write rslave for the other direction",
        )),
        "" => Err(Refusal::new("a word is empty", TAKEN)),
        "U" | "O" => Err(Refusal::new(
            format!("{word:?} is a word of podman that changes what lies on the host"),
            TAKEN,
        )),
        word => Err(Refusal::new(format!("{word:?} is no word for a mount"), TAKEN)),
    }
}
