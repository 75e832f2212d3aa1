//! Words to the person at the terminal.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes a line to standard error. A reader that has gone is none of our business: unlike `eprintln!` this never panics.
pub fn tell(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}
