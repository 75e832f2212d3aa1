//! One command from its request to its answer: what was expected of it, beside what came.

use std::time::{Duration, Instant};

use herm_protocol::exec::Outcome;
use serde_json::{Value, json};

use super::{
    complaint::Complaint,
    refusal::{describe_error, result_message},
    talk::Asked,
    walk::{ANSWER, Walk, run_params},
};

/// A command, and what should come of it.
pub(super) struct Case {
    /// Its request, without sandbox and exec.
    pub(super) params: Value,
    /// How it should end.
    pub(super) outcome: Value,
    /// What it should print.
    pub(super) stdout: &'static str,
    /// And on standard error.
    pub(super) stderr: &'static str,
    /// What to look at when it comes out otherwise.
    pub(super) to_do: &'static str,
}

impl Case {
    /// A text for the shell that exits with code 0.
    pub(super) fn shell(text: &str, stdout: &'static str, to_do: &'static str) -> Self {
        Self {
            params: json!({"command": {"shell": text}}),
            outcome: exited(0),
            stdout,
            stderr: "",
            to_do,
        }
    }

    /// The same with another field in the request.
    pub(super) fn with(mut self, field: &str, value: Value) -> Self {
        self.params[field] = value;
        self
    }
}

/// What the author of a manifest does about a command that came out otherwise: the adapter is not theirs.
const TRY_BY_HAND: &str = "make a sandbox by the manifest's [open], run this command in it by its [exec], both by hand, and see \
                           what they say; change [exec], or what you declare, until it comes out as expected";

/// An outcome.
pub(super) fn exited(code: i32) -> Value {
    json!({"type": "exited", "code": code})
}

/// An outcome in words.
fn describe(outcome: &Value) -> String {
    let kind = outcome["type"].as_str().unwrap_or("?");
    match kind {
        "exited" => format!("exited with code {}", outcome["code"]),
        "signaled" => format!("signaled with number {}", outcome["number"]),
        "setup_failed" => format!("setup_failed ({}: {})", outcome["kind"], outcome["message"]),
        other => other.to_owned(),
    }
}

/// A case that was asked for.
pub(super) struct Running {
    pub(super) asked: Asked,
    pub(super) exec: String,
    pub(super) since: Instant,
    stdout: String,
    stderr: String,
    case: Case,
}

impl Walk<'_> {
    /// States what is expected of a case, and asks for it.
    pub(super) fn start_case(&mut self, case: Case) -> Running {
        let merged = self.choice("streams") == Some("merged");
        let (stdout, stderr) = if merged {
            (format!("{}{}", case.stdout, case.stderr), String::new())
        } else {
            (case.stdout.to_owned(), case.stderr.to_owned())
        };
        let exec = self.new_exec();
        let id = self.talk.next_id();
        self.expect(
            expectation(&case.outcome, &stdout, &stderr),
            example(id, &exec, &case.outcome, &stdout, &stderr),
        );
        let sandbox = self.sandbox.clone().unwrap_or_default();
        let params = run_params(&sandbox, &exec, &case.params);
        let asked = self.talk.ask("exec.run", &params);
        Running {
            asked,
            exec,
            since: Instant::now(),
            stdout,
            stderr,
            case,
        }
    }

    /// Waits for the answer of a case, and holds it against what was expected. Says how long it took, when it was carried
    /// out.
    pub(super) async fn finish_case(&mut self, running: &Running, within: Duration) -> Option<Duration> {
        let (answer, at) = self.answer(&running.asked, within).await?;
        let result = match answer {
            Ok(result) => result,
            Err(error) => {
                let what = format!("exec.run was refused: {}", describe_error(&error));
                self.complain(Complaint::new("refused", what, self.step(running.case.to_do)).of_its_own());
                return None;
            }
        };
        self.runs = true;
        let (expected, seen) = (&running.case.outcome, &result["outcome"]);
        let differs = expected["type"] != seen["type"] || expected["code"] != seen["code"];
        // What is no outcome at all is told by the schema.
        if differs && serde_json::from_value::<Outcome>(seen.clone()).is_ok() {
            let what = format!(
                "the outcome is {}; expected {}",
                describe(seen),
                describe(expected)
            );
            self.complain(
                Complaint::new("outcome", what, self.step(running.case.to_do))
                    .at("result.outcome")
                    .of_its_own(),
            );
        }
        for (stream, expected) in [("stdout", &running.stdout), ("stderr", &running.stderr)] {
            let seen = self
                .talk
                .command(&running.asked)
                .map(|command| command.bytes(stream).to_vec());
            let seen = String::from_utf8_lossy(&seen.unwrap_or_default()).into_owned();
            if seen != *expected {
                let what = format!("{stream} is {seen:?}; expected {expected:?}");
                self.complain(Complaint::new("output", what, self.step(running.case.to_do)).of_its_own());
            }
        }
        Some(at.saturating_duration_since(running.since))
    }

    /// The step that mends a command: that of an adapter's author, or of a manifest's.
    fn step(&self, of_adapter: &'static str) -> &'static str {
        if self.is_manifest { TRY_BY_HAND } else { of_adapter }
    }

    /// Asks for a case and waits for its end.
    pub(super) async fn run_case(&mut self, case: Case) {
        let running = self.start_case(case);
        self.finish_case(&running, ANSWER).await;
    }

    /// Waits until a command is announced, or has printed something, for as long as that may take.
    pub(super) async fn wait_for_start(&mut self, running: &Running) {
        let within = self.scaled(Duration::from_secs(2));
        let asked = running.asked.clone();
        self.talk
            .listen(within, |talk| {
                talk.command(&asked)
                    .is_some_and(|command| command.started() || command.answered())
            })
            .await;
    }
}

fn expectation(outcome: &Value, stdout: &str, stderr: &str) -> String {
    let part = |name: &str, text: &str| {
        (!text.is_empty()).then(|| format!("exec.output with {text:?} of {name} from offset 0"))
    };
    let parts = ["exec.started".to_owned()]
        .into_iter()
        .chain(part("stdout", stdout))
        .chain(part("stderr", stderr));
    let parts: Vec<String> = parts.collect();
    format!(
        "{}, then one answer: {}, {} bytes of stdout, {} of stderr",
        parts.join(", then "),
        describe(outcome),
        stdout.len(),
        stderr.len()
    )
}

fn example(id: u64, exec: &str, outcome: &Value, stdout: &str, stderr: &str) -> Vec<Value> {
    let mut messages = vec![notification("exec.started", &json!({"exec": exec}))];
    for (stream, text) in [("stdout", stdout), ("stderr", stderr)] {
        if !text.is_empty() {
            let params = json!({"exec": exec, "stream": stream, "offset": 0, "data": text});
            messages.push(notification("exec.output", &params));
        }
    }
    let result = json!({
        "outcome": outcome,
        "stdout": {"bytes": stdout.len()},
        "stderr": {"bytes": stderr.len()},
        "duration_ms": 3,
    });
    messages.push(result_message(id, &result));
    messages
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(super) async fn print(walk: &mut Walk<'_>) {
    let to_do = "start the shell that you declare with params.command.shell as its text (sh -c TEXT), send what it prints as \
                 exec.output, wait for its end, and answer";
    walk.run_case(Case::shell("echo hello", "hello\n", to_do)).await;
}

pub(super) async fn exit_code(walk: &mut Walk<'_>) {
    let to_do = "wait for the shell and send its own exit code as result.outcome.code, {\"type\":\"exited\",\"code\":7} here";
    let case = Case {
        outcome: exited(7),
        ..Case::shell("exit 7", "", to_do)
    };
    walk.run_case(case).await;
}

pub(super) async fn streams(walk: &mut Walk<'_>) {
    let to_do = "read both streams of the command; send standard error as \"stream\":\"stderr\" with offsets of its own, or, if \
                 you declare the choice streams=merged, both in one pipe as \"stream\":\"stdout\"";
    let case = Case {
        stderr: "err\n",
        ..Case::shell("echo out; echo err >&2", "out\n", to_do)
    };
    walk.run_case(case).await;
}
