//! What can go wrong with the reports of a run.

use std::{io, path::PathBuf};

use crate::verdict::Exit;

/// A report could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The directory cannot be used.
    #[error("cannot make the report directory {}: {source}; choose another with --report FOLDER, or make it writable", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run writes there now.
    #[error("{} is being written by a run that is still going; wait for it, or choose another directory with --report FOLDER", path.display())]
    InUse {
        /// Its event file.
        path: PathBuf,
    },
    /// A file could not be written; what was there before is still there.
    #[error("cannot write {}: {source}; free space there or make it writable, then run again", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}; expected the event file of a run", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of an event file is no event.
    #[error("{} line {line} is not an event of format {}: {why}; only the last line may be cut off", path.display(), crate::event::FORMAT)]
    Garbage {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// An event could not be turned into a line.
    #[error("cannot encode an event: {0}; this is a defect of herm")]
    Encode(#[source] serde_json::Error),
    /// The report could not be turned into JUnit XML.
    #[error("cannot encode junit.xml: {0}; this is a defect of herm")]
    Junit(#[source] Box<quick_junit::SerializeError>),
}

impl ReportError {
    /// The exit code it stands for: a directory or file that the user named and that cannot be used is a usage error; a
    /// report that got lost is a broken run.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Directory { .. } | Self::InUse { .. } | Self::Read { .. } | Self::Garbage { .. } => {
                Exit::Usage
            }
            Self::Write { .. } | Self::Encode(_) | Self::Junit(_) => Exit::Broken,
        }
    }
}
