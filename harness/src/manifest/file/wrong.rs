//! What is wrong with a manifest, and where.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// The longest manifest that is read. What is longer is none.
const LONGEST: u64 = 1 << 20;

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("failed to read the manifest {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no manifest.
    #[error("{path}:{line}:{column}: {problem}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Where.
        column: usize,
        /// What is wrong.
        problem: String,
    },
}

/// Something wrong at an offset of the text.
#[derive(Debug)]
pub(in crate::manifest) struct Wrong {
    pub(in crate::manifest) offset: usize,
    pub(in crate::manifest) problem: String,
}

impl Wrong {
    pub(in crate::manifest) fn new(offset: usize, problem: impl Into<String>) -> Self {
        Self {
            offset,
            problem: problem.into(),
        }
    }

    pub(in crate::manifest) fn in_file(self, path: &Path, text: &str) -> ManifestError {
        let (line, column) = place_of(text, self.offset);
        ManifestError::Broken {
            path: path.to_owned(),
            line,
            column,
            problem: self.problem,
        }
    }
}

/// The text of a manifest.
pub(in crate::manifest) fn read(path: &Path) -> Result<String, ManifestError> {
    let unreadable = |source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let refused = |problem: String| unreadable(io::Error::new(io::ErrorKind::InvalidData, problem));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(refused("it is a directory; name the .toml file in it".into()));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(refused("it is longer than 1 MiB, which no manifest is".into()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        Wrong::new(good, "the file is not text in UTF-8; save it as UTF-8").in_file(path, &before)
    })
}

/// Line and column, from 1, of an offset in a text.
pub(in crate::manifest) fn place_of(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    // A mark of the byte order is no column.
    let column = before[start..].trim_start_matches('\u{feff}').chars().count() + 1;
    (line, column)
}
