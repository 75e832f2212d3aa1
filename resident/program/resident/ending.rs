//! How execs end: what supervisors report, what is still taken of the output, what is told, and what becomes of execs whose
//! supervisor was killed.

use std::time::{Duration, Instant};

use super::{
    Resident, Timer,
    job::{End, Phase},
    output::QUIET,
    spares::SPARE_FAILED,
    start::failed,
};
use crate::{
    supervisor::{Failure, Force, Report, descendants},
    system::{Reaped, Status, number, reap, send_signal},
    wire::{Ending, Outcome, Reply, SignalCause, Stream},
};

/// How long output is taken at most after the command has ended, when something else holds the pipe.
const DRAIN: Duration = Duration::from_millis(250);

/// How often orphans are looked for as long as there are any.
const ORPHANS_AGAIN: Duration = Duration::from_millis(5);

/// How long orphans may take to die before the answer no longer waits for them.
const ORPHANS_LIMIT: Duration = Duration::from_secs(2);

/// How soon after the end of a job its output leaves memory, if it was not forgotten by then.
const SETTLE: Duration = Duration::from_secs(1);

impl Resident {
    /// Takes what a supervisor has said.
    pub(super) fn hear_supervisor(&mut self, id: u64) {
        loop {
            let control = self
                .jobs
                .get(&id)
                .and_then(|job| job.supervisor.as_ref())
                .map(|found| &found.control);
            let Some(report) = control.and_then(Report::receive) else {
                return;
            };
            match report {
                Report::Started { pid } => {
                    if let Some(job) = self.jobs.get_mut(&id) {
                        job.pid = pid;
                        if matches!(job.phase, Phase::Starting) {
                            job.phase = Phase::Running;
                        }
                    }
                    self.tell_started(id);
                }
                Report::Failed(failure) => self.set_up_failed(id, failure),
                Report::Free => return self.release_supervisor(id),
                Report::Ended { status, force, gone } => self.command_ended(id, End { status, force, gone }),
            }
        }
    }

    pub(super) fn set_up_failed(&mut self, id: u64, failure: Failure) {
        self.tell_started(id);
        self.close_input(id);
        if let Some(session) = self.jobs.get(&id).and_then(|job| job.session.as_ref()) {
            session.release();
        }
        self.finish(id, Instant::now(), failed(failure), false);
    }

    /// The command has ended. What it wrote before is in its pipes.
    fn command_ended(&mut self, id: u64, end: End) {
        self.close_input(id);
        let at = Instant::now();
        let Some(job) = self
            .jobs
            .get_mut(&id)
            .filter(|job| matches!(job.phase, Phase::Starting | Phase::Running))
        else {
            return;
        };
        if let Some(session) = &job.session {
            if end.force.is_none() && matches!(end.status, Some(Status::Exited(_))) {
                let unsaved = session.take().err();
                job.notices.extend(unsaved);
            } else {
                session.release();
            }
        }
        let until = at + DRAIN;
        job.phase = Phase::Draining {
            end,
            at,
            until,
            quiet: at + QUIET,
        };
        self.end_calls(id);
        // There is room now for all that the pipes hold.
        self.resume(id);
        for stream in Stream::ALL {
            self.read_output(id, stream);
        }
        self.drain(id);
    }

    /// Nobody writes to a stream of the job any more.
    pub(super) fn stream_ended(&mut self, id: u64) {
        self.drain(id);
        self.remove_if_over(id);
    }

    /// Ends the draining if everything was taken or the time is over.
    pub(super) fn drain(&mut self, id: u64) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let Phase::Draining {
            end,
            at,
            until,
            quiet,
        } = job.phase
        else {
            return;
        };
        let next = until.min(quiet);
        if job.is_written() && Instant::now() < next {
            return self.wake(id, Some(next));
        }
        let left_behind = !end.gone && job.supervisor.is_some();
        let outcome = self.outcome(id, end);
        self.finish(id, at, outcome, left_behind);
    }

    fn outcome(&mut self, id: u64, end: End) -> Outcome {
        match (end.force, end.status) {
            (Some(Force::Deadline), _) => Outcome::TimedOut,
            (Some(Force::Cancel), _) => Outcome::Cancelled,
            (Some(Force::Shutdown), _) => Outcome::SandboxLost,
            (None, Some(Status::Exited(code))) => {
                if code == 128 + 9 && self.memory_ran_out(id) {
                    self.notice(
                        id,
                        "the kernel has killed a process here for lack of memory".into(),
                    );
                }
                Outcome::Exited { code }
            }
            // Whoever ends the whole sandbox may have signalled the command besides the resident.
            (None, Some(Status::Signaled(_))) if self.is_ending() => Outcome::SandboxLost,
            (None, Some(Status::Signaled(number))) => {
                let killed = i32::from(number) == number::KILL;
                let cause = if killed && self.memory_ran_out(id) {
                    SignalCause::OutOfMemory
                } else {
                    SignalCause::Unknown
                };
                Outcome::Signaled { number, cause }
            }
            (None, None | Some(Status::Stopped)) => Outcome::Signaled {
                number: 9,
                cause: SignalCause::Unknown,
            },
        }
    }

    fn is_ending(&mut self) -> bool {
        self.read_signals();
        self.shutdown.is_some()
    }

    /// Whether the kernel has killed for lack of memory since the job's start.
    fn memory_ran_out(&self, id: u64) -> bool {
        let before = self.jobs.get(&id).and_then(|job| job.kills_before);
        let now = self.kills.as_ref().and_then(super::KillCounter::read);
        matches!((before, now), (Some(before), Some(now)) if now > before)
    }

    fn notice(&mut self, id: u64, notice: String) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.notices.push(notice);
        }
    }

    /// The job has ended: everybody who waits is told.
    fn finish(&mut self, id: u64, at: Instant, outcome: Outcome, left_behind: bool) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if left_behind {
            let forced = matches!(
                outcome,
                Outcome::TimedOut | Outcome::Cancelled | Outcome::SandboxLost
            );
            job.notices.push(if forced {
                "processes of the command do not end although they were killed; they wait for a device".into()
            } else {
                "processes of the command live on; they end when the job is cancelled, or with the sandbox"
                    .into()
            });
        }
        let duration = at.saturating_duration_since(job.accepted).as_micros();
        let ending = Box::new(Ending {
            outcome,
            totals: job.totals(),
            duration_us: u64::try_from(duration).unwrap_or(u64::MAX),
            left_behind,
            notices: std::mem::take(&mut job.notices),
        });
        job.phase = Phase::Ended(ending.clone());
        self.end_calls(id);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let waiters = std::mem::take(&mut job.waiters);
        let readers: Vec<_> = job.readers.iter().map(|reader| reader.connection).collect();
        for reader in readers {
            // What is there goes first, as far as there is credit.
            self.pump(reader);
            self.tell_reader(id, reader, &ending);
        }
        for (connection, call) in waiters {
            self.send(
                connection,
                &Reply::Finished {
                    call,
                    job: id,
                    ending: ending.clone(),
                },
            );
        }
        self.wake(id, Some(Instant::now() + SETTLE));
        self.resume(id);
        self.remove_if_over(id);
    }

    /// Tells an attached client the end.
    pub(super) fn tell_reader(&mut self, id: u64, connection: u64, ending: &Ending) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let totals = job.totals();
        for reader in job
            .readers
            .iter_mut()
            .filter(|reader| reader.connection == connection)
        {
            reader.limit = Some(totals);
        }
        self.send(
            connection,
            &Reply::Finished {
                call: 0,
                job: id,
                ending: Box::new(ending.clone()),
            },
        );
    }

    /// Sees whether the resident itself is to end. That children are to be reaped is done later.
    pub(super) fn read_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            if signal == number::CHILD {
                self.reaping_due = true;
            } else {
                self.begin_shutdown(None);
            }
        }
    }

    pub(super) fn reap_children(&mut self) {
        self.reaping_due = false;
        loop {
            match reap(true) {
                Reaped::Child {
                    pid,
                    status: Status::Stopped,
                } => {
                    // A supervisor does not stop; a command of the same user has made it.
                    let _ = send_signal(pid, number::CONTINUE);
                }
                Reaped::Child { pid, status } => match self.supervisors.remove(&pid) {
                    Some(id) => self.supervisor_ended(id, status),
                    None => self.orphan_ended(pid, status),
                },
                Reaped::AllAlive | Reaped::NoChildren => break,
            }
        }
        self.go_on_with_shutdown();
    }

    /// A supervisor ends when nothing of its exec is left, or because somebody has killed it.
    fn supervisor_ended(&mut self, id: u64, status: Status) {
        self.hear_supervisor(id);
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if let Some(supervisor) = job.supervisor.take() {
            self.epoll.remove(&supervisor.control);
        }
        if matches!(job.phase, Phase::Starting | Phase::Running) {
            job.lost = Some(Instant::now());
            self.tell_started(id);
            self.close_input(id);
        }
        if status != Status::Exited(0) {
            // Even when it had told the end, its orphans are ours now.
            self.timers.insert((Instant::now(), Timer::Orphans));
        }
        self.remove_if_over(id);
    }

    /// An orphan has ended; it may be a command whose supervisor was killed.
    fn orphan_ended(&mut self, pid: i32, status: Status) {
        let spares = self.spares.len();
        self.spares.retain(|spare| spare.pid != pid);
        if self.spares.len() < spares {
            // Somebody kills them.
            self.no_spare_before = Instant::now() + SPARE_FAILED;
        }
        if let Some(job) = self
            .jobs
            .values_mut()
            .find(|job| job.pid == pid && !job.has_ended())
        {
            job.orphan = Some(status);
        }
    }

    /// Kills what supervisors have left to us, and tells the end of their execs when nothing is left.
    pub(super) fn kill_orphans(&mut self) {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut any = false;
        for child in crate::supervisor::children(own) {
            if self.supervisors.contains_key(&child) || self.spares.iter().any(|spare| spare.pid == child) {
                continue;
            }
            any = true;
            for pid in descendants(child) {
                let _ = send_signal(pid, number::KILL);
            }
            let _ = send_signal(child, number::KILL);
        }
        let now = Instant::now();
        if any {
            self.timers.insert((now + ORPHANS_AGAIN, Timer::Orphans));
        }
        let ready = |since: Instant| !any || now.saturating_duration_since(since) > ORPHANS_LIMIT;
        let lost = self
            .jobs
            .values()
            .filter(|job| job.lost.is_some_and(ready) && !job.has_ended());
        let lost: Vec<_> = lost.map(|job| job.id).collect();
        for id in lost {
            let Some(job) = self.jobs.get_mut(&id) else {
                continue;
            };
            job.lost = None;
            job.notices.push(
                "the process that supervised the command was killed, so everything of it was ended".into(),
            );
            let end = End {
                status: job.orphan,
                force: job.force,
                gone: !any,
            };
            self.command_ended(id, end);
        }
        self.go_on_with_shutdown();
    }
}
