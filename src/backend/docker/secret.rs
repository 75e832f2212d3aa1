//! What a client and the resident of a container know, and nobody else.
//!
//! The container has it in the variables of its first process, which nothing in the container can read; whoever may ask the
//! engine is as mighty as the superuser anyway. For later clients it is kept in a file of this user's alone.

use std::{fs, io, path::Path};

use herm_protocol::{Error, hexadecimal};

use crate::{files, resident::Secret};

/// The variable that hands it over; the resident takes it out of what commands see.
const VARIABLE: &str = "HERM_RESIDENT_SECRET";

/// The file in the sandbox's private directory.
const FILE: &str = "secret";

/// The file while a sandbox is made: what takes the place of another one has a secret of its own.
const NEXT: &str = "secret-next";

/// Its length in bytes.
const LENGTH: usize = 32;

/// A secret that was just made, or read.
#[derive(Clone)]
pub(super) struct Known([u8; LENGTH]);

impl Known {
    /// One that nobody has had before.
    pub(super) fn fresh() -> Result<Self, Error> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes).map_err(|error| Error::internal("make a secret at random", error))?;
        Ok(Self(bytes))
    }

    /// The one of a sandbox that is kept, if it is there. This blocks.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        Self::read_from(&directory.join(FILE))
    }

    /// The one of a sandbox that was being made and whose maker did not come to the end. This blocks.
    pub(super) fn read_next(directory: &Path) -> Option<Self> {
        Self::read_from(&directory.join(NEXT)).ok()
    }

    fn read_from(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let bytes = bytes
            .try_into()
            .map_err(|_| io::Error::other(format!("{} is no secret", path.display())))?;
        Ok(Self(bytes))
    }

    /// Keeps it for a sandbox that is being made, beside that of the one whose place it takes. This blocks.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(super) fn write_next(&self, directory: &Path) -> Result<(), Error> {
        files::write_as(&directory.join(NEXT), &self.0, 0o600)
    }

    /// Keeps for later clients what was kept for a sandbox that was being made. This blocks.
    ///
    /// # Errors
    /// It cannot be done there.
    pub(super) fn take_next(directory: &Path) -> io::Result<()> {
        fs::rename(directory.join(NEXT), directory.join(FILE))
    }

    /// Forgets what was kept for a sandbox that is not made after all. This blocks.
    pub(super) fn forget_next(directory: &Path) {
        let _ = fs::remove_file(directory.join(NEXT));
    }

    /// As the resident is told it.
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE}={}", hexadecimal(&self.0))
    }

    pub(super) fn secret(&self) -> Secret {
        Secret::new(self.0)
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}
