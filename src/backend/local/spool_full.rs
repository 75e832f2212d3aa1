//! What happens to the output of a job that nobody reads when no more of it can be kept.

use std::{fmt, str::FromStr};

use herm_resident::wire;

/// What happens then: the choice `spool_full` of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpoolFull {
    /// The job waits until somebody reads.
    #[default]
    Block,
    /// The oldest output is dropped, and the gap is told to whoever reads. Only a resident does that.
    DropOldest,
}

impl SpoolFull {
    /// Both, the usual one first.
    pub const ALL: [Self; 2] = [Self::Block, Self::DropOldest];

    /// Its name, as the choice has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::DropOldest => "drop_oldest",
        }
    }

    /// As a resident is told it.
    pub(crate) fn on_the_wire(self) -> wire::SpoolFull {
        match self {
            Self::Block => wire::SpoolFull::Block,
            Self::DropOldest => wire::SpoolFull::DropOldest,
        }
    }
}

impl fmt::Display for SpoolFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SpoolFull {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| {
            format!("{name:?} is nothing to do when no more can be kept; there are: block, drop_oldest")
        })
    }
}
