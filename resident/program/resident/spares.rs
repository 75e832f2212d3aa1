//! The supervisors that wait for an exec: made before they are needed, lent to an exec, taken back.

use std::{
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use super::{Resident, job::Supervisor};
use crate::{
    session::Carried,
    supervisor::{Charge, hand_over, supervise, wait_for_execs},
    system::{Forked, fork, message_pair},
    wire::Start,
};

/// How many supervisors wait for an exec.
const SPARES: usize = 4;

/// How long after a start no supervisor is made ready.
pub(super) const SPARE_PAUSE: Duration = Duration::from_millis(20);

/// How long none is made ready after that has failed, or one was killed.
pub(super) const SPARE_FAILED: Duration = Duration::from_millis(500);

impl Resident {
    /// Has an exec supervised: by a process that waits for one, else by a new one.
    pub(super) fn supervise(
        &mut self,
        job: u64,
        start: Box<Start>,
        session: Option<&Carried>,
        deadline: Option<Instant>,
        standard: [OwnedFd; 3],
    ) -> io::Result<Supervisor> {
        while let Some(spare) = self.spares.pop_back() {
            match hand_over(&spare.control, job, &start, deadline, &standard) {
                Ok(()) => return Ok(spare),
                // It waits on for one that fits.
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.spares.push_back(spare);
                    break;
                }
                // It was killed.
                Err(_) => {}
            }
        }
        let [own, control] = message_pair()?;
        match fork()? {
            Forked::Parent { child } => Ok(Supervisor {
                pid: child,
                control: own,
            }),
            Forked::Child => {
                let ground = &self.setting.ground;
                supervise(
                    Charge {
                        job,
                        start,
                        deadline,
                        ground,
                        session,
                        control: &control,
                        standard,
                    },
                    &self.sessions,
                )
            }
        }
    }

    /// Whether a supervisor is to be made ready. Not while a command starts, unless there is none left: it would be in the way.
    pub(super) fn wants_spare(&self) -> bool {
        let quiet =
            self.last_start.elapsed() > SPARE_PAUSE || !self.jobs.values().any(|job| !job.has_ended());
        let allowed = Instant::now() >= self.no_spare_before;
        self.lacks_spares() && allowed && (self.spares.is_empty() || quiet)
    }

    pub(super) fn lacks_spares(&self) -> bool {
        self.shutdown.is_none() && self.spares.len() + self.supervisors.len() < SPARES
    }

    /// Makes a supervisor ready. Where that fails, one is forked when it is needed, and the failure is told then.
    pub(super) fn add_spare(&mut self) {
        let pair = message_pair();
        let forked = pair.and_then(|pair| Ok((pair, fork()?)));
        match forked {
            Ok(([own, _], Forked::Parent { child })) => self.spares.push_back(Supervisor {
                pid: child,
                control: own,
            }),
            Ok(([_, control], Forked::Child)) => {
                wait_for_execs(&control, &self.setting.ground, &self.sessions)
            }
            Err(_) => self.no_spare_before = Instant::now() + SPARE_FAILED,
        }
    }

    /// Nothing of an exec is left, and its supervisor waits for another. Of too many, the youngest go.
    pub(super) fn release_supervisor(&mut self, id: u64) {
        let Some(supervisor) = self.jobs.get_mut(&id).and_then(|job| job.supervisor.take()) else {
            return;
        };
        self.epoll.remove(&supervisor.control);
        self.supervisors.remove(&supervisor.pid);
        if self.shutdown.is_none() {
            self.spares.push_back(supervisor);
        }
        if self.spares.len() > SPARES {
            let youngest = self.spares.iter().map(|spare| spare.pid).max();
            self.spares.retain(|spare| Some(spare.pid) != youngest);
        }
        self.remove_if_over(id);
        self.go_on_with_shutdown();
    }
}
