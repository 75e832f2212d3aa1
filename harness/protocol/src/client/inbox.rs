//! Sorts what an adapter sends, and notices every breach of the protocol.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, BufReader},
    sync::{Notify, mpsc, oneshot},
};

use super::{CallError, Fault, Uninvited, exec::ExecEvent, host::Host, process::shorten};
use crate::{
    Error,
    codec::{Line, Overflow, read_line},
    exec::{AliveParams, OutputParams, StartedParams},
    message::{Message, MessageError},
    method::{self, Notification as _},
    transcript::{Direction, Transcript},
};

/// Notifications about execs that were never started, before they count as a flood.
const STRAY_NOTIFICATIONS: u32 = 1000;

/// Characters of a line that a fault quotes.
pub(super) const QUOTED: usize = 200;

pub(super) type Answer = Result<Value, CallError>;

/// What is known of an exec that was started on this connection.
pub(super) struct ExecEntry {
    pub(super) events: mpsc::UnboundedSender<ExecEvent>,
    /// Bytes that may still be sent; `None` without a window.
    pub(super) credit: Option<u64>,
    /// The request that started it.
    pub(super) request: u64,
    /// Who answers the calls that it makes; nobody when it was allowed none, or has ended.
    pub(super) host: Option<Arc<Host>>,
    /// Whether it was answered; nothing is told of it after that.
    pub(super) answered: bool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) pending: HashMap<u64, oneshot::Sender<Answer>>,
    /// Requests under an id that somebody has chosen, by that id as JSON.
    pub(super) chosen: HashMap<String, oneshot::Sender<Answer>>,
    /// Requests whose deadline passed: a late answer to them is no breach.
    pub(super) abandoned: HashSet<u64>,
    pub(super) execs: HashMap<String, ExecEntry>,
    pub(super) fault: Option<Fault>,
    pub(super) unaddressed: Vec<Error>,
    pub(super) stray: u32,
    pub(super) uninvited: Vec<Uninvited>,
    /// No more requests are wanted; the end of the stream is no crash.
    pub(super) stopping: bool,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) next_id: AtomicU64,
    /// Lines that go to the adapter.
    pub(super) lines: mpsc::UnboundedSender<Vec<u8>>,
    pub(super) changed: Notify,
    pub(super) transcript: Arc<dyn Transcript>,
}

pub(super) async fn read(reader: impl AsyncRead + Unpin, max: usize, shared: Arc<Shared>) {
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
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is of no further use: everybody who waits is told.
    pub(super) fn break_off(&self, fault: &Fault) {
        let (pending, chosen, execs) = {
            let mut state = self.lock();
            if state.fault.is_none() {
                state.fault = Some(fault.clone());
            }
            (
                std::mem::take(&mut state.pending),
                std::mem::take(&mut state.chosen),
                std::mem::take(&mut state.execs),
            )
        };
        for waiting in pending.into_values().chain(chosen.into_values()) {
            let _ = waiting.send(Err(fault.clone().into()));
        }
        drop(execs);
        self.changed.notify_waiters();
    }

    fn receive(self: &Arc<Self>, line: &[u8]) -> Result<(), Fault> {
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
            Ok(Message::Request { id, method, params }) => {
                self.asked(id, &method, params)
                    .map_err(|problem| Fault::Nonsense {
                        problem,
                        line: quoted(),
                    })?
            }
            Err(MessageError::NotJson(_)) => Err(Fault::Noise { line: quoted() }),
            Err(MessageError::NotAMessage(problem)) => Err(Fault::Nonsense {
                problem,
                line: quoted(),
            }),
        }
    }

    fn answer(&self, id: &Value, result: Result<Value, Error>) -> Result<(), Fault> {
        if let Some(waiting) = self.lock().chosen.remove(&id.to_string()) {
            let _ = waiting.send(result.map_err(CallError::Refused));
            return Ok(());
        }
        let known = id
            .as_u64()
            .filter(|id| *id < self.next_id.load(Ordering::SeqCst) && *id > 0);
        let Some(number) = known else {
            return Err(Fault::AnsweredUnasked { id: id.to_string() });
        };
        let mut state = self.lock();
        // What is called for a command that was answered is too late, whoever has seen the answer.
        let ended = state.execs.values_mut().find(|entry| entry.request == number);
        let host = ended.and_then(|entry| {
            entry.answered = true;
            entry.host.take()
        });
        if let Some(waiting) = state.pending.remove(&number) {
            // Whoever waited may have gone, which is not the adapter's fault.
            let _ = waiting.send(result.map_err(CallError::Refused));
            drop(state);
            drop(host);
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
                (params.exec, ExecEvent::Started(Instant::now()))
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
        let event = if entry.answered { ExecEvent::Late } else { event };
        let _ = entry.events.send(event);
        Ok(())
    }
}
