//! What is wrong with a manifest, and where.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use crate::near_miss::hint;

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

/// Reads TOML; `conditions` are the names that are known, for a better message.
pub(in crate::manifest) fn parse_toml<T: DeserializeOwned>(
    text: &str,
    conditions: &[&str],
) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = &text[..text.floor_char_boundary(offset)];
        Wrong::new(offset, explained(error.message(), before, conditions))
    })
}

/// A message of the TOML reader in words that help; `before` is what stands before the place.
fn explained(message: &str, before: &str, conditions: &[&str]) -> String {
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split('`').next());
    let Some(key) = unknown else {
        let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or("it is no TOML");
        return lines.fold(first.to_owned(), |all, line| format!("{all}; {line}"));
    };
    if key == "shim" {
        return "there is no shim yet: herm has nothing of its own to put into a sandbox; leave it out, and declare only what the tool does by itself".into();
    }
    let is_split = |name: &&&str| {
        let parts = name.rsplit_once('.');
        parts.is_some_and(|(first, last)| last == key && before.ends_with(&format!("{first}.")))
    };
    if let Some(condition) = conditions.iter().find(is_split) {
        return format!("a name with a dot in it is written in quotes: [conditions.\"{condition}\"]");
    }
    let known = message.split('`').skip(3).step_by(2);
    format!("{message}{}", hint(key, known))
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
