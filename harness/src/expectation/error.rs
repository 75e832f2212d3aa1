//! Why an expectation file cannot be used.

use std::{fmt, io, ops::Range, path::PathBuf};

/// An expectation file cannot be read, used or written.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationError {
    /// It is not there, or not readable.
    #[error("cannot read the expectation file {}: {source}; check the path, or make one with --write-expectations", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written; what was there is still there.
    #[error("cannot write the expectation file {}: {source}; choose a directory that is writable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{}:{place}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// What, what was expected, and what to do.
        message: String,
    },
}

/// A place in a text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Place {
    /// Where a byte range of a text begins.
    pub(super) fn of(text: &str, range: &Range<usize>) -> Self {
        let before = &text[..text.floor_char_boundary(range.start)];
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
