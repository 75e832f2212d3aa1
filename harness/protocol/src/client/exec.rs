//! One command as its caller sees it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::{Fuse, FusedFuture as _, join_all};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout_at,
};

use super::{CallError, Client, Fault};
use crate::{
    ByteString, Error, Method as _,
    exec::{CancelParams, OutputParams, RunParams, RunResult, SignalParams, StdinParams, StdinTaken, Stream},
    method,
};

/// What an adapter notifies about an exec.
pub(super) enum ExecEvent {
    Started(Instant),
    Output(OutputParams, Instant),
    Alive,
    /// Whatever is told after the answer.
    Late,
}

pub(super) struct ExecEvents {
    pub(super) received: mpsc::UnboundedReceiver<ExecEvent>,
    pub(super) answer: Fuse<oneshot::Receiver<Result<Value, CallError>>>,
    pub(super) id: u64,
}

/// A piece of output as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which stream.
    pub stream: Stream,
    /// The offset that the adapter stated.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
    /// How long after the request it arrived.
    pub after: Duration,
    /// Whether the command had been announced before.
    pub after_start: bool,
}

/// Everything that was seen of an exec.
#[derive(Clone, Debug, Default)]
pub struct ExecRecord {
    /// The name it was given.
    pub exec: String,
    /// How often the command was announced.
    pub starts: u32,
    /// How long after the request it was announced first.
    pub started_after: Option<Duration>,
    /// How often it was said to be alive.
    pub alive: u32,
    /// Its output, in the order of arrival.
    pub pieces: Vec<Piece>,
    /// The answer: the result, or the adapter's refusal. `None` while it runs.
    pub answer: Option<Result<RunResult, Error>>,
    /// How long after the request the answer arrived.
    pub answered_after: Option<Duration>,
    /// Notifications about it that arrived after its answer.
    pub late: u32,
}

impl ExecRecord {
    /// The bytes of a stream, in the order of arrival.
    #[must_use]
    pub fn bytes(&self, stream: Stream) -> Vec<u8> {
        self.pieces
            .iter()
            .filter(|piece| piece.stream == stream)
            .flat_map(|piece| piece.data.iter().copied())
            .collect()
    }

    /// The result, if the exec was not refused.
    #[must_use]
    pub fn result(&self) -> Option<&RunResult> {
        self.answer.as_ref().and_then(|answer| answer.as_ref().ok())
    }
}

/// A command that was started and may still run. Output is granted back as it is read, unless that is switched off.
pub struct Exec {
    client: Arc<Client>,
    events: ExecEvents,
    record: ExecRecord,
    sent: Instant,
    window: bool,
    /// Whether credit is given back as output arrives.
    pub grants: bool,
}

impl Exec {
    pub(super) fn new(client: Arc<Client>, params: &RunParams, events: ExecEvents, sent: Instant) -> Self {
        let record = ExecRecord {
            exec: params.exec.clone(),
            ..ExecRecord::default()
        };
        Self {
            client,
            events,
            record,
            sent,
            window: params.window.is_some(),
            grants: true,
        }
    }

    /// What was seen so far.
    #[must_use]
    pub fn record(&self) -> &ExecRecord {
        &self.record
    }

    /// Waits for the answer, taking output as it comes, and returns everything that was seen.
    ///
    /// # Errors
    /// A [`Fault`] when the connection breaks or no answer comes before the deadline. An answer that refuses is no
    /// error: it stands in the record.
    pub async fn wait(mut self, deadline: Duration) -> Result<ExecRecord, Fault> {
        self.wait_until(deadline, |_| false).await?;
        Ok(self.record.clone())
    }

    /// Takes what comes until `enough` says so, the answer is there, or the deadline passes.
    /// Returns whether it was enough or answered.
    ///
    /// # Errors
    /// As [`Exec::wait`]; a passed deadline is [`Fault::Hung`].
    pub async fn wait_until(
        &mut self,
        deadline: Duration,
        enough: impl Fn(&ExecRecord) -> bool,
    ) -> Result<(), Fault> {
        let until = tokio::time::Instant::now() + deadline;
        while self.record.answer.is_none() && !enough(&self.record) {
            let step = timeout_at(until, self.step()).await;
            step.map_err(|_| Fault::Hung {
                method: method::Run::NAME.into(),
                within: deadline,
            })??;
        }
        Ok(())
    }

    /// Notes what still comes about it within a time after its answer.
    pub async fn linger(&mut self, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        while let Ok(Some(_)) = timeout_at(until, self.events.received.recv()).await {
            self.record.late += 1;
        }
    }

    async fn step(&mut self) -> Result<(), Fault> {
        if self.events.answer.is_terminated() {
            // The answer was taken by a step that was given up, which happens only when the connection broke.
            return Err(lost());
        }
        tokio::select! {
            biased;
            event = self.events.received.recv() => match event {
                Some(event) => self.note(event),
                // The sender goes only with the connection; the answer says why.
                None => self.finish().await?,
            },
            answer = &mut self.events.answer => {
                // What arrived before the answer was delivered before it.
                while let Ok(event) = self.events.received.try_recv() {
                    self.note(event);
                }
                self.settle(answer.unwrap_or_else(|_| Err(lost().into()))).await?;
            }
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), Fault> {
        let answer = (&mut self.events.answer)
            .await
            .unwrap_or_else(|_| Err(lost().into()));
        self.settle(answer).await
    }

    async fn settle(&mut self, answer: Result<Value, CallError>) -> Result<(), Fault> {
        self.record.answered_after = Some(self.sent.elapsed());
        let answer = match self.client.explain(answer).await {
            Ok(answer) => self.client.understand::<RunResult>(method::Run::NAME, answer),
            Err(error) => Err(error),
        };
        match answer {
            Ok(result) => self.record.answer = Some(Ok(result)),
            Err(CallError::Refused(error)) => self.record.answer = Some(Err(error)),
            Err(CallError::Fault(fault)) => return Err(fault),
        }
        Ok(())
    }

    fn note(&mut self, event: ExecEvent) {
        match event {
            ExecEvent::Started(at) => {
                self.record.starts += 1;
                let after = at.duration_since(self.sent);
                self.record.started_after.get_or_insert(after);
            }
            ExecEvent::Alive => self.record.alive += 1,
            ExecEvent::Late => self.record.late += 1,
            ExecEvent::Output(output, at) => {
                let data = output.data.into_bytes();
                if self.window && self.grants {
                    self.client.grant(&self.record.exec, data.len() as u64);
                }
                self.record.pieces.push(Piece {
                    stream: output.stream,
                    offset: output.offset,
                    data,
                    after: at.duration_since(self.sent),
                    after_start: self.record.starts > 0,
                });
            }
        }
    }

    /// Feeds the command, taking output as it comes; returns whether it could still read.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn feed(
        &mut self,
        data: impl Into<ByteString>,
        eof: bool,
        deadline: Duration,
    ) -> Result<StdinTaken, CallError> {
        let params = StdinParams {
            exec: self.record.exec.clone(),
            data: data.into(),
            eof,
        };
        let client = self.client.clone();
        let mut taken = std::pin::pin!(client.call::<method::WriteStdin>(&params, deadline));
        loop {
            tokio::select! {
                biased;
                taken = &mut taken => return taken,
                step = self.step(), if self.record.answer.is_none() => step?,
            }
        }
    }

    /// Feeds the command pieces, and the end behind them, without waiting for the answer to any before the next one is
    /// sent. Takes output as it comes, until each is answered; returns what each was answered, the end as the last.
    pub async fn feed_at_once(
        &mut self,
        pieces: Vec<Vec<u8>>,
        deadline: Duration,
    ) -> Vec<Result<StdinTaken, CallError>> {
        let client = self.client.clone();
        let end = StdinParams {
            exec: self.record.exec.clone(),
            data: ByteString::default(),
            eof: true,
        };
        let all: Vec<StdinParams> = pieces
            .into_iter()
            .map(|data| StdinParams {
                data: data.into(),
                eof: false,
                ..end.clone()
            })
            .chain([end.clone()])
            .collect();
        // Each is sent when it is looked at for the first time, which happens in this order.
        let calls = all
            .iter()
            .map(|params| client.call::<method::WriteStdin>(params, deadline));
        let mut taken = std::pin::pin!(join_all(calls));
        loop {
            tokio::select! {
                biased;
                taken = &mut taken => return taken,
                step = self.step(), if self.record.answer.is_none() => if let Err(fault) = step {
                    return vec![Err(fault.into())];
                },
            }
        }
    }

    /// Asks for the end of the command.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn cancel(&self, deadline: Duration) -> Result<(), CallError> {
        let params = CancelParams {
            exec: self.record.exec.clone(),
        };
        self.client
            .call::<method::Cancel>(&params, deadline)
            .await
            .map(|_| ())
    }

    /// Sends the command a signal.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn signal(&self, signal: i32, deadline: Duration) -> Result<(), CallError> {
        let params = SignalParams {
            exec: self.record.exec.clone(),
            signal,
        };
        self.client
            .call::<method::Signal>(&params, deadline)
            .await
            .map(|_| ())
    }

    /// Whether the adapter was told of this exec under this request id; for transcripts.
    #[must_use]
    pub fn request_id(&self) -> u64 {
        self.events.id
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        self.client.forget(&self.record.exec);
    }
}

fn lost() -> Fault {
    Fault::Crashed {
        how: String::new(),
        log: String::new(),
    }
}
