//! What the configuration says of commands on this machine.

use std::{env, path::PathBuf, time::Duration};

use super::Config;

/// How commands are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecMode {
    /// As is best for the backend.
    Auto,
    /// By a resident in the sandbox.
    Resident,
    /// Without one.
    Native,
}

/// The settings that matter on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalConfig {
    /// The directory that commands start in; none is the current one. It may be relative to that.
    pub cwd: Option<PathBuf>,
    /// Names of variables of this process that commands see, too.
    pub env_passthrough: Vec<String>,
}

impl Config {
    /// The settings that matter on this machine.
    #[must_use]
    pub fn local(&self) -> LocalConfig {
        let cwd = self.text("terminal.cwd");
        let cwd = Some(cwd.trim())
            .filter(|cwd| !matches!(*cwd, "" | "." | "auto"))
            .map(in_home);
        LocalConfig {
            cwd,
            env_passthrough: self.list("terminal.env_passthrough"),
        }
    }

    /// The deadline of a command that has none of its own; none is no deadline.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.integer("terminal.timeout")).unwrap_or_default();
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// How commands are run.
    #[must_use]
    pub fn exec_mode(&self) -> ExecMode {
        match self.text("terminal.exec_mode").as_str() {
            "resident" => ExecMode::Resident,
            "native" => ExecMode::Native,
            _ => ExecMode::Auto,
        }
    }
}

/// A path whose `~` is the user's home.
pub(super) fn in_home(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), env::home_dir()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => path.into(),
    }
}
