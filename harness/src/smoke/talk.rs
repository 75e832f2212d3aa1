//! A conversation that forgives everything and overlooks nothing: what an adapter sends is taken for what was meant, as far
//! as it can be, so that the next exchange can be tried, and every mistake in it is told.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use herm_protocol::{client::Stopped, message::Message};
use serde_json::Value;

use super::{
    complaint::{Complaint, complaint_of},
    events::Command,
    model::{BrokenOff, Speaker, SpokenLine},
    wire::{Arrival, Wire},
};
use crate::{
    near_miss::hint,
    redact::Redactor,
    scene::shorten_line,
    stop::Stop,
    validate::{Content, MessageReader, Read},
};

/// Lines of an exchange that are kept from its start, and from its end.
const FIRST_LINES: usize = 20;
const LAST_LINES: usize = 8;

/// Lines in one exchange that are a flood.
const FLOOD: usize = 5000;

/// How long an adapter that breaks off may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// What came to pass in one exchange.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) lines: Vec<SpokenLine>,
    pub(super) left_out: usize,
    pub(super) complaints: Vec<Complaint>,
    pub(super) advice: Vec<String>,
    arrived: usize,
}

/// A request that was sent.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) id: u64,
    pub(super) method: String,
}

/// The conversation with one adapter.
pub(super) struct Talk<'a> {
    wire: Wire,
    reader: MessageReader,
    redactor: &'a Redactor,
    stop: &'a Stop,
    next_id: u64,
    /// Requests without an answer, in the order of asking.
    open: Vec<Asked>,
    /// Answers, with the moment of each, until they are taken.
    answers: HashMap<u64, (Result<Value, Value>, Instant)>,
    answered: HashMap<u64, String>,
    /// Commands, by the number of their request.
    commands: HashMap<u64, Command>,
    pub(super) heard: Heard,
    pub(super) lost: Option<BrokenOff>,
    /// Whether that was told already, as a mistake of its own.
    pub(super) loss_is_told: bool,
    /// Its input was ended; that it ends is as it should be.
    over: bool,
}

impl<'a> Talk<'a> {
    pub(super) fn new(wire: Wire, redactor: &'a Redactor, stop: &'a Stop) -> Self {
        Self {
            wire,
            reader: MessageReader::default(),
            redactor,
            stop,
            next_id: 1,
            open: Vec::new(),
            answers: HashMap::new(),
            answered: HashMap::new(),
            commands: HashMap::new(),
            heard: Heard::default(),
            lost: None,
            loss_is_told: false,
            over: false,
        }
    }

    /// The number that the next request will have.
    pub(super) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Asked {
        let asked = Asked {
            id: self.next_id,
            method: method.to_owned(),
        };
        self.next_id += 1;
        if method == "exec.run" {
            let exec = params["exec"].as_str().unwrap_or_default();
            self.commands.insert(asked.id, Command::new(exec));
        }
        self.open.push(asked.clone());
        let line = Message::request(asked.id, method, params).to_line();
        self.reader.sent(&line);
        self.note(Speaker::Harness, line.trim_ascii_end());
        self.wire.send(line);
        asked
    }

    /// What is known of the command that a request asked for.
    pub(super) fn command(&self, asked: &Asked) -> Option<&Command> {
        self.commands.get(&asked.id)
    }

    /// Waits for an answer; tells when none comes. With the moment at which it came.
    pub(super) async fn answer(
        &mut self,
        asked: &Asked,
        within: Duration,
    ) -> Option<(Result<Value, Value>, Instant)> {
        let id = asked.id;
        self.listen(within, |talk| talk.answers.contains_key(&id)).await;
        let answer = self.answers.remove(&id);
        if answer.is_none() && self.lost.is_none() {
            let (method, seconds) = (&asked.method, within.as_secs());
            self.heard.complaints.push(Complaint::new(
                "no_answer",
                format!("no answer to {method} came within {seconds} s"),
                &format!(
                    "answer with one line that has the request's id: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":…}}, or \"error\" \
                     instead of \"result\"; end it with a newline, and flush standard output after each line (print(…, flush=True) in Python)"
                ),
            ));
        }
        answer
    }

    /// Waits for an answer and takes it, whatever it is; none is no mistake.
    pub(super) async fn is_answered(&mut self, asked: &Asked, within: Duration) -> bool {
        let id = asked.id;
        self.listen(within, |talk| talk.answers.contains_key(&id)).await;
        self.answers.remove(&id).is_some()
    }

    /// Whether a request is without an answer.
    pub(super) fn is_open(&self, asked: &Asked) -> bool {
        self.open.iter().any(|open| open.id == asked.id)
    }

    /// Listens until something holds; no longer than this, and not after the end.
    pub(super) async fn listen(&mut self, within: Duration, done: impl Fn(&Self) -> bool) {
        let until = tokio::time::Instant::now() + within;
        while self.lost.is_none() && !self.over && !done(self) {
            let stop = self.stop.clone();
            let arrival = tokio::select! {
                biased;
                () = stop.stopped() => {
                    let signal = stop.signal().unwrap_or_default();
                    self.lost = Some(BrokenOff::Interrupted { signal });
                    return;
                }
                arrival = tokio::time::timeout_at(until, self.wire.next()) => arrival,
            };
            match arrival {
                Err(_) => break,
                Ok(arrival) => self.arrived(arrival).await,
            }
        }
        self.note_log();
    }

    async fn arrived(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Line(line) => {
                self.heard.arrived += 1;
                if self.heard.arrived > FLOOD {
                    let why = format!("it flooded the connection: more than {FLOOD} lines in one exchange");
                    self.lose(why).await;
                    return;
                }
                // Log that explains a line was written before it.
                self.note_log();
                self.note(Speaker::Adapter, &line);
                let read = self.reader.received(&line);
                self.judge(&read, &line);
            }
            Arrival::TooLong { bytes } => {
                let why = format!(
                    "it flooded the connection: {bytes} bytes without a newline; every message is a line of at most {} bytes",
                    herm_protocol::DEFAULT_MAX_MESSAGE_BYTES
                );
                self.lose(why).await;
            }
            Arrival::End => {
                let how = self.wire.how_it_ended().await;
                let why = match self.open.last() {
                    Some(asked) => format!(
                        "the adapter ended{how} while {} (id {}) had no answer",
                        asked.method, asked.id
                    ),
                    None => format!("the adapter ended{how}, although its input had not"),
                };
                self.lose(why).await;
            }
        }
    }

    async fn lose(&mut self, why: String) {
        self.wire.stop(GRACE).await;
        self.note_log();
        let log = self.heard.lines.iter().filter(|line| line.from == Speaker::Log);
        let mut log: Vec<String> = log.map(|line| line.text.clone()).collect();
        let log = log.split_off(log.len().saturating_sub(5));
        self.lost = Some(BrokenOff::Lost { why, log });
    }

    /// Gives up on an adapter; what it did wrong was complained of.
    pub(super) async fn give_up(&mut self, why: &str) {
        if self.lost.is_none() {
            self.loss_is_told = true;
            self.lose(why.to_owned()).await;
        }
    }

    fn judge(&mut self, read: &Read, line: &[u8]) {
        for breach in &read.breaches {
            self.heard.complaints.push(complaint_of(read, breach, line));
        }
        for advice in &read.advice {
            let told = format!("{}: {advice}", read.name);
            if !self.heard.advice.contains(&told) {
                self.heard.advice.push(told);
            }
        }
        match &read.content {
            Content::Noise | Content::Nothing => {}
            Content::Answer { id, result } => self.take_answer(*id, result),
            Content::Call { method, params } => self.take_call(method, params),
        }
    }

    fn take_answer(&mut self, id: Option<u64>, result: &Result<Value, Value>) {
        // Where the id says nothing and one request is open, there is no doubt what is answered.
        let id = match (id, self.open.as_slice()) {
            (Some(id), _) => id,
            (None, [only]) => {
                let (id, method) = (only.id, only.method.clone());
                self.answered_without_id(id, &method, result);
                id
            }
            (None, _) => return,
        };
        let Some(place) = self.open.iter().position(|asked| asked.id == id) else {
            if let Some(method) = self.answered.get(&id) {
                let complaint = Complaint::new(
                    "answered_twice",
                    format!("{method} (id {id}) was answered a second time"),
                    "answer every request once; what happens on the way is told by notifications, which have no id",
                );
                self.heard.complaints.push(complaint.at("id"));
            }
            return;
        };
        let asked = self.open.remove(place);
        if let Some(command) = self.commands.get_mut(&id) {
            command.answer(result, &mut self.heard.complaints);
        }
        self.answered.insert(id, asked.method);
        self.answers.insert(id, (result.clone(), Instant::now()));
    }

    /// An error with the id null is right for a line that cannot be read; everything else is told by the reader.
    fn answered_without_id(&mut self, id: u64, method: &str, result: &Result<Value, Value>) {
        if result.is_err() {
            let complaint = Complaint::new(
                "null_id",
                format!("an error without an id came, when {method} (id {id}) had to be answered"),
                &format!(
                    "send the id of the request, {id} here; null is for a line that cannot be read, and this one is right: see that \
                     you read a whole line at a time, as UTF-8"
                ),
            );
            self.heard.complaints.push(complaint.at("id"));
        }
    }

    fn take_call(&mut self, method: &str, params: &Value) {
        let Some(exec) = method
            .starts_with("exec.")
            .then(|| params["exec"].as_str())
            .flatten()
        else {
            return;
        };
        let command = self.commands.values_mut().find(|command| command.exec == exec);
        if let Some(command) = command {
            command.notified(method, params, &mut self.heard.complaints);
            return;
        }
        let known = self.commands.values().map(|command| command.exec.as_str());
        let hint = hint(exec, known);
        let complaint = Complaint::new(
            "unknown_exec",
            format!("{method} is about {exec:?}, which is no command that was asked for{hint}"),
            "repeat params.exec of the request exec.run as it is, in every notification about that command",
        );
        self.heard.complaints.push(complaint.at("params.exec"));
    }

    fn note(&mut self, from: Speaker, line: &[u8]) {
        let text = self.redactor.text(&shorten_line(line));
        let lines = &mut self.heard.lines;
        let of_log = |line: &SpokenLine| line.from == Speaker::Log;
        // Log may be much, and must not push messages out.
        let too_much =
            if from == Speaker::Log && lines.iter().filter(|line| of_log(line)).count() >= LAST_LINES {
                lines.iter().position(of_log)
            } else if lines.len() >= FIRST_LINES + LAST_LINES {
                Some(FIRST_LINES)
            } else {
                None
            };
        if let Some(place) = too_much {
            lines.remove(place);
            self.heard.left_out += 1;
        }
        lines.push(SpokenLine { from, text });
    }

    fn note_log(&mut self) {
        for line in self.wire.take_log() {
            self.note(Speaker::Log, line.as_bytes());
        }
    }

    /// The number of the guard's process, while it runs.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.wire.process_id()
    }

    /// Ends the adapter's input and waits for its end. What it still writes to its log is noted.
    pub(super) async fn end(&mut self, grace: Duration) -> Option<Stopped> {
        self.over = true;
        let stopped = self.wire.stop(grace).await;
        self.note_log();
        stopped
    }
}
