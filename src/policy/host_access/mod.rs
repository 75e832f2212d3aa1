//! How far commands of a container reach into its host, decided from what the engine really mounted and opened, and never from
//! how somebody wrote it down.

mod path;
#[cfg(test)]
mod tests;
mod text;
mod volume;

use std::collections::{BTreeMap, BTreeSet};

pub use herm_protocol::policy::AccessLevel;

pub use self::text::{Existing, classify_texts};
use super::{
    mount::{Asked, Mount, Source},
    plan::hardening::{RESTORED, capability},
};
use crate::config::Secret;

/// A mount of a container, as the engine tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveMount {
    /// What it is.
    pub kind: MountKind,
    /// Its absolute path in the container.
    pub target: String,
    /// Whether the container can only read it.
    pub read_only: bool,
}

/// What is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountKind {
    /// A path of the engine's host (type `bind`).
    Bind {
        /// The path.
        source: String,
        /// What lies there, where the caller has looked.
        identity: Option<FileIdentity>,
    },
    /// A volume of the engine (type `volume`).
    Volume {
        /// Its name; empty where it has none.
        name: String,
        /// Its driver.
        driver: String,
        /// The options that it was made with; none where they could not be seen.
        options: Option<BTreeMap<String, Secret<String>>>,
    },
    /// A file system in memory (type `tmpfs`).
    Tmpfs,
    /// A named pipe of Windows (type `npipe`).
    NamedPipe(String),
    /// Another type, by its name.
    Other(String),
}

/// One file or directory of this machine, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device (stat(2)).
    pub device: u64,
    /// The number on it.
    pub inode: u64,
}

/// What a container has of its host besides mounts, as the engine tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    /// Whether it may do all that root of the host can (`Privileged`).
    pub privileged: bool,
    /// Paths of devices of the host (`Devices`), and rules about them (`DeviceCgroupRules`).
    pub devices: Vec<String>,
    /// Whose processes it sees (`PidMode`).
    pub pid_mode: String,
    /// Whose shared memory it has (`IpcMode`).
    pub ipc_mode: String,
    /// Whose network it has (`NetworkMode`).
    pub network_mode: String,
    /// Capabilities of Linux that it got back (`CapAdd`).
    pub cap_add: Vec<String>,
}

/// What the caller knows of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownHost {
    /// Paths of the engine's sockets, besides the usual ones.
    pub engine_sockets: Vec<String>,
    /// Paths that are sockets, as the caller has seen.
    pub sockets: BTreeSet<String>,
    /// Where paths lead that the caller has followed, links and all. A path that is not here is taken as it is written.
    pub real_paths: BTreeMap<String, String>,
    /// What the executor itself mounts, read-only. It is known by device and inode, and by no name.
    pub own: Vec<FileIdentity>,
}

/// How far commands reach, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAccess {
    /// How far: as far as the reason that reaches furthest.
    pub level: AccessLevel,
    /// A reason for each mount, in their order, and for each other opening.
    pub reasons: Vec<Reason>,
}

/// How far one thing reaches, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The thing, for people.
    pub what: String,
    /// How far it reaches.
    pub level: AccessLevel,
    /// Why: what is reached, or why nothing is.
    pub why: String,
}

impl HostAccess {
    /// Whether anything outside of the container is reached.
    #[must_use]
    pub fn reaches_out(&self) -> bool {
        self.level > AccessLevel::None
    }

    fn of(reasons: Vec<Reason>) -> Self {
        let level = reasons.iter().map(|reason| reason.level).max();
        Self {
            level: level.unwrap_or_default(),
            reasons,
        }
    }
}

/// A level with why.
type Judged = (AccessLevel, String);

/// How far commands of a container reach that has these mounts and openings. What is not understood reaches out: it is never
/// called harmless.
#[must_use]
pub fn classify(mounts: &[EffectiveMount], exposure: &Exposure, host: &KnownHost) -> HostAccess {
    let of_mounts = mounts.iter().map(|mount| {
        let (level, why) = mount.judge(host);
        Reason {
            what: mount.describe(),
            level,
            why,
        }
    });
    HostAccess::of(of_mounts.chain(exposure.reasons()).collect())
}

impl EffectiveMount {
    /// What a text that was read makes, where no volume of its name is there yet.
    #[must_use]
    pub fn of(asked: &Asked) -> Self {
        let mount = match asked {
            Asked::Mount(mount) => mount,
            Asked::Tmpfs(tmpfs) => {
                return Self {
                    kind: MountKind::Tmpfs,
                    target: tmpfs.target.clone(),
                    read_only: tmpfs.read_only,
                };
            }
        };
        Self {
            kind: kind_of(mount),
            target: mount.target.clone(),
            read_only: mount.read_only,
        }
    }

    fn judge(&self, host: &KnownHost) -> Judged {
        match &self.kind {
            MountKind::Bind { identity, .. }
                if self.read_only && identity.is_some_and(|own| host.own.contains(&own)) =>
            {
                (
                    AccessLevel::None,
                    "the executor's own, read-only, by device and inode".into(),
                )
            }
            MountKind::Bind { source, .. } => path::judge(source, self.read_only, host),
            MountKind::Volume { driver, options, .. } => {
                volume::judge(driver, options.as_ref(), self.read_only, host)
            }
            MountKind::Tmpfs => (AccessLevel::None, "a file system in memory of its own".into()),
            MountKind::NamedPipe(name) => (
                AccessLevel::Control,
                format!("{name:?} is a pipe, and whatever listens on it does what is written to it"),
            ),
            MountKind::Other(name) => (
                level(self.read_only),
                format!("what a mount of the type {name:?} reaches is not known"),
            ),
        }
    }

    fn describe(&self) -> String {
        let source = match &self.kind {
            MountKind::Bind { source, .. } => source.as_str(),
            MountKind::Volume { name, .. } if name.is_empty() => "a volume without a name",
            MountKind::Volume { name, .. } | MountKind::NamedPipe(name) | MountKind::Other(name) => {
                name.as_str()
            }
            MountKind::Tmpfs => "memory",
        };
        format!("{source} at {}", self.target)
    }
}

fn kind_of(mount: &Mount) -> MountKind {
    match &mount.source {
        Source::HostPath { path, .. } | Source::WindowsPath(path) => MountKind::Bind {
            source: path.clone(),
            identity: None,
        },
        Source::Volume { name, driver, .. } => MountKind::Volume {
            name: name.clone().unwrap_or_default(),
            driver: driver
                .as_ref()
                .map_or_else(|| volume::LOCAL.into(), |driver| driver.name.clone()),
            options: Some(
                driver
                    .as_ref()
                    .map(|driver| driver.options.clone())
                    .unwrap_or_default(),
            ),
        },
    }
}

/// How far files reach that can be read, or changed, too.
fn level(read_only: bool) -> AccessLevel {
    if read_only {
        AccessLevel::Read
    } else {
        AccessLevel::Write
    }
}

impl Exposure {
    fn reasons(&self) -> Vec<Reason> {
        use AccessLevel::{Control, Write};
        let mut reasons = Vec::new();
        let mut add = |what: &str, level, why: &str| {
            reasons.push(Reason {
                what: what.to_owned(),
                level,
                why: why.to_owned(),
            });
        };
        if self.privileged {
            add("privileged", Control, "it may do all that root of the host can");
        }
        for device in &self.devices {
            add(device, Control, "a device of the host");
        }
        let modes = [
            (
                "processes",
                &self.pid_mode,
                Control,
                "it sees and signals the host's processes",
            ),
            (
                "shared memory",
                &self.ipc_mode,
                Write,
                "it has the host's shared memory",
            ),
            (
                "network",
                &self.network_mode,
                Control,
                "it reaches every service that listens on the host alone",
            ),
        ];
        for (what, mode, level, why) in modes {
            if mode == "host" {
                add(&format!("{what} of the host"), level, why);
            } else if mode.starts_with("container:") || mode.starts_with("ns:") {
                let why = "how far that one reaches is not known";
                add(&format!("{what} of {mode}"), Write, why);
            }
        }
        for name in &self.cap_add {
            let known = capability(name)
                .ok()
                .is_some_and(|name| RESTORED.contains(&name.as_str()));
            if !known {
                add(name, Control, "a capability with which containers get out");
            }
        }
        reasons
    }
}
