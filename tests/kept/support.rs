//! A place where sandboxes are kept, and the command that keeps them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// A place where sandboxes are kept; everything in it ends with this.
pub(crate) struct Kept {
    pub(crate) state: PathBuf,
    _folder: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Seen {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        Self {
            code: status.code(),
            stdout,
            stderr,
        }
    }

    /// What it printed, if it went well.
    pub(crate) fn ok(&self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.text(), self.complaint());
        self.text()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Kept {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        Self {
            state,
            _folder: folder,
        }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command
            .args(arguments)
            .env("HERM_STATE", &self.state)
            .env("HERMES_HOME", self.state.with_file_name("no-settings"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn herm(&self, arguments: &[&str]) -> Seen {
        Seen::of(&mut self.command(arguments))
    }

    /// The directory that commands of a key start in.
    pub(crate) fn work(&self, key: &str) -> PathBuf {
        let listed = self.herm(&["ps", "--json"]).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        let mut all = listed.as_array().unwrap().iter();
        let found = all.find(|sandbox| sandbox["key"] == key);
        PathBuf::from(found.map_or("/nowhere", |found| found["cwd"].as_str().unwrap()))
    }

    /// The residents of a key's sandbox.
    pub(crate) fn residents(&self, key: &str) -> Vec<u32> {
        let work = self.work(key);
        let home = work.parent().unwrap_or(Path::new("/nowhere")).join("resident");
        // A supervisor has the command line of its resident, and is below it.
        let residents: Vec<u32> = processes(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.starts_with(home.to_string_lossy().as_bytes())
        });
        let below = |pid: &u32| parent(*pid).is_some_and(|parent| residents.contains(&parent));
        residents.iter().copied().filter(|pid| !below(pid)).collect()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let listed = self.herm(&["ps", "--json"]).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap_or_default();
        for sandbox in listed.as_array().into_iter().flatten() {
            let _ = self.herm(&["rm", sandbox["key"].as_str().unwrap_or_default()]);
        }
    }
}

pub(crate) fn processes(such: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| such(*pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')')
        .next()?
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Processes that sleep in a directory, removed or not.
pub(crate) fn sleepers(directory: &Path) -> Vec<u32> {
    processes(|pid| {
        let at = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "sleep" && at.to_string_lossy().starts_with(&*directory.to_string_lossy())
    })
}

/// Kills a process.
pub(crate) fn kill(pid: u32) {
    signal(pid, "KILL");
}

/// Sends a signal by its name.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Numbers by chance, the same ones in every run (xorshift, G. Marsaglia, 2003).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
