//! When to colour, and what else an output can show.

use std::{
    env,
    io::{self, IsTerminal as _},
};

use clap::ValueEnum;
use herm_harness::report::ConsoleOptions;

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// What standard output can show. `crowded` says that other lines come between, so that none is written over.
    pub(super) fn console(self, crowded: bool) -> ConsoleOptions {
        let terminal = io::stdout().is_terminal();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()));
        let utf8 = locale.is_none_or(|locale| locale.to_lowercase().replace('-', "").contains("utf8"));
        ConsoleOptions {
            width: env::var("COLUMNS")
                .ok()
                .and_then(|columns| columns.parse().ok())
                .unwrap_or(100),
            color: match self {
                Self::Always => true,
                Self::Never => false,
                Self::Auto => terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            },
            terminal: terminal && !crowded,
            unicode: utf8,
        }
    }
}
