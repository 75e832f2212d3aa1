//! The log of the backend.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes a line to standard error, which is log. When nobody reads it any more there is still work to do, so this never
/// panics.
pub(super) fn tell(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "herm-local: {message}");
}
