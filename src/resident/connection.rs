//! One connection to a resident: calls and their answers, and the output of the jobs that are attached.

use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use herm_resident::wire::{Deframer, MAX_REPLY, Refusal, Reply, Request, Welcome, frame};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    Channel,
    handshake::shake,
    mailbox::{Breach, Event, Mailbox},
};

/// How long the proof may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Bytes that are read at a time.
const BUFFER: usize = 256 * 1024;

/// Messages that wait to be written; more make the sender wait.
const QUEUE: usize = 64;

/// A connection that is of no more use, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(Arc<str>);

impl Lost {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into().into())
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
    pub(super) fn io(error: io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

/// Why a call gave no answer.
#[derive(Clone, Debug)]
pub(super) enum CallFault {
    /// The resident said no.
    Refused(Refusal),
    /// The connection is lost; whether it was carried out is not known.
    Lost(Lost),
}

/// Who waits for the answer to a call.
struct Pending {
    answer: oneshot::Sender<Result<Reply, CallFault>>,
    /// With a call that attaches: where events go from its answer on.
    attach: Option<Arc<Mailbox>>,
}

#[derive(Default)]
struct State {
    lost: Option<Lost>,
    calls: HashMap<u32, Pending>,
    jobs: HashMap<u64, Arc<Mailbox>>,
    last_call: u32,
}

/// A connection. Dropping it ends it.
pub(super) struct Connection {
    /// Which resident answers.
    pub(super) welcome: Welcome,
    requests: mpsc::Sender<Request>,
    state: Arc<Mutex<State>>,
    tasks: [JoinHandle<()>; 2],
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("welcome", &self.welcome)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Shakes hands over a channel and begins to listen.
    pub(super) async fn new(channel: Channel) -> Result<Self, Lost> {
        let Channel {
            input,
            mut output,
            secret,
        } = channel;
        let mut frames = Frames::new(input);
        let shaken = timeout(HANDSHAKE, shake(&mut frames, &mut output, secret.as_ref())).await;
        let welcome = shaken.map_err(|_| Lost::new(format!("no proof within {HANDSHAKE:?}")))??;
        let state = Arc::new(Mutex::new(State::default()));
        let (requests, queue) = mpsc::channel(QUEUE);
        let listening = tokio::spawn(listen(frames, state.clone()));
        let talking = tokio::spawn(talk(output, queue, state.clone()));
        Ok(Self {
            welcome,
            requests,
            state,
            tasks: [listening, talking],
        })
    }

    /// Why it is of no more use, if it is.
    pub(super) fn lost(&self) -> Option<Lost> {
        lock(&self.state).lost.clone()
    }

    /// Sends a message that has no answer of its own. It waits for room.
    pub(super) async fn send(&self, request: Request) -> Result<(), Lost> {
        if let Some(lost) = self.lost() {
            return Err(lost);
        }
        let sent = self.requests.send(request).await;
        sent.map_err(|_| {
            self.lost()
                .unwrap_or_else(|| Lost::new("the connection was closed"))
        })
    }

    /// Waits until a message can be sent without waiting.
    pub(super) async fn room(&self) -> Result<mpsc::Permit<'_, Request>, Lost> {
        let closed = || Lost::new("the connection was closed");
        match self.lost() {
            Some(lost) => Err(lost),
            None => self.requests.reserve().await.map_err(|_| closed()),
        }
    }

    /// Asks, and waits for the answer.
    pub(super) async fn call(
        &self,
        make: impl FnOnce(u32) -> Request,
        within: Duration,
    ) -> Result<Reply, CallFault> {
        self.ask(make, None, within).await
    }

    /// Asks for something that attaches to a job, with that credit; events come from the answer on.
    pub(super) async fn attach(
        &self,
        make: impl FnOnce(u32) -> Request,
        credit: u64,
        within: Duration,
    ) -> Result<(Reply, Arc<Mailbox>), CallFault> {
        let mailbox = Arc::new(Mailbox::new(credit));
        let reply = self.ask(make, Some(mailbox.clone()), within).await?;
        Ok((reply, mailbox))
    }

    /// Says something whose answer does not matter.
    pub(super) async fn tell(&self, make: impl FnOnce(u32) -> Request) {
        let call = {
            let mut state = lock(&self.state);
            state.last_call = state.last_call.wrapping_add(1).max(1);
            state.last_call
        };
        let _ = self.send(make(call)).await;
    }

    /// Ends it.
    pub(super) fn close(&self, why: &str) {
        end(&self.state, Lost::new(why));
    }

    /// Lets so many more bytes of a job come.
    pub(super) async fn grant(&self, job: u64, bytes: u64) -> Result<(), Lost> {
        if let Some(mailbox) = lock(&self.state).jobs.get(&job) {
            mailbox.grant(bytes);
        }
        self.send(Request::Credit { job, bytes }).await
    }

    /// Listens to a job no more.
    pub(super) fn leave(&self, job: u64) {
        lock(&self.state).jobs.remove(&job);
    }

    async fn ask(
        &self,
        make: impl FnOnce(u32) -> Request,
        attach: Option<Arc<Mailbox>>,
        within: Duration,
    ) -> Result<Reply, CallFault> {
        let (answer, answered) = oneshot::channel();
        let call = {
            let mut state = lock(&self.state);
            if let Some(lost) = &state.lost {
                return Err(CallFault::Lost(lost.clone()));
            }
            // 0 is the connection itself.
            state.last_call = state.last_call.wrapping_add(1).max(1);
            let call = state.last_call;
            state.calls.insert(call, Pending { answer, attach });
            call
        };
        let forget = Forget {
            state: &self.state,
            call,
        };
        let asked = async {
            self.send(make(call)).await.map_err(CallFault::Lost)?;
            let gone = || CallFault::Lost(self.lost().unwrap_or_else(|| Lost::new("no answer will come")));
            answered.await.map_err(|_| gone())?
        };
        let answer = timeout(within, asked).await.unwrap_or_else(|_| {
            let lost = Lost::new(format!("no answer within {within:?}"));
            end(&self.state, lost.clone());
            Err(CallFault::Lost(lost))
        });
        drop(forget);
        answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        end(&self.state, Lost::new("the connection was closed"));
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A call that nobody waits for any more is forgotten.
struct Forget<'a> {
    state: &'a Mutex<State>,
    call: u32,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(self.state).calls.remove(&self.call);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a connection: whoever waits for an answer or for events is told.
fn end(state: &Mutex<State>, lost: Lost) {
    let (calls, jobs) = {
        let mut state = lock(state);
        state.lost.get_or_insert(lost);
        (std::mem::take(&mut state.calls), std::mem::take(&mut state.jobs))
    };
    for mailbox in jobs.values() {
        mailbox.close();
    }
    // The senders of answers go, which is what tells who waits.
    drop(calls);
}

async fn talk(
    mut output: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::Receiver<Request>,
    state: Arc<Mutex<State>>,
) {
    while let Some(request) = queue.recv().await {
        let written = async {
            write_message(&mut output, &request).await?;
            if queue.is_empty() {
                output.flush().await.map_err(Lost::io)?;
            }
            Ok(())
        };
        if let Err(lost) = written.await {
            return end(&state, lost);
        }
    }
}

pub(super) async fn write_message(
    output: &mut (impl AsyncWrite + Unpin),
    request: &Request,
) -> Result<(), Lost> {
    output
        .write_all(&frame(&request.encode()))
        .await
        .map_err(Lost::io)
}

async fn listen(mut frames: Frames<Box<dyn AsyncRead + Send + Unpin>>, state: Arc<Mutex<State>>) {
    loop {
        let taken = match frames.next_reply(MAX_REPLY).await {
            Ok(reply) => take(&state, reply),
            Err(lost) => Err(lost),
        };
        if let Err(lost) = taken {
            return end(&state, lost);
        }
    }
}

/// Hands a message to whom it is for. What was not asked for is a breach of the protocol.
fn take(state: &Mutex<State>, reply: Reply) -> Result<(), Lost> {
    match reply {
        Reply::Hello { .. } | Reply::Welcome(_) => Err(Lost::new("the resident introduced itself twice")),
        Reply::Error { call: 0, error } => Err(Lost::new(format!(
            "the resident ended the connection: {}",
            error.message
        ))),
        Reply::Finished { call: 0, job, ending } => tell(state, job, Event::Finished(ending)),
        Reply::Output {
            job,
            stream,
            offset,
            data,
        } => tell(state, job, Event::Output { stream, offset, data }),
        Reply::Gap {
            job,
            stream,
            from,
            to,
        } => tell(state, job, Event::Gap { stream, from, to }),
        Reply::Tool { job, number, told } => tell(state, job, Event::Tool(number, told)),
        Reply::StdinTaken { job, offset, open } => tell(state, job, Event::StdinTaken { offset, open }),
        answer => answered(state, answer),
    }
}

fn tell(state: &Mutex<State>, job: u64, event: Event) -> Result<(), Lost> {
    // Whoever has left a job may yet be sent what was under way.
    let Some(mailbox) = lock(state).jobs.get(&job).cloned() else {
        return Ok(());
    };
    mailbox.put(event).map_err(|breach| {
        Lost::new(match breach {
            Breach::BeyondCredit(bytes) => format!("the resident sent {bytes} bytes beyond its credit"),
            Breach::TooManyCalls => "the resident told more of calls than can be under way".into(),
            Breach::TooManyGaps => "the resident told more gaps than output can have".into(),
        })
    })
}

fn answered(state: &Mutex<State>, reply: Reply) -> Result<(), Lost> {
    let call = match &reply {
        Reply::Started { call, .. }
        | Reply::Finished { call, .. }
        | Reply::Listing { call, .. }
        | Reply::Data { call, .. }
        | Reply::Done { call }
        | Reply::Error { call, .. }
        | Reply::Pong { call } => *call,
        _ => return Err(Lost::new("the resident answered out of turn")),
    };
    let mut state = lock(state);
    // Whoever asked may have stopped waiting.
    let Some(Pending { answer, attach }) = state.calls.remove(&call) else {
        return Ok(());
    };
    if let (Reply::Started { job, .. }, Some(mailbox)) = (&reply, attach) {
        state.jobs.insert(*job, mailbox);
    }
    drop(state);
    let _ = answer.send(match reply {
        Reply::Error { error, .. } => Err(CallFault::Refused(error)),
        reply => Ok(reply),
    });
    Ok(())
}

/// Messages of a stream of bytes.
pub(super) struct Frames<R> {
    input: R,
    deframer: Deframer,
    buffer: Box<[u8]>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            deframer: Deframer::default(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
        }
    }

    /// The next message, of at most that many bytes.
    pub(super) async fn next_reply(&mut self, limit: usize) -> Result<Reply, Lost> {
        loop {
            match self.deframer.next(limit) {
                Ok(Some(message)) => {
                    return Reply::decode(&message)
                        .map_err(|error| Lost::new(format!("the resident sent no message: {error}")));
                }
                Ok(None) => {}
                Err(error) => return Err(Lost::new(format!("the resident sent no frame: {error}"))),
            }
            match self.input.read(&mut self.buffer).await {
                Ok(0) => return Err(Lost::new("the resident closed the connection")),
                Ok(count) => self.deframer.add(&self.buffer[..count]),
                Err(error) => return Err(Lost::io(error)),
            }
        }
    }
}
