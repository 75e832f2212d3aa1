//! Why a text of the configuration is not taken.

use std::fmt;

use herm_protocol::{Error, ErrorKind};

use crate::config::Asked;

/// Why something is refused, and the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// What was found and why it cannot be; it reads on after the name of what holds it.
    pub what: String,
    /// The next step.
    pub fix: String,
}

impl Refusal {
    pub(super) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }

    /// The error about a resource, such as `terminal.docker_volumes`.
    #[must_use]
    pub fn about(self, resource: impl Into<String>) -> Error {
        let resource = resource.into();
        let message = format!("{resource}: {}", self.what);
        Error::new(ErrorKind::InvalidArgument, resource, message).with_fix(self.fix)
    }

    /// The error about a setting, with where it came from.
    pub(super) fn of_setting<T>(self, setting: &Asked<T>) -> Error {
        let message = format!("{}: {}", setting.asker(), self.what);
        Error::new(ErrorKind::InvalidArgument, setting.key, message).with_fix(self.fix)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.fix)
    }
}
