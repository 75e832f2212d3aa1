//! The state of a walk: what was declared, what is open, and the exchange that is under way.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use herm_protocol::exec::{Command, RunParams};
use serde_json::Value;

use super::{
    complaint::Complaint,
    model::{BrokenOff, Exchange, Problem, Speaker, Verdict},
    plan::{Needs, Planned},
    talk::{Asked, Heard, Talk},
};
use crate::redact::Redactor;

/// How long a call may take that does nothing but answer.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// How long is listened after the last answer of an exchange, for what should not come.
const LINGER: Duration = Duration::from_millis(60);

/// Bytes of output that may be under way, as in a run.
const WINDOW: u64 = 1024 * 1024;

/// After so many requests in a row without an answer it is asked whether the adapter answers anything.
const SILENT: u32 = 2;

/// How long that answer may take.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);

/// So many requests without an answer end the walk.
const UNANSWERED: u32 = 5;

/// Takes every exchange when it is over.
pub type Teller<'a> = dyn FnMut(&Exchange) + Send + 'a;

pub(super) struct Walk<'a> {
    pub(super) talk: Talk<'a>,
    pub(super) capabilities: Vec<String>,
    pub(super) choices: BTreeMap<String, String>,
    pub(super) sandbox: Option<String>,
    pub(super) workdir: Option<String>,
    /// Whether our own adapter answers, for the commands of a manifest.
    pub(super) is_manifest: bool,
    /// Whether a command was answered.
    pub(super) runs: bool,
    pub(super) exchanges: Vec<Exchange>,
    redactor: &'a Redactor,
    tell: &'a mut Teller<'a>,
    current: Option<(Exchange, Instant)>,
    /// The exchange that each mistake was told in first.
    told: HashMap<String, usize>,
    silent: u32,
    unanswered: u32,
    execs: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(talk: Talk<'a>, redactor: &'a Redactor, tell: &'a mut Teller<'a>) -> Self {
        Self {
            talk,
            capabilities: Vec::new(),
            choices: BTreeMap::new(),
            sandbox: None,
            workdir: None,
            is_manifest: false,
            runs: false,
            exchanges: Vec::new(),
            redactor,
            tell,
            current: None,
            told: HashMap::new(),
            silent: 0,
            unanswered: 0,
            execs: 0,
        }
    }

    /// Why an exchange cannot be tried now, if it cannot.
    pub(super) fn obstacle(&self, planned: &Planned) -> Option<(Verdict, String)> {
        let waits_for = |id: &str| {
            let before = self.exchanges.iter().find(|exchange| exchange.id == id);
            let number = before.map_or(0, |exchange| exchange.number);
            let title = before.map_or(id, |exchange| exchange.title.as_str());
            Some((
                Verdict::Waiting,
                format!("exchange {number} ({title}) has to be answered first"),
            ))
        };
        if self.talk.lost.is_some() {
            return Some((Verdict::Waiting, "the conversation has ended".into()));
        }
        if let Some(capability) = planned.capability
            && !self.declares(capability)
        {
            return Some((Verdict::Undeclared, format!("{capability} is not declared")));
        }
        match planned.needs {
            Needs::Sandbox | Needs::Command if self.sandbox.is_none() => waits_for("open"),
            Needs::Command if !self.runs => waits_for("print"),
            _ => None,
        }
    }

    pub(super) fn declares(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|declared| declared == capability)
    }

    /// The variant of a choice that was declared.
    pub(super) fn choice(&self, name: &str) -> Option<&str> {
        self.choices.get(name).map(String::as_str)
    }

    /// A time, scaled by how far away the subject is.
    pub(super) fn scaled(&self, time: Duration) -> Duration {
        match self.choice("latency") {
            Some("cloud") => time * 8,
            Some("lan") => time * 3,
            _ => time,
        }
    }

    /// A name for a command that no other has.
    pub(super) fn new_exec(&mut self) -> String {
        self.execs += 1;
        format!("smoke-{}", self.execs)
    }

    /// Leaves an exchange out.
    pub(super) fn leave_out(&mut self, planned: &Planned, verdict: Verdict, why: String) {
        let mut exchange = self.empty(planned);
        exchange.verdict = verdict;
        exchange.note = Some(why);
        (self.tell)(&exchange);
        self.exchanges.push(exchange);
    }

    /// Begins an exchange.
    pub(super) fn begin(&mut self, planned: &Planned) {
        self.current = Some((self.empty(planned), Instant::now()));
        self.talk.heard = Heard::default();
    }

    fn empty(&self, planned: &Planned) -> Exchange {
        Exchange {
            number: self.exchanges.len() + 1,
            id: planned.id,
            title: planned.title.to_owned(),
            purpose: planned.purpose,
            expected: String::new(),
            verdict: Verdict::Right,
            note: None,
            duration_ms: 0,
            conversation: Vec::new(),
            left_out: 0,
            problems: Vec::new(),
            advice: Vec::new(),
            example: Vec::new(),
        }
    }

    /// States what is expected of the exchange under way, and messages that would be right.
    pub(super) fn expect(&mut self, expected: impl Into<String>, example: impl IntoIterator<Item = Value>) {
        if let Some((exchange, _)) = &mut self.current {
            exchange.expected = expected.into();
            exchange.example = example.into_iter().map(|message| message.to_string()).collect();
        }
    }

    /// Adds the answer to another request to what is expected of the exchange under way: its place in the example, from
    /// the end.
    pub(super) fn expect_besides(&mut self, expected: &str, answers: &[Value], before_last: bool) {
        if let Some((exchange, _)) = &mut self.current {
            exchange.expected = format!("{}; {expected}", exchange.expected);
            let last = exchange.example.len();
            let place = if before_last { last.saturating_sub(1) } else { last };
            exchange
                .example
                .splice(place..place, answers.iter().map(Value::to_string));
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        if let Some((exchange, _)) = &mut self.current {
            exchange.note = Some(note.into());
        }
    }

    pub(super) fn complain(&mut self, complaint: Complaint) {
        self.talk.heard.complaints.push(complaint);
    }

    pub(super) fn advise(&mut self, advice: impl Into<String>) {
        self.talk.heard.advice.push(advice.into());
    }

    /// Asks, and waits for the answer.
    pub(super) async fn call(
        &mut self,
        method: &str,
        params: &Value,
        within: Duration,
    ) -> Option<Result<Value, Value>> {
        let asked = self.talk.ask(method, params);
        self.answer(&asked, within).await.map(|(answer, _)| answer)
    }

    /// Whether the last request had no answer: then the next one will hardly have one that takes long.
    pub(super) fn was_silent(&self) -> bool {
        self.silent > 0
    }

    /// Waits for an answer. An adapter that goes on answering nothing is given up.
    pub(super) async fn answer(
        &mut self,
        asked: &Asked,
        within: Duration,
    ) -> Option<(Result<Value, Value>, Instant)> {
        let within = self.scaled(within);
        let answer = self.talk.answer(asked, within).await;
        if answer.is_some() {
            self.silent = 0;
            return answer;
        }
        self.silent += 1;
        self.unanswered += 1;
        if self.unanswered >= UNANSWERED {
            let why = format!("{UNANSWERED} requests had no answer, and every further one takes its time");
            self.talk.give_up(&why).await;
        } else if self.silent >= SILENT && !self.is_there().await {
            let why = format!("it answers nothing any more: {SILENT} requests in a row had no answer");
            self.talk.give_up(&why).await;
        }
        None
    }

    /// Whether the adapter answers anything: closing a sandbox that is not there costs nothing.
    async fn is_there(&mut self) -> bool {
        let within = self.scaled(SIGN_OF_LIFE);
        let asked = self.talk.ask(
            "sandbox.close",
            &serde_json::json!({"sandbox": super::refusal::NOBODY}),
        );
        let there = self.talk.is_answered(&asked, within).await;
        if there {
            self.silent = 0;
        }
        there
    }

    /// Ends the exchange under way: listens a moment for what should not come, and tells what came of it.
    pub(super) async fn finish(&mut self) {
        let linger = self.scaled(LINGER);
        self.talk.listen(linger, |_| false).await;
        let heard = std::mem::take(&mut self.talk.heard);
        let Some((mut exchange, started)) = self.current.take() else {
            return;
        };
        exchange.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        exchange.conversation = heard.lines;
        exchange.left_out = heard.left_out;
        let has_log = exchange.conversation.iter().any(|line| line.from == Speaker::Log);
        for mut complaint in heard.complaints {
            if complaint.kind == "no_answer" && has_log {
                complaint.to_do = format!(
                    "see what it wrote to standard error (·) above; then {}",
                    complaint.to_do
                );
            }
            self.add(&mut exchange, complaint);
        }
        if let Some(BrokenOff::Lost { why, log }) = &self.talk.lost
            && !self.talk.loss_is_told
        {
            let to_do = if log.is_empty() {
                "it wrote nothing to standard error: let it write there what it does (print(…, file=sys.stderr) in Python), and see \
                 how far it comes; or start it by hand and type the lines marked → to it"
            } else {
                "see what it wrote to standard error (·) above; or start it by hand and type the lines marked → to it"
            };
            let lost = Complaint::new("lost", why.clone(), to_do);
            self.add(&mut exchange, lost);
        }
        exchange.advice = heard
            .advice
            .into_iter()
            .map(|advice| self.redactor.text(&advice))
            .collect();
        exchange.note = exchange.note.map(|note| self.redactor.text(&note));
        if !exchange.problems.is_empty() {
            exchange.verdict = Verdict::Wrong;
        }
        (self.tell)(&exchange);
        self.exchanges.push(exchange);
    }

    /// Puts a mistake into an exchange; the same one is told once in it, and referred to in a later one.
    fn add(&mut self, exchange: &mut Exchange, complaint: Complaint) {
        let known = exchange
            .problems
            .iter_mut()
            .find(|problem| problem.key == complaint.key);
        if let Some(problem) = known {
            problem.times += 1;
            return;
        }
        let first = *self.told.entry(complaint.key.clone()).or_insert(exchange.number);
        exchange.problems.push(Problem {
            kind: complaint.kind,
            what: self.redactor.text(&complaint.what),
            path: complaint.path,
            rule: complaint.rule,
            to_do: self.redactor.text(&complaint.to_do),
            times: 1,
            as_in: Some(first).filter(|first| *first != exchange.number),
            key: complaint.key,
        });
    }
}

/// The request for a command, as every run sends it; what stands in `more` is put in.
pub(super) fn run_params(sandbox: &str, exec: &str, more: &Value) -> Value {
    let mut params = RunParams::new(sandbox, exec, Command::Shell("true".into()));
    params.window = Some(WINDOW);
    let mut params = serde_json::to_value(&params).unwrap_or_default();
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    params
}
