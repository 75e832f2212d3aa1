//! `docker_extra_args`: options of `docker run` beyond the settings. Those of a known meaning become parts of the plan; each
//! other one is refused by its name, with the reason and the way out.

mod apply;
mod option;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::{option::parse, value::user};
use super::{GpuRequest, NetworkMode, Tmpfs, Ulimit, mount::Mount};
use crate::config::Secret;

/// What the options ask for. What is not asked for is none or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ExtraArgs {
    pub(super) add_hosts: Vec<String>,
    pub(super) cap_add: BTreeSet<String>,
    pub(super) cap_drop: BTreeSet<String>,
    pub(super) private_cgroups: bool,
    pub(super) cpu_shares: Option<u64>,
    pub(super) cpuset_cpus: Option<String>,
    pub(super) cpuset_mems: Option<String>,
    pub(super) disk_bytes: Option<u64>,
    pub(super) dns: Vec<String>,
    pub(super) dns_options: Vec<String>,
    pub(super) dns_search: Vec<String>,
    pub(super) domainname: Option<String>,
    pub(super) env: BTreeMap<String, Secret<String>>,
    pub(super) gpus: Vec<GpuRequest>,
    pub(super) groups: Vec<String>,
    pub(super) hostname: Option<String>,
    pub(super) init: Option<bool>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) memory_reservation_bytes: Option<u64>,
    pub(super) memory_and_swap_bytes: Option<u64>,
    pub(super) mounts: Vec<Mount>,
    pub(super) nano_cpus: Option<u64>,
    pub(super) network: Option<NetworkMode>,
    pub(super) pids: Option<u64>,
    pub(super) platform: Option<String>,
    pub(super) read_only_root: bool,
    pub(super) runtime: Option<String>,
    pub(super) shm_bytes: Option<u64>,
    pub(super) sysctls: BTreeMap<String, String>,
    pub(super) tmpfs: Vec<Tmpfs>,
    pub(super) ulimits: Vec<Ulimit>,
    pub(super) user: Option<String>,
    pub(super) workdir: Option<String>,
}
