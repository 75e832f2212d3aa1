//! Starting a command.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::{File, OpenOptions},
    io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStringExt as _,
            fs::{FileTypeExt as _, MetadataExt as _},
        },
    },
    time::{Duration, Instant},
};

use super::{
    Resident, Token,
    job::{Input, Job, Output, Phase, Reader, Supervisor},
    spool::Spool,
};
use crate::{
    session::{Carried, nearest},
    supervisor::Failure,
    system::{Interest, set_nonblocking},
    wire::{Command, ErrorKind, JobRecord, Outcome, Refusal, Reply, SetupFailure, Start, Stdin, Stream},
};

/// The most jobs that run, or of which something runs.
const RUNNING: usize = 1024;

/// The most jobs that are there.
const JOBS: usize = 4096;

/// How long after a deadline, or after an order to end, a supervisor is taken for stuck.
pub(super) const SUPERVISOR_LIMIT: Duration = Duration::from_secs(4);

/// The null device is character device 1:3.
const NULL_DEVICE: u64 = 1 << 8 | 3;

/// How many numbers of jobs are noted down at a time as given.
const NOTED_AHEAD: u64 = 1000;

/// Opens the null device, unless what stands there is something else.
pub(super) fn open_null() -> Option<File> {
    let null = OpenOptions::new().read(true).open("/dev/null").ok()?;
    let metadata = null.metadata().ok()?;
    (metadata.file_type().is_char_device() && metadata.rdev() == NULL_DEVICE).then_some(null)
}

/// Both ends of what a command is given.
struct Ends {
    standard: [OwnedFd; 3],
    input: Option<Input>,
    outputs: [Option<Output>; 2],
}

impl Resident {
    pub(super) fn start(&mut self, connection: u64, call: u32, mut start: Box<Start>) {
        if let Some(job) = self.requests.get(&start.request).copied() {
            return self.start_again(connection, call, job, &start);
        }
        if let Err(error) = self.check(&start) {
            return self.send(connection, &Reply::Error { call, error });
        }
        let tools = match self.admit_tools(connection, &mut start) {
            Ok(tools) => tools,
            Err(error) => return self.send(connection, &Reply::Error { call, error }),
        };
        let id = self.next_job();
        let now = Instant::now();
        let mut job = new_job(id, &start, now);
        job.tools = tools;
        job.kills_before = self.kills.as_ref().and_then(super::KillCounter::read);
        job.starters.push((connection, call, true));
        self.requests.insert(job.request, id);
        let deadline = job.deadline;
        let limit = deadline.map(|deadline| deadline + job.grace + SUPERVISOR_LIMIT);
        job.session = self.carry(id, &mut start, &mut job.notices);
        let session = job.session.clone();
        let attach = start.attach;
        let begun = self.ends(id, &mut start).and_then(|ends| {
            let supervisor = self.supervise(id, start, session.as_ref(), deadline, ends.standard)?;
            Ok((supervisor, ends.input, ends.outputs))
        });
        self.jobs.insert(id, job);
        if let Some(credit) = attach {
            self.attach(connection, id, [0; 2], credit);
        }
        match begun {
            Ok((supervisor, input, outputs)) => {
                self.enlist(id, supervisor, input, outputs);
                self.last_start = Instant::now();
                self.wake(id, limit);
            }
            Err(error) => {
                let message = format!("the resident has no process, memory or descriptor left: {error}");
                self.set_up_failed(id, Failure::new(SetupFailure::ResourcesExhausted, message));
            }
        }
    }

    /// A number that no job of this directory was given, by this resident or by one before it.
    fn next_job(&mut self) -> u64 {
        self.last_job += 1;
        if self.last_job > self.noted_job {
            self.note_last_job(self.last_job + NOTED_AHEAD);
        }
        self.last_job
    }

    /// Notes for the next resident up to which number jobs may have been given one. Where that cannot be written down, the
    /// jobs of this one are run all the same.
    pub(super) fn note_last_job(&mut self, number: u64) {
        let Some(home) = self.setting.home.as_ref().filter(|home| !home.is_gone()) else {
            return;
        };
        let _ = home.note_last_job(number);
        self.noted_job = number;
    }

    /// The same request as before: the same job, from its beginning.
    fn start_again(&mut self, connection: u64, call: u32, job: u64, start: &Start) {
        if let Some(found) = self.jobs.get_mut(&job) {
            found.starters.push((connection, call, false));
            let is_starting = matches!(found.phase, Phase::Starting);
            if !is_starting {
                self.tell_started(job);
            }
            if let Some(credit) = start.attach {
                self.attach(connection, job, [0; 2], credit);
            }
            if start.tools.is_some() {
                self.serve_again(connection, job);
            }
        }
    }

    /// What a command carries of its session. It starts where that is, unless the caller has said where.
    fn carry(&self, id: u64, start: &mut Start, notices: &mut Vec<String>) -> Option<Carried> {
        let session = start.session.as_mut()?;
        let found = self
            .sessions
            .carry(session, id)?
            .cwd()
            .or_else(|| session.cwd.take());
        let ground = &self.setting.ground.cwd;
        let mut cwd = found.map_or_else(|| ground.clone(), |cwd| ground.join(OsString::from_vec(cwd)));
        if start.cwd.is_none() {
            let (there, notice) = nearest(&cwd);
            notices.extend(notice);
            start.cwd = Some(there.clone().into_os_string().into_vec());
            cwd = there;
        }
        session.cwd = Some(cwd.into_os_string().into_vec());
        let mut carried = self.sessions.carry(session, id)?;
        notices.extend(carried.hold().err());
        Some(carried)
    }

    fn check(&mut self, start: &Start) -> Result<(), Refusal> {
        if self.shutdown.is_some() {
            let message = "the resident is being shut down; start another".into();
            return Err(Refusal {
                kind: ErrorKind::ShuttingDown,
                resource: "resident".into(),
                message,
            });
        }
        check_fields(start)?;
        if start.session.is_some() && matches!(start.command, Command::Argv(_)) {
            let message =
                "a session is the state of a shell, and an argument list has none; send text".into();
            return Err(Refusal {
                kind: ErrorKind::InvalidArgument,
                resource: "session".into(),
                message,
            });
        }
        if start.session.is_some() && !self.sessions.are_possible() {
            let message =
                "the resident has no directory to keep the state of sessions in; give it one".into();
            return Err(Refusal {
                kind: ErrorKind::WrongState,
                resource: "session".into(),
                message,
            });
        }
        self.make_room();
        let (there, running) = (self.jobs.len(), self.supervisors.len());
        if there >= JOBS || running >= RUNNING {
            let message = format!(
                "{there} jobs are held, of {JOBS} at most, and {running} run, of {RUNNING} at most; forget or end some"
            );
            return Err(Refusal {
                kind: ErrorKind::TooMany,
                resource: "jobs".into(),
                message,
            });
        }
        Ok(())
    }

    fn ends(&self, id: u64, start: &mut Start) -> io::Result<Ends> {
        let (stdin, input) = self.input_ends(start)?;
        let (read_out, out) = io::pipe()?;
        set_nonblocking(&read_out)?;
        let mut outputs = [
            Some(Output::new(
                read_out,
                self.spool(id, Stream::Stdout, start.spool_bytes),
            )),
            None,
        ];
        let err = if start.merged {
            out.try_clone()?
        } else {
            let (read_err, err) = io::pipe()?;
            set_nonblocking(&read_err)?;
            outputs[1] = Some(Output::new(
                read_err,
                self.spool(id, Stream::Stderr, start.spool_bytes),
            ));
            err
        };
        Ok(Ends {
            standard: [stdin, out.into(), err.into()],
            input,
            outputs,
        })
    }

    fn spool(&self, id: u64, stream: Stream, bytes: u64) -> Spool {
        let name = if stream == Stream::Stdout {
            "stdout"
        } else {
            "stderr"
        };
        let directory = self.setting.ground.directory.as_ref();
        Spool::new(
            directory.map(|directory| directory.join(format!("spool-{id}-{name}"))),
            bytes,
        )
    }

    fn input_ends(&self, start: &mut Start) -> io::Result<(OwnedFd, Option<Input>)> {
        let (queue, eof) = match std::mem::replace(&mut start.stdin, Stdin::None) {
            Stdin::None => {
                if let Some(null) = &self.null {
                    return Ok((null.try_clone()?.into(), None));
                }
                // A pipe that nobody writes to ends at once, too.
                return Ok((io::pipe()?.0.into(), None));
            }
            Stdin::Bytes(bytes) => (VecDeque::from(bytes), true),
            Stdin::Stream => (VecDeque::new(), false),
        };
        let (read, write) = io::pipe()?;
        set_nonblocking(&write)?;
        let input = Input {
            pipe: Some(write),
            queue,
            taken: 0,
            eof,
            feeder: None,
            waiting: false,
        };
        Ok((read.into(), Some(input)))
    }

    /// Waits for everything of a job whose supervisor was forked.
    fn enlist(
        &mut self,
        id: u64,
        supervisor: Supervisor,
        input: Option<Input>,
        outputs: [Option<Output>; 2],
    ) {
        let _ = self.epoll.add(
            &supervisor.control,
            Token::Supervisor(id).number(),
            Interest::READ,
        );
        for stream in Stream::ALL {
            if let Some(pipe) = outputs[stream.index()]
                .as_ref()
                .and_then(|output| output.pipe.as_ref())
            {
                let _ = self
                    .epoll
                    .add(pipe, Token::Output(id, stream).number(), Interest::READ);
            }
        }
        self.supervisors.insert(supervisor.pid, id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.supervisor = Some(supervisor);
            job.outputs = outputs;
            job.input = input;
        }
        self.feed(id);
    }

    /// Answers every call that waits for the start of a job.
    pub(super) fn tell_started(&mut self, id: u64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let pid = u32::try_from(job.pid).unwrap_or(0);
        for (connection, call, first) in std::mem::take(&mut job.starters) {
            self.send(
                connection,
                &Reply::Started {
                    call,
                    job: id,
                    pid,
                    known: !first,
                },
            );
        }
    }

    /// Attaches a client, in the place of an earlier cursor of its connection.
    pub(super) fn attach(&mut self, connection: u64, id: u64, from: [u64; 2], credit: u64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.readers.retain(|reader| reader.connection != connection);
        job.readers.push(Reader {
            connection,
            cursor: from,
            credit,
            window: credit,
            limit: None,
        });
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.attached.insert(id);
        }
        if let Phase::Ended(ending) = &job.phase {
            let ending = ending.clone();
            self.tell_reader(id, connection, &ending);
        }
        self.resume(id);
    }
}

fn new_job(id: u64, start: &Start, now: Instant) -> Job {
    let limit = Some(Duration::from_millis(start.deadline_ms)).filter(|limit| !limit.is_zero());
    let shown = match &start.command {
        Command::Argv(arguments) => JobRecord::shown(&arguments.join(&b' ')),
        Command::Shell { text, .. } => JobRecord::shown(text),
    };
    Job {
        id,
        request: start.request,
        accepted: now,
        shown,
        keep: start.keep,
        spool_full: start.spool_full,
        // A deadline beyond the clock's range is none.
        deadline: limit.and_then(|limit| now.checked_add(limit)),
        grace: Duration::from_millis(start.grace_ms.into()),
        pid: 0,
        phase: Phase::Starting,
        supervisor: None,
        outputs: [None, None],
        input: None,
        readers: Vec::new(),
        waiters: Vec::new(),
        starters: Vec::new(),
        notices: Vec::new(),
        tools: None,
        session: None,
        kills_before: None,
        force: None,
        orphan: None,
        lost: None,
        wake: None,
        forgotten: false,
    }
}

fn check_fields(start: &Start) -> Result<(), Refusal> {
    let invalid = |field: &str, message: &str| {
        let (resource, message) = (field.to_owned(), format!("{field} {message}"));
        Err(Refusal {
            kind: ErrorKind::InvalidArgument,
            resource,
            message,
        })
    };
    match &start.command {
        Command::Argv(arguments) => {
            if arguments.first().is_none_or(Vec::is_empty) {
                return invalid("argv", "has no first element that names the program");
            }
            if arguments.iter().any(|argument| argument.contains(&0)) {
                return invalid(
                    "argv",
                    "has a NUL byte, which no argument can hold; pass the data on standard input",
                );
            }
        }
        Command::Shell { shell, text } => {
            if shell.contains(&0) {
                return invalid("shell", "has a NUL byte, which no path can hold");
            }
            if text.contains(&0) {
                return invalid(
                    "text",
                    "has a NUL byte, which no shell reads; pass the data on standard input",
                );
            }
        }
    }
    if start
        .cwd
        .as_ref()
        .is_some_and(|cwd| cwd.is_empty() || cwd.contains(&0))
    {
        return invalid("cwd", "is empty or has a NUL byte; name a directory");
    }
    for (name, value) in &start.env {
        if name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.contains(&0) {
            return invalid(
                "env",
                "has a variable that cannot exist: no name, `=` in the name, or a NUL byte",
            );
        }
    }
    Ok(())
}

/// Kinds of failures are outcomes of the set-up.
pub(super) fn failed(failure: Failure) -> Outcome {
    Outcome::SetupFailed {
        kind: failure.kind,
        message: failure.message,
    }
}
