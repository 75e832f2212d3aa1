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
    let option = |name: &str| {
        let mut found = options.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map_or("", |(_, value)| value.expose().trim())
    };
    let (kind, words, device) = (option("type"), option("o"), option("device"));
    let odd = options
        .keys()
        .find(|key| !["device", "o", "size", "type"].contains(&key.to_ascii_lowercase().as_str()));
    if let Some(key) = odd {
        return (
            level(read_only),
            format!("what its option {key:?} does is not known"),
        );
    }
    let word = |name: &str| {
        words
            .split(',')
            .any(|word| word.trim().eq_ignore_ascii_case(name))
    };
    let read_only = read_only || word("ro");
    let kind = kind.to_ascii_lowercase();
    match kind.as_str() {
        "tmpfs" | "ramfs" => (AccessLevel::None, "a file system in memory of its own".into()),
        kind if REMOTE.contains(&kind) => (
            level(read_only),
            format!("its driver mounts files of another machine ({kind})"),
        ),
        _ if device.starts_with('/') => {
            let (level, why) = path::judge(device, read_only, host);
            (level, format!("its driver mounts a path: {why}"))
        }
        // No more than a bound on its size, or words for a mount that never happens.
        "" | "none" if device.is_empty() && !word("bind") && !word("rbind") => {
            (AccessLevel::None, "a volume of the engine's own".into())
        }
        kind => (
            level(read_only),
            format!("what its driver mounts is not known (type {kind:?}, a device that is no path)"),
        ),
    }
}
