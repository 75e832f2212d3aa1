//! The processes below this one, and their end.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, set_child_subreaper, wait};

use crate::process_table::{self, Process};

/// How long after a look at the processes the next one comes.
const LOOK: Duration = Duration::from_millis(20);

/// Kills and reaps children until there are none. As a child subreaper this process is given every orphan among its
/// descendants, so in the end none of them is left, wherever it has moved itself. Returns how many there were.
pub(super) fn end_all() -> io::Result<u32> {
    let mut ended = 0;
    loop {
        for child in children() {
            // It may have ended a moment ago.
            let _ = kill_process(child, Signal::KILL);
        }
        // One is waited for, and all that have ended by then are reaped before the next look, which is dear.
        let mut how = WaitOptions::empty();
        loop {
            match wait(how) {
                Ok(Some(_)) => ended += 1,
                Ok(None) => break,
                Err(rustix::io::Errno::CHILD) => return Ok(ended),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            how = WaitOptions::NOHANG;
        }
        // Whatever has ended besides, before all processes of the machine are looked through again.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {
            ended += 1;
        }
    }
}

/// From now on this process is given every orphan among its descendants.
///
/// # Errors
/// The system has no such thing (`prctl(2)`, since Linux 3.4).
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Pid::from_raw(1))?)
}

/// Kills everything below this process whose command line does not contain `spared`, until nothing of it is left or that
/// time is over. Orphans have to be adopted before. This blocks.
pub fn end_orphans(spared: &str, within: Duration) {
    let until = Instant::now() + within;
    loop {
        let orphans: Vec<_> = children()
            .into_iter()
            .filter(|child| !command_line(*child).contains(spared))
            .collect();
        if orphans.is_empty() || Instant::now() > until {
            return;
        }
        for orphan in orphans {
            let _ = kill_process(orphan, Signal::KILL);
            // Children of its own are given to this process when it is reaped, and seen at the next look.
            let _: Result<Option<(Pid, WaitStatus)>, _> =
                rustix::process::waitpid(Some(orphan), WaitOptions::NOHANG);
        }
        std::thread::sleep(LOOK / 10);
    }
}

fn command_line(process: Pid) -> String {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

/// Reaps every child that has ended already, and gives how `awaited` did if it is among them. The system is asked child by
/// child: a look at all processes once a second by every guard would keep a busy machine busy.
pub(super) fn reap_ended(awaited: Pid) -> Option<WaitStatus> {
    let mut found = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((child, status))) if child == awaited => found = Some(status),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return found,
        }
    }
}

/// Reaps children that have ended already, and says whether there are no others: as a child subreaper this process has no
/// descendant then.
pub(super) fn are_gone() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Waits until nothing below this process lives any more, for so long at most and not once `hurry` says so, and gives what
/// does.
pub(super) fn await_end(time: Duration, hurry: impl Fn() -> bool) -> Vec<Process> {
    let until = Instant::now() + time;
    loop {
        if are_gone() {
            return Vec::new();
        }
        if Instant::now() > until || hurry() {
            let mut living = process_table::descendants_of(std::process::id());
            living.retain(|process| !process.ended);
            return living;
        }
        std::thread::sleep(LOOK);
    }
}

fn children() -> Vec<Pid> {
    let own = std::process::id();
    process_table::all()
        .into_iter()
        .filter(|process| process.parent == own)
        .filter_map(|process| Pid::from_raw(i32::try_from(process.id).ok()?))
        .collect()
}
