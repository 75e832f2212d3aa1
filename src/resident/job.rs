//! Jobs: commands that go on after their call has returned.

use std::time::Duration;

use herm_protocol::{
    Error, ErrorKind,
    exec::{Gap, Stream, StreamTotal},
    job::{JobInfo, JobOutput},
};
use herm_resident::wire::{JobRecord, JobState, MAX_DATA, Reply, Request, Start};
use tokio::time::{Instant, sleep};

use super::{
    Resident,
    client::{AskFault, Unreached},
    convert::{ask_fault, outcome, stream as of_wire, unreached, wire_stream},
    exec::Begun,
};

/// Jobs that one listing asks for.
const PAGE: u32 = 256;

/// More jobs than a resident may keep: a sandbox that lists more lies.
const MOST_JOBS: usize = 1 << 16;

/// The longest single wait for the end of a job; after it, it is asked again, so that a lost connection is noticed.
const WAIT: Duration = Duration::from_mins(1);

impl Resident {
    /// Starts a command that nobody is attached to, and gives the number of its job.
    ///
    /// # Errors
    /// It was not accepted, or it is not known whether it was.
    pub async fn start_job(&self, sandbox: &str, mut start: Start) -> Result<u64, Error> {
        start.attach = None;
        start.keep = true;
        match self.begin(sandbox, &start).await? {
            Begun::Started { job, .. } => Ok(job),
            Begun::Lost(why) => Err(unreached(sandbox, why)),
        }
    }

    /// All jobs, the oldest first. A command that somebody is attached to is none.
    ///
    /// # Errors
    /// The resident cannot be reached, or lies.
    pub async fn jobs(&self, sandbox: &str) -> Result<Vec<JobRecord>, Error> {
        let mut all = self.records(sandbox).await?;
        all.retain(is_job);
        Ok(all)
    }

    /// How many commands and jobs have not ended, with what they have left behind.
    ///
    /// # Errors
    /// The resident cannot be reached.
    pub async fn going_on(&self, sandbox: &str) -> Result<usize, Error> {
        let all = self.records(sandbox).await?;
        let going_on = |record: &&JobRecord| record.alive || record.state == JobState::Running;
        Ok(all.iter().filter(going_on).count())
    }

    async fn records(&self, sandbox: &str) -> Result<Vec<JobRecord>, Error> {
        let mut all: Vec<JobRecord> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.job);
            let list = |call| Request::List {
                call,
                after,
                most: PAGE,
            };
            let reply = self.ask(list, self.settings().answer).await;
            let Reply::Listing { jobs, more, .. } = reply.map_err(|fault| ask_fault(sandbox, fault))? else {
                return Err(out_of_turn());
            };
            let grows =
                jobs.first().is_none_or(|first| first.job > after) && jobs.is_sorted_by(|a, b| a.job < b.job);
            let done = !more || jobs.is_empty();
            all.extend(jobs);
            if !grows || all.len() > MOST_JOBS {
                return Err(out_of_turn());
            }
            if done {
                return Ok(all);
            }
        }
    }

    /// One job.
    ///
    /// # Errors
    /// There is none of that number, or the resident cannot be reached.
    pub async fn job(&self, sandbox: &str, job: u64) -> Result<JobRecord, Error> {
        let list = |call| Request::List {
            call,
            after: job.saturating_sub(1),
            most: 1,
        };
        let reply = self.ask(list, self.settings().answer).await;
        match reply.map_err(|fault| ask_fault(sandbox, fault))? {
            Reply::Listing { jobs, .. } => jobs
                .into_iter()
                .find(|record| record.job == job && is_job(record))
                .ok_or_else(|| not_found(job)),
            _ => Err(out_of_turn()),
        }
    }

    /// Reads what a job has written to a stream, from a cursor on.
    ///
    /// # Errors
    /// There is no such job, or the resident cannot be reached or lies.
    pub async fn read_job(
        &self,
        sandbox: &str,
        job: u64,
        stream: Stream,
        from: u64,
        most: u64,
    ) -> Result<JobOutput, Error> {
        self.job(sandbox, job).await?;
        let most = u32::try_from(most.min(MAX_DATA as u64)).unwrap_or(u32::MAX);
        let read = |call| Request::Read {
            call,
            job,
            stream: wire_stream(stream),
            from,
            most,
        };
        let reply = self.ask(read, self.settings().answer).await;
        let Reply::Data { data, .. } = reply.map_err(|fault| ask_fault(sandbox, fault))? else {
            return Err(out_of_turn());
        };
        let end = data.offset.checked_add(data.data.len() as u64);
        let honest = data.job == job
            && of_wire(data.stream) == stream
            && data.data.len() as u64 <= u64::from(most)
            && end.is_some_and(|end| end <= data.total);
        if !honest || data.offset < from && from <= data.total {
            return Err(out_of_turn());
        }
        let gap = (data.offset > from).then_some(Gap {
            stream,
            from,
            to: data.offset,
        });
        Ok(JobOutput {
            end: data.ended && end == Some(data.total),
            offset: data.offset,
            gap,
            data: data.data.into(),
        })
    }

    /// Waits until a job has ended, or that long.
    ///
    /// # Errors
    /// There is no such job, or the resident cannot be reached.
    pub async fn wait_job(
        &self,
        sandbox: &str,
        job: u64,
        within: Option<Duration>,
    ) -> Result<JobInfo, Error> {
        let until = within.and_then(|within| Instant::now().checked_add(within));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let record = self.job(sandbox, job).await?;
            if matches!(record.state, JobState::Ended(_)) || left == Some(Duration::ZERO) {
                return info(record);
            }
            let connection = self.connection().await.map_err(|why| unreached(sandbox, why))?;
            let waiting = connection.call(|call| Request::Wait { call, job }, WAIT * 2);
            tokio::select! {
                // Whatever came of it, the listing tells.
                _ = waiting => {}
                () = sleep(left.unwrap_or(WAIT).min(WAIT)) => {}
            }
        }
    }

    /// Ends everything of a job, also what its command has left behind, and waits for its end.
    ///
    /// # Errors
    /// There is no such job, the resident cannot be reached, or the end does not come.
    pub async fn kill_job(&self, sandbox: &str, job: u64, within: Duration) -> Result<(), Error> {
        self.job(sandbox, job).await?;
        let asked = self
            .ask(|call| Request::Cancel { call, job }, self.settings().answer)
            .await;
        match asked {
            Ok(_) => {}
            Err(AskFault::Refused(refusal)) if refusal.kind == herm_resident::wire::ErrorKind::WrongState => {
                return Ok(());
            }
            Err(fault) => return Err(ask_fault(sandbox, fault)),
        }
        let until = Instant::now() + within;
        while Instant::now() < until {
            if !self.job(sandbox, job).await?.alive {
                return Ok(());
            }
            sleep(Duration::from_millis(5)).await;
        }
        let message = format!("job {job} was killed, and still runs after {within:?}");
        Err(Error::new(ErrorKind::TimedOut, job.to_string(), message)
            .with_fix("see what its processes wait for, and kill it again"))
    }

    /// Forgets a job that has ended.
    ///
    /// # Errors
    /// There is no such job, it runs, or the resident cannot be reached.
    pub async fn forget_job(&self, sandbox: &str, job: u64) -> Result<(), Error> {
        self.job(sandbox, job).await?;
        let asked = self
            .ask(|call| Request::Forget { call, job }, self.settings().answer)
            .await;
        asked.map(|_| ()).map_err(|fault| match fault {
            AskFault::Refused(refusal) if refusal.kind == herm_resident::wire::ErrorKind::WrongState => {
                Error::invalid_argument("job", format!("{job} still runs; kill it first"))
            }
            fault => ask_fault(sandbox, fault),
        })
    }

    /// Forgets a session; one that is not known is no error.
    ///
    /// # Errors
    /// The resident cannot be reached.
    pub async fn close_session(&self, sandbox: &str, name: &str) -> Result<(), Error> {
        let end = |call| Request::EndSession {
            call,
            name: name.to_owned(),
        };
        let asked = self.ask(end, self.settings().answer).await;
        asked.map(|_| ()).map_err(|fault| ask_fault(sandbox, fault))
    }

    /// Whether the resident is gone for good.
    pub async fn is_gone(&self) -> bool {
        matches!(self.connection().await, Err(Unreached::Gone(_)))
    }
}

/// A job as the protocol tells of it.
///
/// # Errors
/// The resident tells an outcome that no job can have.
pub fn info(record: JobRecord) -> Result<JobInfo, Error> {
    let outcome = match record.state {
        JobState::Running => None,
        JobState::Ended(ending) => Some(outcome(ending.outcome)?),
    };
    let total = |bytes| StreamTotal { bytes, sha256: None };
    Ok(JobInfo {
        job: record.job.to_string(),
        command: record.command.into(),
        age_ms: record.age_ms,
        outcome,
        blocked: record.blocked,
        stdout: total(record.totals[0]),
        stderr: total(record.totals[1]),
    })
}

/// Whether what the resident knows is a job: somebody is attached to a command as long as its caller waits for it, and to no
/// job. A command whose caller was lost is one from then on, so that it is found again.
fn is_job(record: &JobRecord) -> bool {
    !record.attached
}

fn not_found(job: u64) -> Error {
    let message = format!("there is no job {job}");
    Error::new(ErrorKind::JobNotFound, job.to_string(), message)
        .with_fix("list the jobs of the sandbox; one that was forgotten does not come back")
}

fn out_of_turn() -> Error {
    Error::internal(
        "ask the resident of the sandbox",
        "it answered what was not asked",
    )
}
