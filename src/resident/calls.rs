//! The calls to tools that the code of one command makes, from the first piece of their arguments to the last of their
//! reply, over as many connections as it takes.
//!
//! What a sandbox says of its calls is hostile: it is bounded here, and what may be called is checked by the tools
//! themselves, not by the resident's word.

use std::{
    collections::{HashMap, VecDeque},
    future::pending,
};

use herm_protocol::{Error, ErrorKind};
use herm_resident::wire::{MAX_TOOL_DATA, Request, ToolAnswer, ToolCall, ToolFailure, ToolsAllowed};
use tokio::task::{Id, JoinSet};

use super::connection::Connection;
use crate::caller::Tools;

/// The most calls of a command at a time; a resident lets fewer in.
const OPEN: usize = 128;

/// More answers that wait to be taken are a breach of the protocol: each call has one at a time.
const ANSWERS: usize = 2 * OPEN;

/// How far a call is.
#[derive(Debug)]
enum State {
    /// Its arguments come.
    Collecting(Vec<u8>),
    /// The tool works; so many bytes of arguments have come.
    Running(u64),
    /// It is answered.
    Answered(Result<Vec<u8>, (ToolFailure, String)>),
}

/// The calls of one command.
pub(super) struct Calls<T> {
    tools: T,
    job: u64,
    /// The most bytes of arguments, or of a reply.
    most: u64,
    open: HashMap<u64, State>,
    running: JoinSet<Result<Vec<u8>, Error>>,
    numbers: HashMap<Id, u64>,
    /// What is to be said, as soon as the connection takes it.
    answers: VecDeque<Request>,
}

impl<T: Tools> Calls<T> {
    pub(super) fn new(tools: T, job: u64, allowed: Option<&ToolsAllowed>) -> Self {
        Self {
            tools,
            job,
            most: allowed.map_or(0, |allowed| allowed.max_bytes),
            open: HashMap::new(),
            running: JoinSet::new(),
            numbers: HashMap::new(),
            answers: VecDeque::new(),
        }
    }

    /// Takes what was told of a call. `Err` when more answers wait than calls can be under way.
    pub(super) fn take(&mut self, number: u64, told: ToolCall) -> Result<(), ()> {
        match told {
            ToolCall::Arguments {
                tool,
                offset,
                data,
                end,
            } => {
                let answer = self.collect(number, (tool, offset, &data, end));
                self.say(number, answer);
            }
            ToolCall::ReplyTaken { offset } => self.send_reply(number, offset),
            // A tool that works already is not told: nobody takes its reply.
            ToolCall::Gone => {
                self.open.remove(&number);
            }
        }
        if self.answers.len() > ANSWERS {
            Err(())
        } else {
            Ok(())
        }
    }

    /// Takes a piece of arguments; what was taken before is not taken again, and a call whose arguments are whole is made.
    fn collect(&mut self, number: u64, (tool, offset, data, end): (String, u64, &[u8], bool)) -> ToolAnswer {
        if self.open.len() >= OPEN && !self.open.contains_key(&number) {
            let message = format!("{OPEN} calls are under way, and no more are taken");
            return ToolAnswer::failed(ToolFailure::Denied, &message);
        }
        let state = self
            .open
            .entry(number)
            .or_insert_with(|| State::Collecting(Vec::new()));
        let collected = match state {
            State::Collecting(collected) => collected,
            State::Running(offset) => return ToolAnswer::ArgumentsTaken { offset: *offset },
            State::Answered(_) => {
                let offset = offset.saturating_add(data.len() as u64);
                return ToolAnswer::ArgumentsTaken { offset };
            }
        };
        let come = collected.len() as u64;
        if offset == come {
            collected.extend_from_slice(data);
        }
        let length = collected.len() as u64;
        let fault = if offset > come {
            Some((ToolFailure::Failed, "arguments are missing".to_owned()))
        } else if length > self.most {
            let message = format!(
                "the arguments have more than the {} bytes that are allowed",
                self.most
            );
            Some((ToolFailure::TooLong, message))
        } else {
            None
        };
        if let Some((kind, message)) = fault {
            let answer = ToolAnswer::failed(kind, &message);
            *state = State::Answered(Err((kind, message)));
            return answer;
        }
        if end {
            let arguments = std::mem::take(collected);
            *state = State::Running(length);
            let tools = self.tools.clone();
            let task = self
                .running
                .spawn(async move { tools.call(&tool, &arguments).await });
            self.numbers.insert(task.id(), number);
        }
        ToolAnswer::ArgumentsTaken { offset: length }
    }

    /// Does the next thing that there is to do: hands an answer to the connection, or takes the reply of a tool. It never
    /// resolves when there is nothing, and may be given up at any time.
    pub(super) async fn work(&mut self, connection: &Connection) {
        tokio::select! {
            room = connection.room(), if !self.answers.is_empty() => match room {
                Ok(room) => {
                    if let Some(answer) = self.answers.pop_front() {
                        room.send(answer);
                    }
                }
                // A new connection is told everything that may not have arrived.
                Err(_) => self.answers.clear(),
            },
            replied = next_reply(&mut self.running) => {
                let (id, reply) = replied;
                let number = self.numbers.remove(&id).unwrap_or_default();
                if let Some(state) = self.open.get_mut(&number) {
                    *state = State::Answered(reply.map_err(failure));
                    self.send_reply(number, 0);
                }
            }
        }
    }

    /// Has the resident told again what it may not have heard.
    pub(super) fn again(&mut self) {
        self.answers.clear();
        let answered = self
            .open
            .iter()
            .filter(|(_, state)| matches!(state, State::Answered(_)));
        let answered: Vec<_> = answered.map(|(number, _)| *number).collect();
        for number in answered {
            self.send_reply(number, 0);
        }
    }

    fn send_reply(&mut self, number: u64, offset: u64) {
        let answer = match self.open.get(&number) {
            Some(State::Answered(Ok(reply))) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(reply.len());
                let end = reply.len().min(from + MAX_TOOL_DATA);
                if from == end && from > 0 {
                    // The end of the call is told next.
                    return;
                }
                ToolAnswer::Reply {
                    total: reply.len() as u64,
                    offset: from as u64,
                    data: reply[from..end].to_vec(),
                }
            }
            Some(State::Answered(Err((kind, message)))) => ToolAnswer::failed(*kind, message),
            _ => return,
        };
        self.say(number, answer);
    }

    fn say(&mut self, number: u64, answer: ToolAnswer) {
        let job = self.job;
        self.answers.push_back(Request::Tool { job, number, answer });
    }
}

async fn next_reply(running: &mut JoinSet<Result<Vec<u8>, Error>>) -> (Id, Result<Vec<u8>, Error>) {
    match running.join_next_with_id().await {
        Some(Ok((id, reply))) => (id, reply),
        Some(Err(error)) => (error.id(), Err(Error::internal("call a tool", &error))),
        None => pending().await,
    }
}

/// What code is told of a call that gave no reply.
fn failure(error: Error) -> (ToolFailure, String) {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied => ToolFailure::Denied,
        ErrorKind::LimitExceeded if error.data.resource.as_deref() == Some("max_calls") => {
            ToolFailure::Denied
        }
        ErrorKind::LimitExceeded => ToolFailure::TooLong,
        ErrorKind::ExecNotFound | ErrorKind::Unavailable => ToolFailure::Unavailable,
        _ => ToolFailure::Failed,
    };
    (kind, error.message)
}
