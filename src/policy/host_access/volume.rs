//! Volumes: what a driver mounts in their place.

use std::collections::BTreeMap;

use super::{AccessLevel, Judged, KnownHost, level, path};
use crate::config::Secret;

/// The engine's own driver. Without options its volumes are directories of the engine; with options it mounts what they say, as
/// mount(8) does.
pub(super) const LOCAL: &str = "local";

/// Types of file systems whose files lie on another machine.
const REMOTE: [&str; 8] = ["9p", "ceph", "cifs", "glusterfs", "nfs", "nfs4", "smb3", "smbfs"];

/// How far a volume reaches.
pub(super) fn judge(
    driver: &str,
    options: Option<&BTreeMap<String, Secret<String>>>,
    read_only: bool,
    host: &KnownHost,
) -> Judged {
    if !matches!(driver, LOCAL | "") {
        let why = format!("what the driver {driver:?} mounts is not known");
        return (level(read_only), why);
    }
    let Some(options) = options else {
        let why = "the options that it was made with could not be seen";
        return (level(read_only), why.into());
    };
    // The engine takes these names and words as they are written, and no others.
    let option = |name: &str| options.get(name).map_or("", |value| value.expose().as_str());
    let (kind, words, device) = (option("type"), option("o"), option("device"));
    let odd = options
        .keys()
        .find(|key| !["device", "o", "size", "type"].contains(&key.as_str()));
    if let Some(key) = odd {
        return (
            AccessLevel::Control,
            format!("what its option {key:?} does is not known"),
        );
    }
    let word = |name: &str| words.split(',').any(|word| word == name);
    // What binds a path does so whatever the type is (mount(2)).
    if word("bind") || word("rbind") || word("move") {
        if !device.starts_with('/') {
            return (
                AccessLevel::Control,
                "its driver mounts a path that the engine finds from where it stands".into(),
            );
        }
        // What is mounted below it is as writable as it was.
        let read_only = read_only || !word("rbind") && is_read_only(words);
        let (level, why) = path::judge(device, read_only, host);
        return (level, format!("its driver mounts a path: {why}"));
    }
    let read_only = read_only || is_read_only(words);
    match kind {
        "tmpfs" | "ramfs" => (AccessLevel::None, "a file system in memory of its own".into()),
        kind if REMOTE.contains(&kind) => (
            level(read_only),
            format!("its driver mounts files of another machine ({kind})"),
        ),
        "" | "none" if device.is_empty() => (AccessLevel::None, "a volume of the engine's own".into()),
        "" | "none" if device.starts_with('/') => {
            let (level, why) = path::judge(device, read_only, host);
            (level, format!("its driver mounts a path: {why}"))
        }
        kind => (
            AccessLevel::Control,
            format!("what its driver mounts is not known, or the host's kernel and devices (type {kind:?})"),
        ),
    }
}

/// Whether words of mount(8) make what is mounted read-only: the last one counts.
fn is_read_only(words: &str) -> bool {
    let last = words.split(',').rfind(|word| matches!(*word, "ro" | "rw"));
    last == Some("ro")
}
