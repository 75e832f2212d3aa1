//! What commands write: taken from their pipes as long as there is room, held, and sent to clients that have credit.

use std::{
    io::{self, Read as _},
    time::{Duration, Instant},
};

use super::{Resident, Token, connection::HIGH, job::Phase};
use crate::{
    system::{Interest, enlarge_pipe},
    wire::{Reply, Stream},
};

/// The most bytes of one job that are sent before another has its turn.
const PIECE: usize = 256 * 1024;

/// A pipe as the system makes it.
const PIPE: usize = 64 * 1024;

/// A pipe whose command writes much.
const LARGE_PIPE: i32 = 256 * 1024;

/// How long output is still taken after the last of it when the command has ended and something else holds the pipe.
pub(super) const QUIET: Duration = Duration::from_millis(100);

impl Resident {
    /// Takes what there is of a stream, once.
    pub(super) fn read_output(&mut self, id: u64, stream: Stream) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let room = usize::try_from(job.room(stream))
            .unwrap_or(usize::MAX)
            .min(self.buffer.len());
        let draining = matches!(job.phase, Phase::Draining { .. });
        let Some(output) = &mut job.outputs[stream.index()] else {
            return;
        };
        let Some(pipe) = &mut output.pipe else {
            return;
        };
        if room == 0 {
            self.epoll.remove(&*pipe);
            output.paused = true;
            return;
        }
        let buffer = self.buffer.get_mut(..room).unwrap_or_default();
        let taken = match pipe.read(buffer) {
            Ok(0) => None,
            Ok(taken) => Some(taken),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return;
            }
            Err(_) => None,
        };
        let Some(taken) = taken else {
            self.epoll.remove(&*pipe);
            output.pipe = None;
            return self.stream_ended(id);
        };
        if taken >= PIPE && !output.enlarged {
            output.enlarged = true;
            enlarge_pipe(&*pipe, LARGE_PIPE);
        }
        if job.forgotten {
            return;
        }
        let before = output.spool.end() - output.spool.from();
        output
            .spool
            .append(buffer.get(..taken).unwrap_or_default(), draining);
        if draining {
            let over = (before + taken as u64).saturating_sub(output.spool.capacity());
            output.slack = output.slack.saturating_sub(over.min(taken as u64));
        }
        let problem = output.spool.take_problem();
        job.notices.extend(problem);
        if let Phase::Draining { quiet, .. } = &mut job.phase {
            *quiet = Instant::now() + QUIET;
        }
    }

    /// Reads the streams of a job again that were not read for lack of room, if there is room now.
    pub(super) fn resume(&mut self, id: u64) {
        for stream in Stream::ALL {
            let Some(job) = self.jobs.get_mut(&id) else {
                return;
            };
            let room = job.room(stream);
            let Some(output) = job.outputs[stream.index()]
                .as_mut()
                .filter(|output| output.paused && room > 0)
            else {
                continue;
            };
            if let Some(pipe) = &output.pipe {
                output.paused = self
                    .epoll
                    .add(pipe, Token::Output(id, stream).number(), Interest::READ)
                    .is_err();
            }
        }
    }

    /// Hands output to a connection, job after job, until it has enough or there is no more; returns whether there may be.
    pub(super) fn pump(&mut self, connection: u64) -> bool {
        loop {
            let Some(found) = self.connections.get(&connection) else {
                return false;
            };
            let turn = found.turn;
            let after = found.attached.range(turn + 1..);
            let jobs: Vec<_> = after.chain(found.attached.range(..=turn)).copied().collect();
            let mut sent = false;
            for id in jobs {
                for stream in Stream::ALL {
                    let Some(found) = self.connections.get_mut(&connection) else {
                        return false;
                    };
                    if found.waiting() >= HIGH {
                        return true;
                    }
                    found.turn = id;
                    sent |= self.send_piece(connection, id, stream);
                }
                self.release(connection, id);
            }
            if !sent {
                return false;
            }
        }
    }

    /// Sends the next piece of a stream; returns whether there was any.
    fn send_piece(&mut self, connection: u64, id: u64, stream: Stream) -> bool {
        let Some(job) = self.jobs.get_mut(&id) else {
            return false;
        };
        // Output can be there before its supervisor has told of the start, which the client has to hear first.
        if matches!(job.phase, Phase::Starting) {
            return false;
        }
        let Some(output) = &job.outputs[stream.index()] else {
            return false;
        };
        let Some(reader) = job
            .readers
            .iter_mut()
            .find(|reader| reader.connection == connection)
        else {
            return false;
        };
        let Some(to) = self.connections.get_mut(&connection) else {
            return false;
        };
        let end = reader
            .limit
            .map_or(output.spool.end(), |limit| limit[stream.index()]);
        let cursor = &mut reader.cursor[stream.index()];
        let held_from = output.spool.from().min(end);
        if *cursor < held_from {
            to.send(&Reply::Gap {
                job: id,
                stream,
                from: *cursor,
                to: held_from,
            });
            *cursor = held_from;
        }
        let most = end.saturating_sub(*cursor).min(reader.credit);
        let most = usize::try_from(most).unwrap_or(PIECE).min(PIECE);
        let length = output.spool.available(*cursor, most);
        if length == 0 {
            return false;
        }
        let offset = *cursor;
        *cursor += length as u64;
        let sent = to.send_output((id, stream, offset), length, |out| {
            output
                .spool
                .read(offset, length, |piece| out.extend_from_slice(piece))
        });
        if sent.is_ok() {
            reader.credit -= length as u64;
        } else {
            // The file cannot be read; what was in it is lost, and that is said.
            to.send(&Reply::Gap {
                job: id,
                stream,
                from: offset,
                to: *cursor,
            });
        }
        if output.paused {
            self.resume(id);
        }
        true
    }

    /// Lets a client go from a job when it has everything up to the end that it was told.
    fn release(&mut self, connection: u64, id: u64) {
        let done = match self.jobs.get_mut(&id) {
            None => true,
            Some(job) => {
                let complete = |reader: &super::job::Reader| {
                    reader.connection == connection
                        && reader
                            .limit
                            .is_some_and(|[out, err]| reader.cursor[0] >= out && reader.cursor[1] >= err)
                };
                let before = job.readers.len();
                job.readers.retain(|reader| !complete(reader));
                job.readers.len() != before
                    || !job.readers.iter().any(|reader| reader.connection == connection)
            }
        };
        if done && let Some(found) = self.connections.get_mut(&connection) {
            found.attached.remove(&id);
        }
    }
}
