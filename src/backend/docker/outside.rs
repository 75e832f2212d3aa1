//! What a plan mounts from outside, in the engine's words.

use std::time::Duration;

use bollard::models::{
    Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountType, MountVolumeOptions,
    MountVolumeOptionsDriverConfig,
};
use herm_protocol::Error;

use crate::policy::mount::{Mount as Planned, Propagation, Relabel, Source};

/// How long looking at a path may take.
const LOOKING: Duration = Duration::from_secs(10);

/// How the engine is asked for it.
#[derive(Debug)]
pub(super) enum Wish {
    Mount(Box<Mount>),
    /// As `docker run --volume` has it: the one way to ask for a label of `SELinux`.
    Bind(String),
}

/// What is asked of the engine for a mount.
pub(super) fn wish(planned: &Planned) -> Wish {
    match &planned.source {
        Source::HostPath {
            path,
            propagation,
            relabel: Some(relabel),
            ..
        } => Wish::Bind(bind(path, planned, Some(propagation.name()), *relabel)),
        Source::Volume {
            name: Some(name),
            relabel: Some(relabel),
            no_copy,
            driver: None,
            subpath: None,
        } => Wish::Bind(bind(name, planned, no_copy.then_some("nocopy"), *relabel)),
        _ => Wish::Mount(Box::new(mount(planned))),
    }
}

/// Checks that what an engine would make on its host is there: a directory that nobody has made is not what was meant. `makes`
/// tells whether it makes every one; those with a label of `SELinux` are made by all.
///
/// # Errors
/// A path that is not there.
pub(super) async fn check_there(mounts: &[Planned], makes: bool) -> Result<(), Error> {
    for mount in mounts {
        let Source::HostPath { path, relabel, .. } = &mount.source else {
            continue;
        };
        if !makes && relabel.is_none() {
            continue;
        }
        let looking = tokio::time::timeout(LOOKING, tokio::fs::metadata(path));
        if let Ok(Err(error)) = looking.await
            && error.kind() == std::io::ErrorKind::NotFound
        {
            let problem = format!("is not there, and is not made: {path}");
            return Err(Error::invalid_argument("a path to mount", problem));
        }
    }
    Ok(())
}

fn bind(source: &str, planned: &Planned, more: Option<&str>, relabel: Relabel) -> String {
    let mut options = vec![
        if planned.read_only { "ro" } else { "rw" },
        match relabel {
            Relabel::Shared => "z",
            Relabel::Private => "Z",
        },
    ];
    options.extend(more);
    format!("{source}:{}:{}", planned.target, options.join(","))
}

fn mount(planned: &Planned) -> Mount {
    let base = Mount {
        target: Some(planned.target.clone()),
        read_only: Some(planned.read_only),
        ..Mount::default()
    };
    match &planned.source {
        Source::HostPath {
            path,
            propagation,
            non_recursive,
            ..
        } => Mount {
            typ: Some(MountType::BIND),
            source: Some(path.clone()),
            bind_options: Some(MountBindOptions {
                propagation: Some(match propagation {
                    Propagation::Rprivate => MountBindOptionsPropagationEnum::RPRIVATE,
                    Propagation::Private => MountBindOptionsPropagationEnum::PRIVATE,
                    Propagation::Slave => MountBindOptionsPropagationEnum::SLAVE,
                    Propagation::Rslave => MountBindOptionsPropagationEnum::RSLAVE,
                }),
                non_recursive: Some(*non_recursive),
                // A path that is not there is an error, and is not made.
                create_mountpoint: Some(false),
                ..MountBindOptions::default()
            }),
            ..base
        },
        Source::WindowsPath(path) => Mount {
            typ: Some(MountType::BIND),
            source: Some(path.clone()),
            ..base
        },
        Source::Volume {
            name,
            no_copy,
            subpath,
            driver,
            ..
        } => Mount {
            typ: Some(MountType::VOLUME),
            source: name.clone(),
            volume_options: Some(MountVolumeOptions {
                no_copy: Some(*no_copy),
                subpath: subpath.clone(),
                labels: driver
                    .as_ref()
                    .map(|driver| driver.labels.clone().into_iter().collect()),
                driver_config: driver.as_ref().map(|driver| MountVolumeOptionsDriverConfig {
                    name: Some(driver.name.clone()),
                    options: Some(
                        driver
                            .options
                            .iter()
                            .map(|(name, value)| (name.clone(), value.expose().clone()))
                            .collect(),
                    ),
                }),
            }),
            ..base
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: Source) -> Wish {
        wish(&Planned {
            source,
            target: "/t".into(),
            read_only: true,
        })
    }

    fn host(relabel: Option<Relabel>) -> Source {
        Source::HostPath {
            path: "/h".into(),
            propagation: Propagation::Rslave,
            relabel,
            non_recursive: false,
        }
    }

    #[tokio::test]
    async fn what_an_engine_would_make_is_looked_for_before() {
        let planned = |source| Planned {
            source,
            target: "/t".into(),
            read_only: true,
        };
        let of = |path: &str| Source::HostPath {
            path: path.into(),
            propagation: Propagation::Rprivate,
            relabel: None,
            non_recursive: false,
        };
        let missing = "/nonexistent/directory";
        check_there(&[planned(of("/"))], true).await.unwrap();
        check_there(&[planned(of(missing))], false).await.unwrap();
        let error = check_there(&[planned(of(missing))], true).await.unwrap_err();
        assert!(error.message.contains(missing), "{error}");
        let labelled = Source::HostPath {
            path: missing.into(),
            propagation: Propagation::Rprivate,
            relabel: Some(Relabel::Shared),
            non_recursive: false,
        };
        check_there(&[planned(labelled)], false).await.unwrap_err();
    }

    #[test]
    fn a_path_of_the_host_is_not_made() {
        let Wish::Mount(mount) = of(host(None)) else {
            panic!("it is no mount");
        };
        let options = mount.bind_options.unwrap();
        assert_eq!(options.create_mountpoint, Some(false));
        assert_eq!(options.propagation, Some(MountBindOptionsPropagationEnum::RSLAVE));
        assert_eq!(
            (mount.read_only, mount.source.as_deref()),
            (Some(true), Some("/h"))
        );
    }

    #[test]
    fn a_label_is_asked_for_as_on_the_command_line() {
        let Wish::Bind(bind) = of(host(Some(Relabel::Private))) else {
            panic!("it is no bind");
        };
        assert_eq!(bind, "/h:/t:ro,Z,rslave");
        let volume = Source::Volume {
            name: Some("v".into()),
            no_copy: true,
            subpath: None,
            driver: None,
            relabel: Some(Relabel::Shared),
        };
        let Wish::Bind(bind) = of(volume) else {
            panic!("it is no bind");
        };
        assert_eq!(bind, "v:/t:ro,z,nocopy");
    }
}
