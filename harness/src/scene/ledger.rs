//! The ledger: what there is of a subject, by its own books and by the harness's own look at this machine. Two looks are
//! compared; what the second one has more is what was left.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use herm_protocol::ledger::LedgerItem;

use crate::process_table::{self, Process};

/// Files of a folder that are looked at; a subject that makes more is red for the first ones already.
const MOST_FILES: usize = 20_000;

/// The state of a Unix socket that listens, as the system writes it.
const UNIX_LISTENS: &str = "00010000";

/// The state of a TCP socket that listens.
const TCP_LISTENS: &str = "0A";

/// Something that exists, by what it is and by an id that no other thing has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    /// A process in the tree of the adapter, by its number and start time: a number that is given again is no match.
    Process { id: u32, started: u64 },
    /// A socket that such a process listens on, by its inode.
    Socket(u64),
    /// A file in the adapter's folder for temporary files.
    File(PathBuf),
    /// What the subject's own ledger names.
    Owned { kind: String, id: String },
}

/// A process by its parent and by what it runs: those of one kind stand in for one another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Helper {
    parent: u32,
    line: String,
    /// Whether it is the subject's own ledger that names it: what is in both counts in both.
    owned: bool,
}

impl Helper {
    fn of(process: &Process, owned: bool) -> Self {
        Self {
            parent: process.parent,
            line: process.command_line(),
            owned,
        }
    }
}

/// What there was at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Each thing, described for people.
    things: BTreeMap<Thing, String>,
    /// What each live process is.
    kinds: BTreeMap<Thing, Helper>,
    /// Open descriptors of each process that can be looked at.
    descriptors: BTreeMap<(u32, u64), usize>,
}

impl Ledger {
    /// Looks at this machine: at the processes below `root`, which is not one of them, and at the files of a folder. What is
    /// elsewhere belongs to somebody else. This blocks.
    pub(crate) fn look(root: Option<u32>, folder: &Path) -> Self {
        let mut ledger = Self::default();
        let mut networks = Networks::default();
        let processes = root.map(process_table::descendants_of).unwrap_or_default();
        for process in processes {
            // Its reaper is the guard, which does that once in a second.
            if process.ended && Some(process.parent) == root {
                continue;
            }
            let (id, started) = (process.id, process.started);
            let thing = Thing::Process { id, started };
            if !process.ended {
                ledger.kinds.insert(thing.clone(), Helper::of(&process, false));
            }
            ledger.things.insert(thing, process.describe());
            ledger.note_descriptors(&process, &mut networks);
        }
        for path in files_below(folder) {
            let told = format!("file {}", path.display());
            ledger.things.insert(Thing::File(path), told);
        }
        ledger
    }

    /// Adds what the subject's own ledger names.
    #[must_use]
    pub(crate) fn with_owned(mut self, items: Vec<LedgerItem>) -> Self {
        for LedgerItem { kind, id } in items {
            let process = Some(&id).filter(|_| kind == "process");
            let process = process.and_then(|id| Process::named(id));
            let known = process
                .as_ref()
                .map(|process| format!(" ({})", process.describe()));
            let told = format!("{kind} {id:?} in its own ledger{}", known.unwrap_or_default());
            let thing = Thing::Owned { kind, id };
            if let Some(process) = process.filter(|process| !process.ended) {
                self.kinds.insert(thing.clone(), Helper::of(&process, true));
            }
            self.things.insert(thing, told);
        }
        self
    }

    /// What is in either.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.things.extend(other.things);
        self.kinds.extend(other.kinds);
        self
    }

    /// What is here and was not there.
    #[must_use]
    pub(crate) fn since(&self, before: &Self) -> Self {
        self.filtered(|thing| !before.things.contains_key(thing))
    }

    /// What is here and was not there, without processes that stand in for others that have gone: a backend that keeps
    /// helpers ready may replace them, as long as they do not become more.
    #[must_use]
    pub(crate) fn grown_since(&self, before: &Self) -> Self {
        let mut gone: BTreeMap<Helper, usize> = BTreeMap::new();
        for helper in before.since(self).helpers() {
            *gone.entry(helper.0).or_default() += 1;
        }
        let mut grown = self.since(before);
        for (helper, thing) in grown.helpers() {
            if let Some(left) = gone.get_mut(&helper).filter(|left| **left > 0) {
                *left -= 1;
                grown.things.remove(&thing);
            }
        }
        grown
    }

    /// The live processes, each by its parent and its command line.
    fn helpers(&self) -> Vec<(Helper, Thing)> {
        let live = self
            .kinds
            .iter()
            .filter(|(thing, _)| self.things.contains_key(thing));
        live.map(|(thing, helper)| (helper.clone(), thing.clone()))
            .collect()
    }

    /// What is here and is there later, too.
    #[must_use]
    pub(crate) fn still_in(&self, later: &Self) -> Self {
        self.filtered(|thing| later.things.contains_key(thing))
    }

    /// Only what the subject's own ledger names.
    #[must_use]
    pub(crate) fn owned(&self) -> Self {
        self.filtered(|thing| matches!(thing, Thing::Owned { .. }))
    }

    /// Everything, for people.
    pub(crate) fn told(&self) -> Vec<String> {
        self.things.values().cloned().collect()
    }

    fn filtered(&self, keep: impl Fn(&Thing) -> bool) -> Self {
        let kept = self.things.iter().filter(|(thing, _)| keep(thing));
        Self {
            things: kept.map(|(thing, told)| (thing.clone(), told.clone())).collect(),
            kinds: self.kinds.clone(),
            descriptors: BTreeMap::new(),
        }
    }

    /// By how many descriptors the processes that are in both looks have grown, and which ones.
    pub(crate) fn descriptors_since(&self, before: &Self) -> (usize, Vec<String>) {
        let grown: Vec<(usize, String)> = self
            .descriptors
            .iter()
            .filter_map(|(process, now)| {
                let more = now.saturating_sub(*before.descriptors.get(process)?);
                (more > 0).then(|| {
                    (
                        more,
                        format!("process {} holds {more} more descriptors", process.0),
                    )
                })
            })
            .collect();
        (
            grown.iter().map(|(more, _)| more).sum(),
            grown.into_iter().map(|(_, told)| told).collect(),
        )
    }

    fn note_descriptors(&mut self, process: &Process, networks: &mut Networks) {
        // Another user's cannot be looked at.
        let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", process.id)) else {
            return;
        };
        let targets: Vec<PathBuf> = entries
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .collect();
        self.descriptors
            .insert((process.id, process.started), targets.len());
        let sockets: BTreeSet<u64> = targets.iter().filter_map(|target| socket_of(target)).collect();
        if sockets.is_empty() {
            return;
        }
        for (inode, told) in networks.listening(process.id) {
            if sockets.contains(inode) {
                let told = format!("socket {told} of process {}", process.id);
                self.things.insert(Thing::Socket(*inode), told);
            }
        }
    }
}

/// The inode that `socket:[123]` names.
fn socket_of(target: &Path) -> Option<u64> {
    target
        .to_str()?
        .strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

/// What is listened on in each network, looked up once: the system goes through a large table for it.
#[derive(Default)]
struct Networks(BTreeMap<Option<PathBuf>, Vec<(u64, String)>>);

impl Networks {
    /// Every socket that somebody listens on in the network that a process sees.
    fn listening(&mut self, process: u32) -> &[(u64, String)] {
        let network = fs::read_link(format!("/proc/{process}/ns/net")).ok();
        self.0.entry(network).or_insert_with(|| listening(process))
    }
}

/// Every socket that somebody listens on, by inode, in the network that a process sees.
fn listening(process: u32) -> Vec<(u64, String)> {
    let table = |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    let mut found = Vec::new();
    for line in table("unix").lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, UNIX_LISTENS, _, _, inode, path @ ..] = fields.as_slice()
            && let Ok(inode) = inode.parse()
        {
            found.push((inode, format!("unix {}", path.join(" "))));
        }
    }
    for name in ["tcp", "tcp6"] {
        for line in table(name).lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [_, local, _, TCP_LISTENS, _, _, _, _, _, inode, ..] = fields.as_slice()
                && let Ok(inode) = inode.parse()
            {
                found.push((inode, format!("{name} {local}")));
            }
        }
    }
    found
}

/// Every file and directory below a folder, links not followed.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = || -> io::Result<Vec<_>> { fs::read_dir(&folder)?.collect() };
        // One that was removed meanwhile is not there, and one that may not be read is told itself.
        for entry in entries().unwrap_or_default() {
            if found.len() == MOST_FILES {
                return found;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{net::TcpListener, os::unix::net::UnixListener};

    use super::*;
    use crate::process_table::tests::sleeper;

    fn items(names: &[&str]) -> Vec<LedgerItem> {
        let item = |name: &&str| LedgerItem {
            kind: "container".into(),
            id: (*name).into(),
        };
        names.iter().map(item).collect()
    }

    #[test]
    fn what_is_new_is_told_by_kind_and_what_has_gone_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let own = Some(std::process::id());
        fs::write(folder.path().join("old"), b"").unwrap();
        let before = Ledger::look(own, folder.path()).with_owned(items(&["a", "b"]));
        fs::remove_file(folder.path().join("old")).unwrap();
        fs::create_dir(folder.path().join("new")).unwrap();
        fs::write(folder.path().join("new/file"), b"").unwrap();
        let mut child = sleeper("31");
        let after = Ledger::look(own, folder.path()).with_owned(items(&["b", "c"]));
        child.kill().unwrap();
        child.wait().unwrap();
        let new = after.since(&before).told();
        let told = |part: &str| new.iter().any(|line| line.contains(part));
        assert!(
            told("sleep 31") && told("new/file") && told("container \"c\""),
            "{new:#?}"
        );
        assert!(!told("old") && !told("\"b\""), "{new:#?}");
        assert_eq!(after.since(&before).owned().told().len(), 1);
        assert_eq!(before.since(&after).still_in(&after).told(), [""; 0]);
    }

    #[test]
    fn a_process_of_the_subjects_ledger_is_told_by_what_it_runs_and_its_age() {
        let mut child = sleeper("33");
        let started = Process::of(child.id()).unwrap().started;
        let named = |id: String| {
            let kind = "process".into();
            Ledger::default()
                .with_owned(vec![LedgerItem { kind, id }])
                .told()
                .concat()
        };
        let (own, other) = (
            named(format!("{}:{started}", child.id())),
            named(format!("{}:{}", child.id(), started + 1)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(own.contains("\"sleep 33\", started 0 s ago"), "{own}");
        // The number is another process's by now.
        assert!(!other.contains("sleep"), "{other}");
    }

    #[test]
    fn helpers_that_are_replaced_are_not_grown_and_one_more_is() {
        let look = |processes: &[(u32, u32, &str)]| {
            let mut ledger = Ledger::default();
            for &(id, parent, line) in processes {
                let thing = Thing::Process { id, started: 1 };
                let helper = Helper {
                    parent,
                    line: line.to_owned(),
                    owned: false,
                };
                ledger.kinds.insert(thing.clone(), helper);
                ledger.things.insert(thing, line.to_owned());
            }
            ledger
        };
        let before = look(&[(1, 9, "helper"), (2, 9, "helper"), (3, 9, "other")]);
        let renewed = look(&[(4, 9, "helper"), (5, 9, "helper"), (3, 9, "other")]);
        assert_eq!(renewed.grown_since(&before).told(), [""; 0]);
        let more = look(&[
            (4, 9, "helper"),
            (5, 9, "helper"),
            (6, 9, "helper"),
            (3, 9, "other"),
        ]);
        assert_eq!(more.grown_since(&before).told(), ["helper"]);
        // Neither another program nor another's child stands in for one that has gone.
        let others = look(&[(4, 9, "other"), (5, 8, "helper"), (3, 9, "other")]);
        assert_eq!(others.grown_since(&before).told(), ["other", "helper"]);
    }

    #[test]
    fn helpers_of_the_subjects_own_ledger_may_be_replaced_too() {
        let named = |processes: &[&std::process::Child]| {
            let items = processes.iter().map(|child| LedgerItem {
                kind: "process".into(),
                id: format!("{}:{}", child.id(), Process::of(child.id()).unwrap().started),
            });
            Ledger::default().with_owned(items.collect())
        };
        let mut children = [sleeper("35"), sleeper("35"), sleeper("35")];
        let [one, two, three] = &children;
        let before = named(&[one]);
        assert_eq!(named(&[two]).grown_since(&before).told().len(), 0);
        assert_eq!(named(&[two, three]).grown_since(&before).told().len(), 1);
        assert_eq!(named(&[one, three]).grown_since(&before).told().len(), 1);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn sockets_that_listen_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _unix = UnixListener::bind(&path).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = format!("{:04X}", tcp.local_addr().unwrap().port());
        let listening = listening(std::process::id());
        assert!(
            listening
                .iter()
                .any(|(_, told)| told.ends_with(path.to_str().unwrap()))
        );
        assert!(
            listening
                .iter()
                .any(|(_, told)| told.starts_with("tcp ") && told.ends_with(&port))
        );
    }

    #[test]
    fn descriptors_are_counted_for_processes_that_are_in_both_looks() {
        let process = (7, 1);
        let look = |count| Ledger {
            descriptors: [(process, count), ((8, count as u64), 99)].into(),
            ..Ledger::default()
        };
        assert_eq!(look(12).descriptors_since(&look(10)).0, 2);
        assert_eq!(look(10).descriptors_since(&look(12)), (0, Vec::new()));
    }
}
