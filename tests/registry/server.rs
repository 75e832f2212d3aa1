//! A registry in a container of the engine, and images that it offers.

use bollard::{
    API_DEFAULT_VERSION, Docker,
    auth::DockerCredentials,
    body_full,
    models::{ContainerConfig, ContainerCreateBody, PortBinding},
    query_parameters::{
        CommitContainerOptionsBuilder, CreateContainerOptions, InspectContainerOptions,
        ListContainersOptionsBuilder, PushImageOptionsBuilder, RemoveContainerOptionsBuilder,
        RemoveImageOptions, UploadToContainerOptionsBuilder,
    },
};
use futures::TryStreamExt as _;
use herm_fixtures::engine::images::{self, TestImage};
use testcontainers::{
    ContainerAsync, GenericImage, ImageExt as _,
    core::{IntoContainerPort as _, WaitFor},
    runners::AsyncRunner as _,
};

use crate::watch;

pub(crate) const USER: &str = "ann";

pub(crate) const PASSWORD: &str = "Umbrella-7-Corner-Lark";

/// Both, as htpasswd(1) writes them with bcrypt.
const USERS: &str = "ann:$2y$04$oiQtc.gXd3RJ./YKE5uv2ut2j4dzCTc.9dvn40bNvcQdHsT47vmL6\n";

/// Where the registry listens in its container.
const PORT: u16 = 5000;

/// Seconds that a call may take.
const LIMIT: u64 = 120;

/// A registry for one user. Its container goes with it.
pub(crate) struct Registry {
    /// Its host and port.
    pub(crate) at: String,
    docker: Docker,
    _container: ContainerAsync<GenericImage>,
}

impl Registry {
    pub(crate) async fn start() -> Self {
        let host = std::env::var("DOCKER_HOST").expect("DOCKER_HOST names an engine; ci/engine starts one");
        let making = tokio::task::spawn_blocking({
            let host = host.clone();
            move || images::make(&host, &[TestImage::Plain, TestImage::Registry])
        });
        making.await.unwrap().unwrap();
        let container = GenericImage::new(TestImage::Registry.name(), "latest")
            .with_exposed_port(PORT.tcp())
            .with_wait_for(WaitFor::message_on_either_std("listening on"))
            .with_copy_to("/etc/registry/users", USERS.as_bytes().to_vec())
            .with_host_config_modifier(|host| {
                let here = PortBinding {
                    host_ip: Some("127.0.0.1".into()),
                    host_port: Some(String::new()),
                };
                host.publish_all_ports = Some(false);
                host.port_bindings = Some([(format!("{PORT}/tcp"), Some(vec![here]))].into());
            })
            .start()
            .await
            .unwrap();
        let port = container.get_host_port_ipv4(PORT.tcp()).await.unwrap();
        let path = host.strip_prefix("unix://").expect("DOCKER_HOST names a socket");
        let docker = Docker::connect_with_unix(path, LIMIT, API_DEFAULT_VERSION).unwrap();
        Self {
            at: format!("127.0.0.1:{port}"),
            docker: docker.negotiate_version().await.unwrap(),
            _container: container,
        }
    }

    /// Makes an image that says its name in a file, and that only the registry has.
    pub(crate) async fn offer(&self, tag: &str) -> String {
        let repository = format!("{}/team/tools", self.at);
        let image = format!("{repository}:{tag}");
        let body = ContainerCreateBody {
            image: Some(TestImage::Plain.name().into()),
            cmd: Some(vec!["-".into()]),
            network_disabled: Some(true),
            ..ContainerCreateBody::default()
        };
        let making = self.docker.create_container(None::<CreateContainerOptions>, body);
        let made = making.await.unwrap().id;
        let mut header = tar::Header::new_gnu();
        header.set_size(image.len() as u64);
        header.set_mode(0o444);
        let mut archive = tar::Builder::new(Vec::new());
        archive
            .append_data(&mut header, "name", image.as_bytes())
            .unwrap();
        let archive = body_full(archive.into_inner().unwrap().into());
        let options = UploadToContainerOptionsBuilder::new().path("/etc").build();
        let uploading = self.docker.upload_to_container(&made, Some(options), archive);
        uploading.await.unwrap();
        let options = CommitContainerOptionsBuilder::new()
            .container(&made)
            .repo(&repository)
            .tag(tag)
            .build();
        self.docker
            .commit_container(options, ContainerConfig::default())
            .await
            .unwrap();
        let options = RemoveContainerOptionsBuilder::new().force(true).build();
        self.docker.remove_container(&made, Some(options)).await.unwrap();
        let credentials = DockerCredentials {
            username: Some(USER.into()),
            password: Some(PASSWORD.into()),
            serveraddress: Some(self.at.clone()),
            ..DockerCredentials::default()
        };
        let options = PushImageOptionsBuilder::new().tag(tag).build();
        let steps = self
            .docker
            .push_image(&repository, Some(options), Some(credentials));
        let steps: Vec<_> = steps.try_collect().await.unwrap();
        assert!(steps.iter().all(|step| step.error_detail.is_none()), "{steps:?}");
        self.forget(&image).await;
        image
    }

    /// Removes an image from the engine; the registry has it yet.
    pub(crate) async fn forget(&self, image: &str) {
        let removing = self.docker.remove_image(image, None::<RemoveImageOptions>, None);
        removing.await.unwrap();
    }

    /// No container tells a secret.
    pub(crate) async fn holds_no_secret(&self) {
        let options = ListContainersOptionsBuilder::new().all(true).build();
        for container in self.docker.list_containers(Some(options)).await.unwrap() {
            let id = container.id.unwrap();
            let looking = self
                .docker
                .inspect_container(&id, None::<InspectContainerOptions>);
            // Those of other tests come and go.
            if let Ok(told) = looking.await {
                watch::holds_no_secret(&id, &serde_json::to_vec(&told).unwrap());
            }
        }
    }
}
