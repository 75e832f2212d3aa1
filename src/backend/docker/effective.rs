//! What a container may do, as its caller is told.

use herm_protocol::{
    policy::AccessLevel,
    sandbox::{EffectivePolicy, ResourceLimits},
};

use crate::policy::Plan;

/// Billionths in a thousandth.
const NANO_IN_MILLI: u64 = 1_000_000;

/// The policy that a container was made by, and how far its commands reach by what the engine has really mounted.
pub(super) fn policy(plan: &Plan, host_access: AccessLevel) -> EffectivePolicy {
    let (hardening, limits) = (&plan.hardening, &plan.limits);
    let drops_all = hardening
        .cap_drop
        .iter()
        .any(|name| name.eq_ignore_ascii_case("all"));
    EffectivePolicy {
        network: Some(plan.network.mode.name().to_owned()),
        user: plan.user.clone(),
        // Otherwise it depends on what the engine gives.
        capabilities: drops_all.then(|| hardening.cap_add.iter().cloned().collect()),
        no_new_privileges: Some(hardening.no_new_privileges),
        read_only_root: Some(hardening.read_only_root),
        limits: ResourceLimits {
            memory_bytes: limits.memory_bytes,
            pids: limits.pids,
            cpu_millis: limits.nano_cpus.map(|nano| nano / NANO_IN_MILLI),
            disk_bytes: limits.disk_bytes,
        },
        host_access: Some(host_access),
    }
}
