//! How far commands reach into this machine: by mounts that somebody asks about, and by what a container really has.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
};

use bollard::models::{ContainerInspectResponse, MountPoint, Volume};
use herm_protocol::{
    Error,
    policy::{ClassifyParams, HostAccess},
};

use super::{
    DockerBackend,
    address::Kind,
    engine::{ANSWER, Engine},
};
use crate::{
    config::Secret,
    policy::{
        host_access::{
            EffectiveMount, Existing, Exposure, FileIdentity, HostAccess as Effective, KnownHost, MountKind,
            classify, classify_texts,
        },
        mount::{Asked, Here, Source, parse_mount},
    },
};

impl DockerBackend {
    /// How far a container with these mounts would reach. Nothing is made.
    ///
    /// # Errors
    /// One of them is no mount, or the engine does not answer about a volume that is named.
    pub(super) async fn reach_of(&self, params: ClassifyParams) -> Result<HostAccess, Error> {
        let here = Here::of(&self.0.config.here);
        let engine = self.engine().await?;
        let (mut volumes, mut host) = (BTreeMap::new(), engine.known_host(Vec::new()));
        for text in &params.mounts {
            // What is wrong with one is told with its place below.
            let Ok(Asked::Mount(mount)) = parse_mount(text, &here) else {
                continue;
            };
            match mount.source {
                Source::HostPath { path, .. } => follow(&mut host, path).await,
                Source::Volume { name, driver, .. } => {
                    let there = match &name {
                        Some(name) => engine.volume(name).await?,
                        None => None,
                    };
                    match (name, there, driver) {
                        (Some(name), Some(volume), _) => {
                            volumes.insert(name, existing(volume));
                        }
                        // It would be made so.
                        (_, _, Some(driver)) => {
                            let (driver, options) = (driver.name, Some(driver.options));
                            follow_device(&mut host, &Existing { driver, options }).await;
                        }
                        _ => {}
                    }
                }
                Source::WindowsPath(_) => {}
            }
        }
        for volume in volumes.values() {
            follow_device(&mut host, volume).await;
        }
        classify_texts(&params.mounts, &here, &host, |name| volumes.get(name).cloned())
    }
}

impl Engine {
    /// How far commands of a container reach, decided from what the engine has really given it. `own` is what the executor
    /// itself has mounted.
    ///
    /// # Errors
    /// The engine does not answer about a volume.
    pub(super) async fn reach(
        &self,
        container: &ContainerInspectResponse,
        own: Vec<FileIdentity>,
    ) -> Result<Effective, Error> {
        let (mut mounts, mut host) = (Vec::new(), self.known_host(own));
        let looking = container
            .mounts
            .iter()
            .flatten()
            .map(|point| self.effective(point));
        for mount in futures::future::try_join_all(looking).await? {
            match &mount.kind {
                MountKind::Bind { source, .. } => follow(&mut host, source.clone()).await,
                MountKind::Volume { driver, options, .. } => {
                    let (driver, options) = (driver.clone(), options.clone());
                    follow_device(&mut host, &Existing { driver, options }).await;
                }
                _ => {}
            }
            mounts.push(mount);
        }
        Ok(classify(&mounts, &exposure(container), &host))
    }

    async fn effective(&self, point: &MountPoint) -> Result<EffectiveMount, Error> {
        let kind = match point.typ.as_deref() {
            Some("bind") => {
                let source = point.source.clone().unwrap_or_default();
                let identity = identity_of(Path::new(&source)).await;
                MountKind::Bind { source, identity }
            }
            Some("volume") => {
                let name = point.name.clone().unwrap_or_default();
                let there = self.volume(&name).await?.map(existing);
                MountKind::Volume {
                    name,
                    driver: point.driver.clone().unwrap_or_default(),
                    options: there.and_then(|there| there.options),
                }
            }
            Some("tmpfs") => MountKind::Tmpfs,
            Some("npipe") => MountKind::NamedPipe(point.source.clone().unwrap_or_default()),
            other => MountKind::Other(other.unwrap_or_default().to_owned()),
        };
        Ok(EffectiveMount {
            kind,
            target: point.destination.clone().unwrap_or_default(),
            read_only: point.rw == Some(false),
        })
    }

    /// A volume by its name, if it is there.
    pub(super) async fn volume(&self, name: &str) -> Result<Option<Volume>, Error> {
        if name.is_empty() {
            return Ok(None);
        }
        let doing = format!("look at the volume {name}");
        self.find(&doing, ANSWER, self.docker.inspect_volume(name)).await
    }

    fn known_host(&self, own: Vec<FileIdentity>) -> KnownHost {
        let socket = match &self.address.kind {
            Kind::Socket(path) => path.to_str().map(str::to_owned),
            Kind::Http(_) | Kind::Tls(..) => None,
        };
        KnownHost {
            engine_sockets: socket.into_iter().collect(),
            sockets: BTreeSet::new(),
            real_paths: BTreeMap::new(),
            own,
        }
    }
}

/// What lies at a path of this machine, links followed.
pub(super) async fn identity_of(path: &Path) -> Option<FileIdentity> {
    let there = tokio::fs::metadata(path).await.ok()?;
    Some(FileIdentity {
        device: there.dev(),
        inode: there.ino(),
    })
}

/// Keeps where a path leads, links followed.
async fn follow(host: &mut KnownHost, path: String) {
    // A file system that does not answer tells nothing; the path is taken as it is written.
    let looking = tokio::time::timeout(ANSWER, tokio::fs::canonicalize(&path));
    let real = looking.await.ok().and_then(Result::ok);
    // Another name of the engine's own socket is that socket, and a socket is one whatever it is called.
    if let Ok(Ok(there)) = tokio::time::timeout(ANSWER, tokio::fs::metadata(&path)).await
        && there.file_type().is_socket()
    {
        let known = host.engine_sockets.first().cloned().unwrap_or_default();
        let same = identity_of(Path::new(&known)).await;
        let seen = FileIdentity {
            device: there.dev(),
            inode: there.ino(),
        };
        if same == Some(seen) {
            host.engine_sockets.push(path.clone());
        }
        host.sockets.insert(path.clone());
    }
    if let Some(real) = real.as_deref().and_then(Path::to_str) {
        host.real_paths.insert(path, real.to_owned());
    }
}

/// The same for what a volume's driver mounts.
async fn follow_device(host: &mut KnownHost, volume: &Existing) {
    let device = volume.options.as_ref().and_then(|options| options.get("device"));
    if let Some(device) = device.filter(|device| device.expose().starts_with('/')) {
        follow(host, device.expose().clone()).await;
    }
}

fn existing(volume: Volume) -> Existing {
    Existing {
        driver: volume.driver,
        options: Some(
            volume
                .options
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
        ),
    }
}

fn exposure(container: &ContainerInspectResponse) -> Exposure {
    let host = container.host_config.clone().unwrap_or_default();
    let paths = host
        .devices
        .unwrap_or_default()
        .into_iter()
        .filter_map(|device| device.path_on_host);
    Exposure {
        privileged: host.privileged.unwrap_or(false),
        devices: paths
            .chain(host.device_cgroup_rules.unwrap_or_default())
            .collect(),
        pid_mode: host.pid_mode.unwrap_or_default(),
        ipc_mode: host.ipc_mode.unwrap_or_default(),
        network_mode: host.network_mode.unwrap_or_default(),
        cap_add: host.cap_add.unwrap_or_default(),
    }
}
