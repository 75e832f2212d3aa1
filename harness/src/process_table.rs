//! The processes of this machine, as `/proc` tells of them. Where there is no `/proc` there are none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Ticks of a second in what `/proc` tells: the same on every machine that this runs on (proc(5)).
const TICKS: u64 = 100;

/// Characters of a command line that are told to people.
const TOLD: usize = 80;

/// A process. The number and the start time together are never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) id: u32,
    /// When it was started, in ticks since the machine was.
    pub(crate) started: u64,
    /// The number of its parent.
    pub(crate) parent: u32,
    /// Whether it has ended, and its parent was not told yet.
    pub(crate) ended: bool,
}

impl Process {
    /// The process of a number, if there is one.
    pub(crate) fn of(id: u32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name in parentheses may hold anything, parentheses too. What comes after it is counted from the third field.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            id,
            started: fields.get(19)?.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            ended: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// The process that an id of a subject's ledger names by its number, and by the time when it was started if it tells that:
    /// `1018:4088653`. One that this machine knows no more, or never knew, is none.
    pub(crate) fn named(id: &str) -> Option<Self> {
        let (number, started) = match id.split_once(':') {
            Some((number, started)) => (number, Some(started.parse().ok()?)),
            None => (id, None),
        };
        let process = Self::of(number.parse().ok()?)?;
        started
            .is_none_or(|started: u64| started == process.started)
            .then_some(process)
    }

    /// Seconds since it was started, where the system tells.
    fn age(&self) -> Option<u64> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: u64 = uptime.split('.').next()?.parse().ok()?;
        Some(uptime.saturating_sub(self.started / TICKS))
    }

    /// Whether it is still there, and no other process under its number.
    pub(crate) fn lives(&self) -> bool {
        Self::of(self.id).is_some_and(|other| other.started == self.started && !other.ended)
    }

    /// Its command line, or its name where it has none; cut to what people can read.
    pub(crate) fn command_line(&self) -> String {
        let read = |name: &str| fs::read(format!("/proc/{}/{name}", self.id)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let mut line: String = line.trim().chars().take(TOLD).collect();
        // One that has ended, and one that is being replaced by its program, has no command line, but a name.
        if line.is_empty() {
            String::from_utf8_lossy(&read("comm"))
                .trim()
                .clone_into(&mut line);
        }
        line
    }

    /// It, its command line and its age, for people.
    pub(crate) fn describe(&self) -> String {
        let line = self.command_line();
        let state = if self.ended {
            ", which has ended and was never waited for"
        } else {
            ""
        };
        let age = self
            .age()
            .map_or_else(String::new, |age| format!(", started {age} s ago"));
        format!(
            "process {}, child of {}, {line:?}{age}{state}",
            self.id, self.parent
        )
    }
}

/// All processes.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Process::of)
        .collect()
}

/// All processes below one, without it.
pub(crate) fn descendants_of(root: u32) -> Vec<Process> {
    let all = all();
    let mut children: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = BTreeSet::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.id);
            found.insert(child);
        }
    }
    found.into_iter().collect()
}

/// The processes whose directory is a place or lies in it, as far as that can be seen.
pub(crate) fn working_in(place: &Path) -> Vec<Process> {
    let works_there = |process: &Process| {
        let cwd = fs::read_link(format!("/proc/{}/cwd", process.id)).unwrap_or_default();
        // The system says so of a directory that was removed under a process.
        let removed = cwd.to_str().and_then(|cwd| cwd.strip_suffix(" (deleted)"));
        removed.map_or(cwd.as_path(), Path::new).starts_with(place)
    };
    let mut found = all();
    found.retain(|process| !process.ended && works_there(process));
    found
}

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A child that sleeps, and that the system tells of by its command line: one that was just started has none yet.
    #[expect(clippy::unwrap_used, reason = "a helper of tests may panic")]
    pub(crate) fn sleeper(seconds: &str) -> Child {
        let child = Command::new("sleep").arg(seconds).spawn().unwrap();
        while fs::read(format!("/proc/{}/cmdline", child.id()))
            .unwrap()
            .is_empty()
        {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn a_child_is_found_below_this_process_and_told_apart_from_what_has_ended() {
        let mut child = sleeper("30");
        let seen = |id: u32| {
            descendants_of(std::process::id())
                .into_iter()
                .find(|process| process.id == id)
        };
        let found = seen(child.id()).unwrap();
        assert!(found.lives() && !found.ended);
        assert!(found.describe().contains("sleep 30"), "{}", found.describe());
        let impostor = Process { started: 0, ..found };
        assert!(!impostor.lives());
        child.kill().unwrap();
        while !seen(child.id()).unwrap().ended {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(
            !found.lives() && found.describe().contains("\"sleep\""),
            "{}",
            found.describe()
        );
        child.wait().unwrap();
        assert_eq!(seen(child.id()), None);
    }
}
