//! Which processes of a group are alive, as `/proc` tells it.
//!
//! `kill(-group, 0)` cannot tell: the leader of a group is kept as a zombie so that the number of the group stays its
//! own, and a zombie counts as a member.

use std::{fs, io, ops::RangeInclusive, path::Path};

/// How far apart the leader and the newest process may be for looking at each number between instead of at all of
/// `/proc`.
const NEAR: i32 = 256;

/// A live process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: i32,
    /// When it started, in clock ticks since the machine did; with the number it names one process for ever.
    pub(super) start_time: u64,
    group: i32,
    pub(super) parent: i32,
    /// The number of its session.
    pub(super) session: i32,
    /// Its terminal; 0 for none.
    pub(super) terminal: i32,
}

/// Every live process of a group whose leader was not reaped.
///
/// # Errors
/// When the leader itself is not to be seen: then this `/proc` is not that of our processes and tells nothing.
pub(super) fn members(group: i32) -> io::Result<Vec<Process>> {
    if !fs::exists(Path::new("/proc").join(group.to_string()))? {
        return Err(io::Error::other(format!("/proc does not show process {group}")));
    }
    let mut members = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        members.extend(live(pid).filter(|process| process.group == group));
    }
    Ok(members)
}

/// Whether a group, whose leader started a moment ago and has ended, is empty; `None` when only [`members`] can tell.
///
/// Members are younger than their leader, so their numbers lie between the leader's and the newest one. Looking at
/// those few is a hundred times cheaper than listing a busy machine. The caller sees to it that the leader is young
/// enough for the numbers not to have gone round.
pub(super) fn empty_at_a_glance(leader: i32) -> Option<bool> {
    let candidates = numbers_after(leader)?;
    let found = candidates.filter_map(live).any(|process| process.group == leader);
    Some(!found)
}

fn numbers_after(leader: i32) -> Option<RangeInclusive<i32>> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    let newest: i32 = load.split_ascii_whitespace().last()?.parse().ok()?;
    (leader..=leader.saturating_add(NEAR))
        .contains(&newest)
        .then(|| leader + 1..=newest)
}

/// The process of that number, unless it is a zombie or not there.
pub(super) fn live(pid: i32) -> Option<Process> {
    let stat = fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    parse(pid, &stat)
}

/// Reads `/proc/PID/stat` (`proc_pid_stat(5)`); the name in parentheses may hold anything, parentheses included.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&stat[after_name..]).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let (state, group) = (*fields.first()?, fields.get(2)?.parse().ok()?);
    let threads: u32 = fields.get(17)?.parse().ok()?;
    let start_time = fields.get(19)?.parse().ok()?;
    // The first thread of a process may end before the others do; it shows as a zombie with company.
    let dead = matches!(state, "Z" | "X" | "x") && threads <= 1;
    (!dead).then_some(Process {
        pid,
        start_time,
        group,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
    })
}

/// Every live process.
///
/// # Errors
/// `/proc` cannot be listed.
pub(super) fn all() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        all.extend(name.to_str().and_then(|name| name.parse().ok()).and_then(live));
    }
    Ok(all)
}

/// A live process and every live descendant of it.
///
/// # Errors
/// `/proc` cannot be listed.
pub(super) fn tree(root: i32) -> io::Result<Vec<Process>> {
    let all = all()?;
    let mut tree: Vec<Process> = all
        .iter()
        .copied()
        .filter(|process| process.pid == root)
        .collect();
    let mut seen = 0;
    while let Some(parent) = tree.get(seen).map(|process| process.pid) {
        tree.extend(
            all.iter()
                .filter(|process| process.parent == parent && process.pid != root),
        );
        seen += 1;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_bytes_does_not_shift_the_fields() {
        let stat = b"7 (a) R (\xff) S 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let process = parse(7, stat).unwrap();
        assert_eq!((process.pid, process.group, process.start_time), (7, 42, 12345));
    }

    #[test]
    fn a_zombie_is_dead_unless_other_threads_of_it_run() {
        let stat = |threads| format!("7 (x) Z 1 42 42 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 5 0 0");
        assert_eq!(parse(7, stat(1).as_bytes()), None);
        assert!(parse(7, stat(2).as_bytes()).is_some());
    }

    #[test]
    fn this_process_is_a_live_member_of_its_group() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let group = live(pid).unwrap().group;
        assert!(members(group).unwrap().iter().any(|process| process.pid == pid));
        let own = live(pid).unwrap();
        assert_eq!(tree(pid).unwrap().first(), Some(&own));
        let above = tree(own.parent).unwrap();
        assert!(above.contains(&own), "{above:?}");
    }
}
