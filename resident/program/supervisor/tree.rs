//! The processes below this one: found, asked to end, killed, and reaped until the system says that there are none.
//!
//! This process is a subreaper, so whatever leaves its parent, by a double fork or a session of its own, comes back as a
//! child. Killing children and reaping them therefore reaches everything, and `ECHILD` is the proof that nothing is left.

use std::{
    fs, io,
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use crate::system::{Reaped, Signals, Status, number, poll, reap, send_signal};

/// How long killed processes may take to be gone; only those that wait for a device take longer.
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// How often a tree that grows while it is being stopped is looked at again.
const STOP_ROUNDS: usize = 64;

/// After so many rounds of killing, what is left is stopped before it is killed: it multiplies.
const PLAIN_ROUNDS: u32 = 2;

/// Every process below that one, those near it first. It may miss one that is just being made; who looks again until the
/// system says that there are none misses nothing.
pub(crate) fn descendants(of: i32) -> Vec<i32> {
    let table = if lists_children(of) { None } else { Some(parents()) };
    let mut found = children_in(of, table.as_deref());
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let below = children_in(*pid, table.as_deref());
        found.extend(below);
        next += 1;
    }
    found
}

/// The processes directly below that one.
pub(crate) fn children(of: i32) -> Vec<i32> {
    let table = if lists_children(of) { None } else { Some(parents()) };
    children_in(of, table.as_deref())
}

/// Whether the system lists children, which depends on how it was built.
fn lists_children(of: i32) -> bool {
    fs::exists(format!("/proc/{of}/task/{of}/children")).unwrap_or(false)
}

fn children_in(of: i32, table: Option<&[(i32, i32)]>) -> Vec<i32> {
    if let Some(table) = table {
        return table
            .iter()
            .filter(|(_, parent)| *parent == of)
            .map(|(pid, _)| *pid)
            .collect();
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(
            list.split_ascii_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    found
}

/// Every process with its parent, for systems that do not list children.
fn parents() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, parent(pid)?))
        })
        .collect()
}

/// The parent of a process that is there.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything, also what is no text; state and parent follow it.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// What is known of the children of this process.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    signals: &'a Signals,
    own: i32,
    /// The child whose end is the command's.
    main: i32,
    /// How that one has ended.
    pub(crate) status: Option<Status>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(signals: &'a Signals, main: i32) -> Self {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        Self {
            signals,
            own,
            main,
            status: None,
        }
    }

    pub(crate) fn signals(&self) -> &Signals {
        self.signals
    }

    /// Reaps what has ended; returns whether nothing is left.
    pub(crate) fn is_gone(&mut self) -> bool {
        while self.signals.next().is_some() {}
        loop {
            match reap(false) {
                Reaped::Child { pid, status } if pid == self.main => self.status = Some(status),
                Reaped::Child { .. } => {}
                Reaped::AllAlive => return false,
                Reaped::NoChildren => return true,
            }
        }
    }

    /// Sends a signal to the group of the command, as long as its number cannot mean anything else.
    pub(crate) fn signal(&self, number: u8) {
        if self.status.is_none() {
            let _ = send_signal(-self.main, number.into());
        }
    }

    /// Ends everything: asked first, killed after `grace`. Returns whether nothing is left.
    pub(crate) fn end(&mut self, grace: Duration) -> bool {
        if !grace.is_zero() {
            for pid in descendants(self.own) {
                let _ = send_signal(pid, number::TERMINATE);
                // A stopped process gets to its handler only when it goes on.
                let _ = send_signal(pid, number::CONTINUE);
            }
            if self.gone_within(grace) {
                return true;
            }
        }
        self.kill()
    }

    /// Kills everything, until nothing is left or the limit is over.
    pub(crate) fn kill(&mut self) -> bool {
        let end = Instant::now() + KILL_LIMIT;
        let mut round = 0;
        while !self.is_gone() {
            if Instant::now() > end {
                return false;
            }
            if round >= PLAIN_ROUNDS {
                self.stop_all();
            }
            for pid in descendants(self.own) {
                let _ = send_signal(pid, number::KILL);
            }
            round += 1;
            // Reaping one may hand us its children, which are then the next to be killed.
            if self.gone_within(Duration::from_millis(2)) {
                return true;
            }
        }
        true
    }

    /// Stops everything, so that nothing is made any more while it is killed.
    fn stop_all(&self) {
        let mut stopped = Vec::new();
        for _ in 0..STOP_ROUNDS {
            let mut new: Vec<_> = descendants(self.own);
            new.retain(|pid| !stopped.contains(pid));
            if new.is_empty() {
                return;
            }
            for pid in &new {
                let _ = send_signal(*pid, number::STOP);
            }
            stopped.append(&mut new);
        }
    }

    fn gone_within(&mut self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        loop {
            if self.is_gone() {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(left).is_err() {
                return false;
            }
        }
    }

    fn wait(&self, limit: Duration) -> io::Result<()> {
        poll([Some(self.signals.as_fd())], Some(limit)).map(drop)
    }
}
