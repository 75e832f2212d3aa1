//! What a sandbox was asked to be, as commands may name it.

use std::collections::BTreeMap;

use herm_protocol::{
    ByteString,
    sandbox::{Mount, Network, SandboxSpec},
};

use crate::manifest::Values;

/// Fills in what the caller has asked for; what was not asked for has no value. Variables are none of it: a command may have
/// some of its own.
pub(super) fn fill(values: &mut Values, spec: &SandboxSpec) {
    let limits = &spec.limits;
    let number = |limit: Option<u64>| limit.map(|limit| ByteString::from(limit.to_string()));
    let given = [
        ("cwd", spec.cwd.clone()),
        ("image", spec.image.as_deref().map(ByteString::from)),
        ("user", spec.user.as_deref().map(ByteString::from)),
        ("memory_bytes", number(limits.memory_bytes)),
        ("pids", number(limits.pids)),
        ("cpu_millis", number(limits.cpu_millis)),
        ("cpus", limits.cpu_millis.map(processors)),
        ("disk_bytes", number(limits.disk_bytes)),
        (
            "network_none",
            (spec.network == Some(Network::None)).then(ByteString::default),
        ),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    values.one.extend(given);
    for (name, read_only) in [("mounts", false), ("read_only_mounts", true)] {
        let mounts = spec.mounts.iter().filter(|mount| mount.read_only == read_only);
        values.records.insert(name, mounts.map(record).collect());
    }
}

fn record(mount: &Mount) -> BTreeMap<&'static str, ByteString> {
    BTreeMap::from([("source", mount.source.clone()), ("target", mount.target.clone())])
}

/// Thousandths of a processor as a number of processors with three decimals.
fn processors(millis: u64) -> ByteString {
    format!("{}.{:03}", millis / 1000, millis % 1000).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_with_decimals() {
        for (millis, told) in [(1, "0.001"), (250, "0.250"), (1000, "1.000"), (12_345, "12.345")] {
            assert_eq!(processors(millis), told.into());
        }
    }
}
