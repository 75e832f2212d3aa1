//! The harness's side of calls that a command makes back to tools of its caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::{
    Fault,
    inbox::{ExecEntry, Shared},
};
use crate::{
    Error, ErrorKind, Method as _,
    message::{Message, to_value},
    method,
    rpc::{PIECE, Rpc, ToolCallParams, ToolReply, ToolReplyParams},
};

/// Calls of one exec that are collected, carried out or read at a time.
const OPEN_CALLS: usize = 256;

/// Calls that were not invited, before they count as a flood.
const UNINVITED: usize = 1000;

/// Tools that a command may call.
#[async_trait]
pub trait HostTools: Send + Sync + 'static {
    /// Carries out a call of a tool that was allowed, and gives its reply. It is dropped when the exec has ended.
    ///
    /// # Errors
    /// The tool failed: the message is told inside the sandbox.
    async fn call(&self, tool: &str, arguments: Vec<u8>) -> Result<Vec<u8>, Error>;
}

/// A call that an adapter made although nothing has allowed it: of a tool that was not named, for a command that was
/// allowed none, after its end, or with longer arguments than it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uninvited {
    /// The exec that was named.
    pub exec: String,
    /// The tool.
    pub tool: String,
}

/// Why a piece of a call's arguments is not taken.
enum NotTaken {
    /// The call was made already, and this begins it anew.
    Again,
    /// It is refused, and the conversation goes on.
    Refused(Error),
}

impl From<Error> for NotTaken {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// How far a call is.
enum Call {
    /// Pieces of its arguments come.
    Collecting(Vec<u8>),
    /// The tool works.
    Running,
    /// Its reply was longer than one message.
    Replied(Vec<u8>),
    /// Its reply was given, whole.
    Over,
}

/// Who answers the calls of one exec.
pub(super) struct Host {
    tools: Arc<dyn HostTools>,
    rpc: Rpc,
    calls: Mutex<HashMap<String, Call>>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Drop for Host {
    fn drop(&mut self) {
        for task in lock(&self.tasks).drain(..) {
            task.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    pub(super) fn new(tools: Arc<dyn HostTools>, rpc: Rpc) -> Arc<Self> {
        Arc::new(Self {
            tools,
            rpc,
            calls: Mutex::default(),
            tasks: Mutex::default(),
        })
    }

    /// Takes a piece of the arguments; gives all of them with the last one.
    fn collect(&self, params: &ToolCallParams) -> Result<Option<Vec<u8>>, NotTaken> {
        let mut calls = lock(&self.calls);
        let open = calls.values().filter(|call| !matches!(call, Call::Over)).count();
        let call = match calls.get_mut(&params.call) {
            None if open >= OPEN_CALLS => {
                let message = format!("{open} calls are under way, and no more are taken");
                return Err(Error::new(ErrorKind::LimitExceeded, "rpc.call", message).into());
            }
            None => calls
                .entry(params.call.clone())
                .or_insert_with(|| Call::Collecting(Vec::new())),
            Some(call) => call,
        };
        let Call::Collecting(collected) = call else {
            if params.offset == 0 {
                return Err(NotTaken::Again);
            }
            let message = format!("the call {:?} has all of its arguments", params.call);
            return Err(Error::new(ErrorKind::AlreadyExists, &params.call, message).into());
        };
        if params.offset != collected.len() as u64 {
            let problem = format!("is {}, and {} bytes have come", params.offset, collected.len());
            return Err(Error::invalid_argument("offset", problem).into());
        }
        collected.extend_from_slice(params.arguments.as_bytes());
        if collected.len() as u64 > self.rpc.bytes() {
            *call = Call::Over;
            let message = format!("more than {} bytes of arguments", self.rpc.bytes());
            return Err(Error::new(ErrorKind::LimitExceeded, "arguments", message).into());
        }
        if params.more {
            return Ok(None);
        }
        let collected = std::mem::take(collected);
        *call = Call::Running;
        Ok(Some(collected))
    }

    /// Keeps what does not fit into the answer.
    fn replied(&self, call: &str, reply: Result<Vec<u8>, Error>) -> Result<ToolReply, Error> {
        let mut calls = lock(&self.calls);
        let reply = reply.inspect_err(|_| {
            calls.insert(call.to_owned(), Call::Over);
        })?;
        let first = piece(&reply, 0);
        let rest = if first.data.len() < reply.len() {
            Call::Replied(reply)
        } else {
            Call::Over
        };
        calls.insert(call.to_owned(), rest);
        Ok(first)
    }

    fn read(&self, params: &ToolReplyParams) -> Result<ToolReply, Error> {
        let mut calls = lock(&self.calls);
        let Some(Call::Replied(reply)) = calls.get(&params.call) else {
            let message = format!("nothing is left to be read of the call {:?}", params.call);
            return Err(Error::new(ErrorKind::NotFound, &params.call, message));
        };
        let from = usize::try_from(params.from)
            .unwrap_or(usize::MAX)
            .min(reply.len());
        let answer = piece(reply, from);
        if from + answer.data.len() == reply.len() {
            calls.insert(params.call.clone(), Call::Over);
        }
        Ok(answer)
    }
}

fn piece(reply: &[u8], from: usize) -> ToolReply {
    let end = reply.len().min(from + PIECE);
    ToolReply {
        data: reply[from..end].into(),
        total: reply.len() as u64,
    }
}

impl Shared {
    /// Answers a request of the adapter; the outer error is a method that no adapter asks, or parameters that do not fit.
    pub(super) fn asked(
        self: &Arc<Self>,
        id: Value,
        name: &str,
        params: Value,
    ) -> Result<Result<(), Fault>, String> {
        let fits = |error: serde_json::Error| format!("{name} does not fit: {error}");
        match name {
            method::CallTool::NAME => {
                let params: ToolCallParams = serde_json::from_value(params).map_err(fits)?;
                Ok(self.tool_called(id, params))
            }
            method::ReadToolReply::NAME => {
                let params: ToolReplyParams = serde_json::from_value(params).map_err(fits)?;
                let host = self.host_of(&params.exec);
                let answer = host
                    .ok_or_else(|| not_running(&params.exec))
                    .and_then(|host| host.read(&params));
                self.reply(id, answer);
                Ok(Ok(()))
            }
            _ => Err(format!("a request ({name}) of the adapter")),
        }
    }

    fn host_of(&self, exec: &str) -> Option<Arc<Host>> {
        let state = self.lock();
        let entry: &ExecEntry = state.execs.get(exec)?;
        entry.host.clone()
    }

    fn tool_called(self: &Arc<Self>, id: Value, params: ToolCallParams) -> Result<(), Fault> {
        let Some(host) = self.host_of(&params.exec) else {
            let refusal = not_running(&params.exec);
            return self.refuse_uninvited(id, params, refusal);
        };
        if !host.rpc.allow.contains(&params.tool) {
            let message = format!("the tool {:?} was not allowed", params.tool);
            let refusal = Error::new(ErrorKind::PermissionDenied, &params.tool, message);
            return self.refuse_uninvited(id, params, refusal);
        }
        let arguments = match host.collect(&params) {
            Ok(Some(arguments)) => arguments,
            Ok(None) => {
                self.reply(id, Ok(piece(&[], 0)));
                return Ok(());
            }
            Err(NotTaken::Again) => {
                let ToolCallParams { exec, call, .. } = params;
                return Err(Fault::CalledTwice { exec, call });
            }
            // More than was allowed.
            Err(NotTaken::Refused(error)) if error.data.resource.as_deref() == Some("arguments") => {
                return self.refuse_uninvited(id, params, error);
            }
            Err(NotTaken::Refused(error)) => {
                self.reply(id, Err(error));
                return Ok(());
            }
        };
        let (shared, answering) = (Arc::downgrade(self), Arc::downgrade(&host));
        let tools = host.tools.clone();
        let task = tokio::spawn(async move {
            let reply = tools.call(&params.tool, arguments).await;
            // Whoever asked may have gone meanwhile.
            if let (Some(shared), Some(host)) = (shared.upgrade(), answering.upgrade()) {
                shared.reply(id, host.replied(&params.call, reply));
            }
        });
        let mut tasks = lock(&host.tasks);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task.abort_handle());
        Ok(())
    }

    fn refuse_uninvited(&self, id: Value, params: ToolCallParams, refusal: Error) -> Result<(), Fault> {
        let many = {
            let mut state = self.lock();
            state.uninvited.push(Uninvited {
                exec: params.exec,
                tool: params.tool,
            });
            state.uninvited.len() > UNINVITED
        };
        if many {
            let what = format!("more than {UNINVITED} calls of tools that it may not call");
            return Err(Fault::Flooded { what });
        }
        self.reply(id, Err(refusal));
        Ok(())
    }

    fn reply(&self, id: Value, answer: Result<ToolReply, Error>) {
        let result = answer.map(|answer| to_value(&answer));
        // The writer has ended only after a fault, which the next call tells.
        let _ = self.lines.send(Message::Response { id, result }.to_line());
    }
}

fn not_running(exec: &str) -> Error {
    let message = format!("exec {exec:?} is not running, or may call no tools");
    Error::new(ErrorKind::ExecNotFound, exec, message)
}
