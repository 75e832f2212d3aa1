//! A directory of Hermes', and commands that read it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::{Command, assert::Assert};
use tempfile::TempDir;

/// A directory of Hermes'; it ends with this.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// One that is not there yet.
    pub(crate) fn none() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// One with a file of settings.
    pub(crate) fn with(text: impl AsRef<[u8]>) -> Self {
        let home = Self::none();
        fs::create_dir(home.path()).unwrap();
        fs::write(home.file(), text).unwrap();
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("hermes")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path().join("config.yaml")
    }

    pub(crate) fn dotenv(&self) -> PathBuf {
        self.path().join(".env")
    }

    /// A folder beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(fs::read(self.file()).unwrap()).unwrap()
    }

    /// A command of ours that sees this directory, and no variable of a setting but these.
    pub(crate) fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TERMINAL_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("HERMES_HOME", self.path())
            .env("HERM_STATE", self.folder.path().join("state"))
            .envs(variables.iter().copied())
            .timeout(std::time::Duration::from_mins(1));
        command
    }

    pub(crate) fn herm(&self, arguments: &[&str]) -> Assert {
        self.command(arguments, &[]).assert()
    }

    /// What `herm config get` prints.
    pub(crate) fn get(&self, key: &str, variables: &[(&str, &str)]) -> String {
        let seen = self
            .command(&["config", "get", key], variables)
            .assert()
            .success();
        String::from_utf8(seen.get_output().stdout.clone())
            .unwrap()
            .trim_end()
            .to_owned()
    }

    pub(crate) fn set(&self, key: &str, value: &str) -> Assert {
        self.herm(&["config", "set", key, value])
    }
}

/// What a command wrote to standard error.
pub(crate) fn complaint(seen: &Assert) -> String {
    String::from_utf8_lossy(&seen.get_output().stderr).into_owned()
}

/// How many lines two texts do not have in common, at most: those between their common start and their common end.
pub(crate) fn changed_lines(old: &str, new: &str) -> usize {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take(rest).take_while(|(old, new)| old == new).count();
    old.len().max(new.len()) - start - end
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
