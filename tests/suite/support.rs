//! A place of a test's own: nothing that another test does is seen in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::assert::Assert;
use herm_harness::report::Report;
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any run here may take, on a machine that is busy with other tests.
pub(crate) const BOUND: Duration = Duration::from_mins(2);

/// The program under test.
pub(crate) const HERM: &str = env!("CARGO_BIN_EXE_herm");

/// A folder to run in, with a folder for temporary files beside it.
pub(crate) struct Place {
    home: TempDir,
    temporary: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            temporary: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home().join(name)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a shell script that can be run.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `herm` with its arguments as words in one line.
    pub(crate) fn herm(&self, line: &str) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(HERM);
        command
            .args(line.split_whitespace())
            .current_dir(self.home())
            .env("TMPDIR", self.temporary())
            .timeout(BOUND);
        command
    }

    /// The same, with words that may hold anything.
    pub(crate) fn run(&self, line: &str, more: &[&str]) -> Assert {
        self.herm(line).args(more).assert()
    }

    /// `herm` as a child with pipes for its output.
    pub(crate) fn start(&self, line: &str) -> Child {
        Command::new(HERM)
            .args(line.split_whitespace())
            .current_dir(self.home())
            .env("TMPDIR", self.temporary())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// `report.json`, which has to be just what its type, and so its schema, says.
    pub(crate) fn report(&self) -> Value {
        report_in(&self.path("herm-report"))
    }

    /// What was left among the temporary files.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.temporary()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Processes that were started with this place's folder for temporary files, or name it.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = self.temporary().to_str().unwrap();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.parse::<u32>().is_ok())
            })
            .filter_map(|entry| {
                let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
                let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                let about = String::from_utf8_lossy(&read("environ")).into_owned();
                (words.contains(mark) || about.contains(mark))
                    .then(|| format!("{} {words}", entry.file_name().to_string_lossy()))
            })
            .collect()
    }

    /// Waits until no process and no temporary file is left.
    pub(crate) fn becomes_clean(&self) {
        eventually(|| {
            let (processes, files) = (self.processes(), self.left());
            if processes.is_empty() && files.is_empty() {
                Ok(())
            } else {
                Err(format!("left: {processes:#?}, {files:#?}"))
            }
        });
    }
}

/// The report in a folder, which has to be just what its type, and so its schema, says.
pub(crate) fn report_in(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("report.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let report: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&report).unwrap(), value);
    value
}

/// What the report says of a requirement of the first subject that was tested for it.
pub(crate) fn row<'a>(report: &'a Value, id: &str) -> &'a Value {
    let subjects = report["subjects"].as_array().unwrap().iter();
    let mut rows = subjects.flat_map(|subject| subject["requirements"].as_array().unwrap());
    rows.find(|row| row["id"] == id).unwrap()
}

pub(crate) fn verdict<'a>(report: &'a Value, id: &str) -> &'a str {
    row(report, id)["verdict"].as_str().unwrap()
}

/// Waits until something holds; fails when it does not within a bound that a busy machine keeps.
pub(crate) fn eventually<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(why) => assert!(start.elapsed() < Duration::from_secs(40), "{why}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits for a child's end, within a bound.
pub(crate) fn exit_code(child: &mut Child) -> Option<i32> {
    eventually(|| child.try_wait().unwrap().ok_or_else(|| "it goes on".to_owned())).code()
}
