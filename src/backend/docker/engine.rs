//! The engine: a connection, and what its refusals mean. Every call has a deadline.

use std::{future::Future, io, path::Path, time::Duration};

use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker, errors::Error as Fault, models::SystemInfo};
use herm_protocol::{Error, ErrorKind};
use tokio::{
    net::UnixStream,
    time::{Instant, sleep, timeout},
};

use super::{
    address::{Address, Kind, Surroundings},
    image::Image,
    remembered::{self, Version},
};
use crate::backend::local::adapter::blocking;

/// How long an engine may take to say anything.
const GREETING: Duration = Duration::from_secs(5);

/// How long a call may take that waits for nothing.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// How long a call may take that makes, starts or ends something.
pub(super) const WORK: Duration = Duration::from_mins(2);

/// How long a container may be in a state that has no name in the engine's API.
const SETTLING: Duration = Duration::from_secs(10);

/// How often is looked whether it is in another one.
const PAUSE: Duration = Duration::from_millis(50);

/// The seconds after which the library itself gives up; the deadlines of calls come before.
const LIBRARY: u64 = 3600;

/// An engine that has answered. Clones use the same one.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) address: Address,
}

fn client_version(version: Version) -> ClientVersion {
    ClientVersion {
        major_version: version.major,
        minor_version: version.minor,
    }
}

impl Engine {
    /// Finds the engine, and hears it answer. In the directory `base` is kept how it is spoken to: an engine that is asked
    /// for that runs other programs first.
    ///
    /// # Errors
    /// None is there, its socket is forbidden, or it does not answer.
    pub(super) async fn connect(base: Option<&Path>) -> Result<Self, Error> {
        let address = blocking("the engine's address", || {
            Surroundings::of_this_process().address()
        })
        .await?;
        let Some(base) = base else {
            return Self::connect_to(address).await;
        };
        let shown = address.shown();
        if let Some(version) = remembered::version(base, &shown).await
            && let Some(engine) = Self::connect_as_before(&address, version).await?
        {
            return Ok(engine);
        }
        let engine = Self::connect_to(address).await?;
        let spoken = engine.docker.client_version();
        let version = Version {
            major: spoken.major_version,
            minor: spoken.minor_version,
        };
        remembered::keep_version(base, &shown, version).await;
        Ok(engine)
    }

    /// The same with a look at an image, by which the engine is heard to answer; none where it has to be asked first how it is
    /// spoken to, or does not answer as before.
    ///
    /// # Errors
    /// It does not answer at all.
    pub(super) async fn connect_with_image(
        base: &Path,
        name: &str,
    ) -> Result<Option<(Self, Option<Image>)>, Error> {
        let address = blocking("the engine's address", || {
            Surroundings::of_this_process().address()
        })
        .await?;
        let Some(version) = remembered::version(base, &address.shown()).await else {
            return Ok(None);
        };
        let Ok(docker) = client(&address, &client_version(version)) else {
            return Ok(None);
        };
        let engine = Self { docker, address };
        match timeout(GREETING, Box::pin(engine.image(name))).await {
            Ok(Ok(image)) => Ok(Some((engine, image))),
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(silent(&engine.address, &format!("no answer within {GREETING:?}"))),
        }
    }

    /// The engine, in the version in which it was spoken to before; `None` where it does not take that any more.
    async fn connect_as_before(address: &Address, version: Version) -> Result<Option<Self>, Error> {
        let Ok(docker) = client(address, &client_version(version)) else {
            return Ok(None);
        };
        match timeout(GREETING, Box::pin(docker.ping())).await {
            Ok(Ok(_)) => Ok(Some(Self {
                docker,
                address: address.clone(),
            })),
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(silent(address, &format!("no answer within {GREETING:?}"))),
        }
    }

    pub(super) async fn connect_to(address: Address) -> Result<Self, Error> {
        let unusable = |fault: &Fault| silent(&address, &fault.to_string());
        let docker = match client(&address, API_DEFAULT_VERSION) {
            Ok(docker) => docker,
            Err(fault) => return Err(unreachable(&address).await.unwrap_or_else(|| unusable(&fault))),
        };
        let mut negotiating = Box::pin(docker.clone().negotiate_version());
        let negotiated = match timeout(GREETING, &mut negotiating).await {
            // Podman asks other programs before it says which version it is, for seconds where much is going on.
            Err(_) if is_alive(&docker).await => timeout(ANSWER, negotiating).await,
            other => other,
        };
        match negotiated {
            Ok(Ok(docker)) => Ok(Self { docker, address }),
            Ok(Err(fault)) => Err(unreachable(&address).await.unwrap_or_else(|| unusable(&fault))),
            Err(_) => Err(silent(&address, &format!("no answer within {GREETING:?}"))),
        }
    }

    /// Whether it runs on this machine, as far as its address tells.
    pub(super) fn is_near(&self) -> bool {
        matches!(self.address.kind, Kind::Socket(_))
    }

    /// What the engine and its machine can do.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) async fn info(&self) -> Result<SystemInfo, Error> {
        self.call("ask the engine what it can do", ANSWER, self.docker.info())
            .await
    }

    /// Makes a call, which has to be done in time.
    ///
    /// # Errors
    /// What the engine says, or that it does not answer.
    pub(super) async fn call<T>(
        &self,
        doing: &str,
        limit: Duration,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Error> {
        match timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(fault)) => Err(self.fault(doing, fault).await),
            Err(_) => {
                let message = format!(
                    "the engine at {} was asked to {doing} and has not answered within {limit:?}",
                    self.address.shown()
                );
                Err(Error::new(ErrorKind::TimedOut, self.address.shown(), message)
                    .with_fix("see whether the engine still answers: docker version"))
            }
        }
    }

    /// The same, where what the call is about may not be there.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(super) async fn find<T>(
        &self,
        doing: &str,
        limit: Duration,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Option<T>, Error> {
        let absent = async {
            match call.await {
                Err(fault) if is_absent(&fault) => Ok(None),
                other => other.map(Some),
            }
        };
        self.call(doing, limit, absent).await
    }

    /// The same as [`Self::find`] for a look at containers, which is asked again while what is told has no name: podman knows
    /// containers that are just stopping.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(super) async fn see<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        doing: &str,
        look: impl Fn() -> F,
    ) -> Result<Option<T>, Error> {
        let end = Instant::now() + SETTLING;
        let settled = async {
            loop {
                match Box::pin(look()).await {
                    Err(Fault::JsonDataError { .. }) if Instant::now() < end => sleep(PAUSE).await,
                    other => return other,
                }
            }
        };
        self.find(doing, ANSWER, settled).await
    }

    async fn fault(&self, doing: &str, fault: Fault) -> Error {
        let shown = self.address.shown();
        let Fault::DockerResponseServerError { status_code, message } = fault else {
            let why = fault.to_string();
            return unreachable(&self.address)
                .await
                .unwrap_or_else(|| silent(&self.address, &format!("failed to {doing}: {why}")));
        };
        let kind = match status_code {
            400 => ErrorKind::InvalidArgument,
            401 | 403 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            409 => ErrorKind::AlreadyExists,
            _ => ErrorKind::Unavailable,
        };
        let message = message.trim();
        Error::new(
            kind,
            &shown,
            format!("the engine at {shown} refused to {doing}: {message} (status {status_code})"),
        )
        .with_fix("do what the engine asks for, or see its log")
    }
}

/// A client of an engine that is spoken to in that version. Nothing is sent yet.
fn client(address: &Address, version: &ClientVersion) -> Result<Docker, Fault> {
    match &address.kind {
        Kind::Socket(path) => Docker::connect_with_unix(&path.to_string_lossy(), LIBRARY, version),
        Kind::Http(host) => Docker::connect_with_http(host, LIBRARY, version),
        Kind::Tls(host, certificates) => {
            let file = |name| certificates.join(name);
            let (key, certificate, authority) = (file("key.pem"), file("cert.pem"), file("ca.pem"));
            Docker::connect_with_ssl(host, &key, &certificate, &authority, LIBRARY, version)
        }
    }
}

/// Whether an engine answers at all: to the one question for which it needs to look at nothing.
async fn is_alive(docker: &Docker) -> bool {
    matches!(timeout(GREETING, Box::pin(docker.ping())).await, Ok(Ok(_)))
}

/// The status with which the engine has refused something.
pub(super) fn status(fault: &Fault) -> Option<u16> {
    match fault {
        Fault::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// Whether what a call is about is not there. Podman has another status for what goes while it is looked at.
fn is_absent(fault: &Fault) -> bool {
    match fault {
        Fault::DockerResponseServerError { status_code, message } => {
            *status_code == 404 || *status_code == 500 && message.contains("no such container")
        }
        _ => false,
    }
}

/// Why nobody can be reached at an address, if that is the reason: nobody listens, or this user may not come in.
async fn unreachable(address: &Address) -> Option<Error> {
    let Kind::Socket(path) = &address.kind else {
        return None;
    };
    let Ok(Err(error)) = timeout(GREETING, UnixStream::connect(path)).await else {
        return None;
    };
    let (shown, origin) = (address.shown(), &address.origin);
    let (kind, message, fix) = match error.kind() {
        io::ErrorKind::PermissionDenied => (
            ErrorKind::PermissionDenied,
            format!("the engine's socket {shown} ({origin}) is forbidden to this user"),
            "join the group that owns the socket (usermod -aG docker USER, then log in anew), or use an engine of this user's own: \
             dockerd-rootless, or podman's socket in DOCKER_HOST",
        ),
        _ => (
            ErrorKind::Unavailable,
            format!("no engine answers at {shown} ({origin}): {error}"),
            "install Docker Engine or podman, start it (systemctl start docker), or name its socket in DOCKER_HOST",
        ),
    };
    Some(Error::new(kind, shown, message).with_fix(fix))
}

fn silent(address: &Address, why: &str) -> Error {
    let shown = address.shown();
    let message = format!(
        "the engine at {shown} ({}) does not answer: {why}",
        address.origin
    );
    Error::new(ErrorKind::Unavailable, shown, message)
        .with_fix("see whether docker version answers, and start the engine again if it does not")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn at(path: &std::path::Path) -> Address {
        Address {
            kind: Kind::Socket(path.into()),
            origin: "a test".into(),
        }
    }

    #[tokio::test]
    async fn an_engine_that_is_not_there_and_one_that_is_silent_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.sock");
        let error = Engine::connect_to(at(&missing)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message.contains("no engine answers"), "{error}");
        let silent = folder.path().join("silent.sock");
        let listener = UnixListener::bind(&silent).unwrap();
        let error = Engine::connect_to(at(&silent)).await.unwrap_err();
        assert!(error.message.contains("does not answer"), "{error}");
        drop(listener);
        let error = Engine::connect_to(at(&silent)).await.unwrap_err();
        assert!(error.message.contains("no engine answers"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_without_a_name_is_waited_for() {
        let engine = Engine {
            docker: Docker::connect_with_http("127.0.0.1:1", LIBRARY, API_DEFAULT_VERSION).unwrap(),
            address: at(std::path::Path::new("/nonexistent.sock")),
        };
        let left = std::sync::atomic::AtomicU8::new(3);
        let look = || async {
            match left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Ok(7),
                _ => Err(Fault::JsonDataError {
                    message: "unknown variant `stopping`".into(),
                    column: 1,
                }),
            }
        };
        assert_eq!(engine.see("look", look).await, Ok(Some(7)));
    }

    #[test]
    fn what_goes_while_it_is_looked_at_is_not_there() {
        let fault = |status_code, message: &str| Fault::DockerResponseServerError {
            status_code,
            message: message.into(),
        };
        assert!(is_absent(&fault(404, "No such container: x")));
        assert!(is_absent(&fault(
            500,
            "container x does not exist in database: no such container"
        )));
        assert!(!is_absent(&fault(500, "database is locked")));
        assert!(!is_absent(&fault(409, "no such container")));
    }

    #[tokio::test]
    async fn an_engine_that_thinks_about_who_it_is_and_answers_otherwise_is_waited_for() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slow.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let answering = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = [0; 1024];
                    let read = stream.read(&mut request).await.unwrap_or_default();
                    let body = if String::from_utf8_lossy(&request[..read]).contains("/_ping") {
                        "OK"
                    } else {
                        tokio::time::sleep(GREETING + Duration::from_millis(500)).await;
                        r#"{"ApiVersion":"1.41"}"#
                    };
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Engine::connect_to(at(&path)).await.unwrap();
        answering.abort();
    }

    #[tokio::test]
    async fn what_is_no_engine_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let answering = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(b"220 mail\r\n").await;
            }
        });
        let error = Engine::connect_to(at(&path)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message.contains("does not answer"), "{error}");
        answering.abort();
    }
}
