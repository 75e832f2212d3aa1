//! The choke point: a configuration becomes a backend here, and nowhere else.

use super::{
    Backend,
    docker::DockerBackend,
    local::{LocalBackend, Mode, SpoolFull, Streams},
};
use crate::config::{BackendName, Config, ExecMode, Origin, Problems, Sources};

/// The backends of this build.
pub const AVAILABLE: &[BackendName] = &[BackendName::Local, BackendName::Docker];

/// Why a configuration becomes no backend. Nothing falls back to another one.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// This build does not have it.
    #[error(transparent)]
    NotBuilt(#[from] NotBuilt),
    /// Something is wrong with what the backend reads of the configuration.
    #[error(transparent)]
    Configuration(#[from] Problems),
}

/// A backend that is known, and that this build does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the backend {backend} is asked for ({origin}), and this build of herm does not have it; nothing was run, and nothing \
     falls back to this machine. It has: {}. Ask for one of these with --backend, or herm config set terminal.backend",
    names(AVAILABLE)
)]
pub struct NotBuilt {
    /// The backend.
    pub backend: BackendName,
    /// Who asks for it.
    pub origin: Origin,
}

/// The backend that a configuration names, and no other; its jobs do that when no more of their output can be kept. The
/// configuration was resolved from these sources. This blocks for as long as a small file takes.
///
/// # Errors
/// This build does not have it, or what it reads of the configuration cannot be used.
pub fn open_backend(config: &Config, sources: &Sources, spool_full: SpoolFull) -> Result<Backend, OpenError> {
    let mode = match config.exec_mode() {
        ExecMode::Native => Mode::Native,
        ExecMode::Auto | ExecMode::Resident => Mode::Resident,
    };
    match config.backend() {
        BackendName::Docker => {
            let config = config.docker(sources)?;
            let streams = Streams::default();
            Ok(Backend::Docker(DockerBackend::new(
                config, mode, streams, spool_full,
            )))
        }
        BackendName::Local => {
            let passed = config.local().env_passthrough;
            Ok(Backend::Local(LocalBackend::passing_on(
                mode, spool_full, &passed,
            )))
        }
        backend => Err(NotBuilt {
            backend,
            origin: config.backend_origin().clone(),
        }
        .into()),
    }
}

/// Names with commas between.
fn names(backends: &[BackendName]) -> String {
    backends
        .iter()
        .map(|backend| backend.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration that names a backend and nothing else.
    fn naming(backend: BackendName) -> (Config, Sources) {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources {
            home: directory.path().to_owned(),
            ..Sources::default()
        };
        let sources = sources.with("--backend", "terminal.backend", Some(backend.name()));
        (Config::load(&sources).unwrap(), sources)
    }

    #[test]
    fn a_backend_is_the_one_that_is_asked_for_or_an_error() {
        for backend in BackendName::ALL {
            let (config, sources) = naming(backend);
            match open_backend(&config, &sources, SpoolFull::default()) {
                Ok(opened) => assert_eq!(opened.name(), backend),
                Err(error) => {
                    assert!(!AVAILABLE.contains(&backend), "{backend}");
                    let told = error.to_string();
                    assert!(
                        told.contains(backend.name()) && told.contains("--backend"),
                        "{told}"
                    );
                }
            }
        }
    }
}
