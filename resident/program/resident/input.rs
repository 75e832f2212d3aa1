//! What commands read: taken from clients as fast as the command's pipe takes it, and no faster.

use std::io::{self, Write as _};

use super::{Resident, Token};
use crate::{
    system::Interest,
    wire::{ErrorKind, Reply, STDIN_WINDOW},
};

impl Resident {
    /// Takes bytes from a client. What was taken before is not taken again, so that a client may repeat itself.
    pub(super) fn take_input(&mut self, connection: u64, id: u64, offset: u64, data: &[u8], eof: bool) {
        let Some(input) = self.jobs.get_mut(&id).and_then(|job| job.input.as_mut()) else {
            // The job is gone, or reads nothing: what comes for it is dropped, and that is said.
            return self.send(
                connection,
                &Reply::StdinTaken {
                    job: id,
                    offset,
                    open: false,
                },
            );
        };
        input.feeder = Some(connection);
        if input.pipe.is_none() {
            let (offset, open) = (input.taken, false);
            return self.send(
                connection,
                &Reply::StdinTaken {
                    job: id,
                    offset,
                    open,
                },
            );
        }
        let fed = input.taken + input.queue.len() as u64;
        let end = offset.saturating_add(data.len() as u64);
        if offset > fed || end > input.taken.saturating_add(STDIN_WINDOW) {
            let message = format!(
                "input of job {id} at {offset} leaves a gap after {fed}, or is more than {STDIN_WINDOW} bytes ahead"
            );
            if let Some(connection) = self.connections.get_mut(&connection) {
                connection.refuse(ErrorKind::Protocol, message);
            }
            return;
        }
        if !input.eof {
            let known = usize::try_from(fed - offset).unwrap_or(usize::MAX);
            input.queue.extend(data.get(known..).unwrap_or_default());
            input.eof = eof;
        }
        self.feed(id);
    }

    /// Feeds a command as much as its pipe takes.
    pub(super) fn feed(&mut self, id: u64) {
        let Some(input) = self.jobs.get_mut(&id).and_then(|job| job.input.as_mut()) else {
            return;
        };
        let Some(pipe) = &mut input.pipe else {
            return;
        };
        let before = input.taken;
        let mut open = true;
        let mut full = false;
        while open && !full && !input.queue.is_empty() {
            match pipe.write(input.queue.as_slices().0) {
                Ok(taken) => {
                    input.queue.drain(..taken);
                    input.taken += taken as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => full = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nobody reads any more.
                Err(_) => open = false,
            }
        }
        let finished = input.queue.is_empty() && input.eof;
        if !open || finished {
            self.epoll.remove(&*pipe);
            input.pipe = None;
            input.queue = std::collections::VecDeque::new();
        } else {
            // An idle pipe is waited for, too: only so is it seen that nobody reads any more.
            let interest = Interest {
                read: false,
                write: full,
            };
            let token = Token::Input(id).number();
            let known = std::mem::replace(&mut input.waiting, true);
            let _ = if known {
                self.epoll.modify(&*pipe, token, interest)
            } else {
                self.epoll.add(&*pipe, token, interest)
            };
            open = open && !is_broken(input.queue.is_empty(), &*pipe);
            if !open {
                self.epoll.remove(&*pipe);
                input.pipe = None;
            }
        }
        let (offset, feeder) = (input.taken, input.feeder);
        if let Some(feeder) = feeder.filter(|_| offset != before || !open || finished) {
            self.send(
                feeder,
                &Reply::StdinTaken {
                    job: id,
                    offset,
                    open,
                },
            );
        }
    }

    /// Closes the input of a command that has ended.
    pub(super) fn close_input(&mut self, id: u64) {
        let Some(input) = self.jobs.get_mut(&id).and_then(|job| job.input.as_mut()) else {
            return;
        };
        input.queue = std::collections::VecDeque::new();
        if let Some(pipe) = input.pipe.take() {
            self.epoll.remove(&pipe);
            let (offset, feeder) = (input.taken, input.feeder);
            if let Some(feeder) = feeder {
                self.send(
                    feeder,
                    &Reply::StdinTaken {
                        job: id,
                        offset,
                        open: false,
                    },
                );
            }
        }
    }
}

/// Whether nobody reads a pipe any more, asked when there is nothing to write that would tell.
fn is_broken(idle: bool, pipe: &io::PipeWriter) -> bool {
    idle && crate::system::has_lost_other_end(pipe)
}
