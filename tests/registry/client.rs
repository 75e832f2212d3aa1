//! Somebody who runs `herm exec`, with a configuration of the engine's client.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use assert_cmd::{Command, assert::Assert};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::watch::{self, Watch};

/// How long a command may take, with fetching.
const LIMIT: Duration = Duration::from_mins(3);

/// The key under which the sandbox is kept, for as long as a test looks at it.
const KEY: &str = "registry";

pub(crate) struct Client {
    folder: TempDir,
}

impl Client {
    /// One whose sandboxes are made of an image, and who has no credentials.
    pub(crate) fn new(image: &str) -> Self {
        let client = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["hermes", "docker", "bin"] {
            fs::create_dir(client.path(name)).unwrap();
        }
        client.wish(image);
        client
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sandboxes are made of this image from now on.
    pub(crate) fn wish(&self, image: &str) {
        let text = format!("terminal:\n  backend: docker\n  docker_image: {image}\n");
        fs::write(self.path("hermes/config.yaml"), text).unwrap();
    }

    /// The configuration of the engine's client, as it stands in the file.
    pub(crate) fn write(&self, text: &str) {
        fs::write(self.path("docker/config.json"), text).unwrap();
    }

    pub(crate) fn configure(&self, configuration: &Value) {
        self.write(&configuration.to_string());
    }

    /// As `docker login` does it.
    pub(crate) fn log_in(&self, registry: &str, user: &str, password: &str) {
        let auth = STANDARD.encode(format!("{user}:{password}"));
        self.configure(&json!({"auths": {registry: {"auth": auth}}}));
    }

    /// The program `docker-credential-herm-test`: a script of sh.
    pub(crate) fn helper(&self, script: &str) {
        let path = self.path("bin/docker-credential-herm-test");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// A command finds itself in the image; gives what was told meanwhile.
    pub(crate) async fn succeeds(&self, image: &str) -> String {
        told(&self.look().await.success().stdout(image.to_owned()))
    }

    /// No command runs; gives what was told of it.
    pub(crate) async fn fails(&self) -> String {
        told(&self.look().await.failure().stdout(""))
    }

    /// Removes the sandbox.
    pub(crate) async fn clean(self) {
        self.herm(&["rm", KEY]).await.success();
    }

    async fn look(&self) -> Assert {
        let watch = Watch::start();
        let seen = self.herm(&["exec", "--key", KEY, "--", "cat", "/etc/name"]).await;
        watch.end();
        let output = seen.get_output();
        for (what, said) in [
            ("standard output", &output.stdout),
            ("standard error", &output.stderr),
        ] {
            watch::holds_no_secret(what, said);
        }
        for place in ["hermes", "state"] {
            no_file_holds_a_secret(&self.path(place));
        }
        seen
    }

    async fn herm(&self, arguments: &[&str]) -> Assert {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TERMINAL_") {
                command.env_remove(name);
            }
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(arguments)
            .env("HERMES_HOME", self.path("hermes"))
            .env("HERM_STATE", self.path("state"))
            .env("DOCKER_CONFIG", self.path("docker"))
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .timeout(LIMIT);
        tokio::task::spawn_blocking(move || command.assert())
            .await
            .unwrap()
    }
}

fn told(seen: &Assert) -> String {
    String::from_utf8(seen.get_output().stderr.clone()).unwrap()
}

fn no_file_holds_a_secret(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            no_file_holds_a_secret(&path);
        } else if kind.is_file() {
            watch::holds_no_secret(&path.display().to_string(), &fs::read(&path).unwrap_or_default());
        }
    }
}
