//! What the engine's host can enforce.

use serde::{Deserialize, Serialize};

/// The version of control groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CgroupVersion {
    /// A tree for each controller.
    V1,
    /// One tree.
    V2,
    /// The engine does not say.
    #[default]
    Unknown,
}

/// What the engine's host can enforce, as the engine tells of it (`docker info`). What it does not tell is false: a bound
/// that is not known to hold does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one answer of the engine")]
pub struct HostFacts {
    /// The number of processes can be bounded (`PidsLimit`).
    pub pids: bool,
    /// Memory can be bounded (`MemoryLimit`).
    pub memory: bool,
    /// Memory and swap together can be bounded (`SwapLimit`), or the host is known to have no swap.
    pub swap: bool,
    /// The share of processors can be bounded (`CpuCfsPeriod` and `CpuCfsQuota`).
    pub cpu: bool,
    /// Weights of processor time are heard (`CPUShares`).
    pub cpu_shares: bool,
    /// Processors can be chosen (`CPUSet`).
    pub cpuset: bool,
    /// The container's own layer can be bounded (`storage-opt size`): the engine was seen to take it.
    pub layer_quota: bool,
    /// Named volumes can be bounded (option `size` of the driver `local`): the engine was seen to take it.
    pub volume_quota: bool,
    /// A filter of system calls is in force (`name=seccomp` in `SecurityOptions`, its profile not `unconfined`).
    pub seccomp: bool,
    /// The engine runs as an ordinary user (`name=rootless`): root of a container is that user.
    pub rootless: bool,
    /// Users of containers are others on the host (`name=userns`).
    pub user_namespace: bool,
    /// The version of control groups (`CgroupVersion`).
    pub cgroup: CgroupVersion,
    /// Processors of the host (`NCPU`); 0 where it is not known.
    pub processors: u64,
}

impl HostFacts {
    /// A host that enforces everything.
    #[must_use]
    pub fn complete() -> Self {
        Self {
            pids: true,
            memory: true,
            swap: true,
            cpu: true,
            cpu_shares: true,
            cpuset: true,
            layer_quota: true,
            volume_quota: true,
            seccomp: true,
            rootless: false,
            user_namespace: false,
            cgroup: CgroupVersion::V2,
            processors: 0,
        }
    }

    /// The capabilities about limits that a backend on this host may declare.
    #[must_use]
    pub fn capabilities(&self) -> Vec<&'static str> {
        [
            (self.cpu, "limits_cpu"),
            (self.layer_quota && self.volume_quota, "limits_disk"),
            (self.memory && self.swap, "limits_memory"),
            (self.pids, "limits_pids"),
        ]
        .into_iter()
        .filter_map(|(can, capability)| can.then_some(capability))
        .collect()
    }

    /// What to do about a controller that is missing, for people.
    pub(super) fn controller_fix(&self, controller: &str) -> String {
        match (self.cgroup, self.rootless) {
            (CgroupVersion::V1, true) => {
                "a rootless engine bounds nothing on cgroup v1: boot the engine's host with cgroup v2".into()
            }
            (_, true) => format!(
                "delegate the controller {controller} to the engine's user (systemd: Delegate={controller} of user@.service)"
            ),
            (_, false) => format!("enable the controller {controller} on the engine's host"),
        }
    }
}
