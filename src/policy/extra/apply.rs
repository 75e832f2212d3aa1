//! What each option that is taken does to what is asked for.

use std::net::IpAddr;

use super::{ExtraArgs, value};
use crate::{
    config::{Secret, item::is_variable, parse_size},
    policy::{
        NetworkMode, Refusal,
        mount::{self, Asked, Here},
        plan::hardening::{RESTORED, capability},
    },
};

/// Whether an option is taken; a refusal reads on after its name.
pub(super) type Taken = Result<(), Refusal>;

fn refuse<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(what, fix))
}

/// Keeps the value of what can be said once.
fn once<T: PartialEq>(place: &mut Option<T>, value: T) -> Taken {
    match place {
        Some(other) if *other != value => refuse("it stands twice, with two values", "leave one of them"),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

/// A word of these letters besides letters and digits; it begins with one of the latter.
fn word(text: &str, letters: &str, what: &str) -> Result<String, Refusal> {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || letters.contains(letter);
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(inner) {
        return Ok(text.to_owned());
    }
    refuse(format!("{text:?} is no {what}"), "correct it")
}

fn size(text: &str) -> Result<u64, Refusal> {
    match parse_size(text) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => refuse(
            format!("{text:?} is no size"),
            "write a number with a unit, such as 512m or 1g",
        ),
    }
}

pub(super) fn add_host(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked.add_hosts.push(value::host(value)?);
    Ok(())
}

pub(super) fn cap_add(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let name = capability(value)?;
    if !RESTORED.contains(&name.as_str()) {
        return refuse(
            format!("{name} is more than the container gets: {}", RESTORED.join(", ")),
            "take it out, and have the image hold what needed it",
        );
    }
    asked.cap_add.insert(name);
    Ok(())
}

pub(super) fn cap_drop(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked.cap_drop.insert(capability(value)?);
    Ok(())
}

pub(super) fn cgroupns(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value {
        "private" => {
            asked.private_cgroups = true;
            Ok(())
        }
        _ => refuse("it opens the container's own namespaces", "take it out"),
    }
}

pub(super) fn cpu_shares(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value.parse() {
        Ok(shares @ 2..=1024) => once(&mut asked.cpu_shares, shares),
        _ => refuse(
            format!("{value:?} is no weight from 2 to 1024, the usual one"),
            "write one, or use --cpus",
        ),
    }
}

pub(super) fn cpus(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value::billionths(value) {
        Some(nano) if nano > 0 => once(&mut asked.nano_cpus, nano),
        _ => refuse(
            format!("{value:?} is no number of processors"),
            "write one such as 0.5 or 2",
        ),
    }
}

pub(super) fn cpuset_cpus(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.cpuset_cpus, value::number_set(value)?)
}

pub(super) fn cpuset_mems(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.cpuset_mems, value::number_set(value)?)
}

pub(super) fn dns(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value.parse::<IpAddr>() {
        Ok(address) => asked.dns.push(address.to_string()),
        Err(_) => return refuse(format!("{value:?} is no address"), "write one such as 192.0.2.1"),
    }
    Ok(())
}

pub(super) fn dns_option(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked
        .dns_options
        .push(word(value, ":-_.", "option of looking names up")?);
    Ok(())
}

pub(super) fn dns_search(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    // A dot alone: no domain is searched.
    let domain = if value == "." {
        value.to_owned()
    } else {
        word(value, ".-_", "domain")?
    };
    asked.dns_search.push(domain);
    Ok(())
}

pub(super) fn domainname(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.domainname, word(value, ".-", "domain")?)
}

pub(super) fn env(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let (name, value) = match value.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (value, None),
    };
    if !is_variable(name) {
        return refuse(
            format!(
                "{:?} is no name of a variable",
                name.split(':').next().unwrap_or_default()
            ),
            "use letters, digits and _, no digit first",
        );
    }
    let Some(value) = value else {
        let fix = format!("name {name} in terminal.docker_forward_env");
        return refuse(format!("{name} has no value, and none is taken from here"), fix);
    };
    if value.contains('\0') {
        return refuse(format!("the value of {name} has a NUL in it"), "take it out");
    }
    match asked.env.insert(name.to_owned(), Secret::new(value.to_owned())) {
        Some(other) if other.expose() != value => refuse(
            format!("{name} stands twice, with two values"),
            "leave one of them",
        ),
        _ => Ok(()),
    }
}

pub(super) fn gpus(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked.gpus.push(value::gpus(value)?);
    Ok(())
}

pub(super) fn group_add(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked.groups.push(word(value, "_.-", "group")?);
    Ok(())
}

pub(super) fn hostname(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    if value.len() > 64 {
        return refuse("a host name has 64 letters or fewer", "shorten it");
    }
    once(&mut asked.hostname, word(value, ".-", "host name")?)
}

#[expect(clippy::unnecessary_wraps, reason = "the table holds functions of one type")]
pub(super) fn init(asked: &mut ExtraArgs, on: bool) -> Taken {
    asked.init = Some(on);
    Ok(())
}

pub(super) fn ipc(_: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value {
        "private" => Ok(()),
        _ => refuse("it opens the container's own namespaces", "take it out"),
    }
}

/// What begins so tells who owns a container.
const OWNERSHIP: [&str; 4] = ["hermes-", "herm.", "herm-", "com.docker."];

pub(super) fn label(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let (name, content) = value.split_once('=').unwrap_or((value, ""));
    if name.is_empty()
        || name
            .chars()
            .any(|letter| letter.is_control() || letter.is_whitespace())
    {
        return refuse(format!("{name:?} is no name of a label"), "write it as NAME=TEXT");
    }
    if OWNERSHIP.iter().any(|start| name.starts_with(start)) {
        return refuse(
            format!("{name} is one of the labels that tell who owns a container"),
            "take another name",
        );
    }
    match asked.labels.insert(name.to_owned(), content.to_owned()) {
        Some(other) if other != content => refuse(
            format!("{name} stands twice, with two texts"),
            "leave one of them",
        ),
        _ => Ok(()),
    }
}

pub(super) fn memory(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.memory_bytes, size(value)?)
}

pub(super) fn memory_reservation(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.memory_reservation_bytes, size(value)?)
}

pub(super) fn memory_swap(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.memory_and_swap_bytes, size(value)?)
}

pub(super) fn mount(asked: &mut ExtraArgs, value: &str, here: &Here) -> Taken {
    match mount::parse_mount_option(value.trim(), here)? {
        Asked::Mount(mount) => asked.mounts.push(mount),
        Asked::Tmpfs(tmpfs) => asked.tmpfs.push(tmpfs),
    }
    Ok(())
}

pub(super) fn volume(asked: &mut ExtraArgs, value: &str, here: &Here) -> Taken {
    asked.mounts.push(mount::parse_volume(value.trim(), here)?);
    Ok(())
}

pub(super) fn network(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let mode = match value {
        "none" => NetworkMode::None,
        "bridge" | "default" => NetworkMode::Default,
        "host" => {
            return refuse(
                "the host's own network gives the container every service that listens on it",
                "take it out, or make a network: docker network create NAME",
            );
        }
        other if other.contains(':') => {
            return refuse(
                format!("{other:?} is the network of something else that runs on the host"),
                "name a network, or take it out",
            );
        }
        name => NetworkMode::Named(word(name, "_.-", "name of a network")?),
    };
    once(&mut asked.network, mode)
}

pub(super) fn no_healthcheck(_: &mut ExtraArgs, on: bool) -> Taken {
    if on {
        return Ok(());
    }
    let what = "no container has a health check: it would run beside every command";
    Err(Refusal::new(what, "leave it out"))
}

pub(super) fn pids_limit(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value
        .parse::<i64>()
        .ok()
        .and_then(|pids| u64::try_from(pids).ok())
    {
        Some(pids) if pids > 0 => once(&mut asked.pids, pids),
        _ => refuse(
            format!("{value:?} is no number of processes, and a container is not without one"),
            "write a number from 1",
        ),
    }
}

pub(super) fn platform(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let parts: Vec<_> = value.split('/').collect();
    match parts.as_slice() {
        ["linux"] | ["linux", _] | ["linux", _, _] => {
            once(&mut asked.platform, word(value, "/_.-", "platform")?)
        }
        _ => refuse(
            format!("{value:?} is no platform of Linux"),
            "write one such as linux/arm64",
        ),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the table holds functions of one type")]
pub(super) fn read_only(asked: &mut ExtraArgs, on: bool) -> Taken {
    asked.read_only_root = on;
    Ok(())
}

/// Runtimes that isolate as the engine's own one does, or more.
const RUNTIMES: [&str; 9] = [
    "crun",
    "io.containerd.kata.v2",
    "io.containerd.runc.v2",
    "io.containerd.runsc.v1",
    "kata",
    "kata-runtime",
    "nvidia",
    "runc",
    "runsc",
];

pub(super) fn runtime(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    if !RUNTIMES.contains(&value) {
        return refuse(
            format!("{value:?} is not known to isolate: {} are", RUNTIMES.join(", ")),
            "name one of these, or make yours the engine's default-runtime",
        );
    }
    once(&mut asked.runtime, value.to_owned())
}

pub(super) fn security_opt(_: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let (name, setting) = value
        .split_once('=')
        .or_else(|| value.split_once(':'))
        .unwrap_or((value, "true"));
    match (name, setting) {
        ("no-new-privileges", "true") => Ok(()),
        ("no-new-privileges", _) => refuse(
            "programs could gain more privileges than commands have",
            "take it out",
        ),
        _ => refuse(
            format!("{name} replaces a protection of the engine, and herm cannot tell by what"),
            "take it out; an engine's own default can be another: seccomp-profile of its daemon.json",
        ),
    }
}

pub(super) fn shm_size(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.shm_bytes, size(value)?)
}

pub(super) fn storage_opt(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    match value.split_once('=') {
        Some(("size", text)) => once(&mut asked.disk_bytes, size(text)?),
        _ => refuse(
            format!("{value:?} is an option of the engine's storage"),
            "write size=SIZE, or use terminal.container_disk",
        ),
    }
}

/// Parameters that each container has its own of.
const OWN_PARAMETERS: [&str; 8] = [
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.sem",
    "kernel.shm_rmid_forced",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
];

pub(super) fn sysctl(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let Some((name, content)) = value.split_once('=') else {
        return refuse(format!("{value:?} has no value"), "write it as NAME=VALUE");
    };
    let own = OWN_PARAMETERS.contains(&name) || name.starts_with("net.") || name.starts_with("fs.mqueue.");
    if !own {
        return refuse(
            format!("{name} is a parameter of the host's kernel"),
            "take it out; those of net., fs.mqueue. and of kernel.shm and kernel.msg are the container's own",
        );
    }
    let name = word(name, "._-", "name of a parameter")?;
    match asked.sysctls.insert(name, content.to_owned()) {
        Some(other) if other != content => refuse("it stands twice, with two values", "leave one of them"),
        _ => Ok(()),
    }
}

pub(super) fn tmpfs(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    asked.tmpfs.push(value::tmpfs(value)?);
    Ok(())
}

pub(super) fn ulimit(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    let limit = value::ulimit(value)?;
    if asked
        .ulimits
        .iter()
        .any(|other| other.name == limit.name && *other != limit)
    {
        return refuse(
            format!("{} stands twice, with two values", limit.name),
            "leave one of them",
        );
    }
    asked.ulimits.push(limit);
    Ok(())
}

pub(super) fn user(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    once(&mut asked.user, value::user(value)?)
}

pub(super) fn workdir(asked: &mut ExtraArgs, value: &str, _: &Here) -> Taken {
    if !value.starts_with('/') || value.chars().any(char::is_control) {
        return refuse(
            format!("{value:?} is no absolute path of the container"),
            "write one such as /work",
        );
    }
    once(&mut asked.workdir, mount::clean(value))
}
