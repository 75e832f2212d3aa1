//! What an engine has made of what it was asked for.
//!
//! An engine that does not know a wish leaves it out, and says nothing: podman takes what Docker is asked for, but makes the
//! container with its own runtime whatever runtime is asked for, and mounts a whole volume where a part of it is. So what
//! was made is looked at before anything runs in it.

use bollard::models::{ContainerCreateBody, ContainerInspectResponse, HostConfig, Mount, MountType};
use herm_protocol::{Error, ErrorKind};

use super::carrier;

/// Checks that a container is what was asked for.
///
/// # Errors
/// Wishes that the engine has not heard, by name.
pub(super) fn check(
    name: &str,
    asked: &ContainerCreateBody,
    given: &ContainerInspectResponse,
) -> Result<(), Error> {
    let unheard = unheard(asked, given);
    if unheard.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the engine made the container {name} without what was asked for, and said nothing of it: {}",
        unheard.join(", ")
    );
    Err(Error::new(ErrorKind::Unsupported, name, message)
        .with_fix("leave that out (terminal.docker_extra_args, terminal.docker_volumes), or use an engine that can do it"))
}

/// What a container has otherwise than it was asked for, by name.
pub(super) fn unheard(asked: &ContainerCreateBody, given: &ContainerInspectResponse) -> Vec<String> {
    let nothing = HostConfig::default();
    let wished = asked.host_config.as_ref().unwrap_or(&nothing);
    let host = given.host_config.as_ref().unwrap_or(&nothing);
    let mut unheard = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            unheard.push(what);
        }
    };
    let words = [
        ("the runtime", &wished.runtime, &host.runtime),
        ("the processors", &wished.cpuset_cpus, &host.cpuset_cpus),
        ("the nodes of memory", &wished.cpuset_mems, &host.cpuset_mems),
    ];
    for (what, asked, given) in words {
        let asked = asked.as_deref().unwrap_or_default();
        let heard = asked.is_empty() || given.as_deref() == Some(asked);
        hold(heard, format!("{what} {asked}"));
    }
    let domain = asked.domainname.as_deref().unwrap_or_default();
    let told = given
        .config
        .as_ref()
        .and_then(|config| config.domainname.as_deref());
    hold(
        domain.is_empty() || told == Some(domain),
        format!("the domain {domain}"),
    );
    let bounds = [
        ("bound of processes", wished.pids_limit, host.pids_limit),
        ("bound of memory", wished.memory, host.memory),
        ("bound of memory and swap", wished.memory_swap, host.memory_swap),
        (
            "reservation of memory",
            wished.memory_reservation,
            host.memory_reservation,
        ),
        ("share of processors", wished.nano_cpus, host.nano_cpus),
        ("weight of processor time", wished.cpu_shares, host.cpu_shares),
        ("size of /dev/shm", wished.shm_size, host.shm_size),
    ];
    for (what, asked, given) in bounds {
        hold(asked.is_none() || asked == given, format!("the {what}"));
    }
    let read_only = wished.readonly_rootfs != Some(true) || host.readonly_rootfs == Some(true);
    hold(read_only, "the read-only root".to_owned());
    hold(host.privileged != Some(true), "no privileges".to_owned());
    let requests = |host: &HostConfig| host.device_requests.as_ref().map_or(0, Vec::len);
    hold(
        requests(host) >= requests(wished),
        "the graphics processors".to_owned(),
    );
    for mount in wished.mounts.iter().flatten() {
        let target = mount.target.as_deref().unwrap_or_default();
        hold(
            mount.typ != Some(MountType::BIND) || is_bound(mount, host, given),
            format!("what is to be mounted at {target}"),
        );
        hold(
            !is_special(mount) || is_kept(mount, host),
            format!("the options of the volume at {target}"),
        );
    }
    unheard
}

/// Whether what is mounted is what was asked for. Podman reads a comma in a path as the beginning of an option.
fn is_bound(asked: &Mount, host: &HostConfig, given: &ContainerInspectResponse) -> bool {
    let read_only = asked.read_only.unwrap_or_default();
    let mut echoed = host.mounts.iter().flatten();
    let mut points = given.mounts.iter().flatten();
    echoed.any(|mount| {
        (&mount.source, &mount.target) == (&asked.source, &asked.target)
            && mount.read_only.unwrap_or_default() == read_only
    }) || points.any(|point| {
        (&point.source, &point.destination) == (&asked.source, &asked.target)
            && point.rw.unwrap_or(true) != read_only
    })
}

/// Whether a mount is of a part of a volume, of one that takes nothing from the image, or of one that is not simply a folder of
/// the engine's.
fn is_special(mount: &Mount) -> bool {
    let options = mount.volume_options.as_ref();
    mount.typ == Some(MountType::VOLUME)
        && options.is_some_and(|options| {
            let driver = options.driver_config.as_ref();
            // Nothing of an image is where the resident's is mounted.
            let untouched =
                options.no_copy == Some(true) && mount.target.as_deref() != Some(carrier::MOUNTED);
            untouched
                || options.subpath.as_ref().is_some_and(|path| !path.is_empty())
                || driver.is_some_and(|driver| {
                    driver.name.as_deref().is_some_and(|name| name != "local")
                        || driver.options.as_ref().is_some_and(|options| !options.is_empty())
                })
        })
}

/// Whether the engine has taken over a mount with its options.
fn is_kept(asked: &Mount, host: &HostConfig) -> bool {
    let of = |mount: &Mount| {
        let options = mount.volume_options.clone().unwrap_or_default();
        let driver = options.driver_config.unwrap_or_default();
        (
            options.no_copy.unwrap_or_default(),
            options.subpath.unwrap_or_default(),
            driver.name.unwrap_or_default(),
            driver.options.unwrap_or_default(),
        )
    };
    host.mounts
        .iter()
        .flatten()
        .any(|given| given.target == asked.target && of(given) == of(asked))
}

#[cfg(test)]
mod tests {
    use bollard::models::{ContainerConfig, DeviceRequest, MountPoint, MountVolumeOptions};

    use super::*;

    fn asked() -> ContainerCreateBody {
        ContainerCreateBody {
            domainname: Some("d.example".into()),
            host_config: Some(HostConfig {
                runtime: Some("runsc".into()),
                pids_limit: Some(99),
                memory: Some(1 << 20),
                readonly_rootfs: Some(true),
                privileged: Some(false),
                device_requests: Some(vec![DeviceRequest::default()]),
                mounts: Some(vec![
                    volume("/plain", None, false),
                    volume("/part", Some("inner"), false),
                    volume("/untouched", None, true),
                    volume(carrier::MOUNTED, None, true),
                ]),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }

    fn volume(target: &str, subpath: Option<&str>, no_copy: bool) -> Mount {
        Mount {
            typ: Some(MountType::VOLUME),
            target: Some(target.into()),
            volume_options: Some(MountVolumeOptions {
                subpath: subpath.map(Into::into),
                no_copy: Some(no_copy),
                ..MountVolumeOptions::default()
            }),
            ..Mount::default()
        }
    }

    fn made(host: HostConfig, domain: &str) -> ContainerInspectResponse {
        ContainerInspectResponse {
            host_config: Some(host),
            config: Some(ContainerConfig {
                domainname: Some(domain.into()),
                ..ContainerConfig::default()
            }),
            ..ContainerInspectResponse::default()
        }
    }

    #[test]
    fn an_engine_that_gives_what_is_asked_for_is_believed() {
        let host = asked().host_config.unwrap();
        check("c", &asked(), &made(host, "d.example")).unwrap();
        let nothing = ContainerCreateBody::default();
        check("c", &nothing, &ContainerInspectResponse::default()).unwrap();
    }

    /// Podman mounts what stands before the comma.
    #[test]
    fn another_directory_than_the_one_that_was_asked_for_is_told() {
        let asked = ContainerCreateBody {
            host_config: Some(HostConfig {
                mounts: Some(vec![Mount {
                    typ: Some(MountType::BIND),
                    source: Some("/a,dst=/b".into()),
                    target: Some("/t".into()),
                    read_only: Some(true),
                    ..Mount::default()
                }]),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let made = |source: &str, rw| ContainerInspectResponse {
            mounts: Some(vec![MountPoint {
                source: Some(source.into()),
                destination: Some("/t".into()),
                rw: Some(rw),
                ..MountPoint::default()
            }]),
            ..made(HostConfig::default(), "")
        };
        check("c", &asked, &made("/a,dst=/b", false)).unwrap();
        for wrong in [made("/a", false), made("/a,dst=/b", true)] {
            let error = check("c", &asked, &wrong).unwrap_err();
            assert!(error.message.contains("at /t"), "{error}");
        }
    }

    /// As podman 4.3 answers.
    #[test]
    fn what_an_engine_leaves_out_without_a_word_is_named() {
        let host = HostConfig {
            runtime: Some("oci".into()),
            device_requests: None,
            mounts: None,
            ..asked().host_config.unwrap()
        };
        let error = check("c", &asked(), &made(host, "")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        for named in [
            "the runtime runsc",
            "the domain d.example",
            "graphics",
            "at /part",
            "at /untouched",
        ] {
            assert!(error.message.contains(named), "{error}");
        }
        for heard in ["/plain", carrier::MOUNTED, "bound of", "read-only", "privileges"] {
            assert!(!error.message.contains(heard), "{error}");
        }
        let nothing = made(HostConfig::default(), "");
        let error = check("c", &asked(), &nothing).unwrap_err();
        for named in ["bound of processes", "bound of memory", "read-only root"] {
            assert!(error.message.contains(named), "{error}");
        }
    }
}
