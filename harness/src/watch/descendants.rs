//! The processes below this one, and their end.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

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

/// Waits until nothing below this process lives any more, for so long at most, and gives what does.
pub(super) fn await_end(time: Duration) -> Vec<Process> {
    let until = Instant::now() + time;
    loop {
        // What has ended is nobody's any more, and what it had started is a child of this process: when there is no child,
        // there is no descendant.
        let ended = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if ended {
            return Vec::new();
        }
        if Instant::now() > until {
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
