//! The ways to plug a backend in.

use clap::ValueEnum;

/// How a backend is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// A file of the commands by which a person would use it; no program is written
    Manifest,
    /// A program in Python, of its standard library alone
    Python,
    /// A program in Rust
    Rust,
}

impl Language {
    /// What is written, for people.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Manifest => "a backend described by commands",
            Self::Python => "a backend in Python",
            Self::Rust => "a backend in Rust",
        }
    }
}
