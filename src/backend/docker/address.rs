//! Where the engine listens: what the engine's own client would use.
//!
//! The first of these that is there: `DOCKER_HOST`; the context that `DOCKER_CONTEXT` or the client's configuration names;
//! the usual socket of Docker; the socket of podman.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use herm_protocol::{Error, ErrorKind, hexadecimal};
use herm_resident::wire::sha256;
use serde::Deserialize;

/// Where Docker listens unless somebody says otherwise.
const USUAL: &str = "/var/run/docker.sock";

/// The context that stands for no context.
const DEFAULT_CONTEXT: &str = "default";

/// The largest file of the client's configuration that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Where an engine listens, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) kind: Kind,
    /// For people: a variable, a context, the usual place.
    pub(super) origin: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A socket of this machine.
    Socket(PathBuf),
    /// Another machine, or this one by its network, without encryption.
    Http(String),
    /// The same with certificates: a directory with `ca.pem`, `cert.pem` and `key.pem`.
    Tls(String, PathBuf),
}

impl Address {
    /// As people write it.
    pub(super) fn shown(&self) -> String {
        match &self.kind {
            Kind::Socket(path) => format!("unix://{}", path.display()),
            Kind::Http(address) | Kind::Tls(address, _) => format!("tcp://{address}"),
        }
    }
}

/// What decides where the engine is looked for. Empty variables count as not set.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    host: Option<String>,
    context: Option<String>,
    config: Option<PathBuf>,
    certificates: Option<PathBuf>,
    verify: bool,
    runtime: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub(super) fn of_this_process() -> Self {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let config = path("DOCKER_CONFIG").or_else(|| path("HOME").map(|home| home.join(".docker")));
        Self {
            host: text("DOCKER_HOST"),
            context: text("DOCKER_CONTEXT"),
            certificates: path("DOCKER_CERT_PATH").or_else(|| config.clone()),
            config,
            verify: text("DOCKER_TLS_VERIFY").is_some() || text("DOCKER_TLS").is_some(),
            runtime: path("XDG_RUNTIME_DIR"),
        }
    }

    /// Where the engine is. This blocks for as long as some small files take.
    ///
    /// # Errors
    /// An address that cannot be used, or a context that is not there.
    pub(super) fn address(&self) -> Result<Address, Error> {
        if let Some(host) = &self.host {
            let certificates = self.certificates.as_deref().filter(|_| self.verify);
            return parse(host, certificates, "DOCKER_HOST".to_owned());
        }
        let context = match &self.context {
            Some(context) => Some(("DOCKER_CONTEXT".to_owned(), context.clone())),
            None => self.current_context()?,
        };
        if let Some((origin, context)) = context.filter(|(_, context)| context != DEFAULT_CONTEXT) {
            return self.of_context(&origin, &context);
        }
        let usual = Path::new(USUAL);
        let podman = [
            self.runtime
                .as_ref()
                .map(|runtime| runtime.join("podman/podman.sock")),
            Some("/run/podman/podman.sock".into()),
        ];
        let found = podman.into_iter().flatten().find(|path| path.exists());
        let (path, origin) = match found {
            Some(path) if !usual.exists() => (path, "podman's socket"),
            _ => (usual.to_owned(), "the usual socket"),
        };
        Ok(Address {
            kind: Kind::Socket(path),
            origin: origin.to_owned(),
        })
    }

    /// The context that the client's configuration names.
    fn current_context(&self) -> Result<Option<(String, String)>, Error> {
        #[derive(Deserialize)]
        struct Client {
            #[serde(rename = "currentContext", default)]
            current: String,
        }
        let Some(path) = self.config.as_ref().map(|config| config.join("config.json")) else {
            return Ok(None);
        };
        let Some(client) = read::<Client>(&path)? else {
            return Ok(None);
        };
        Ok(Some((path.display().to_string(), client.current)).filter(|(_, name)| !name.is_empty()))
    }

    /// The engine of a context, which the client keeps in a directory named by the digest of the context's name.
    fn of_context(&self, origin: &str, name: &str) -> Result<Address, Error> {
        #[derive(Deserialize)]
        struct Context {
            #[serde(rename = "Endpoints", default)]
            endpoints: std::collections::BTreeMap<String, Endpoint>,
        }
        #[derive(Deserialize)]
        struct Endpoint {
            #[serde(rename = "Host", default)]
            host: String,
        }
        let digest = hexadecimal(&sha256(name.as_bytes()));
        let contexts = self.config.clone().unwrap_or_default().join("contexts");
        let meta = contexts.join("meta").join(&digest).join("meta.json");
        let context: Context = read(&meta)?.ok_or_else(|| {
            let message = format!("there is no context {name:?} of Docker, which {origin} names");
            Error::new(ErrorKind::InvalidArgument, name, message).with_fix(
                "see docker context ls, and name one of these in DOCKER_CONTEXT, or an address in DOCKER_HOST",
            )
        })?;
        let host = context
            .endpoints
            .get("docker")
            .map(|endpoint| endpoint.host.as_str())
            .filter(|host| !host.is_empty())
            .ok_or_else(|| {
                let message = format!("the context {name:?} names no engine of Docker");
                Error::new(ErrorKind::InvalidArgument, name, message)
                    .with_fix("name another context in DOCKER_CONTEXT, or an address in DOCKER_HOST")
            })?;
        let certificates = contexts.join("tls").join(&digest).join("docker");
        let certificates = Some(certificates.as_path()).filter(|path| path.is_dir());
        parse(host, certificates, format!("the context {name:?}"))
    }
}

fn parse(host: &str, certificates: Option<&Path>, origin: String) -> Result<Address, Error> {
    let kind = match host.split_once("://") {
        Some(("unix", path)) if path.starts_with('/') => Kind::Socket(path.into()),
        Some(("tcp" | "http" | "https", address)) if !address.is_empty() => match certificates {
            Some(certificates) => Kind::Tls(address.into(), certificates.into()),
            None => Kind::Http(address.into()),
        },
        _ => {
            let message = format!("{origin} names {host:?}, which is no address that can be reached here");
            return Err(Error::new(ErrorKind::InvalidArgument, host, message).with_fix(
                "give unix:///PATH or tcp://HOST:PORT; an engine on another machine is reached when its socket is forwarded by \
                 ssh -L",
            ));
        }
    };
    Ok(Address { kind, origin })
}

/// A file of the client's configuration; one that is not there says nothing. Nothing of what it holds is told: it may hold
/// passwords.
pub(super) fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, Error> {
    let failed = |problem: String| {
        let message = format!("failed to read {}: {problem}", path.display());
        Error::new(ErrorKind::InvalidArgument, path.to_string_lossy(), message)
            .with_fix("correct the file, or set DOCKER_HOST, which needs none")
    };
    let text = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST => fs::read(path),
        Ok(_) => return Err(failed(format!("it is no file of at most {LARGEST} bytes"))),
        Err(error) => Err(error),
    };
    match text {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            failed(format!(
                "what stands at line {line}, column {column} is not expected there"
            ))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_variable_says_wins() {
        let told = |host: &str, verify| {
            let surroundings = Surroundings {
                host: Some(host.into()),
                context: Some("other".into()),
                certificates: Some("/c".into()),
                verify,
                ..Surroundings::default()
            };
            surroundings.address().map(|address| address.kind)
        };
        assert_eq!(
            told("unix:///a/b.sock", false),
            Ok(Kind::Socket("/a/b.sock".into()))
        );
        assert_eq!(told("tcp://h:2375", false), Ok(Kind::Http("h:2375".into())));
        assert_eq!(
            told("tcp://h:2376", true),
            Ok(Kind::Tls("h:2376".into(), "/c".into()))
        );
        for wrong in [
            "ssh://h",
            "unix://relative",
            "h:2375",
            "tcp://",
            "npipe:////./pipe",
        ] {
            let error = told(wrong, false).unwrap_err();
            assert!(
                error.message.contains("DOCKER_HOST") && error.message.contains(wrong),
                "{error}"
            );
        }
    }

    #[test]
    fn a_context_is_found_by_its_name_or_is_an_error() {
        let config = tempfile::tempdir().unwrap();
        let surroundings = |context: Option<&str>| Surroundings {
            context: context.map(str::to_owned),
            config: Some(config.path().to_owned()),
            ..Surroundings::default()
        };
        let usual = surroundings(None).address().unwrap();
        assert!(matches!(usual.kind, Kind::Socket(_)), "{usual:?}");
        let error = surroundings(Some("lab")).address().unwrap_err();
        assert!(
            error.message.contains("\"lab\"") && error.message.contains("DOCKER_CONTEXT"),
            "{error}"
        );
        let digest = hexadecimal(&sha256(b"lab"));
        let meta = config.path().join("contexts/meta").join(&digest);
        fs::create_dir_all(&meta).unwrap();
        let write = |host: &str| {
            let text = format!(r#"{{"Name":"lab","Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
            fs::write(meta.join("meta.json"), text).unwrap();
        };
        write("unix:///lab.sock");
        fs::write(config.path().join("config.json"), r#"{"currentContext":"lab"}"#).unwrap();
        for context in [None, Some("lab")] {
            let address = surroundings(context).address().unwrap();
            assert_eq!(address.kind, Kind::Socket("/lab.sock".into()));
            assert!(address.origin.contains("lab"));
        }
        assert_ne!(
            surroundings(Some("default")).address().unwrap().kind,
            Kind::Socket("/lab.sock".into())
        );
        write("tcp://lab:2376");
        let certificates = config.path().join("contexts/tls").join(&digest).join("docker");
        fs::create_dir_all(&certificates).unwrap();
        let address = surroundings(None).address().unwrap();
        assert_eq!(address.kind, Kind::Tls("lab:2376".into(), certificates));
        write("");
        assert!(
            surroundings(None)
                .address()
                .unwrap_err()
                .message
                .contains("names no engine")
        );
        fs::write(config.path().join("config.json"), "{").unwrap();
        let error = surroundings(None).address().unwrap_err();
        assert!(error.message.contains("config.json"), "{error}");
        fs::write(config.path().join("config.json"), "\n\"h1dden\"").unwrap();
        let error = surroundings(None).address().unwrap_err();
        assert!(
            error.message.contains("line 2") && !error.message.contains("h1dden"),
            "{error}"
        );
    }
}
