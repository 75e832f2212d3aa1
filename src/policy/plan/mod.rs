//! The decision itself: everything that a container is made with.

mod decide;
pub(super) mod hardening;
mod limit;
mod network;
mod place;
#[cfg(test)]
mod tests;
mod user;
mod variable;

use std::collections::{BTreeMap, BTreeSet};

use herm_protocol::{ByteString, Error};
use serde::Serialize;

pub use self::decide::plan;
use super::mount::Mount;
use crate::config::Secret;

/// Everything that a container is made with but its name, its labels of ownership and the mounts of the executor itself.
/// Values of variables are neither shown nor serialised.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The image.
    pub image: String,
    /// The platform of the image, as `linux/arm64`.
    pub platform: Option<String>,
    /// The name of the engine's runtime.
    pub runtime: Option<String>,
    /// Who commands run as, by name or number, with a group where one is given; none is the image's own.
    pub user: Option<String>,
    /// Further groups of that user.
    pub groups: Vec<String>,
    /// The absolute path of the directory that commands start in.
    pub workdir: String,
    /// The container's host name.
    pub hostname: Option<String>,
    /// The container's domain name.
    pub domainname: Option<String>,
    /// What commands may not do.
    pub hardening: Hardening,
    /// What they may use up.
    pub limits: Limits,
    /// File systems in memory, by target.
    pub tmpfs: Vec<Tmpfs>,
    /// Directories that are kept in volumes of the container's key, by target.
    pub kept: Vec<KeptArea>,
    /// What is mounted from outside, by target.
    pub mounts: Vec<Mount>,
    /// What is reachable.
    pub network: Network,
    /// Parameters of the kernel in the container's own namespaces.
    pub sysctls: BTreeMap<String, String>,
    /// Graphics processors.
    pub gpus: Vec<GpuRequest>,
    /// Labels that the user asks for; none of them is one of ownership.
    pub labels: BTreeMap<String, String>,
    /// Variables.
    #[serde(skip)]
    pub variables: Variables,
}

/// What commands may not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the engine's")]
pub struct Hardening {
    /// Capabilities of Linux that are taken away.
    pub cap_drop: Vec<String>,
    /// Capabilities that are given back, without `CAP_`, sorted.
    pub cap_add: BTreeSet<String>,
    /// Whether no program gives more privileges than its caller has.
    pub no_new_privileges: bool,
    /// Whether the image's own file system can only be read.
    pub read_only_root: bool,
    /// Whether commands see their own part of the tree of cgroups only, also where the engine would show more of it.
    pub private_cgroups: bool,
    /// Whether the engine's own init is process 1; it matters only where the resident is not.
    pub init: bool,
}

impl Hardening {
    /// The security options, as the engine takes them.
    #[must_use]
    pub fn security_options(&self) -> Vec<String> {
        let option = self.no_new_privileges.then(|| "no-new-privileges".to_owned());
        option.into_iter().collect()
    }
}

/// What commands may use up; none is no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Processes and threads at the same time.
    pub pids: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of memory and swap together: the same, so that memory is a bound.
    pub memory_and_swap_bytes: Option<u64>,
    /// Bytes of memory that are left to the container when the host runs short.
    pub memory_reservation_bytes: Option<u64>,
    /// Billionths of a processor.
    pub nano_cpus: Option<u64>,
    /// The weight of its processor time; 1024 is the usual one.
    pub cpu_shares: Option<u64>,
    /// Which processors, as `0-3,5`.
    pub cpuset_cpus: Option<String>,
    /// Which nodes of memory, as `0,1`.
    pub cpuset_mems: Option<String>,
    /// Bytes of the container's own layer; each kept area has the same bound of its own.
    pub disk_bytes: Option<u64>,
    /// Bytes of /dev/shm; none is the engine's default.
    pub shm_bytes: Option<u64>,
    /// Limits of each process (getrlimit(2)).
    pub ulimits: Vec<Ulimit>,
}

/// A limit of each process; -1 is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ulimit {
    /// Its name, as `nofile`.
    pub name: String,
    /// What holds unless the process raises it.
    pub soft: i64,
    /// The most that it can raise it to.
    pub hard: i64,
}

/// A file system in memory. It has no devices and no set-user-id programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tmpfs {
    /// Its absolute path.
    pub target: String,
    /// Its size in bytes; none leaves it to the bound of memory.
    pub size_bytes: Option<u64>,
    /// Whether programs in it can be run.
    pub exec: bool,
    /// Permission bits of its root.
    pub mode: u32,
    /// Numbers of its user and group; none is root.
    pub owner: Option<(u32, u32)>,
    /// Whether it can only be read.
    pub read_only: bool,
}

impl Tmpfs {
    /// Its options, as mount(8) takes them.
    #[must_use]
    pub fn options(&self) -> String {
        let mut options = vec![
            if self.read_only { "ro" } else { "rw" }.to_owned(),
            "nosuid".into(),
            "nodev".into(),
            if self.exec { "exec" } else { "noexec" }.into(),
        ];
        options.extend(self.size_bytes.map(|bytes| format!("size={bytes}")));
        options.push(format!("mode={:o}", self.mode));
        options.extend(self.owner.map(|(user, group)| format!("uid={user},gid={group}")));
        options.join(",")
    }
}

/// A directory that outlives the container, in a volume that belongs to its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptArea {
    /// Its absolute path.
    pub target: String,
    /// What tells its volume from the others of the key: a word.
    pub role: &'static str,
    /// Bytes that it may hold (option `size` of the driver `local`); none is no bound.
    pub size_bytes: Option<u64>,
    /// Whether it has to be given to the plan's user, because the image's own owner is another.
    pub of_user: bool,
}

/// What is reachable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Which network.
    pub mode: NetworkMode,
    /// Servers of names.
    pub dns: Vec<String>,
    /// Domains in which short names are looked for.
    pub dns_search: Vec<String>,
    /// Options of looking names up, as in resolv.conf(5).
    pub dns_options: Vec<String>,
    /// Names with their addresses, as `name:address`.
    pub add_hosts: Vec<String>,
}

/// Which network a container has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// The engine's default one.
    Default,
    /// Nothing but its own loopback.
    None,
    /// One of the engine's that the user made.
    Named(String),
}

impl NetworkMode {
    /// As the engine takes it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Default => "bridge",
            Self::None => "none",
            Self::Named(name) => name,
        }
    }
}

/// Graphics processors that a container sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GpuRequest {
    /// The driver; empty is any.
    pub driver: String,
    /// How many; -1 is all. Not set where they are named.
    pub count: Option<i64>,
    /// Which.
    pub devices: Vec<String>,
    /// What they are used for, as `compute`; always `gpu`, too.
    pub capabilities: Vec<String>,
}

/// Variables of commands. They are handed over with each, and are in nothing that the engine keeps: whoever may ask it sees
/// none of them, and other values need no other container.
pub type Variables = BTreeMap<ByteString, Secret<ByteString>>;

impl Plan {
    /// Everything that a container is made with, as bytes for a digest: two plans with the same need no new container.
    /// Variables are not in it. It holds options of drivers: it is digested, and not shown or kept.
    ///
    /// # Errors
    /// It cannot be written down, which is a fault of this program.
    pub fn digest_input(&self) -> Result<Vec<u8>, Error> {
        written(&(self, self.drivers()))
    }

    /// The same by parts, each with its name for people: what makes two plans differ is told by them.
    ///
    /// # Errors
    /// As [`Self::digest_input`].
    pub fn parts_for_digest(&self) -> Result<[(&'static str, Vec<u8>); 5], Error> {
        let mounts = (&self.mounts, self.drivers(), &self.kept, &self.tmpfs, &self.gpus);
        let others = (
            (&self.platform, &self.runtime, &self.workdir),
            (&self.hostname, &self.domainname, &self.hardening),
            (&self.sysctls, &self.labels),
        );
        Ok([
            ("mounts", written(&mounts)?),
            ("network", written(&self.network)?),
            ("limits", written(&self.limits)?),
            ("user", written(&(&self.user, &self.groups))?),
            ("settings", written(&others)?),
        ])
    }

    fn drivers(&self) -> Vec<impl Serialize> {
        self.mounts.iter().map(Mount::exposed_driver_options).collect()
    }
}

fn written(part: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(part).map_err(|error| Error::internal("write the plan of a container down", error))
}
