//! Answers to what clients ask.

use std::time::Instant;

use super::{Resident, job::Phase, start::SUPERVISOR_LIMIT};
use crate::{
    supervisor::{Force, Order},
    wire::{Data, ErrorKind, MAX_DATA, MAX_FRAME, Refusal, Reply, Request, Stream},
};

/// The most jobs in one listing.
const LISTED: usize = 256;

impl Resident {
    pub(super) fn answer(&mut self, connection: u64, request: Request) {
        self.count_anew();
        match request {
            Request::Hello { .. } | Request::Prove { .. } => {
                if let Some(connection) = self.connections.get_mut(&connection) {
                    connection.refuse(ErrorKind::Protocol, "the proof was made already".into());
                }
            }
            Request::Start { call, start } => self.start(connection, call, start),
            Request::Stdin {
                job,
                offset,
                data,
                eof,
            } => self.take_input(connection, job, offset, &data, eof),
            Request::Credit { job, bytes } => self.credit(connection, job, bytes),
            Request::Tool { job, number, answer } => self.answer_tool(connection, job, number, answer),
            Request::Ping { call } => self.send(connection, &Reply::Pong { call }),
            Request::Shutdown { call } => {
                self.begin_shutdown(Some((connection, call)));
                self.go_on_with_shutdown();
            }
            Request::EndSession { call, name } => {
                self.end_session(&name);
                self.send(connection, &Reply::Done { call });
            }
            Request::List { call, after, most } => self.list(connection, call, after, most),
            request => self.answer_about_job(connection, &request),
        }
    }

    /// Forgets a session. What commands of it that still run would leave is not its state any more.
    fn end_session(&mut self, name: &str) {
        self.sessions.end(name);
        for job in self.jobs.values_mut() {
            if let Some(session) = job.session.as_mut().filter(|session| session.is_of(name)) {
                session.leave_nothing();
            }
        }
    }

    fn answer_about_job(&mut self, connection: u64, request: &Request) {
        let (call, result) = match *request {
            Request::Attach {
                call,
                job,
                from,
                credit,
            } => (call, self.answer_attach(connection, call, job, from, credit)),
            Request::Detach { call, job } => (call, self.detach(connection, call, job)),
            Request::Cancel { call, job } => (call, self.cancel(connection, call, job)),
            Request::Signal { call, job, number } => (call, self.signal(connection, call, job, number)),
            Request::Wait { call, job } => (call, self.wait(connection, call, job)),
            Request::Read {
                call,
                job,
                stream,
                from,
                most,
            } => (call, self.read(connection, call, job, (stream, from, most))),
            Request::ServeTools { call, job, request } => {
                (call, self.serve_tools(connection, call, job, request))
            }
            Request::Forget { call, job } => (call, self.forget(connection, call, job)),
            _ => return,
        };
        if let Err(error) = result {
            self.send(connection, &Reply::Error { call, error });
        }
    }

    pub(super) fn known(&self, id: u64) -> Result<&super::Job, Refusal> {
        self.jobs
            .get(&id)
            .filter(|job| !job.forgotten)
            .ok_or_else(|| Refusal {
                kind: ErrorKind::NotFound,
                resource: format!("job {id}"),
                message: format!(
                    "there is no job {id}; it was forgotten, or another resident had it; list the jobs"
                ),
            })
    }

    fn answer_attach(
        &mut self,
        connection: u64,
        call: u32,
        id: u64,
        from: [u64; 2],
        credit: u64,
    ) -> Result<(), Refusal> {
        let job = self.known(id)?;
        let totals = job.totals();
        if from[0] > totals[0] || from[1] > totals[1] {
            let message =
                format!("output of job {id} ends at {totals:?}, before {from:?}; start at what has come");
            return Err(Refusal {
                kind: ErrorKind::InvalidArgument,
                resource: "from".into(),
                message,
            });
        }
        if matches!(job.phase, Phase::Starting) {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.starters.push((connection, call, false));
            }
        } else {
            let pid = u32::try_from(job.pid).unwrap_or(0);
            self.send(
                connection,
                &Reply::Started {
                    call,
                    job: id,
                    pid,
                    known: true,
                },
            );
        }
        self.attach(connection, id, from, credit);
        Ok(())
    }

    fn detach(&mut self, connection: u64, call: u32, id: u64) -> Result<(), Refusal> {
        self.known(id)?;
        if let Some(job) = self.jobs.get_mut(&id) {
            job.readers.retain(|reader| reader.connection != connection);
        }
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.attached.remove(&id);
        }
        self.resume(id);
        self.send(connection, &Reply::Done { call });
        Ok(())
    }

    /// Credit for a job that has just been forgotten is no mistake.
    fn credit(&mut self, connection: u64, id: u64, bytes: u64) {
        let readers = self
            .jobs
            .get_mut(&id)
            .map(|job| job.readers.iter_mut())
            .into_iter()
            .flatten();
        for reader in readers.filter(|reader| reader.connection == connection) {
            reader.credit = reader.credit.saturating_add(bytes);
        }
    }

    fn cancel(&mut self, connection: u64, call: u32, id: u64) -> Result<(), Refusal> {
        self.known(id)?;
        self.force(id, Force::Cancel);
        self.send(connection, &Reply::Done { call });
        Ok(())
    }

    /// Has everything of a job ended.
    pub(super) fn force(&mut self, id: u64, force: Force) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let Some(supervisor) = &job.supervisor else {
            return;
        };
        Order::End(force).send(&supervisor.control);
        if matches!(job.phase, Phase::Starting | Phase::Running) {
            job.force.get_or_insert(force);
            let limit = Instant::now() + job.grace + SUPERVISOR_LIMIT;
            self.wake(id, Some(limit));
        }
    }

    fn signal(&mut self, connection: u64, call: u32, id: u64, number: u8) -> Result<(), Refusal> {
        let job = self.known(id)?;
        if !(1..=64).contains(&number) {
            let message = format!("signal {number} is none; signals are 1 to 64");
            return Err(Refusal {
                kind: ErrorKind::InvalidArgument,
                resource: "signal".into(),
                message,
            });
        }
        let supervisor = job
            .supervisor
            .as_ref()
            .filter(|_| matches!(job.phase, Phase::Starting | Phase::Running));
        let Some(supervisor) = supervisor else {
            let message =
                format!("the command of job {id} has ended; cancel the job to end what it left behind");
            return Err(Refusal {
                kind: ErrorKind::WrongState,
                resource: format!("job {id}"),
                message,
            });
        };
        Order::Signal(number).send(&supervisor.control);
        self.send(connection, &Reply::Done { call });
        Ok(())
    }

    fn wait(&mut self, connection: u64, call: u32, id: u64) -> Result<(), Refusal> {
        let job = self.known(id)?;
        if let Phase::Ended(ending) = &job.phase {
            let ending = ending.clone();
            self.send(
                connection,
                &Reply::Finished {
                    call,
                    job: id,
                    ending,
                },
            );
        } else if let Some(job) = self.jobs.get_mut(&id) {
            job.waiters.push((connection, call));
        }
        Ok(())
    }

    fn list(&mut self, connection: u64, call: u32, after: u64, most: u32) {
        let most = usize::try_from(most).unwrap_or(LISTED).clamp(1, LISTED);
        let now = Instant::now();
        let behind = self.jobs.range(after.saturating_add(1)..).map(|(_, job)| job);
        let mut jobs = Vec::new();
        let (mut more, mut bytes) = (false, 0);
        for job in behind.filter(|job| !job.forgotten) {
            let record = job.record(now);
            let notices = match &record.state {
                crate::wire::JobState::Ended(ending) => {
                    ending
                        .notices
                        .iter()
                        .map(|notice| notice.len() + 4)
                        .sum::<usize>()
                        + 16 * 1024
                }
                crate::wire::JobState::Running => 0,
            };
            bytes += notices + 1024;
            if jobs.len() == most || (bytes > MAX_FRAME && !jobs.is_empty()) {
                more = true;
                break;
            }
            jobs.push(record);
        }
        self.send(connection, &Reply::Listing { call, jobs, more });
    }

    fn read(
        &mut self,
        connection: u64,
        call: u32,
        id: u64,
        (stream, from, most): (Stream, u64, u32),
    ) -> Result<(), Refusal> {
        let job = self.known(id)?;
        let most = usize::try_from(most).unwrap_or(MAX_DATA).min(MAX_DATA);
        let mut data = Data {
            job: id,
            stream,
            offset: from,
            data: Vec::new(),
            total: 0,
            ended: job.is_over(),
        };
        if let Some(output) = job.output(stream) {
            data.total = output.spool.end();
            data.ended = output.pipe.is_none();
            data.offset = from.clamp(output.spool.from(), data.total);
            let read = output
                .spool
                .read(data.offset, most, |piece| data.data.extend_from_slice(piece));
            read.map_err(|error| Refusal {
                kind: ErrorKind::Internal,
                resource: format!("job {id}"),
                message: format!("failed to read what job {id} wrote: {error}"),
            })?;
        }
        self.send(
            connection,
            &Reply::Data {
                call,
                data: Box::new(data),
            },
        );
        self.note_taken(id, stream, from);
        Ok(())
    }

    /// Who reads on from an offset has what comes before it, and a job that waits for room goes on.
    fn note_taken(&mut self, id: u64, stream: Stream, before: u64) {
        let output = self
            .jobs
            .get_mut(&id)
            .and_then(|job| job.outputs[stream.index()].as_mut());
        if let Some(output) = output {
            output.taken = output.taken.max(before.min(output.spool.end()));
            self.resume(id);
        }
    }

    fn forget(&mut self, connection: u64, call: u32, id: u64) -> Result<(), Refusal> {
        if !self.known(id)?.has_ended() {
            let message = format!("job {id} has not ended; cancel it, or wait for its end");
            return Err(Refusal {
                kind: ErrorKind::WrongState,
                resource: format!("job {id}"),
                message,
            });
        }
        self.drop_job(id);
        self.send(connection, &Reply::Done { call });
        Ok(())
    }
}
