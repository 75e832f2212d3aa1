//! The choke point: a configuration becomes a backend here, and nowhere else.

use super::{
    Backend,
    local::{LocalBackend, Mode, SpoolFull},
};
use crate::config::{BackendName, Config, ExecMode, Origin};

/// The backends of this build.
pub const AVAILABLE: &[BackendName] = &[BackendName::Local];

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

/// The backend that a configuration names, and no other; its jobs do that when no more of their output can be kept.
///
/// # Errors
/// This build does not have it.
pub fn open_backend(config: &Config, spool_full: SpoolFull) -> Result<Backend, NotBuilt> {
    match config.backend() {
        BackendName::Local => {
            let mode = match config.exec_mode() {
                ExecMode::Native => Mode::Native,
                ExecMode::Auto | ExecMode::Resident => Mode::Resident,
            };
            let passed = config.local().env_passthrough;
            Ok(Backend::Local(LocalBackend::passing_on(
                mode, spool_full, &passed,
            )))
        }
        backend => Err(NotBuilt {
            backend,
            origin: config.backend_origin().clone(),
        }),
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
    use crate::config::Sources;

    /// A configuration that names a backend and nothing else.
    fn naming(backend: BackendName) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources {
            home: directory.path().to_owned(),
            ..Sources::default()
        };
        Config::load(&sources.with("--backend", "terminal.backend", Some(backend.name()))).unwrap()
    }

    #[test]
    fn a_backend_is_the_one_that_is_asked_for_or_an_error() {
        for backend in BackendName::ALL {
            match open_backend(&naming(backend), SpoolFull::default()) {
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
