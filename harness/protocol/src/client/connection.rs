//! A connection to an adapter: requests with deadlines.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    AdapterProcess, CallError, Exec, Fault, HostTools, Launch, Stopped, Uninvited,
    exec::ExecEvents,
    host::Host,
    inbox::{Answer, ExecEntry, QUOTED, Shared, read},
    process::shorten,
};
use crate::{
    DEFAULT_MAX_MESSAGE_BYTES, Error, Method,
    exec::{CreditParams, RunParams},
    message::Message,
    method::{self, Notification as _},
    transcript::{Direction, Transcript},
};

/// Settings of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// The longest line that the adapter may send, in bytes.
    pub max_message_bytes: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
        }
    }
}

/// A connection to an adapter.
pub struct Client {
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
    process: tokio::sync::Mutex<Option<AdapterProcess>>,
}

impl Client {
    /// Starts an adapter and connects to it.
    ///
    /// # Errors
    /// [`Fault::NotStarted`].
    pub fn start(
        launch: &Launch,
        options: ClientOptions,
        transcript: Arc<dyn Transcript>,
    ) -> Result<Self, Fault> {
        let (process, stdin, stdout) = AdapterProcess::start(launch, transcript.clone())?;
        Ok(Self::connect(stdout, stdin, Some(process), options, transcript))
    }

    /// Connects over any pair of streams.
    pub fn over(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        options: ClientOptions,
        transcript: Arc<dyn Transcript>,
    ) -> Self {
        Self::connect(reader, writer, None, options, transcript)
    }

    fn connect(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        process: Option<AdapterProcess>,
        options: ClientOptions,
        transcript: Arc<dyn Transcript>,
    ) -> Self {
        let (lines, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            lines,
            changed: Notify::new(),
            transcript,
        });
        let tasks = [
            tokio::spawn(write(queue, writer, shared.clone())),
            tokio::spawn(read(reader, options.max_message_bytes, shared.clone())),
        ];
        Self {
            shared,
            tasks,
            process: tokio::sync::Mutex::new(process),
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// [`CallError::Refused`] with the adapter's error; [`CallError::Fault`] when the connection is broken or the
    /// answer does not come before the deadline.
    pub async fn call<M: Method>(
        &self,
        params: &M::Params,
        deadline: Duration,
    ) -> Result<M::Answer, CallError> {
        let answer = self
            .call_raw(M::NAME, &crate::message::to_value(params), deadline)
            .await?;
        self.understand(M::NAME, answer)
    }

    /// Reads an answer as the type its method has; one that does not fit is a breach.
    pub(super) fn understand<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
        answer: Value,
    ) -> Result<T, CallError> {
        let line = shorten(answer.to_string().as_bytes(), QUOTED);
        serde_json::from_value(answer).map_err(|error| {
            let problem = format!("the answer to {name} does not fit: {error}");
            let fault = Fault::Nonsense { problem, line };
            self.shared.break_off(&fault);
            fault.into()
        })
    }

    /// Sends a request of any kind, well formed or not, and waits for its answer.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn call_raw(&self, name: &str, params: &Value, deadline: Duration) -> Answer {
        let (id, answer) = self.send_request(name, params)?;
        self.wait_for(id, answer, name, deadline).await
    }

    /// Sends a request under an id of the caller's choice, and waits for its answer. The id must not be one that this
    /// client gives by itself, which are the numbers from 1 on. No answer in time is [`Fault::Hung`]; the id is free again
    /// then, and an answer that comes later breaks the connection.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn call_as(&self, id: &Value, name: &str, params: &Value, deadline: Duration) -> Answer {
        let (sender, answer) = oneshot::channel();
        let key = id.to_string();
        {
            let mut state = self.shared.lock();
            if let Some(fault) = &state.fault {
                return Err(fault.clone().into());
            }
            state.chosen.insert(key.clone(), sender);
        }
        let request = Message::Request {
            id: id.clone(),
            method: name.into(),
            params: params.clone(),
        };
        self.send_line(request.to_line());
        match timeout(deadline, answer).await {
            Ok(Ok(answer)) => self.explain(answer).await,
            Ok(Err(_)) => Err(self.crash().await.into()),
            Err(_) => {
                self.shared.lock().chosen.remove(&key);
                let (method, within) = (name.into(), deadline);
                Err(Fault::Hung { method, within }.into())
            }
        }
    }

    pub(super) fn send_request(
        &self,
        name: &str,
        params: &Value,
    ) -> Result<(u64, oneshot::Receiver<Answer>), CallError> {
        let id = self.next_id();
        let answer = self.send_numbered(id, name, params, |line| line)?;
        Ok((id, answer))
    }

    fn next_id(&self) -> u64 {
        self.shared.next_id.fetch_add(1, Ordering::SeqCst)
    }

    fn send_numbered(
        &self,
        id: u64,
        name: &str,
        params: &Value,
        spell: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Result<oneshot::Receiver<Answer>, CallError> {
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if let Some(fault) = &state.fault {
                return Err(fault.clone().into());
            }
            state.pending.insert(id, sender);
        }
        self.send_line(spell(Message::request(id, name, params).to_line()));
        Ok(answer)
    }

    pub(super) async fn wait_for(
        &self,
        id: u64,
        answer: oneshot::Receiver<Answer>,
        name: &str,
        deadline: Duration,
    ) -> Answer {
        match timeout(deadline, answer).await {
            Ok(Ok(answer)) => self.explain(answer).await,
            Ok(Err(_)) => Err(self.crash().await.into()),
            Err(_) => {
                let mut state = self.shared.lock();
                state.pending.remove(&id);
                state.abandoned.insert(id);
                Err(Fault::Hung {
                    method: name.into(),
                    within: deadline,
                }
                .into())
            }
        }
    }

    /// A crash is told with the process's exit status and last words, which are known only a moment later.
    pub(super) async fn explain(&self, answer: Answer) -> Answer {
        match answer {
            Err(CallError::Fault(Fault::Crashed { .. })) => Err(self.crash().await.into()),
            other => other,
        }
    }

    async fn crash(&self) -> Fault {
        let (how, log) = match &mut *self.process.lock().await {
            Some(process) => process.last_words().await,
            None => (String::new(), String::new()),
        };
        Fault::Crashed { how, log }
    }

    /// Starts a command; its events and its answer come through the returned handle. Without a `window` the client sets
    /// none and output is unbounded.
    ///
    /// # Errors
    /// [`CallError::Fault`] when the connection is broken already.
    pub fn run(self: &Arc<Self>, params: &RunParams) -> Result<Exec, CallError> {
        self.run_hosted(params, None, |line| line)
    }

    /// Starts a command by a request in a spelling of the caller's: `spell` is given the line of the request, with its
    /// newline, and gives another that says the same.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn run_spelt(
        self: &Arc<Self>,
        params: &RunParams,
        spell: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Result<Exec, CallError> {
        self.run_hosted(params, None, spell)
    }

    /// Starts a command whose calls of the tools that `params.rpc` allows are answered by `tools`. They are ended when the
    /// command was answered.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub fn run_with_tools(
        self: &Arc<Self>,
        params: &RunParams,
        tools: Arc<dyn HostTools>,
    ) -> Result<Exec, CallError> {
        let rpc = params.rpc.clone().unwrap_or_default();
        self.run_hosted(params, Some(Host::new(tools, rpc)), |line| line)
    }

    fn run_hosted(
        self: &Arc<Self>,
        params: &RunParams,
        host: Option<Arc<Host>>,
        spell: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Result<Exec, CallError> {
        let id = self.next_id();
        let (events, received) = mpsc::unbounded_channel();
        self.shared.lock().execs.insert(
            params.exec.clone(),
            ExecEntry {
                events,
                credit: params.window,
                request: id,
                host,
                answered: false,
            },
        );
        let sent = Instant::now();
        let answer = self.send_numbered(id, method::Run::NAME, &crate::message::to_value(params), spell)?;
        let events = ExecEvents {
            received,
            answer: answer.fuse(),
            id,
        };
        Ok(Exec::new(self.clone(), params, events, sent))
    }

    /// Lets an exec send so many more bytes.
    pub fn grant(&self, exec: &str, bytes: u64) {
        if let Some(entry) = self.shared.lock().execs.get_mut(exec)
            && let Some(credit) = &mut entry.credit
        {
            *credit += bytes;
        }
        let params = CreditParams {
            exec: exec.into(),
            bytes,
        };
        self.send_line(Message::notification(method::Credit::NAME, &params).to_line());
    }

    /// Sends any line, well formed or not; the newline is the caller's.
    pub fn send_line(&self, line: Vec<u8>) {
        // The writer has ended only after a fault, which the next call tells.
        let _ = self.shared.lines.send(line);
    }

    /// Waits for an error without an id, the answer to a line that could not be read.
    ///
    /// # Errors
    /// [`Fault::Hung`] when none comes, any other fault when the connection breaks.
    pub async fn next_unaddressed(&self, deadline: Duration) -> Result<Error, Fault> {
        let wait = async {
            loop {
                let changed = self.shared.changed.notified();
                {
                    let mut state = self.shared.lock();
                    if !state.unaddressed.is_empty() {
                        return Ok(state.unaddressed.remove(0));
                    }
                    if let Some(fault) = &state.fault {
                        return Err(fault.clone());
                    }
                }
                changed.await;
            }
        };
        match timeout(deadline, wait).await {
            Ok(Err(Fault::Crashed { .. })) => Err(self.crash().await),
            Ok(answer) => answer,
            Err(_) => Err(Fault::Hung {
                method: "a line that cannot be read".into(),
                within: deadline,
            }),
        }
    }

    /// Calls that the adapter made and that nothing has allowed, in the order in which they came.
    #[must_use]
    pub fn uninvited(&self) -> Vec<Uninvited> {
        self.shared.lock().uninvited.clone()
    }

    /// How the connection is broken, if it is.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.shared.lock().fault.clone()
    }

    /// Forgets what is known of an exec; what still comes for it counts as stray.
    pub(super) fn forget(&self, exec: &str) {
        self.shared.lock().execs.remove(exec);
    }

    /// The adapter's process id while it runs.
    pub async fn process_id(&self) -> Option<u32> {
        self.process.lock().await.as_ref().and_then(AdapterProcess::id)
    }

    /// Closes the adapter's input and waits for its end; after `grace` it is sent SIGTERM, after as long again SIGKILL.
    /// `None` when there is no process.
    pub async fn stop(&self, grace: Duration) -> Option<Stopped> {
        self.shared.lock().stopping = true;
        self.tasks[0].abort();
        let process = self.process.lock().await.take()?;
        Some(process.stop(grace).await)
    }

    /// Ends the adapter with SIGKILL, as a crash of it would.
    pub async fn kill(&self) {
        if let Some(process) = &*self.process.lock().await {
            process.signal(rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn write(
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    mut writer: impl AsyncWrite + Unpin,
    shared: Arc<Shared>,
) {
    while let Some(line) = queue.recv().await {
        shared.transcript.line(Direction::Sent, line.trim_ascii_end());
        let written = match writer.write_all(&line).await {
            Ok(()) => writer.flush().await,
            error => error,
        };
        if written.is_err() {
            // The reader sees the end of the stream and knows more about why.
            return;
        }
    }
}
