//! Serves an [`Adapter`] on a pair of streams.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    io,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    task::JoinSet,
};

use crate::{
    Adapter, DEFAULT_MAX_MESSAGE_BYTES, Error, ErrorKind, ExecControl, ExecInput, ExecOutput, Execution,
    Interrupt, Method, Progress, VERSION,
    adapter::InputPiece,
    capture::Recorder,
    codec::{Line, Overflow, read_line},
    error::codes,
    exec::{AliveParams, CreditParams, Outcome, RunParams, RunResult, Stdin, StdinTaken},
    message::{Message, MessageError, to_value},
    method::{self, Notification as _},
    sandbox::Empty,
    tools::{ExecTools, Questions},
};

/// Milliseconds between `exec.alive` notifications when the caller names none.
const ALIVE_MS: u64 = 5000;

/// How long the answer to a command that was ended by force waits for the caller to take the rest of its output.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long the caller has to take what is left to be told after its input has ended.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Serves on standard input and output until input ends.
///
/// # Errors
/// Whatever reading or writing fails with.
pub async fn serve_stdio(adapter: impl Adapter) -> io::Result<()> {
    serve(adapter, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves on any pair of streams until input ends; then ends what runs and lets the adapter clean up.
///
/// # Errors
/// Whatever reading or writing fails with, and that the caller does not read the last answers.
pub async fn serve(
    adapter: impl Adapter,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (lines, queue) = mpsc::channel(256);
    let mut writer = tokio::spawn(write_lines(queue, output));
    let mut server = Server {
        adapter: Arc::new(adapter),
        lines,
        execs: Arc::default(),
        questions: Arc::default(),
        tasks: JoinSet::new(),
        max: DEFAULT_MAX_MESSAGE_BYTES,
        initialized: false,
    };
    let mut reader = BufReader::with_capacity(64 * 1024, input);
    let ended = loop {
        match read_line(&mut reader, server.max, Overflow::Skip).await {
            Ok(Line::Text(line)) if line.trim_ascii().is_empty() => {}
            Ok(Line::Text(line)) => server.receive(&line).await,
            Ok(Line::TooLong { bytes }) => server.refuse_long_line(bytes),
            Ok(Line::End) => break Ok(()),
            Err(error) => break Err(error),
        }
        while server.tasks.try_join_next().is_some() {}
    };
    server.adapter.shutdown().await;
    server.tasks.shutdown().await;
    drop(server);
    let Ok(written) = tokio::time::timeout(LAST_LINES, &mut writer).await else {
        writer.abort();
        let problem = format!("the caller did not read the last answers within {LAST_LINES:?}");
        return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
    };
    written.map_err(io::Error::other).flatten()?;
    ended
}

async fn write_lines(
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(line) = queue.recv().await {
        output.write_all(&line).await?;
        if queue.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

/// The ways to reach a running exec.
struct Running {
    recorder: Arc<Recorder>,
    input: mpsc::UnboundedSender<InputPiece>,
    interrupts: mpsc::UnboundedSender<Interrupt>,
}

type Execs = Arc<Mutex<HashMap<String, Running>>>;

struct Server<A> {
    adapter: Arc<A>,
    lines: mpsc::Sender<Vec<u8>>,
    execs: Execs,
    /// What the adapter asked of the caller.
    questions: Arc<Questions>,
    tasks: JoinSet<()>,
    max: usize,
    initialized: bool,
}

impl<A: Adapter> Server<A> {
    async fn receive(&mut self, line: &[u8]) {
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params).await,
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.questions.answer(&id, result),
            Err(error) => {
                let code = match error {
                    MessageError::NotJson(_) => codes::PARSE_ERROR,
                    MessageError::NotAMessage(_) => codes::INVALID_REQUEST,
                };
                let refusal = Error {
                    code,
                    ..Error::invalid_argument("message", format!("is {error}"))
                };
                self.answer(Value::Null, Err(refusal));
            }
        }
    }

    fn refuse_long_line(&mut self, bytes: usize) {
        let max = self.max;
        let error = Error::new(
            ErrorKind::LimitExceeded,
            "message",
            format!("a message of {bytes} bytes is over the limit of {max} bytes"),
        )
        .with_fix("send it in smaller pieces");
        self.answer(Value::Null, Err(error));
    }

    /// Never waits: a caller that does not read must still be able to end its input.
    fn answer(&mut self, id: Value, result: Result<Value, Error>) {
        let line = Message::Response { id, result }.to_line();
        if let Err(TrySendError::Full(line)) = self.lines.try_send(line) {
            let lines = self.lines.clone();
            self.tasks.spawn(async move {
                let _ = lines.send(line).await;
            });
        }
    }

    fn notification(&self, method: &str, params: Value) {
        if method == method::Credit::NAME
            && let Ok(credit) = serde_json::from_value::<CreditParams>(params)
            && let Some(running) = lock(&self.execs).get(&credit.exec)
        {
            running.recorder.grant(credit.bytes);
        }
    }

    async fn request(&mut self, id: Value, name: &str, params: Value) {
        if name == method::Initialize::NAME {
            let result = self.initialize(params).await;
            return self.answer(id, result);
        }
        if !self.initialized {
            let error = Error::new(
                ErrorKind::NotInitialized,
                name,
                format!("{name} came before initialize"),
            )
            .with_fix("send initialize first");
            return self.answer(id, Err(error));
        }
        match name {
            method::Run::NAME => self.run(id, params),
            method::WriteStdin::NAME => self.feed(id, params),
            method::Cancel::NAME => {
                let result = parse::<method::Cancel>(params)
                    .and_then(|params| self.interrupt(&params.exec, Interrupt::Cancel));
                self.answer(id, result);
            }
            method::Signal::NAME => {
                let result = parse::<method::Signal>(params).and_then(|params| {
                    if !(1..=64).contains(&params.signal) {
                        return Err(Error::invalid_argument("signal", "is not between 1 and 64"));
                    }
                    self.interrupt(&params.exec, Interrupt::Signal(params.signal))
                });
                self.answer(id, result);
            }
            _ => self.dispatch(id, name, params),
        }
    }

    async fn initialize(&mut self, params: Value) -> Result<Value, Error> {
        let params = parse::<method::Initialize>(params)?;
        if !params.protocol.iter().any(|version| version == VERSION) {
            let offered = params.protocol.join(", ");
            let mut error = Error::new(
                ErrorKind::VersionMismatch,
                "protocol",
                format!("none of the offered protocol versions ({offered}) is spoken here"),
            )
            .with_fix(format!("offer {VERSION}"));
            error.data.supported = vec![VERSION.into()];
            return Err(error);
        }
        let mut initialized = self.adapter.initialize(params).await?;
        VERSION.clone_into(&mut initialized.protocol);
        if let Some(max) = initialized.limits.max_message_bytes {
            self.max = usize::try_from(max).unwrap_or(usize::MAX);
        }
        self.initialized = true;
        Ok(to_value(&initialized))
    }

    fn interrupt(&self, exec: &str, interrupt: Interrupt) -> Result<Value, Error> {
        let sent = lock(&self.execs)
            .get(exec)
            .map(|running| running.interrupts.send(interrupt));
        match sent {
            Some(Ok(())) => Ok(to_value(&Empty {})),
            _ => Err(exec_not_found(exec)),
        }
    }

    /// Pieces are queued here, in order; each is answered when the command's side takes it.
    fn feed(&mut self, id: Value, params: Value) {
        let params = match parse::<method::WriteStdin>(params) {
            Ok(params) => params,
            Err(error) => return self.answer(id, Err(error)),
        };
        let (taken, answer) = oneshot::channel();
        let piece = InputPiece {
            data: params.data,
            eof: params.eof,
            taken,
        };
        let queued = lock(&self.execs)
            .get(&params.exec)
            .map(|running| running.input.send(piece));
        if queued.is_none() {
            return self.answer(id, Err(exec_not_found(&params.exec)));
        }
        let lines = self.lines.clone();
        self.tasks.spawn(async move {
            let open = answer.await.unwrap_or(false);
            let result = Ok(to_value(&StdinTaken { open }));
            let _ = lines.send(Message::Response { id, result }.to_line()).await;
        });
    }

    fn run(&mut self, id: Value, params: Value) {
        let params = match parse::<method::Run>(params) {
            Ok(params) => params,
            Err(error) => return self.answer(id, Err(error)),
        };
        if params.detach {
            let (adapter, lines) = (self.adapter.clone(), self.lines.clone());
            self.tasks.spawn(async move {
                let result = caught(adapter.start_job(params)).await;
                let result = result.map(|started| to_value(&started));
                let _ = lines.send(Message::Response { id, result }.to_line()).await;
            });
            return;
        }
        let exec = params.exec.clone();
        let (input, pieces) = mpsc::unbounded_channel();
        let (interrupts, wishes) = mpsc::unbounded_channel();
        let recorder = Arc::new(Recorder::new(
            exec.clone(),
            params.capture,
            params.window,
            self.lines.clone(),
        ));
        let running = Running {
            recorder: recorder.clone(),
            input,
            interrupts,
        };
        let duplicate = {
            let mut execs = lock(&self.execs);
            if execs.contains_key(&exec) {
                true
            } else {
                execs.insert(exec.clone(), running);
                false
            }
        };
        if duplicate {
            let error = Error::invalid_argument("exec", format!("{exec:?} is running already"));
            return self.answer(id, Err(error));
        }
        let (over, is_over) = watch::channel(false);
        let tools = ExecTools::new(
            (params.sandbox.clone(), exec.clone()),
            params.rpc.clone().unwrap_or_default(),
            self.lines.clone(),
            self.questions.clone(),
            is_over,
        );
        let execution = Execution {
            output: ExecOutput(recorder.clone()),
            input: ExecInput {
                pieces,
                ended: params.stdin != Stdin::Stream,
            },
            control: ExecControl { interrupts: wishes },
            tools,
        };
        let (adapter, lines, execs) = (self.adapter.clone(), self.lines.clone(), self.execs.clone());
        self.tasks.spawn(async move {
            let result = caught(run_one(&*adapter, params, execution, &recorder, &lines)).await;
            // Nobody is asked for a command that was answered.
            over.send_replace(true);
            lock(&execs).remove(&exec);
            let result = result.map(|result| to_value(&result));
            let _ = lines.send(Message::Response { id, result }.to_line()).await;
        });
    }

    fn dispatch(&mut self, id: Value, name: &str, params: Value) {
        let (adapter, lines) = (self.adapter.clone(), self.lines.clone());
        let name = name.to_owned();
        self.tasks.spawn(async move {
            let result = caught(call(&*adapter, &name, params, &lines)).await;
            let _ = lines.send(Message::Response { id, result }.to_line()).await;
        });
    }
}

/// A panic of the adapter is an answer, not a caller that waits for ever.
async fn caught<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic");
            Err(Error::internal("handle the request", text))
        })
}

async fn run_one(
    adapter: &impl Adapter,
    params: RunParams,
    execution: Execution,
    recorder: &Recorder,
    lines: &mpsc::Sender<Vec<u8>>,
) -> Result<RunResult, Error> {
    let accepted = Instant::now();
    let exec = params.exec.clone();
    let every = Duration::from_millis(params.alive_ms.unwrap_or(ALIVE_MS).max(10));
    let finished = tokio::select! {
        finished = adapter.run(params, execution) => finished?,
        never = keep_alive(&exec, every, lines) => match never {},
    };
    let duration_ms = u64::try_from(accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
    if !matches!(finished.outcome, Outcome::SetupFailed { .. }) {
        recorder.start().await;
    }
    let forced = matches!(
        finished.outcome,
        Outcome::TimedOut | Outcome::Cancelled | Outcome::SandboxLost | Outcome::TransportLost
    );
    let totals = recorder.finish(forced.then_some(PATIENCE)).await;
    Ok(RunResult {
        outcome: finished.outcome,
        stdout: totals.stdout,
        stderr: totals.stderr,
        gaps: totals.gaps,
        duration_ms,
        notices: finished.notices,
        job: finished.job,
    })
}

async fn keep_alive(exec: &str, every: Duration, lines: &mpsc::Sender<Vec<u8>>) -> Infallible {
    let note = Message::notification(method::Alive::NAME, &AliveParams { exec: exec.into() }).to_line();
    loop {
        tokio::time::sleep(every).await;
        let _ = lines.send(note.clone()).await;
    }
}

async fn call(
    adapter: &impl Adapter,
    name: &str,
    params: Value,
    lines: &mpsc::Sender<Vec<u8>>,
) -> Result<Value, Error> {
    /// Parses the parameters of a method, calls its handler, serialises its answer.
    macro_rules! answer {
        ($method:ty, |$params:ident| $call:expr) => {{
            let $params = parse::<$method>(params)?;
            $call
                .await
                .map(|answer| to_value(&<$method as Method>::Answer::from(answer)))
        }};
    }
    match name {
        method::CheckPreflight::NAME => answer!(method::CheckPreflight, |_params| adapter.preflight()),
        method::Open::NAME => {
            answer!(method::Open, |params| adapter
                .open(params, Progress { lines: lines.clone() }))
        }
        method::Close::NAME => answer!(method::Close, |params| adapter.close(params)),
        method::List::NAME => answer!(method::List, |_params| adapter.list()),
        method::Inspect::NAME => answer!(method::Inspect, |params| adapter.inspect(params)),
        method::Reap::NAME => answer!(method::Reap, |params| adapter.reap(params)),
        method::ListJobs::NAME => answer!(method::ListJobs, |params| adapter.list_jobs(params)),
        method::ReadJob::NAME => answer!(method::ReadJob, |params| adapter.read_job(params)),
        method::WaitJob::NAME => answer!(method::WaitJob, |params| adapter.wait_job(params)),
        method::KillJob::NAME => answer!(method::KillJob, |params| adapter.kill_job(params)),
        method::ForgetJob::NAME => answer!(method::ForgetJob, |params| adapter.forget_job(params)),
        method::CloseSession::NAME => answer!(method::CloseSession, |params| adapter.close_session(params)),
        method::ReadFile::NAME => answer!(method::ReadFile, |params| adapter.read_file(params)),
        method::WriteFile::NAME => answer!(method::WriteFile, |params| adapter.write_file(params)),
        method::StatFile::NAME => answer!(method::StatFile, |params| adapter.stat_file(params)),
        method::ListDirectory::NAME => {
            answer!(method::ListDirectory, |params| adapter.list_directory(params))
        }
        method::RemoveFile::NAME => answer!(method::RemoveFile, |params| adapter.remove_file(params)),
        method::MakeDirectory::NAME => {
            answer!(method::MakeDirectory, |params| adapter.make_directory(params))
        }
        method::MoveFile::NAME => answer!(method::MoveFile, |params| adapter.move_file(params)),
        method::ChangeMode::NAME => answer!(method::ChangeMode, |params| adapter.change_mode(params)),
        method::Classify::NAME => answer!(method::Classify, |params| adapter.classify(params)),
        method::ListConditions::NAME => {
            answer!(method::ListConditions, |_params| adapter.list_conditions())
        }
        method::ApplyCondition::NAME => {
            answer!(method::ApplyCondition, |params| adapter.apply_condition(params))
        }
        method::ClearCondition::NAME => {
            answer!(method::ClearCondition, |params| adapter.clear_condition(params))
        }
        method::TakeLedger::NAME => answer!(method::TakeLedger, |_params| adapter.ledger()),
        _ => Err(Error::unsupported(name)),
    }
}

impl From<()> for Empty {
    fn from((): ()) -> Self {
        Self {}
    }
}

/// Parses parameters; an error names the field.
fn parse<M: Method>(params: Value) -> Result<M::Params, Error> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner().to_string();
        // "missing field `x`" names the field itself; its path is that of the object around it.
        if let Some(field) = problem
            .strip_prefix("missing field `")
            .and_then(|rest| rest.split('`').next())
        {
            let field = if path == "." {
                field.to_owned()
            } else {
                format!("{path}.{field}")
            };
            return Error::invalid_argument(field, "is missing");
        }
        Error::invalid_argument(path, format!("cannot be read: {problem}"))
    })
}

fn exec_not_found(exec: &str) -> Error {
    Error::new(
        ErrorKind::ExecNotFound,
        exec,
        format!("exec {exec:?} is not running"),
    )
    .with_fix("nothing needs to be done if it has ended; its answer says how")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
