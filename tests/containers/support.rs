//! A user of the command with a configuration and a state of their own, and what they ask the engine by hand.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long what was begun may take.
const SOON: Duration = Duration::from_secs(20);

/// A user; everything of theirs goes with this.
pub(crate) struct User {
    folder: TempDir,
}

impl User {
    /// One whose containers are made of the usual image of tests, with these lines of the section `terminal`.
    pub(crate) fn new(settings: &str) -> Self {
        let user = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        user.set(settings);
        user
    }

    /// Has other settings from now on.
    pub(crate) fn set(&self, settings: &str) {
        let text = format!("terminal:\n  backend: docker\n  docker_image: herm-test\n{settings}");
        fs::write(self.folder.path().join("config.yaml"), text).unwrap();
    }

    /// Where their sandboxes are kept.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command
            .args(arguments)
            .env("HERMES_HOME", self.folder.path())
            .env("HERM_STATE", self.state())
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What a command printed on both streams, and its code.
    pub(crate) fn herm(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    /// The container of the only key.
    pub(crate) fn container(&self) -> String {
        let listed = self.herm(&["ps", "--json"]);
        let sandboxes: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
        sandboxes[0]["sandbox"].as_str().unwrap().to_owned()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let listed = self.herm(&["ps", "--json"]);
        let sandboxes: serde_json::Value = serde_json::from_str(&listed.out).unwrap_or_default();
        for one in sandboxes.as_array().into_iter().flatten() {
            self.herm(&["rm", one["key"].as_str().unwrap_or_default()]);
        }
    }
}

/// What a command has said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Said {
    fn of(output: &Output) -> Self {
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

/// Asks the engine as people do.
pub(crate) fn docker(arguments: &[&str]) -> Said {
    Said::of(&Command::new("docker").args(arguments).output().unwrap())
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
