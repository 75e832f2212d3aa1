//! Images: whether one is there, getting it where it is not, and what is in it.

use std::{collections::HashMap, time::Duration};

use bollard::{
    models::{ContainerCreateBody, ImageInspect},
    query_parameters::{
        ContainerArchiveInfoOptionsBuilder, CreateContainerOptions, CreateImageOptionsBuilder,
        RemoveContainerOptionsBuilder,
    },
};
use futures::StreamExt as _;
use herm_protocol::{Error, ErrorKind, Progress};
use tokio::time::timeout;

use super::{
    credentials::{self, Found},
    engine::{ANSWER, Engine, WORK},
    sandbox::Shell,
};

/// How long the engine may be silent while it fetches an image.
const SILENCE: Duration = Duration::from_mins(3);

/// How often a person hears how far that is.
const HEARD: Duration = Duration::from_secs(2);

/// Where bash is looked for in an image.
const BASH: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/// Where the shell of images without bash is.
const SH: [&str; 2] = ["/bin/sh", "/usr/bin/sh"];

/// Where what does nothing but wait is.
const CAT: [&str; 2] = ["/bin/cat", "/usr/bin/cat"];

/// What of an image's programs matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) shell: Option<Shell>,
    /// What can be the first process where there is no shell.
    pub(super) cat: Option<&'static str>,
}

impl Programs {
    /// What is made of the paths of bash, of another shell, and of what only waits. Without one of the shells the last is
    /// looked at.
    const fn of(bash: Option<&'static str>, sh: Option<&'static str>, cat: Option<&'static str>) -> Self {
        let shell = match (bash, sh) {
            (Some(path), Some(posix)) => Some(Shell {
                name: "bash",
                path,
                posix,
            }),
            (Some(path), None) => Some(Shell {
                name: "bash",
                path,
                posix: path,
            }),
            (None, Some(path)) => Some(Shell {
                name: "sh",
                path,
                posix: path,
            }),
            (None, None) => None,
        };
        let cat = if shell.is_some() { None } else { cat };
        Self { shell, cat }
    }

    /// The paths that it was made of, as [`Self::of_paths`] takes them.
    pub(super) fn paths(self) -> [Option<&'static str>; 3] {
        let bash = self
            .shell
            .filter(|shell| shell.name == "bash")
            .map(|shell| shell.path);
        let sh = self
            .shell
            .map(|shell| shell.posix)
            .filter(|posix| Some(*posix) != bash);
        [bash, sh, self.cat]
    }

    /// The same from paths that somebody has written down; `None` where one is none of those that are looked for.
    pub(super) fn of_paths([bash, sh, cat]: [Option<&str>; 3]) -> Option<Self> {
        let known = |written: Option<&str>, places: &[&'static str]| match written {
            None => Some(None),
            Some(path) => places
                .iter()
                .find(|place| **place == path)
                .map(|place| Some(*place)),
        };
        Some(Self::of(known(bash, &BASH)?, known(sh, &SH)?, known(cat, &CAT)?))
    }
}

/// What matters of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// Its digest.
    pub(super) id: String,
    /// In the words of the engine: `amd64`, `arm64`.
    pub(super) architecture: String,
    /// The user that commands run as unless another is asked for.
    pub(super) user: String,
}

impl From<ImageInspect> for Image {
    fn from(image: ImageInspect) -> Self {
        let config = image.config.unwrap_or_default();
        Self {
            id: image.id.unwrap_or_default(),
            architecture: image.architecture.unwrap_or_default(),
            user: config.user.unwrap_or_default(),
        }
    }
}

impl Engine {
    /// The image of that name, if it is there.
    ///
    /// # Errors
    /// The engine does not answer, or the name is none.
    pub(super) async fn image(&self, name: &str) -> Result<Option<Image>, Error> {
        if name.is_empty() || name.contains(char::is_whitespace) {
            let problem = format!("is no name of an image: {name:?}");
            return Err(Error::invalid_argument("image", problem));
        }
        let doing = format!("look at the image {name}");
        let found = self.find(&doing, ANSWER, self.docker.inspect_image(name)).await?;
        Ok(found.map(Image::from))
    }

    /// The image of that name, which is fetched from its registry where it is not there.
    ///
    /// # Errors
    /// There is none of that name, or the registry cannot be reached.
    pub(super) async fn image_or_pull(
        &self,
        name: &str,
        progress: Option<&Progress>,
    ) -> Result<Image, Error> {
        if let Some(image) = self.image(name).await? {
            return Ok(image);
        }
        self.pull(name, progress).await?;
        let got = self.image(name).await?;
        got.ok_or_else(|| missing(name, "the engine has fetched it, and does not have it"))
    }

    async fn pull(&self, name: &str, progress: Option<&Progress>) -> Result<(), Error> {
        tell(progress, format!("fetching the image {name}")).await;
        // Without a tag, every one of the repository would come.
        let (repository, tag) = match name.rsplit_once(':') {
            _ if name.contains('@') => (name, ""),
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => (name, "latest"),
        };
        let options = CreateImageOptionsBuilder::new()
            .from_image(repository)
            .tag(tag)
            .build();
        let found = credentials::of(name).await;
        let sent = found.credentials.clone();
        let mut steps = std::pin::pin!(self.docker.create_image(Some(options), None, sent));
        let mut heard = tokio::time::Instant::now();
        loop {
            let step = match timeout(SILENCE, steps.next()).await {
                Ok(Some(Ok(step))) => step,
                Ok(Some(Err(fault))) => return Err(refused(name, &fault.to_string(), &found)),
                Ok(None) => return Ok(()),
                Err(_) => {
                    let why = format!("the engine said nothing for {SILENCE:?} while it fetched it");
                    return Err(refused(name, &why, &found));
                }
            };
            if let Some(problem) = step.error_detail.and_then(|detail| detail.message) {
                return Err(refused(name, &problem, &found));
            }
            if heard.elapsed() >= HEARD {
                heard = tokio::time::Instant::now();
                let status = step.status.unwrap_or_default();
                tell(progress, format!("fetching the image {name}: {status}")).await;
            }
        }
    }

    /// The programs of an image. A container with these labels is made to look, and never started.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(super) async fn programs_of(
        &self,
        image: &Image,
        labels: HashMap<String, String>,
    ) -> Result<Programs, Error> {
        let body = ContainerCreateBody {
            image: Some(image.id.clone()),
            labels: Some(labels),
            // Nothing is run; an image may have nothing that could be.
            cmd: Some(vec!["-".into()]),
            network_disabled: Some(true),
            ..ContainerCreateBody::default()
        };
        let making = self.docker.create_container(None::<CreateContainerOptions>, body);
        let made = self
            .call("make a container to look into an image", WORK, making)
            .await?;
        let found = self.programs_in(&made.id).await;
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let removing = self.docker.remove_container(&made.id, Some(options));
        self.find(
            "remove the container that was made to look into an image",
            WORK,
            removing,
        )
        .await?;
        found
    }

    async fn programs_in(&self, container: &str) -> Result<Programs, Error> {
        let bash = self.first_of(container, &BASH).await?;
        let sh = self.first_of(container, &SH).await?;
        let cat = match bash.or(sh) {
            Some(_) => None,
            None => self.first_of(container, &CAT).await?,
        };
        Ok(Programs::of(bash, sh, cat))
    }

    async fn first_of(&self, container: &str, paths: &[&'static str]) -> Result<Option<&'static str>, Error> {
        for path in paths {
            let options = ContainerArchiveInfoOptionsBuilder::new().path(path).build();
            let looking = self.docker.get_container_archive_info(container, Some(options));
            let found = self
                .find("look for a program in an image", ANSWER, looking)
                .await?;
            if found.is_some() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// Whoever opens a sandbox in this process reads the log.
async fn tell(progress: Option<&Progress>, message: String) {
    match progress {
        Some(progress) => progress.report(message).await,
        None => super::log(message),
    }
}

/// An image that is not there.
pub(super) fn missing(name: &str, why: &str) -> Error {
    let message = format!("the image {name} is not there: {why}");
    Error::new(ErrorKind::NotFound, name, message).with_fix(
        "correct its name, or name another in terminal.docker_image; docker image ls lists those that are there",
    )
}

/// What registries and engines say where somebody has to show who they are. No name of an image has a space in it.
const FORBIDDEN: [&str; 7] = [
    "no basic auth credentials",
    "unauthorized: ",
    "authentication required",
    "access denied",
    "denied: ",
    ": denied",
    "403 forbidden",
];

/// The same where there is no such image.
const UNKNOWN: [&str; 4] = ["manifest unknown", "name unknown", " not found", "does not exist"];

/// The same where no registry answers.
const UNREACHABLE: [&str; 8] = [
    "no such host",
    "dial tcp",
    "i/o timeout",
    "connection refused",
    "deadline exceeded",
    "tls: ",
    "x509: ",
    "http response to https client",
];

/// An image that is not there and did not come, and why.
fn refused(name: &str, why: &str, found: &Found) -> Error {
    let why = found.hide(why.trim());
    let lower = why.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let (login, told) = (&found.login, &found.told);
    let (kind, what, fix) = if says(&FORBIDDEN) && found.credentials.is_some() {
        (
            ErrorKind::PermissionDenied,
            format!("is not there, and its registry does not give it for {told}"),
            format!(
                "log in anew (docker login{login}), as somebody who may have it; or name another in terminal.docker_image"
            ),
        )
    } else if says(&FORBIDDEN) {
        (
            ErrorKind::CredentialMissing,
            format!("is not there, and its registry gives it to nobody without credentials ({told})"),
            format!(
                "log in (docker login{login}), or name an image that may be had in terminal.docker_image"
            ),
        )
    } else if says(&UNKNOWN) {
        (
            ErrorKind::NotFound,
            "is neither there nor in its registry".to_owned(),
            "correct its name and its tag, or name another in terminal.docker_image; docker image ls lists those that are there"
                .to_owned(),
        )
    } else {
        let what = if says(&UNREACHABLE) {
            "is not there, and its registry cannot be reached"
        } else {
            "is not there, and could not be fetched"
        };
        (
            ErrorKind::Unavailable,
            what.to_owned(),
            "bring the image here (docker load, docker import), see whether the engine reaches the registry, or name another in \
             terminal.docker_image"
                .to_owned(),
        )
    };
    Error::new(kind, name, format!("the image {name} {what}: {why}")).with_fix(fix)
}

#[cfg(test)]
mod tests {
    use bollard::auth::DockerCredentials;

    use super::*;

    fn found(credentials: bool) -> Found {
        Found {
            credentials: credentials.then(|| DockerCredentials {
                password: Some("h1dden".into()),
                ..DockerCredentials::default()
            }),
            told: "told".into(),
            login: " h:5000".into(),
        }
    }

    /// In the words of Docker 28 and podman 4.3.
    #[test]
    fn why_an_image_cannot_be_had_is_told_apart() {
        for (why, kind) in [
            (
                "pull access denied for x, repository does not exist or may require 'docker login'",
                ErrorKind::CredentialMissing,
            ),
            (
                "Head \"http://h:5000/v2/x/manifests/1\": no basic auth credentials",
                ErrorKind::CredentialMissing,
            ),
            (
                "initializing source docker://h:5000/x:1: reading manifest 1 in h:5000/x: unauthorized: authentication required",
                ErrorKind::CredentialMissing,
            ),
            (
                "Get \"https://h/v2/\": dial tcp: lookup h: no such host",
                ErrorKind::Unavailable,
            ),
            (
                "Get \"https://h/v2/\": http: server gave HTTP response to HTTPS client",
                ErrorKind::Unavailable,
            ),
            (
                "write /var/lib/x: no space left on device",
                ErrorKind::Unavailable,
            ),
            (
                "manifest for x:latest not found: manifest unknown",
                ErrorKind::NotFound,
            ),
            (
                "reading manifest 2 in h:5000/x: manifest unknown: manifest unknown",
                ErrorKind::NotFound,
            ),
        ] {
            let error = refused("x", why, &found(false));
            assert_eq!(error.kind(), kind, "{why}");
            assert!(error.message.contains("image x") && error.data.fix.is_some());
        }
    }

    #[test]
    fn credentials_that_are_not_taken_are_told_from_none_and_without_the_secret() {
        let error = refused("h:5000/x", "denied: h1dden is not it", &found(true));
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(
            error.message.contains("told") && !error.message.contains("h1dden"),
            "{error}"
        );
        let fix = refused("h:5000/x", "unauthorized: no", &found(false)).data.fix;
        assert!(fix.unwrap().contains("docker login h:5000"));
    }

    #[test]
    fn the_name_of_an_image_does_not_say_why_it_cannot_be_had() {
        let all = FORBIDDEN.into_iter().chain(UNKNOWN).chain(UNREACHABLE);
        for words in all {
            assert!(words.contains(' '), "a name may contain {words:?}");
        }
        for name in ["team/denied:1", "tls/unauthorized:x509", "kali/os"] {
            let why = format!("manifest for {name} not found: manifest unknown");
            assert_eq!(
                refused(name, &why, &found(true)).kind(),
                ErrorKind::NotFound,
                "{name}"
            );
        }
    }
}
