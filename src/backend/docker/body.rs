//! A plan in the engine's words: everything that a container is made with. Nothing is decided here.

use std::{collections::HashMap, path::Path};

use bollard::models::{
    ContainerCreateBody, DeviceRequest, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, MountVolumeOptions,
    MountVolumeOptionsDriverConfig, ResourcesUlimits, VolumeCreateRequest,
};
use herm_protocol::Error;

use super::{
    carrier,
    image::Programs,
    leash, meet, names,
    outside::{self, Wish},
    prepare::Prepared,
    secret::Known,
};
use crate::{
    backend::local::Mode,
    policy::{KeptArea, Plan},
};

/// Roles of volumes that a key may have, whatever it was opened with.
const ROLES: [&str; 2] = ["root", "workspace"];

/// What waits until nobody holds the other end of a pipe.
const WAIT: &str = "while read -r _; do :; done <\"$1\"";

/// What a container is made of, and for whom.
#[derive(Debug)]
pub(super) struct Making<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) name: &'a str,
    /// The directory in which clients listen for the resident.
    pub(super) meeting: &'a Path,
    pub(super) secret: &'a Known,
    pub(super) labels: HashMap<String, String>,
}

/// The names of the volumes of a sandbox.
pub(super) fn names_of(areas: &[KeptArea], container: &str) -> Vec<String> {
    areas.iter().map(|area| name_of(area.role, container)).collect()
}

/// The names that volumes of a sandbox may have.
pub(super) fn volumes_of(container: &str) -> Vec<String> {
    ROLES.iter().map(|role| name_of(role, container)).collect()
}

fn name_of(role: &str, container: &str) -> String {
    format!("{container}-{role}")
}

/// What the engine is asked for.
///
/// # Errors
/// A value that the engine has no number for.
pub(super) fn of(making: &Making<'_>, mode: Mode) -> Result<ContainerCreateBody, Error> {
    let plan = &making.prepared.plan;
    let (entrypoint, command) = first_process(making, mode);
    let secret = (mode == Mode::Resident).then(|| making.secret.variable());
    let mut labels: HashMap<String, String> = plan.labels.clone().into_iter().collect();
    labels.extend(making.labels.clone());
    let fingerprint = making.prepared.fingerprint.clone();
    labels.insert(names::FINGERPRINT.to_owned(), fingerprint.whole);
    labels.insert(names::PARTS.to_owned(), fingerprint.parts);
    Ok(ContainerCreateBody {
        image: Some(making.prepared.image.id.clone()),
        entrypoint: Some(entrypoint),
        cmd: Some(command),
        user: plan.user.clone(),
        working_dir: Some(plan.workdir.clone()),
        hostname: plan.hostname.clone(),
        domainname: plan.domainname.clone(),
        env: Some(secret.into_iter().collect()),
        labels: Some(labels),
        host_config: Some(host_config(making, mode)?),
        // One of the image would run beside every command, with what only the first process is to know.
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..HealthConfig::default()
        }),
        ..ContainerCreateBody::default()
    })
}

/// What runs as process 1, and its arguments.
fn first_process(making: &Making<'_>, mode: Mode) -> (Vec<String>, Vec<String>) {
    let leash = format!("{}/{}", meet::MOUNTED, leash::NAME);
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    match (mode, &making.prepared.binary) {
        (Mode::Resident, Some(binary)) => {
            let mut arguments = words(&["init", "--dial", meet::MOUNTED]);
            let life = making.prepared.life;
            if life.with_its_caller {
                arguments.extend([String::from("--leash"), leash]);
            }
            if let Some(idle) = life.idle {
                arguments.extend([String::from("--idle"), format!("{}ms", idle.as_millis().max(1))]);
            }
            (vec![carrier::program(binary)], arguments)
        }
        // It ends when nobody holds the other end of the pipe any more, and needs no other program for that.
        _ => match making.prepared.programs {
            Programs {
                shell: None,
                cat: Some(cat),
            } => (words(&[cat]), vec![leash]),
            Programs { shell, .. } => (
                words(&[shell.map_or("/bin/sh", |shell| shell.posix), "-c", WAIT, "sh"]),
                vec![leash],
            ),
        },
    }
}

fn host_config(making: &Making<'_>, mode: Mode) -> Result<HostConfig, Error> {
    let plan = &making.prepared.plan;
    let (limits, hardening) = (&plan.limits, &plan.hardening);
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let (mut mounts, mut binds) = (Vec::new(), Vec::new());
    for planned in &plan.mounts {
        match outside::wish(planned) {
            Wish::Mount(mount) => mounts.push(*mount),
            Wish::Bind(bind) => binds.push(bind),
        }
    }
    Ok(HostConfig {
        cap_drop: Some(hardening.cap_drop.clone()),
        cap_add: Some(hardening.cap_add.iter().cloned().collect()),
        security_opt: Some(hardening.security_options()),
        readonly_rootfs: Some(hardening.read_only_root),
        privileged: Some(false),
        // The resident reaps; without it somebody has to.
        init: Some(mode == Mode::Native || hardening.init && making.prepared.binary.is_none()),
        pids_limit: number("pids", limits.pids)?,
        memory: number("memory", limits.memory_bytes)?,
        memory_swap: number("memory and swap", limits.memory_and_swap_bytes)?,
        memory_reservation: number("memory reservation", limits.memory_reservation_bytes)?,
        nano_cpus: number("processors", limits.nano_cpus)?,
        cpu_shares: number("processor shares", limits.cpu_shares)?,
        cpuset_cpus: limits.cpuset_cpus.clone(),
        cpuset_mems: limits.cpuset_mems.clone(),
        shm_size: number("/dev/shm", limits.shm_bytes)?,
        storage_opt: limits
            .disk_bytes
            .map(|bytes| [("size".to_owned(), bytes.to_string())].into()),
        ulimits: Some(
            limits
                .ulimits
                .iter()
                .map(|limit| ResourcesUlimits {
                    name: Some(limit.name.clone()),
                    soft: Some(limit.soft),
                    hard: Some(limit.hard),
                })
                .collect(),
        ),
        tmpfs: Some(
            plan.tmpfs
                .iter()
                .map(|tmpfs| (tmpfs.target.clone(), tmpfs.options()))
                .collect(),
        ),
        mounts: Some(own_mounts(making, mode)?.into_iter().chain(mounts).collect()),
        binds: some(&binds),
        group_add: some(&plan.groups),
        network_mode: Some(plan.network.mode.name().to_owned()),
        dns: some(&plan.network.dns),
        dns_search: some(&plan.network.dns_search),
        dns_options: some(&plan.network.dns_options),
        extra_hosts: some(&plan.network.add_hosts),
        sysctls: (!plan.sysctls.is_empty()).then(|| plan.sysctls.clone().into_iter().collect()),
        device_requests: (!plan.gpus.is_empty()).then(|| graphics(plan)),
        runtime: plan.runtime.clone(),
        auto_remove: Some(making.prepared.life.once),
        ipc_mode: Some("private".into()),
        cgroupns_mode: hardening
            .private_cgroups
            .then_some(HostConfigCgroupnsModeEnum::PRIVATE),
        ..HostConfig::default()
    })
}

fn graphics(plan: &Plan) -> Vec<DeviceRequest> {
    let requests = plan.gpus.iter().map(|request| DeviceRequest {
        driver: Some(request.driver.clone()),
        count: request.count,
        device_ids: (!request.devices.is_empty()).then(|| request.devices.clone()),
        capabilities: Some(vec![
            std::iter::once("gpu".to_owned())
                .chain(request.capabilities.iter().cloned())
                .collect(),
        ]),
        options: None,
    });
    requests.collect()
}

/// The executor's own mounts, and the volumes of the key.
fn own_mounts(making: &Making<'_>, mode: Mode) -> Result<Vec<Mount>, Error> {
    let meeting = making.meeting.to_str().ok_or_else(|| {
        let problem = format!(
            "is no text, which the engine takes only: {}",
            making.meeting.display()
        );
        Error::invalid_argument("the directory for sandboxes", problem)
    })?;
    let mut all = vec![Mount {
        typ: Some(MountType::BIND),
        source: Some(meeting.to_owned()),
        target: Some(meet::MOUNTED.to_owned()),
        read_only: Some(true),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }];
    if let (Mode::Resident, Some(binary)) = (mode, &making.prepared.binary) {
        all.push(carrier::mount(binary));
    }
    all.extend(making.prepared.plan.kept.iter().map(|area| kept(making, area)));
    Ok(all)
}

fn kept(making: &Making<'_>, area: &KeptArea) -> Mount {
    let options = area
        .size_bytes
        .map(|bytes| [("size".to_owned(), bytes.to_string())].into());
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(name_of(area.role, making.name)),
        target: Some(area.target.clone()),
        volume_options: Some(MountVolumeOptions {
            labels: Some(making.labels.clone()),
            driver_config: options.map(|options| MountVolumeOptionsDriverConfig {
                name: Some("local".into()),
                options: Some(options),
            }),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

/// The volumes of the key, which are made before the container is: an engine that makes them for the container may leave out
/// the labels by which they are found again.
pub(super) fn volumes(making: &Making<'_>) -> Vec<VolumeCreateRequest> {
    let wanted = making.prepared.plan.kept.iter().map(|area| {
        let mount = kept(making, area);
        let options = mount.volume_options.unwrap_or_default();
        let driver = options.driver_config.unwrap_or_default();
        VolumeCreateRequest {
            name: mount.source,
            labels: options.labels,
            driver: driver.name,
            driver_opts: driver.options,
            ..VolumeCreateRequest::default()
        }
    });
    wanted.collect()
}

fn number(what: &str, value: Option<u64>) -> Result<Option<i64>, Error> {
    let Some(value) = value else {
        return Ok(None);
    };
    i64::try_from(value).map(Some).map_err(|_| {
        let problem = format!("is {value}, which is more than an engine can be asked for");
        Error::invalid_argument(what, problem)
    })
}
