//! Sends requests, sorts what comes back, and notices every breach of the protocol.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    AdapterProcess, CallError, Exec, Fault, Launch, Stopped,
    exec::{ExecEvent, ExecEvents},
    process::shorten,
};
use crate::{
    DEFAULT_MAX_MESSAGE_BYTES, Error, Method,
    codec::{Line, Overflow, read_line},
    exec::{AliveParams, CreditParams, OutputParams, RunParams, StartedParams},
    message::{Message, MessageError},
    method::{self, Notification as _},
    transcript::{Direction, Transcript},
};

/// Notifications about execs that were never started, before they count as a flood.
const STRAY_NOTIFICATIONS: u32 = 1000;

/// Characters of a line that a fault quotes.
const QUOTED: usize = 200;

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
    lines: mpsc::UnboundedSender<Vec<u8>>,
    tasks: [JoinHandle<()>; 2],
    process: tokio::sync::Mutex<Option<AdapterProcess>>,
}

type Answer = Result<Value, CallError>;

/// What is known of an exec that was started on this connection.
struct ExecEntry {
    events: mpsc::UnboundedSender<ExecEvent>,
    /// Bytes that may still be sent; `None` without a window.
    credit: Option<u64>,
}

#[derive(Default)]
struct State {
    pending: HashMap<u64, oneshot::Sender<Answer>>,
    /// Requests whose deadline passed: a late answer to them is no breach.
    abandoned: HashSet<u64>,
    execs: HashMap<String, ExecEntry>,
    fault: Option<Fault>,
    unaddressed: Vec<Error>,
    stray: u32,
    /// No more requests are wanted; the end of the stream is no crash.
    stopping: bool,
}

struct Shared {
    state: Mutex<State>,
    next_id: AtomicU64,
    changed: Notify,
    transcript: Arc<dyn Transcript>,
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
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            changed: Notify::new(),
            transcript,
        });
        let (lines, queue) = mpsc::unbounded_channel();
        let tasks = [
            tokio::spawn(write(queue, writer, shared.clone())),
            tokio::spawn(read(reader, options.max_message_bytes, shared.clone())),
        ];
        Self {
            shared,
            lines,
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

    pub(super) fn send_request(
        &self,
        name: &str,
        params: &Value,
    ) -> Result<(u64, oneshot::Receiver<Answer>), CallError> {
        let id = self.shared.next_id.fetch_add(1, Ordering::SeqCst);
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if let Some(fault) = &state.fault {
                return Err(fault.clone().into());
            }
            state.pending.insert(id, sender);
        }
        self.send_line(Message::request(id, name, params).to_line());
        Ok((id, answer))
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
        let (events, received) = mpsc::unbounded_channel();
        self.shared.lock().execs.insert(
            params.exec.clone(),
            ExecEntry {
                events,
                credit: params.window,
            },
        );
        let sent = Instant::now();
        let (id, answer) = self.send_request(method::Run::NAME, &crate::message::to_value(params))?;
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
        let _ = self.lines.send(line);
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

async fn read(reader: impl AsyncRead + Unpin, max: usize, shared: Arc<Shared>) {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let fault = loop {
        match read_line(&mut reader, max, Overflow::Stop).await {
            Ok(Line::Text(line)) => {
                shared.transcript.line(Direction::Received, &line);
                if let Err(fault) = shared.receive(&line) {
                    break fault;
                }
            }
            Ok(Line::TooLong { bytes }) => {
                let what = format!("a line of {bytes} bytes or more, over the bound of {max}");
                break Fault::Flooded { what };
            }
            Ok(Line::End) | Err(_) => {
                break Fault::Crashed {
                    how: String::new(),
                    log: String::new(),
                };
            }
        }
        if shared.lock().fault.is_some() {
            return;
        }
    };
    shared.break_off(&fault);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is of no further use: everybody who waits is told.
    fn break_off(&self, fault: &Fault) {
        let (pending, execs) = {
            let mut state = self.lock();
            if state.fault.is_none() {
                state.fault = Some(fault.clone());
            }
            (
                std::mem::take(&mut state.pending),
                std::mem::take(&mut state.execs),
            )
        };
        for (_, waiting) in pending {
            let _ = waiting.send(Err(fault.clone().into()));
        }
        drop(execs);
        self.changed.notify_waiters();
    }

    fn receive(&self, line: &[u8]) -> Result<(), Fault> {
        let quoted = || shorten(line, QUOTED);
        match Message::parse(line) {
            Ok(Message::Response {
                id: Value::Null,
                result: Err(error),
            }) => {
                self.lock().unaddressed.push(error);
                self.changed.notify_waiters();
                Ok(())
            }
            Ok(Message::Response { id, result }) => self.answer(&id, result),
            Ok(Message::Notification { method, params }) => {
                self.notification(&method, params)
                    .map_err(|problem| Fault::Nonsense {
                        problem,
                        line: quoted(),
                    })?
            }
            // Nothing that an adapter may ask of the harness exists without a capability that would allow it.
            Ok(Message::Request { method, .. }) => Err(Fault::Nonsense {
                problem: format!("a request ({method}) of the adapter"),
                line: quoted(),
            }),
            Err(MessageError::NotJson(_)) => Err(Fault::Noise { line: quoted() }),
            Err(MessageError::NotAMessage(problem)) => Err(Fault::Nonsense {
                problem,
                line: quoted(),
            }),
        }
    }

    fn answer(&self, id: &Value, result: Result<Value, Error>) -> Result<(), Fault> {
        let known = id
            .as_u64()
            .filter(|id| *id < self.next_id.load(Ordering::SeqCst) && *id > 0);
        let Some(number) = known else {
            return Err(Fault::AnsweredUnasked { id: id.to_string() });
        };
        let mut state = self.lock();
        if let Some(waiting) = state.pending.remove(&number) {
            // Whoever waited may have gone, which is not the adapter's fault.
            let _ = waiting.send(result.map_err(CallError::Refused));
            return Ok(());
        }
        if state.abandoned.remove(&number) {
            return Ok(());
        }
        Err(Fault::AnsweredTwice { id: id.to_string() })
    }

    /// The outer error is nonsense; the inner one a flood.
    fn notification(&self, name: &str, params: Value) -> Result<Result<(), Fault>, String> {
        let fits = |error: serde_json::Error| format!("{name} does not fit: {error}");
        let (exec, event) = match name {
            method::Started::NAME => {
                let params: StartedParams = serde_json::from_value(params).map_err(fits)?;
                (params.exec, ExecEvent::Started)
            }
            method::Alive::NAME => {
                let params: AliveParams = serde_json::from_value(params).map_err(fits)?;
                (params.exec, ExecEvent::Alive)
            }
            method::Output::NAME => {
                let params: OutputParams = serde_json::from_value(params).map_err(fits)?;
                (params.exec.clone(), ExecEvent::Output(params, Instant::now()))
            }
            // Progress, and whatever a later version of the protocol may notify.
            _ => return Ok(Ok(())),
        };
        Ok(self.lock().deliver(&exec, event))
    }
}

impl State {
    fn deliver(&mut self, exec: &str, event: ExecEvent) -> Result<(), Fault> {
        let Some(entry) = self.execs.get_mut(exec) else {
            self.stray += 1;
            if self.stray > STRAY_NOTIFICATIONS {
                let what =
                    format!("more than {STRAY_NOTIFICATIONS} notifications about execs that do not run");
                return Err(Fault::Flooded { what });
            }
            return Ok(());
        };
        if let (Some(credit), ExecEvent::Output(output, _)) = (&mut entry.credit, &event) {
            let bytes = output.data.len() as u64;
            let Some(left) = credit.checked_sub(bytes) else {
                let what = format!("{bytes} bytes of output of {exec}, which had credit for {credit}");
                return Err(Fault::Flooded { what });
            };
            *credit = left;
        }
        let _ = entry.events.send(event);
        Ok(())
    }
}
