//! What commands may not do.

use std::collections::BTreeSet;

use super::{
    super::{HostFacts, Refusal, Weakening, extra::ExtraArgs},
    Hardening,
};
use crate::config::DockerConfig;
use herm_protocol::Error;

/// The capabilities that a container gets back: files of others can be read, changed and given away, and a program that
/// starts as root can become another user.
pub(in super::super) const RESTORED: [&str; 5] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];

/// Those of them that only becoming another user needs.
const OF_SWITCHING: [&str; 2] = ["SETGID", "SETUID"];

/// Every capability of Linux (capabilities(7)), without `CAP_`.
const CAPABILITIES: [&str; 41] = [
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// What stands for all of them.
pub(in super::super) const ALL: &str = "ALL";

/// The name of a capability as engines write it: in capitals, without `CAP_`.
///
/// # Errors
/// There is none of that name.
pub(in super::super) fn capability(text: &str) -> Result<String, Refusal> {
    let name = text.trim().to_ascii_uppercase();
    let name = name.strip_prefix("CAP_").unwrap_or(&name);
    if name == ALL || CAPABILITIES.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(Refusal::new(
        format!("{text:?} is no capability of Linux"),
        "correct it; capabilities(7) has their names",
    ))
}

/// What a container may not do; `switches` tells whether its programs may become other users.
pub(super) fn decide(
    config: &DockerConfig,
    extra: &ExtraArgs,
    facts: &HostFacts,
    switches: bool,
    told: &mut Vec<Weakening>,
) -> Result<Hardening, Error> {
    let given = |name: &&str| switches || !OF_SWITCHING.contains(name);
    let dropped = |name: &str| extra.cap_drop.contains(name) || extra.cap_drop.contains(ALL);
    let cap_add: BTreeSet<String> = RESTORED
        .iter()
        .filter(|name| given(name) && !dropped(name))
        .map(|name| (*name).to_owned())
        .collect();
    if let Some(name) = extra.cap_add.iter().find(|name| !cap_add.contains(*name)) {
        let why = if dropped(name) {
            "--cap-drop takes it away"
        } else {
            "commands run as a user that gets no other one's rights"
        };
        let refusal = Refusal::new(format!("--cap-add {name} cannot be had: {why}"), "take it out");
        return Err(refusal.of_setting(&config.extra_args));
    }
    let snap = &config.snap_compat;
    if snap.value {
        told.push(Weakening::new(
            "no_new_privileges",
            format!(
                "programs can gain more privileges than commands have: {} takes no-new-privileges away, which Docker from a \
                 snap cannot do",
                snap.asker()
            ),
        ));
    }
    if !facts.seccomp {
        told.push(Weakening::new(
            "seccomp",
            "no filter of system calls is known to be in force: the engine has none, or one of its owner's (seccomp); build its \
             host's kernel with CONFIG_SECCOMP_FILTER, and leave seccomp-profile of the engine's daemon.json at its default",
        ));
    }
    Ok(Hardening {
        cap_drop: vec![ALL.to_owned()],
        cap_add,
        no_new_privileges: !snap.value,
        read_only_root: extra.read_only_root,
        private_cgroups: extra.private_cgroups,
        init: extra.init.unwrap_or(!snap.value),
    })
}
