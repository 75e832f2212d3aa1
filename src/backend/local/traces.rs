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

/// The variable in which every command of a kept sandbox finds the sandbox's directory, and by which it is known.
pub(super) const MARK: &str = "HERM_SANDBOX";

/// Characters of a command line that are told to people.
const TOLD: usize = 60;

/// By what processes of a sandbox are known: residents and supervisors run the resident's program, which is in its
/// directory; commands of kept sandboxes carry a variable with the sandbox's directory, and work in the sandbox's own
/// directory or below it, whatever that is called by now, unless they go elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Traces {
    /// The resident's directory as it was named, and without links on the way.
    resident: [PathBuf; 2],
    work: Option<(u64, u64)>,
}

impl Traces {
    /// The traces of what runs under the resident of that directory, which is beside the working directory.
    pub(super) async fn of(resident: &Path) -> Self {
        let named = resident.to_owned();
        let looked = tokio::task::spawn_blocking(move || {
            let work = named.parent().map(Sandbox::own_work).unwrap_or_default();
            (real(&named), identity(&work))
        });
        let (real, work) = looked.await.unwrap_or_else(|_| (resident.to_owned(), None));
        Self {
            resident: [resident.to_owned(), real],
            work,
        }
    }

    /// The sandbox's directory.
    pub(super) fn directory(&self) -> &Path {
        let [named, _] = &self.resident;
        named.parent().unwrap_or(named)
    }

    /// The sandbox's directory as the system tells it.
    fn real_directory(&self) -> &Path {
        let [_, real] = &self.resident;
        real.parent().unwrap_or(real)
    }

    /// Whether a process was started with the variable that commands of the sandbox have.
    pub(super) fn is_marked(&self, pid: i32) -> bool {
        let variables = fs::read(process(pid).join("environ")).unwrap_or_default();
        let value = |variable: &[u8]| {
            let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
            Some(PathBuf::from(OsStr::from_bytes(value)))
        };
        let mut marks = variables.split(|byte| *byte == 0).filter_map(value);
        marks.any(|mark| {
            mark == self.directory()
                || (mark.file_name() == self.directory().file_name() && real(&mark) == self.real_directory())
        })
    }

    /// Whether a process works in the sandbox's directory, removed or not.
    pub(super) fn is_inside(&self, pid: i32) -> bool {
        let cwd = process(pid).join("cwd");
        let named =
            |cwd: PathBuf| cwd.starts_with(self.real_directory()) || cwd == removed(self.real_directory());
        self.works_there(&cwd) || fs::read_link(cwd).is_ok_and(named)
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
        self.runs_program(&process(pid))
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
        let folder = program.parent();
        self.resident.iter().any(|resident| folder == Some(resident))
    }

    fn left_by(&self, process: &Path) -> bool {
        self.runs_program(process) || self.works_there(&process.join("cwd"))
    }

    fn works_there(&self, cwd: &Path) -> bool {
        self.work.is_some() && identity(cwd) == self.work
    }
}

fn process(pid: i32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// A path without links on the way to what is there of it.
fn real(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => real
            .join(path.strip_prefix(above).unwrap_or(Path::new("")))
            .components()
            .collect(),
        None => path.to_owned(),
    }
}

/// The name that the system gives to a directory that was removed.
fn removed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(" (deleted)");
    name.into()
}

/// What a process was started as, for people.
pub(super) fn command_line(pid: i32) -> String {
    let line = fs::read(process(pid).join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    line.trim()
        .escape_debug()
        .to_string()
        .chars()
        .take(TOLD)
        .collect()
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
