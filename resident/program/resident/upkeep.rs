//! What is done when its time has come: deadlines that a supervisor did not keep, output that leaves memory, outcomes that
//! nobody fetched, idleness, and the end.

use std::time::{Duration, Instant};

use super::{Job, Resident, Timer, job::Phase};
use crate::{
    supervisor::Force,
    system::{number, send_signal},
    wire::{ErrorKind, Reply},
};

/// How long the outcome of a job stays that need not be kept.
const STAY: Duration = Duration::from_mins(10);

/// How many such outcomes there are at most; the oldest go.
const OUTCOMES: usize = 512;

/// Output that stays in memory until its job is forgotten.
const SMALL: usize = 4096;

/// How long the end waits for processes that were killed.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

impl Resident {
    /// Has something done about a job at a time, instead of what was to be done before.
    pub(super) fn wake(&mut self, id: u64, at: Option<Instant>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let Some(before) = std::mem::replace(&mut job.wake, at) {
            self.timers.remove(&(before, Timer::Job(id)));
        }
        if let Some(at) = at {
            self.timers.insert((at, Timer::Job(id)));
        }
    }

    pub(super) fn handle_timers(&mut self) {
        let now = Instant::now();
        while let Some((at, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, timer));
            match timer {
                Timer::Job(id) => self.handle_job(id, now),
                Timer::Proof(id) => {
                    if let Some(connection) = self.connections.get_mut(&id).filter(|found| !found.is_proved())
                    {
                        connection.refuse(ErrorKind::Unauthenticated, "no proof has come in time".into());
                    }
                }
                Timer::Caller(id) => self.expect_line(id),
                Timer::Alone(id) => self.give_up_calls(id),
                Timer::Orphans => self.kill_orphans(),
                Timer::Home => self.look_after_home(),
                Timer::Idle => {
                    let end = self.idle_since.and_then(|since| self.idle_end(since));
                    self.over |= end == Some(at);
                }
                Timer::ShutdownLimit => self.end_shutdown(),
            }
        }
    }

    fn handle_job(&mut self, id: u64, now: Instant) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.wake = None;
        match &job.phase {
            Phase::Starting | Phase::Running => {
                if job.force.is_none() && job.deadline.is_some_and(|deadline| deadline <= now) {
                    job.force = Some(Force::Deadline);
                }
                // It keeps no deadline and hears nothing. Its orphans come to us.
                if let Some(supervisor) = &job.supervisor {
                    let _ = send_signal(supervisor.pid, number::KILL);
                }
            }
            Phase::Draining { .. } => self.drain(id),
            Phase::Ended(_) => {
                let goes = !job.keep && now.saturating_duration_since(job.accepted) > STAY && job.is_over();
                if goes && job.readers.is_empty() {
                    return self.drop_job(id);
                }
                for output in job.outputs.iter_mut().flatten() {
                    output.spool.settle(SMALL);
                }
                let again = (!job.keep).then_some(now + STAY);
                self.wake(id, again);
            }
        }
    }

    /// Drops the oldest outcomes that need not be kept, when there are too many.
    pub(super) fn make_room(&mut self) {
        let droppable = |job: &&super::Job| job.is_over() && !job.keep && job.readers.is_empty();
        if self.jobs.len() < OUTCOMES {
            return;
        }
        let ids: Vec<_> = self.jobs.values().filter(droppable).map(|job| job.id).collect();
        let surplus = (ids.len() + 1).saturating_sub(OUTCOMES);
        for id in ids.into_iter().take(surplus) {
            self.drop_job(id);
        }
    }

    /// Forgets a job that has ended. What it has left behind is supervised on, and what that writes is dropped.
    pub(super) fn drop_job(&mut self, id: u64) {
        self.wake(id, None);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.forgotten = true;
        let request = job.request;
        let readers = std::mem::take(&mut job.readers);
        for output in job.outputs.iter_mut().flatten() {
            output.spool = super::spool::Spool::new(None, 1);
        }
        self.requests.remove(&request);
        for reader in readers {
            if let Some(connection) = self.connections.get_mut(&reader.connection) {
                connection.attached.remove(&id);
            }
        }
        self.resume(id);
        self.remove_if_over(id);
    }

    /// Removes a job that is forgotten and of which nothing is left.
    pub(super) fn remove_if_over(&mut self, id: u64) {
        if self
            .jobs
            .get(&id)
            .is_some_and(|job| job.forgotten && job.is_over())
        {
            self.jobs.remove(&id);
        }
    }

    fn idle_end(&self, since: Instant) -> Option<Instant> {
        self.setting.idle.and_then(|idle| since.checked_add(idle))
    }

    /// Something has been asked: idleness is counted from the end of that.
    pub(super) fn count_anew(&mut self) {
        if let Some(end) = self.idle_since.take().and_then(|since| self.idle_end(since)) {
            self.timers.remove(&(end, Timer::Idle));
        }
    }

    /// Begins to count when nothing goes on, and stops when something does: a job, and where that counts a client and an
    /// outcome that is kept.
    pub(super) fn watch_idleness(&mut self) {
        let stays = self.setting.stays_for_clients;
        let kept = self.jobs.values().any(|job| !job.is_over() || stays && job.keep);
        let busy = kept || stays && !self.connections.is_empty() || self.shutdown.is_some();
        match self.idle_since {
            Some(_) if busy => self.count_anew(),
            None if !busy => {
                let now = Instant::now();
                self.idle_since = Some(now);
                if let Some(end) = self.idle_end(now) {
                    self.timers.insert((end, Timer::Idle));
                }
            }
            _ => {}
        }
    }

    /// Ends everything that runs. Nothing is started any more.
    pub(super) fn begin_shutdown(&mut self, call: Option<(u64, u32)>) {
        let first = self.shutdown.is_none();
        self.shutdown.get_or_insert_default().extend(call);
        if first {
            self.timers
                .insert((Instant::now() + SHUTDOWN_LIMIT, Timer::ShutdownLimit));
            // They end when nobody can hand them anything any more.
            self.spares.clear();
            let ids: Vec<_> = self.jobs.keys().copied().collect();
            for id in ids {
                self.force(id, Force::Shutdown);
            }
            self.timers.insert((Instant::now(), Timer::Orphans));
        }
    }

    /// Ends when nothing is left.
    pub(super) fn go_on_with_shutdown(&mut self) {
        if self.shutdown.is_none() || !self.supervisors.is_empty() {
            return;
        }
        if self.jobs.values().all(Job::has_ended) && has_no_children() {
            self.end_shutdown();
        }
    }

    fn end_shutdown(&mut self) {
        for (connection, call) in self.shutdown.take().unwrap_or_default() {
            self.send(connection, &Reply::Done { call });
        }
        self.shutdown = Some(Vec::new());
        self.over = true;
    }
}

fn has_no_children() -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    crate::supervisor::children(own).is_empty()
}
