//! What the engine's host can enforce, from what the engine says of it.

use bollard::models::{SystemInfo, SystemInfoCgroupVersionEnum};
use serde::{Deserialize, Serialize};

use crate::policy::{CgroupVersion, HostFacts};

/// What an engine has said of itself and of its host, as far as it matters for a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) host: HostFacts,
    /// Whether it makes a directory of its host that is to be mounted and is not there.
    pub(super) makes_directories: bool,
}

impl From<&SystemInfo> for Said {
    fn from(info: &SystemInfo) -> Self {
        Self {
            host: of(info),
            makes_directories: makes_directories(info),
        }
    }
}

/// What is told in the engine's own words, in the policy's. What it does not tell is taken for what it cannot do.
pub(super) fn of(info: &SystemInfo) -> HostFacts {
    let told = |answer: Option<bool>| answer.unwrap_or(false);
    let options = info.security_options.clone().unwrap_or_default();
    let names = |name: &str| {
        options
            .iter()
            .any(|option| option.split(',').any(|part| part == format!("name={name}")))
    };
    // What a profile of the engine's owner lets through is not known, and may be everything.
    let usual = options
        .iter()
        .filter(|option| option.contains("name=seccomp"))
        .filter_map(|option| option.split(',').find_map(|part| part.strip_prefix("profile=")))
        .all(|profile| matches!(profile, "default" | "builtin"));
    HostFacts {
        pids: told(info.pids_limit),
        memory: told(info.memory_limit),
        swap: told(info.swap_limit),
        cpu: told(info.cpu_cfs_period) && told(info.cpu_cfs_quota),
        cpu_shares: told(info.cpu_shares),
        cpuset: told(info.cpu_set),
        layer_quota: layer_quota(info),
        // Whether the driver of volumes takes a size, an engine does not tell.
        volume_quota: false,
        seccomp: names("seccomp") && usual,
        rootless: names("rootless"),
        user_namespace: names("userns"),
        cgroup: match info.cgroup_version {
            Some(SystemInfoCgroupVersionEnum::_1) => CgroupVersion::V1,
            Some(SystemInfoCgroupVersionEnum::_2) => CgroupVersion::V2,
            _ => CgroupVersion::Unknown,
        },
        processors: info
            .ncpu
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or_default(),
    }
}

/// Whether the engine makes a directory of its host that is to be mounted and is not there, whatever it is asked for. Podman
/// does; by this it is known, as it does not tell its name here.
fn makes_directories(info: &SystemInfo) -> bool {
    info.product_license.as_deref() == Some("Apache-2.0")
        && info.init_binary.as_deref().unwrap_or_default().is_empty()
}

/// Whether the engine bounds a container's own layer: by its driver alone, or by the file system under it.
fn layer_quota(info: &SystemInfo) -> bool {
    let driver = info.driver.as_deref().unwrap_or_default();
    let status = info.driver_status.clone().unwrap_or_default();
    let says = |name: &str, value: &str| {
        status.iter().any(
            |pair| matches!(pair.as_slice(), [key, told] if key == name && told.eq_ignore_ascii_case(value)),
        )
    };
    match driver {
        "btrfs" | "zfs" | "devicemapper" | "windowsfilter" => true,
        // It takes the option on XFS with project quotas, which an engine does not tell; so it is not counted on.
        "overlay2" => says("Project Quota", "true"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_is_known_by_what_it_tells() {
        let info = |license: &str, init: &str| SystemInfo {
            product_license: Some(license.into()),
            init_binary: Some(init.into()),
            ..SystemInfo::default()
        };
        assert!(makes_directories(&info("Apache-2.0", "")));
        assert!(!makes_directories(&info("Community Engine", "docker-init")));
        assert!(!makes_directories(&SystemInfo::default()));
    }

    #[test]
    fn what_an_engine_does_not_tell_it_cannot_do() {
        let nothing = of(&SystemInfo::default());
        assert_eq!(nothing, HostFacts::default());
        let all = SystemInfo {
            pids_limit: Some(true),
            memory_limit: Some(true),
            swap_limit: Some(true),
            cpu_cfs_period: Some(true),
            cpu_cfs_quota: Some(true),
            cgroup_version: Some(SystemInfoCgroupVersionEnum::_2),
            driver: Some("overlay2".into()),
            security_options: Some(vec![
                "name=seccomp,profile=builtin".into(),
                "name=rootless".into(),
            ]),
            ncpu: Some(2),
            ..SystemInfo::default()
        };
        let facts = of(&all);
        assert!(facts.pids && facts.memory && facts.swap && facts.cpu && facts.seccomp && facts.rootless);
        assert!(!facts.layer_quota && !facts.cpuset);
        assert_eq!((facts.cgroup, facts.processors), (CgroupVersion::V2, 2));
        let unconfined = SystemInfo {
            security_options: Some(vec!["name=seccomp,profile=unconfined".into()]),
            cpu_cfs_period: Some(true),
            ..SystemInfo::default()
        };
        let of_its_owner = SystemInfo {
            security_options: Some(vec!["name=seccomp,profile=/etc/all.json".into()]),
            ..SystemInfo::default()
        };
        assert!(!of(&of_its_owner).seccomp);
        assert!(!of(&unconfined).seccomp && !of(&unconfined).cpu);
    }
}
