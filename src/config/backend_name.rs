//! The names of the backends.

use std::fmt;

/// Where commands run: the closed set of values of `terminal.backend`. Which of them this build has is told by
/// [`crate::backend::AVAILABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendName {
    /// This machine.
    Local,
    /// A container of an engine on this machine.
    Docker,
    /// Another machine.
    Ssh,
    /// An Apptainer or Singularity instance.
    Singularity,
    /// A sandbox at Modal.
    Modal,
    /// A sandbox at Daytona.
    Daytona,
    /// A sandbox at Vercel.
    VercelSandbox,
}

impl BackendName {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Local,
        Self::Docker,
        Self::Ssh,
        Self::Singularity,
        Self::Modal,
        Self::Daytona,
        Self::VercelSandbox,
    ];

    /// Their names, in the same order.
    pub const NAMES: [&str; 7] = [
        "local",
        "docker",
        "ssh",
        "singularity",
        "modal",
        "daytona",
        "vercel_sandbox",
    ];

    /// Its name, as in `terminal.backend`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Docker => "docker",
            Self::Ssh => "ssh",
            Self::Singularity => "singularity",
            Self::Modal => "modal",
            Self::Daytona => "daytona",
            Self::VercelSandbox => "vercel_sandbox",
        }
    }

    /// The backend of that very name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.name() == name)
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_has_its_own_name() {
        assert_eq!(BackendName::ALL.map(BackendName::name), BackendName::NAMES);
        for backend in BackendName::ALL {
            assert_eq!(BackendName::of(backend.name()), Some(backend));
        }
        assert_eq!(BackendName::of("Local"), None);
    }
}
