//! The processes below this one, and their end.

use std::{fs, io};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

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

/// Reaps children that have ended already, but not `except`, whose end somebody waits for.
pub(super) fn reap_ended(except: Pid) {
    for child in children().into_iter().filter(|child| *child != except) {
        let _: Result<Option<(Pid, WaitStatus)>, _> =
            rustix::process::waitpid(Some(child), WaitOptions::NOHANG);
    }
}

fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|id| parent_of(*id).as_deref() == Some(own.as_str()))
        .filter_map(Pid::from_raw)
        .collect()
}

fn parent_of(id: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses too.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)
        .map(str::to_owned)
}
