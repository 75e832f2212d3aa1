//! What a walk through the exchanges has shown, for people and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of the JSON that `herm smoke --json` prints.
pub const FORMAT: &str = "herm-smoke/1";

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of it is as it should be.
    Right,
    /// Something is not.
    Wrong,
    /// Not tried: what it is about was not declared.
    Undeclared,
    /// Not tried: an earlier exchange has to be right first.
    Waiting,
}

/// Who wrote a line of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The harness, to the adapter's standard input.
    Harness,
    /// The adapter, on its standard output.
    Adapter,
    /// The adapter, on its standard error, which is log.
    Log,
}

/// A line of the conversation, redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpokenLine {
    /// Who wrote it.
    pub from: Speaker,
    /// The line, without its end; the middle of one that is very long is left out.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// A stable word for machines.
    pub kind: String,
    /// What is wrong, naming the message.
    pub what: String,
    /// Where in the message, when it is about one: `result.stdout.bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The rule of the schema or of JSON-RPC that is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The step that mends it.
    pub to_do: String,
    /// How often it came in this exchange.
    pub times: u32,
    /// The number of the earlier exchange that had the same problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_in: Option<usize>,
    /// Two with the same key are the same mistake.
    #[serde(skip)]
    pub(super) key: String,
}

/// One exchange: what was said for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exchange {
    /// Its number, from 1.
    pub number: usize,
    /// A stable word for machines.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// What it is for, in one line.
    pub purpose: &'static str,
    /// What was expected, in one line.
    pub expected: String,
    /// What became of it.
    pub verdict: Verdict,
    /// More about the verdict: what was seen, or why it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What was said.
    pub conversation: Vec<SpokenLine>,
    /// Lines of the conversation that were left out.
    pub left_out: usize,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is allowed, and maybe not meant.
    pub advice: Vec<String>,
    /// Messages that would be right, a line each.
    pub example: Vec<String>,
}

/// Why a walk did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BrokenOff {
    /// The adapter could not be started: nothing ran.
    NotStarted {
        /// Why, and what to do.
        why: String,
    },
    /// It has ended, or answers no more.
    Lost {
        /// What happened.
        why: String,
        /// The last lines of its log.
        log: Vec<String>,
    },
    /// The user has asked for the end.
    Interrupted {
        /// The signal.
        signal: u8,
    },
}

/// A subject, walked through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Smoke {
    /// The subject's name.
    pub subject: String,
    /// The words that name it on a command line.
    pub arguments: Vec<String>,
    /// Every exchange, in order.
    pub exchanges: Vec<Exchange>,
    /// Why the walk did not come to its end, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_off: Option<BrokenOff>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What `herm smoke --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmokeReport {
    /// The version of this format: `herm-smoke/1`.
    pub format: &'static str,
    /// Every subject, in order.
    pub subjects: Vec<Smoke>,
}

impl Smoke {
    /// How many exchanges have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.exchanges
            .iter()
            .filter(|exchange| exchange.verdict == verdict)
            .count()
    }

    /// What this does to the exit code: 4 when the conversation broke off, 3 when nothing ran.
    #[must_use]
    pub fn exit(&self) -> crate::verdict::Exit {
        use crate::verdict::Exit;
        match &self.broken_off {
            Some(BrokenOff::Interrupted { signal }) => Exit::Interrupted { signal: *signal },
            Some(BrokenOff::NotStarted { .. }) => Exit::NothingRan,
            Some(BrokenOff::Lost { .. }) => Exit::Broken,
            None if self.count(Verdict::Wrong) > 0 => Exit::NotConformant,
            None => Exit::Conformant,
        }
    }
}
