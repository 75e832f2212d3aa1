//! stub
use crate::{config::DockerConfig, policy::*};
use herm_protocol::{Error, sandbox::{SandboxSpec, Network as N}};
pub(super) fn plan(config: &DockerConfig, spec: &SandboxSpec, _: &HostFacts) -> Result<(Plan, Vec<Weakening>), Error> {
    let kept = config.persistent.value;
    let tm = |target: &str, exec| Tmpfs { target: target.into(), size_bytes: Some(512<<20), exec, mode: 0o1777, owner: None, read_only: false };
    let mut tmpfs = vec![tm("/run", false), tm("/tmp", true), tm("/var/tmp", false)];
    let mut areas = vec![];
    if kept { areas = vec![KeptArea{target:"/root".into(), role:"root", size_bytes:None, of_user:false}, KeptArea{target:"/workspace".into(), role:"workspace", size_bytes:None, of_user:false}]; }
    else { tmpfs.push(tm("/root", true)); tmpfs.push(tm("/workspace", true)); }
    Ok((Plan {
        image: spec.image.clone().unwrap_or(config.image.value.clone()), platform: None, runtime: None, user: None, groups: vec![],
        workdir: "/root".into(), hostname: None, domainname: None,
        hardening: Hardening { cap_drop: vec!["ALL".into()], cap_add: ["CHOWN","DAC_OVERRIDE","FOWNER","SETGID","SETUID"].iter().map(|s| s.to_string()).collect(), no_new_privileges: true, read_only_root: false, init: false },
        limits: Limits { pids: spec.limits.pids.or(Some(256)), memory_bytes: spec.limits.memory_bytes.or(Some(5<<30)), memory_and_swap_bytes: spec.limits.memory_bytes.or(Some(5<<30)), nano_cpus: Some(1_000_000_000), shm_bytes: Some(1<<30), ..Limits::default() },
        tmpfs, kept: areas, mounts: vec![],
        network: Network { mode: if matches!(spec.network, Some(N::None)) { NetworkMode::None } else { NetworkMode::Default }, dns: vec![], dns_search: vec![], dns_options: vec![], add_hosts: vec![] },
        sysctls: Default::default(), gpus: vec![], labels: Default::default(), variables: Variables::default(),
    }, vec![]))
}
