//! How commands are run.

use std::{fmt, str::FromStr};

/// How commands are run on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By this process itself: kill scope is the process group, no jobs.
    Native,
    /// By a resident of each sandbox, which ends whole trees of processes and keeps jobs.
    #[default]
    Resident,
}

impl Mode {
    /// Both, the best first.
    pub const ALL: [Self; 2] = [Self::Resident, Self::Native];

    /// Its name, as in `terminal.exec_mode`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Resident => "resident",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| format!("there is no mode {name:?}; there are: resident, native"))
    }
}
