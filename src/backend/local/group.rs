//! The process group of one command: signalled, watched, ended, reaped.

use std::{
    io,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use process_wrap::tokio::ChildWrapper;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::{
    guard::{Guard, Held},
    process_table::{self, Process},
};

/// How long a killed group may take to be gone; only processes that wait for a device take longer.
const KILL_LIMIT: Duration = Duration::from_millis(400);

/// How old a leader may be for the cheap look at its group.
const YOUNG: Duration = Duration::from_millis(500);

/// How long the shell that sends a signal by its number may take.
const SIGNAL_LIMIT: Duration = Duration::from_secs(2);

/// A command's process group. Its leader is our child and is not reaped before [`Group::reap`]: as long as the zombie
/// is there, no other process or group can get its number, so a signal to the group can hit nobody else.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    leader: Mutex<Option<(Box<dyn ChildWrapper>, Held)>>,
    spawned: Instant,
}

impl Group {
    /// The group of a child that leads a session of its own.
    pub(super) fn new(leader: Box<dyn ChildWrapper>, guard: &Guard) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(leader.id()?).ok()?)?;
        Some(Self {
            id,
            leader: Mutex::new(Some((leader, guard.hold(id.to_string())))),
            spawned: Instant::now(),
        })
    }

    /// The number of the group, which is its leader's process number.
    pub(super) fn id(&self) -> Pid {
        self.id
    }

    /// Sends a signal to every process of the group. That none is left is no error.
    pub(super) fn signal(&self, signal: Signal) {
        if self.lock().is_some() {
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Sends the signal of that number, real-time signals included.
    pub(super) async fn signal_number(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            return self.signal(signal);
        }
        // No safe call sends a real-time signal; the shell's built-in does.
        let text = format!("kill -{number} -{}", self.id.as_raw_nonzero());
        let sent = Command::new("/bin/sh")
            .args(["-c", &text])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        let _ = tokio::time::timeout(SIGNAL_LIMIT, sent).await;
    }

    /// Every live process of the group.
    pub(super) async fn members(&self) -> io::Result<Vec<Process>> {
        let id = self.id.as_raw_nonzero().get();
        tokio::task::spawn_blocking(move || process_table::members(id))
            .await
            .map_err(io::Error::other)?
    }

    /// Whether anything of the group lives. The leader must have ended.
    pub(super) async fn survives(&self) -> bool {
        if self.spawned.elapsed() < YOUNG
            && let Some(empty) = process_table::empty_at_a_glance(self.id.as_raw_nonzero().get())
        {
            return !empty;
        }
        !self.is_gone().await
    }

    /// Whether nothing of the group lives. What cannot be seen is not taken for gone.
    pub(super) async fn is_gone(&self) -> bool {
        let reaped = self.lock().is_none();
        reaped || self.members().await.is_ok_and(|members| members.is_empty())
    }

    /// Ends every process of the group: asked first, killed after `grace`. Returns whether nothing of it is left.
    pub(super) async fn end(&self, grace: Duration) -> bool {
        self.signal(Signal::TERM);
        // A stopped process gets to its handler only when it goes on.
        self.signal(Signal::CONT);
        if self.gone_within(grace).await {
            return true;
        }
        self.signal(Signal::KILL);
        self.gone_within(KILL_LIMIT).await
    }

    async fn gone_within(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
        loop {
            if self.is_gone().await {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Takes the leader's status from the system, which gives its number back. Nothing is signalled any more.
    pub(super) fn reap(&self) {
        if let Some((mut leader, _held)) = self.lock().take() {
            // A leader that cannot be reaped yet goes to the runtime's orphans when it is dropped.
            let _ = leader.try_wait();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Box<dyn ChildWrapper>, Held)>> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever drops a group that was not reaped has gone away in the middle; nothing may live on unwatched.
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
