//! What can still be seen of a sandbox whose resident is gone: the resident knew what ran, and nobody else does.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{process_table::live, sandbox::Sandbox};

/// How long what was killed may take to be gone.
const LIMIT: Duration = Duration::from_secs(2);

/// How long after a look the next one comes.
const LOOK: Duration = Duration::from_millis(10);

/// By what processes of a sandbox are known: supervisors carry the name of the resident's program, which is in its
/// directory, and commands work in the sandbox's own directory, whatever that is called by now.
#[derive(Clone, Debug)]
pub(super) struct Traces {
    resident: PathBuf,
    work: Option<(u64, u64)>,
}

impl Traces {
    /// The traces of what runs under the resident of that directory, which is beside the working directory.
    pub(super) async fn of(resident: &Path) -> Self {
        let work = resident.parent().map(Sandbox::own_work).unwrap_or_default();
        let work = tokio::task::spawn_blocking(move || identity(&work)).await;
        Self {
            resident: resident.to_owned(),
            work: work.unwrap_or_default(),
        }
    }

    /// Waits until nothing is seen any more, for a short while at most.
    pub(super) async fn vanish(&self) {
        let until = Instant::now() + LIMIT;
        loop {
            let traces = self.clone();
            let seen = tokio::task::spawn_blocking(move || traces.any());
            if !seen.await.unwrap_or(false) || Instant::now() > until {
                return;
            }
            sleep(LOOK).await;
        }
    }

    fn any(&self) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else {
            return false;
        };
        entries.flatten().any(|entry| {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            pid.is_some_and(|pid| self.left_by(&entry.path()) && live(pid).is_some())
        })
    }

    /// Whether a process runs the resident's program, or did when it began.
    pub(super) fn is_resident(&self, pid: i32) -> bool {
        self.runs_program(&Path::new("/proc").join(pid.to_string()))
    }

    fn runs_program(&self, process: &Path) -> bool {
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        let program = words.split(|byte| *byte == 0).next().unwrap_or_default();
        // A process that is just becoming its program has no command line yet, but the program already.
        let program = if program.is_empty() {
            fs::read_link(process.join("exe")).unwrap_or_default()
        } else {
            PathBuf::from(OsStr::from_bytes(program))
        };
        program.parent() == Some(&self.resident)
    }

    fn left_by(&self, process: &Path) -> bool {
        self.runs_program(process) || (self.work.is_some() && identity(&process.join("cwd")) == self.work)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(program: &Path, cwd: &Path) -> Child {
        Command::new(program).arg("60").current_dir(cwd).spawn().unwrap()
    }

    #[tokio::test]
    async fn what_is_seen_is_waited_for_although_its_directory_was_renamed() {
        let home = tempfile::tempdir().unwrap();
        let (work, program) = (home.path().join("work"), home.path().join("resident/program"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(home.path().join("resident")).unwrap();
        // Copied by another process: a program that this one holds open for writing could not be run by a child.
        let copied = Command::new("cp").arg("/bin/sleep").arg(&program).status();
        assert!(copied.unwrap().success());
        let traces = Traces::of(&home.path().join("resident")).await;
        assert!(!traces.any());
        for (program, cwd) in [(Path::new("sleep"), &*work), (&program, Path::new("/"))] {
            let mut child = sleeper(program, cwd);
            if work.exists() {
                fs::rename(&work, home.path().join("gone")).unwrap();
            }
            assert!(traces.any());
            let begun = Instant::now();
            traces.vanish().await;
            assert!(begun.elapsed() >= LIMIT);
            child.kill().unwrap();
            // A zombie has ended.
            traces.vanish().await;
            assert!(!traces.any());
            child.wait().unwrap();
        }
    }
}
