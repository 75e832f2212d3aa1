//! Calls of tools: what code of a command asks of the client that started it, let in or refused, and passed on once.

use std::{
    os::unix::{ffi::OsStringExt as _, net::UnixListener},
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    Resident, Timer, Token,
    caller::{Caller, Came},
    connection::HIGH,
    job::Phase,
};
use crate::{
    supervisor::parent,
    system::{Interest, peer_process, random},
    wire::{ErrorKind, Refusal, Reply, Start, ToolAnswer, ToolCall, ToolFailure, ToolsAllowed},
};

/// The most connections of code at a time: of one job, and of all.
const CALLERS_OF_JOB: usize = 64;
const CALLERS: usize = 512;

/// How long a connection has for its first line.
const LINE_LIMIT: Duration = Duration::from_secs(10);

/// How long calls wait for a client that was lost.
const ALONE: Duration = Duration::from_secs(30);

/// How many processes may lie between a command and the one that calls.
const GENERATIONS: usize = 4096;

/// Where code calls.
#[derive(Debug)]
pub(crate) struct ToolDoor {
    pub(crate) listener: UnixListener,
    /// The socket, as code finds it.
    pub(crate) path: PathBuf,
    /// This program, which calls for code that does not want to do it itself.
    pub(crate) program: PathBuf,
}

/// The tools that a job may call.
#[derive(Debug)]
pub(super) struct Tools {
    allowed: ToolsAllowed,
    /// What code of the job has to say, at random.
    token: String,
    made: u64,
    /// The connection of the client that is asked.
    server: Option<u64>,
    /// Since when there is none.
    alone: Option<Instant>,
}

fn refusal(kind: ErrorKind, message: &str) -> Refusal {
    Refusal {
        kind,
        resource: "tools".into(),
        message: message.into(),
    }
}

fn word_of(token: [u8; 16]) -> String {
    token.map(|byte| format!("{byte:02x}")).concat()
}

impl Resident {
    /// Prepares the calls of a command: its variables tell its code how.
    pub(super) fn admit_tools(&self, connection: u64, start: &mut Start) -> Result<Option<Tools>, Refusal> {
        let Some(allowed) = start.tools.clone() else {
            return Ok(None);
        };
        if start.attach.is_none() {
            let message = "tools cannot be called by a job that nobody is attached to";
            return Err(refusal(ErrorKind::InvalidArgument, message));
        }
        let Some(door) = &self.setting.tools else {
            let message = "the resident has no directory in which code could reach it; give it one";
            return Err(refusal(ErrorKind::WrongState, message));
        };
        let token = random().map(word_of);
        let token = token.map_err(|_| refusal(ErrorKind::Internal, "the system has no random numbers"))?;
        let way = [
            (
                b"HERM_RPC".to_vec(),
                door.program.clone().into_os_string().into_vec(),
            ),
            (
                b"HERM_RPC_SOCKET".to_vec(),
                door.path.clone().into_os_string().into_vec(),
            ),
            (b"HERM_RPC_TOKEN".to_vec(), token.clone().into_bytes()),
        ];
        // Whatever its session carries under these names is not the way to this command's tools.
        if let Some(session) = &mut start.session {
            session.own.extend(way.iter().map(|(name, _)| name.clone()));
        }
        start.env.extend(way);
        Ok(Some(Tools {
            allowed,
            token,
            made: 0,
            server: Some(connection),
            alone: None,
        }))
    }

    pub(super) fn accept_callers(&mut self) {
        while let Some(Ok((socket, _))) = self.setting.tools.as_ref().map(|door| door.listener.accept()) {
            // Whose code it is says the system, and not the code.
            let job = peer_process(&socket).ok().and_then(|pid| self.job_of(pid));
            let Ok(caller) = Caller::new(socket, job) else {
                continue;
            };
            self.last_caller += 1;
            let id = self.last_caller;
            let token = Token::Caller(id).number();
            if self.epoll.add(caller.socket(), token, Interest::READ).is_err() {
                continue;
            }
            let of_job = self.callers.values().filter(|other| other.job == job).count();
            let many = of_job >= CALLERS_OF_JOB || self.callers.len() >= CALLERS;
            self.callers.insert(id, caller);
            self.timers
                .insert((Instant::now() + LINE_LIMIT, Timer::Caller(id)));
            if job.is_none() {
                self.fail_caller(
                    id,
                    ToolFailure::Denied,
                    "this process is not of a command that runs",
                );
            } else if many {
                let message = format!("more than {CALLERS_OF_JOB} calls of a command, or {CALLERS} in all");
                self.fail_caller(id, ToolFailure::Denied, &message);
            }
        }
    }

    /// The job that a process belongs to: that of the supervisor above it.
    fn job_of(&self, mut pid: i32) -> Option<u64> {
        for _ in 0..GENERATIONS {
            pid = parent(pid).filter(|pid| *pid > 0)?;
            if let Some(job) = self.supervisors.get(&pid) {
                return Some(*job);
            }
        }
        None
    }

    pub(super) fn read_caller(&mut self, id: u64) {
        let Some(caller) = self.callers.get_mut(&id) else {
            return;
        };
        match caller.read() {
            Came::Bytes => {}
            Came::Call { token, tool } => self.let_in(id, &token, tool),
            Came::Nonsense(problem) => self.fail_caller(id, ToolFailure::Failed, problem),
            Came::Lost => return self.drop_caller(id),
        }
        self.check_length(id);
        self.go_on_with_caller(id);
    }

    fn let_in(&mut self, id: u64, token: &str, tool: String) {
        let Some(caller) = self.callers.get_mut(&id) else {
            return;
        };
        let job = caller.job.and_then(|job| self.jobs.get_mut(&job));
        let admitted = job.map_or(Err((ToolFailure::Unavailable, ENDED.into())), |job| {
            let runs = matches!(job.phase, Phase::Starting | Phase::Running);
            admit(job.tools.as_mut(), runs, token, &tool)
        });
        match admitted {
            Ok(()) => caller.open(tool),
            Err((kind, message)) => self.fail_caller(id, kind, &message),
        }
    }

    fn check_length(&mut self, id: u64) {
        let Some(caller) = self.callers.get(&id) else {
            return;
        };
        let length = caller.length();
        let tools = caller.job.and_then(|job| self.jobs.get_mut(&job));
        let Some(tools) = tools.and_then(|job| job.tools.as_mut()) else {
            return;
        };
        let most = tools.allowed.max_bytes;
        if length > most && !caller.is_closing() && !caller.is_new() {
            // It does not count.
            tools.made = tools.made.saturating_sub(1);
            let message = format!("the arguments have more than the {most} bytes that are allowed");
            self.fail_caller(id, ToolFailure::TooLong, &message);
        }
    }

    fn fail_caller(&mut self, id: u64, kind: ToolFailure, message: &str) {
        if let Some(caller) = self.callers.get_mut(&id) {
            caller.fail(kind, message);
            self.go_on_with_caller(id);
        }
    }

    /// Sends code what waits for it, and the client what it may want to know of that.
    fn go_on_with_caller(&mut self, id: u64) {
        let Some(caller) = self.callers.get_mut(&id) else {
            return;
        };
        if !caller.flush() || caller.is_done() {
            return self.drop_caller(id);
        }
        caller.update_interest(&self.epoll, Token::Caller(id).number());
        let (job, taken) = (caller.job, caller.reply_taken());
        if let (Some(job), Some(offset)) = (job, taken) {
            self.tell_server(job, id, ToolCall::ReplyTaken { offset });
        }
    }

    fn drop_caller(&mut self, id: u64) {
        let Some(caller) = self.callers.remove(&id) else {
            return;
        };
        self.epoll.remove(caller.socket());
        if let Some(job) = caller.job.filter(|_| caller.told) {
            self.tell_server(job, id, ToolCall::Gone);
        }
    }

    fn tell_server(&mut self, job: u64, number: u64, told: ToolCall) {
        let tools = self.jobs.get(&job).and_then(|job| job.tools.as_ref());
        if let Some(server) = tools.and_then(|tools| tools.server) {
            self.send(server, &Reply::Tool { job, number, told });
        }
    }

    /// Hands arguments to clients, as long as not much waits to go to them.
    pub(super) fn send_arguments(&mut self) {
        for (id, caller) in &mut self.callers {
            let (Some(job), Some((offset, data, end))) = (caller.job, caller.next_piece()) else {
                continue;
            };
            // A client hears of the start first.
            let started = self
                .jobs
                .get(&job)
                .filter(|job| !matches!(job.phase, Phase::Starting));
            let server = started
                .and_then(|job| job.tools.as_ref())
                .and_then(|tools| tools.server);
            let server = server.and_then(|server| self.connections.get_mut(&server));
            let Some(server) = server.filter(|server| server.waiting() < HIGH) else {
                continue;
            };
            server.send(&Reply::Tool {
                job,
                number: *id,
                told: ToolCall::Arguments {
                    tool: caller.tool.clone(),
                    offset,
                    data: data.to_vec(),
                    end,
                },
            });
            caller.piece_was_sent();
        }
    }

    /// Takes what a client says of a call.
    pub(super) fn answer_tool(&mut self, connection: u64, job: u64, number: u64, answer: ToolAnswer) {
        let tools = self.jobs.get(&job).and_then(|job| job.tools.as_ref());
        let Some(tools) = tools.filter(|tools| tools.server == Some(connection)) else {
            return;
        };
        let most = tools.allowed.max_bytes;
        let Some(caller) = self
            .callers
            .get_mut(&number)
            .filter(|caller| caller.job == Some(job))
        else {
            return self.tell_server(job, number, ToolCall::Gone);
        };
        let problem = match answer {
            ToolAnswer::ArgumentsTaken { offset } => {
                caller.arguments_taken(offset);
                None
            }
            ToolAnswer::Reply { total, .. } if total > most => {
                let message = format!("the reply has {total} bytes, and {most} are allowed");
                caller.fail(ToolFailure::TooLong, &message);
                None
            }
            ToolAnswer::Reply { total, offset, data } => caller.take_reply(total, offset, &data).err(),
            ToolAnswer::Failed { kind, message } => {
                caller.fail(kind, &message);
                None
            }
        };
        if let Some(problem) = problem
            && let Some(connection) = self.connections.get_mut(&connection)
        {
            connection.refuse(ErrorKind::Protocol, problem.into());
        }
        self.go_on_with_caller(number);
    }

    /// Has a connection answer the calls of a job, from the client that started it.
    pub(super) fn serve_tools(
        &mut self,
        connection: u64,
        call: u32,
        id: u64,
        request: [u8; 16],
    ) -> Result<(), Refusal> {
        self.known(id)?;
        let job = self.jobs.get(&id).filter(|job| job.request == request);
        if job.is_none_or(|job| job.tools.is_none()) {
            let message = "the job has no tools, or another client has started it";
            return Err(refusal(ErrorKind::WrongState, message));
        }
        self.send(connection, &Reply::Done { call });
        self.serve_again(connection, id);
        Ok(())
    }

    /// Tells a client the calls that are open, which it serves from now on.
    pub(super) fn serve_again(&mut self, connection: u64, id: u64) {
        if let Some(tools) = self.jobs.get_mut(&id).and_then(|job| job.tools.as_mut()) {
            (tools.server, tools.alone) = (Some(connection), None);
        }
        for id in self.callers_of(id) {
            if let Some(caller) = self.callers.get_mut(&id) {
                caller.say_again();
            }
            self.go_on_with_caller(id);
        }
    }

    fn callers_of(&self, job: u64) -> Vec<u64> {
        let of_job = self.callers.iter().filter(|(_, caller)| caller.job == Some(job));
        of_job.map(|(id, _)| *id).collect()
    }

    /// The client of these calls is lost. They wait for it for some time.
    pub(super) fn lose_server(&mut self, connection: u64) {
        let now = Instant::now();
        for (id, job) in &mut self.jobs {
            if let Some(tools) = job
                .tools
                .as_mut()
                .filter(|tools| tools.server == Some(connection))
            {
                (tools.server, tools.alone) = (None, Some(now));
                self.timers.insert((now + ALONE, Timer::Alone(*id)));
            }
        }
    }

    /// Gives up calls whose client did not come back.
    pub(super) fn give_up_calls(&mut self, id: u64) {
        let tools = self.jobs.get(&id).and_then(|job| job.tools.as_ref());
        if tools.is_some_and(Tools::is_abandoned) {
            for id in self.callers_of(id) {
                self.fail_caller(id, ToolFailure::Unavailable, ABANDONED);
            }
        }
    }

    /// The command has ended, and with it its calls.
    pub(super) fn end_calls(&mut self, id: u64) {
        for id in self.callers_of(id) {
            self.fail_caller(id, ToolFailure::Unavailable, ENDED);
        }
    }

    pub(super) fn expect_line(&mut self, id: u64) {
        if self.callers.get(&id).is_some_and(Caller::is_new) {
            self.fail_caller(id, ToolFailure::Failed, "the first line did not come in time");
        }
    }
}

const ENDED: &str = "the command has ended, and with it its calls";
const ABANDONED: &str = "the caller of the command is gone";

impl Tools {
    fn is_abandoned(&self) -> bool {
        self.alone.is_some_and(|since| since.elapsed() >= ALONE)
    }
}

/// Whether a call is let in; then it counts.
fn admit(
    tools: Option<&mut Tools>,
    runs: bool,
    token: &str,
    tool: &str,
) -> Result<(), (ToolFailure, String)> {
    let denied = |message: String| Err((ToolFailure::Denied, message));
    let Some(tools) = tools else {
        return denied("the command may call no tools".into());
    };
    if !runs {
        return Err((ToolFailure::Unavailable, ENDED.into()));
    }
    if tools.token != token {
        return denied("the token is not that of this command; see HERM_RPC_TOKEN".into());
    }
    if !tools.allowed.names.iter().any(|name| name == tool) {
        return denied(format!("the tool {tool} is not allowed"));
    }
    if tools.made >= tools.allowed.max_calls {
        return denied(format!(
            "the {} calls that the command may make were made",
            tools.allowed.max_calls
        ));
    }
    if tools.is_abandoned() {
        return Err((ToolFailure::Unavailable, ABANDONED.into()));
    }
    tools.made += 1;
    Ok(())
}
