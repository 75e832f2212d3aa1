//! How the resident comes into containers: on a volume that is named by the program's digest, and mounted read-only.
//!
//! The engine may be on another machine, so that the volume is filled through it, by a container that is made for that and
//! never started. What an interrupted filling has left is seen by its size, and filled again.

use std::collections::HashMap;

use bollard::{
    body_full,
    models::{ContainerCreateBody, HostConfig, Mount, MountType, MountVolumeOptions, VolumeCreateRequest},
    query_parameters::{
        ContainerArchiveInfoOptionsBuilder, CreateContainerOptions, RemoveContainerOptionsBuilder,
        UploadToContainerOptionsBuilder,
    },
};
use herm_protocol::Error;

use super::engine::{ANSWER, Engine, WORK};
use crate::resident::Binary;

/// Where the volume is mounted in a sandbox.
pub(super) const MOUNTED: &str = "/.herm/bin";

/// What the volumes are known by.
pub(super) const LABEL: &str = "herm.resident";

/// Where the container that fills it has the volume.
const FILLED_AT: &str = "/herm";

/// The mode of the program: nobody changes it.
const MODE: u32 = 0o555;

/// The path of the program in a sandbox.
pub(super) fn program(binary: &Binary) -> String {
    format!("{MOUNTED}/{}", binary.name())
}

/// The mount of a sandbox.
pub(super) fn mount(binary: &Binary) -> Mount {
    Mount {
        read_only: Some(true),
        ..volume(binary, MOUNTED)
    }
}

fn volume(binary: &Binary, target: &str) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(binary.name()),
        target: Some(target.into()),
        volume_options: Some(MountVolumeOptions {
            no_copy: Some(true),
            labels: Some([(LABEL.to_owned(), "1".to_owned())].into()),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

/// The volume itself.
pub(super) fn wanted(binary: &Binary) -> VolumeCreateRequest {
    VolumeCreateRequest {
        name: Some(binary.name()),
        labels: Some([(LABEL.to_owned(), "1".to_owned())].into()),
        ..VolumeCreateRequest::default()
    }
}

impl Engine {
    /// Sees to it that the program is on the volume that a container was made with. A container with these labels brings it.
    ///
    /// # Errors
    /// It cannot be brought there.
    pub(super) async fn carry(
        &self,
        container: &str,
        image: &str,
        binary: &Binary,
        labels: HashMap<String, String>,
    ) -> Result<(), Error> {
        if self.is_carried(container, binary).await? {
            return Ok(());
        }
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            labels: Some(labels),
            cmd: Some(vec!["-".into()]),
            network_disabled: Some(true),
            host_config: Some(HostConfig {
                mounts: Some(vec![volume(binary, FILLED_AT)]),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let making = self.docker.create_container(None::<CreateContainerOptions>, body);
        let made = self
            .call("make the container that brings the resident", WORK, making)
            .await?;
        let filled = self.fill(&made.id, binary).await;
        let options = RemoveContainerOptionsBuilder::new().force(true).build();
        let removing = self.docker.remove_container(&made.id, Some(options));
        self.find("remove the container that brought the resident", WORK, removing)
            .await?;
        filled
    }

    async fn is_carried(&self, container: &str, binary: &Binary) -> Result<bool, Error> {
        let path = program(binary);
        let options = ContainerArchiveInfoOptionsBuilder::new().path(&path).build();
        let looking = self.docker.get_container_archive_info(container, Some(options));
        let found = self.find("look for the resident", ANSWER, looking).await?;
        Ok(found.is_some_and(|found| u64::try_from(found.size) == Ok(binary.bytes().len() as u64)))
    }

    async fn fill(&self, container: &str, binary: &Binary) -> Result<(), Error> {
        let archive = archive(binary).map_err(|error| Error::internal("pack the resident", error))?;
        let options = UploadToContainerOptionsBuilder::new().path(FILLED_AT).build();
        let uploading = self
            .docker
            .upload_to_container(container, Some(options), body_full(archive.into()));
        self.call("bring the resident into its volume", WORK, uploading)
            .await
    }
}

fn archive(binary: &Binary) -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(binary.bytes().len() as u64);
    header.set_mode(MODE);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, binary.name(), binary.bytes())?;
    archive.into_inner()
}
