//! The adapter's side of calls to tools of its caller: requests from the adapter to the harness.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    Error, ErrorKind, Method,
    message::Message,
    method,
    rpc::{PIECE, Rpc, ToolCallParams, ToolReply, ToolReplyParams},
};

/// Requests of this side that wait for their answer.
#[derive(Default)]
pub(crate) struct Questions {
    pending: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Error>>>>,
    last: AtomicU64,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, Error>>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an answer to whoever waits for it. What nobody waits for any more is dropped.
    pub(crate) fn answer(&self, id: &Value, result: Result<Value, Error>) {
        let waiting = id.as_u64().and_then(|id| self.lock().remove(&id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    /// Asks, and waits for the answer however long that takes: whoever calls has the deadline.
    async fn ask<M: Method>(
        &self,
        lines: &mpsc::Sender<Vec<u8>>,
        params: &M::Params,
    ) -> Result<M::Answer, Error> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, sender);
        let _forget = Forget { questions: self, id };
        let gone = || unavailable("the caller of the command is gone");
        let line = Message::request(id, M::NAME, params).to_line();
        lines.send(line).await.map_err(|_| gone())?;
        let answer = answer.await.map_err(|_| gone())??;
        serde_json::from_value(answer).map_err(|error| {
            Error::internal(
                format!("call with {}", M::NAME),
                format!("the answer does not fit: {error}"),
            )
        })
    }
}

/// A question that nobody waits for any more is forgotten.
struct Forget<'a> {
    questions: &'a Questions,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}

/// The tools of its caller that the code of one exec may call. Clones are of the same exec. It asks for what was allowed,
/// as often as was allowed, and only while the exec runs; the rest is refused here, and the caller is never asked.
#[derive(Clone)]
pub struct ExecTools(Arc<Inner>);

struct Inner {
    sandbox: String,
    exec: String,
    rpc: Rpc,
    lines: mpsc::Sender<Vec<u8>>,
    questions: Arc<Questions>,
    made: AtomicU64,
    over: watch::Receiver<bool>,
}

impl ExecTools {
    /// The tools of an exec. When `over` becomes true, or its sender goes, nobody is asked any more.
    pub(crate) fn new(
        (sandbox, exec): (String, String),
        rpc: Rpc,
        lines: mpsc::Sender<Vec<u8>>,
        questions: Arc<Questions>,
        over: watch::Receiver<bool>,
    ) -> Self {
        Self(Arc::new(Inner {
            sandbox,
            exec,
            rpc,
            lines,
            questions,
            made: AtomicU64::new(0),
            over,
        }))
    }

    /// Calls a tool, once, and gives its reply. It may take for ever: the exec's own deadline is what ends it, and dropping
    /// the call gives it up.
    ///
    /// # Errors
    /// `permission_denied` for a tool that is not allowed; `limit_exceeded` beyond `max_calls` or `max_bytes`;
    /// `tool_failed` when the tool failed; `exec_not_found` when the exec has ended; `unavailable` when its caller is gone.
    pub async fn call(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, Error> {
        let mut over = self.0.over.clone();
        tokio::select! {
            biased;
            _ = over.wait_for(|over| *over) => Err(self.ended()),
            reply = self.ask(tool, arguments) => reply,
        }
    }

    async fn ask(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, Error> {
        let Inner { exec, rpc, .. } = &*self.0;
        if !rpc.allow.iter().any(|allowed| allowed == tool) {
            let message = format!("exec {exec:?} may not call the tool {tool:?}");
            return Err(Error::new(ErrorKind::PermissionDenied, tool, message)
                .with_fix("name it in rpc.allow of exec.run"));
        }
        self.check_size("the arguments of", tool, arguments.len() as u64)?;
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(most) = rpc.max_calls.filter(|most| number > *most) {
            self.0.made.fetch_sub(1, Ordering::Relaxed);
            let message = format!("exec {exec:?} has made the {most} calls that it may make");
            return Err(Error::new(ErrorKind::LimitExceeded, "max_calls", message)
                .with_fix("allow more in rpc.max_calls of exec.run"));
        }
        let call = number.to_string();
        let first = self.send(&call, tool, arguments).await?;
        self.check_size("the reply of", tool, first.total)?;
        self.rest(&call, first).await
    }

    async fn send(&self, call: &str, tool: &str, arguments: &[u8]) -> Result<ToolReply, Error> {
        let mut offset = 0;
        loop {
            let end = arguments.len().min(offset + PIECE);
            let more = end < arguments.len();
            let params = ToolCallParams {
                sandbox: self.0.sandbox.clone(),
                exec: self.0.exec.clone(),
                call: call.into(),
                tool: tool.into(),
                arguments: arguments[offset..end].into(),
                offset: offset as u64,
                more,
            };
            let reply = self.question::<method::CallTool>(&params).await?;
            if !more {
                return Ok(reply);
            }
            offset = end;
        }
    }

    async fn rest(&self, call: &str, first: ToolReply) -> Result<Vec<u8>, Error> {
        let total = usize::try_from(first.total).unwrap_or(usize::MAX);
        let mut reply = first.data.into_bytes();
        while reply.len() < total {
            let params = ToolReplyParams {
                exec: self.0.exec.clone(),
                call: call.into(),
                from: reply.len() as u64,
            };
            let piece = self.question::<method::ReadToolReply>(&params).await?;
            if piece.data.is_empty() {
                break;
            }
            reply.extend(piece.data.into_bytes());
        }
        if reply.len() == total {
            return Ok(reply);
        }
        let seen = format!("it was said to have {total} bytes, and {} came", reply.len());
        Err(Error::internal("take a tool's reply", seen))
    }

    async fn question<M: Method>(&self, params: &M::Params) -> Result<M::Answer, Error> {
        self.0.questions.ask::<M>(&self.0.lines, params).await
    }

    fn check_size(&self, what: &str, tool: &str, bytes: u64) -> Result<(), Error> {
        let most = self.0.rpc.bytes();
        if bytes <= most {
            return Ok(());
        }
        let message = format!("{what} the tool {tool:?} have {bytes} bytes, and {most} are allowed");
        Err(Error::new(ErrorKind::LimitExceeded, "max_bytes", message)
            .with_fix("allow more in rpc.max_bytes of exec.run, or pass a file"))
    }

    fn ended(&self) -> Error {
        let exec = &self.0.exec;
        Error::new(
            ErrorKind::ExecNotFound,
            exec,
            format!("exec {exec:?} has ended, and with it its calls"),
        )
    }

    /// What was allowed.
    #[must_use]
    pub fn allowed(&self) -> &Rpc {
        &self.0.rpc
    }
}

fn unavailable(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "rpc", message)
}
