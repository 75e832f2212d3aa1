//! What adapters of a subject have left behind to be found again: it belongs to the run, which ends it when the subject was
//! tested.
//!
//! In a folder of the run's scratch folder lies a file that the run holds locked for as long as it goes on, so that its
//! end is seen whatever it is, and a record for each keeper: the keeper itself first, then what it found when its adapter had
//! ended, each as the number of a process and its start time.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::process_table::{Process, descendants_of};

/// How the folder's name begins; a number follows.
const FOLDER: &str = ".kept-";

/// The file that the run holds.
const GOES_ON: &str = "run";

/// How the name of a record begins; the keeper's process number follows.
const RECORD: &str = "keeper-";

/// How long keepers may take to end what they keep.
const PATIENCE: Duration = Duration::from_secs(15);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// The folder, as a keeper sees it.
pub(super) struct Kept {
    folder: PathBuf,
}

/// The folder, as the run sees it, which goes on until this is ended or dropped.
#[derive(Debug)]
pub(crate) struct Keeping {
    folder: PathBuf,
    run: Option<File>,
}

impl Keeping {
    /// Begins to keep, in a new folder of a run's scratch folder.
    pub(crate) fn begin(scratch: &Path) -> io::Result<Self> {
        let mut number = 0;
        let folder = loop {
            let folder = scratch.join(format!("{FOLDER}{number}"));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => break folder,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        let run = File::create(folder.join(GOES_ON))?;
        run.lock()?;
        Ok(Self {
            folder,
            run: Some(run),
        })
    }

    /// Where records and the lock are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends everything that is kept and waits until it has ended. This blocks.
    pub(crate) fn end(mut self) {
        drop(self.run.take());
        end_kept(&self.folder);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Kept {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Writes down what this process keeps, and gives the record. It is there as a whole or not at all.
    pub(super) fn record(&self, kept: &[Process]) -> io::Result<PathBuf> {
        let own = Process::of(std::process::id());
        let lines: Vec<String> = own
            .iter()
            .chain(kept)
            .map(|process| format!("{} {}\n", process.id, process.started))
            .collect();
        let half = self.folder.join(format!("half-{}", std::process::id()));
        let record = self.folder.join(format!("{RECORD}{}", std::process::id()));
        fs::write(&half, lines.concat())?;
        fs::rename(half, &record)?;
        Ok(record)
    }

    /// Whether the run still goes on.
    pub(super) fn run_goes_on(&self) -> bool {
        File::open(self.folder.join(GOES_ON))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// Ends what adapters of a run that is over have left behind and its keepers have not ended, since they were killed. This
/// blocks.
pub(super) fn end_all_kept(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(FOLDER) {
            end_kept(&entry.path());
        }
    }
}

/// Waits until the keepers of a folder have ended, and ends what those have left that were killed.
fn end_kept(folder: &Path) {
    let until = Instant::now() + PATIENCE;
    for record in records_in(folder) {
        let mut processes = read(&record).into_iter();
        let Some(keeper) = processes.next() else { continue };
        while keeper.lives() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        // One that has ended by itself has taken its record along.
        if record.exists() {
            kill(&keeper);
            for process in processes {
                kill_tree(&process, until);
            }
        }
    }
}

fn records_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(RECORD))
        .map(|entry| entry.path())
        .collect()
}

fn read(record: &Path) -> Vec<Process> {
    let text = fs::read_to_string(record).unwrap_or_default();
    let process = |line: &str| {
        let (id, started) = line.split_once(' ')?;
        Some(Process {
            id: id.parse().ok()?,
            started: started.parse().ok()?,
            parent: 0,
            ended: false,
        })
    };
    text.lines().filter_map(process).collect()
}

/// Kills a process and everything below it until none of them lives.
fn kill_tree(root: &Process, until: Instant) {
    let mut tree = vec![*root];
    loop {
        if tree.iter().any(Process::lives) {
            tree.extend(descendants_of(root.id).into_iter().filter(|_| root.lives()));
        }
        // From the root on, so that nobody is there to start others in place of those that end.
        tree.iter().for_each(kill);
        tree.retain(Process::lives);
        if tree.is_empty() || Instant::now() > until {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn kill(process: &Process) {
    let number = i32::try_from(process.id).ok().and_then(Pid::from_raw);
    if let Some(number) = number.filter(|_| process.lives()) {
        // It may have ended a moment ago.
        let _ = kill_process(number, Signal::KILL);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_end_of_the_run_is_seen() {
        let scratch = tempfile::tempdir().unwrap();
        let (first, second) = (
            Keeping::begin(scratch.path()).unwrap(),
            Keeping::begin(scratch.path()).unwrap(),
        );
        let kept = Kept::in_folder(first.folder());
        assert!(kept.run_goes_on());
        first.end();
        assert!(!kept.run_goes_on());
        assert!(Kept::in_folder(second.folder()).run_goes_on());
    }

    #[test]
    fn what_a_killed_keeper_has_left_is_ended_with_all_below_it_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let keeping = Keeping::begin(scratch.path()).unwrap();
        let mut keeper = Command::new("true").spawn().unwrap();
        let mut left = Command::new("sh").args(["-c", "sleep 60; :"]).spawn().unwrap();
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let child = loop {
            if let Some(child) = descendants_of(left.id()).first().copied() {
                break child;
            }
            std::thread::sleep(LOOK);
        };
        let [of_keeper, of_left, of_other] =
            [keeper.id(), left.id(), other.id()].map(|id| Process::of(id).unwrap());
        keeper.wait().unwrap();
        let reused = Process {
            started: of_other.started + 1,
            ..of_other
        };
        let lines =
            [of_keeper, of_left, reused].map(|process| format!("{} {}\n", process.id, process.started));
        fs::write(keeping.folder().join("keeper-1"), lines.concat()).unwrap();
        let reaper = std::thread::spawn(move || left.wait().unwrap());
        drop(keeping);
        end_all_kept(scratch.path());
        reaper.join().unwrap();
        assert!(!of_left.lives() && !child.lives());
        assert!(
            of_other.lives(),
            "a number that was given again was taken for what had it before"
        );
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
