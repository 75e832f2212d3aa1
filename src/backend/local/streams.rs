//! Whether what a command prints arrives as two streams or as one.

use std::{fmt, str::FromStr};

/// How the two streams of a command's output arrive: the choice `streams` of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// Standard output and standard error each for itself.
    #[default]
    Apart,
    /// Both as standard output, in the order of writing: commands write both into one pipe. Only a resident does that.
    Merged,
}

impl Streams {
    /// Both, the usual one first.
    pub const ALL: [Self; 2] = [Self::Apart, Self::Merged];

    /// Its name, as the choice has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Apart => "apart",
            Self::Merged => "merged",
        }
    }
}

impl fmt::Display for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Streams {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|streams| streams.name() == name);
        found.ok_or_else(|| format!("{name:?} is no way to send two streams; there are: apart, merged"))
    }
}
