//! The one stream of events of a run. Every report is a function of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{Level, Verdict};

/// The version of the format of `events.jsonl` and `report.json`.
pub const FORMAT: u32 = 1;

/// One line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first event.
    RunStarted {
        /// See [`FORMAT`].
        format: u32,
        /// The version of the suite.
        suite_version: String,
        /// The run's id.
        run: String,
        /// When, RFC 3339.
        started: String,
        /// Whether a flaky MUST counts against a subject.
        #[serde(default)]
        certify: bool,
    },
    /// A subject's plan: every requirement has a row.
    SubjectPlanned {
        /// Who.
        subject: SubjectInfo,
        /// Every requirement of the contract, in the order of the contract.
        rows: Vec<PlannedRow>,
    },
    /// A requirement is being tested.
    RequirementStarted {
        /// On which subject.
        subject: String,
        /// Which.
        id: String,
    },
    /// A requirement has its verdict.
    RequirementFinished {
        /// On which subject.
        subject: String,
        /// Which.
        id: String,
        /// What is said of it.
        verdict: Verdict,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// Why, unless it passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<Detail>,
        /// The command that shows it again, when it is red.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reproduce: Option<String>,
    },
    /// A subject could not be tested at all; its rows stay without a verdict.
    SubjectSkipped {
        /// Who.
        subject: String,
        /// Why, and what to do.
        reason: String,
        /// Whether its adapter broke: then it was meant to be tested, and the run is broken, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The last event; a run without it was killed.
    RunFinished {
        /// The signal that ended it early, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupted: Option<u8>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
}

/// Who is tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectInfo {
    /// Its name, unique in the run.
    pub name: String,
    /// The version it states.
    #[serde(default)]
    pub version: String,
    /// Where to read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// What kind of place commands run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// How commands are run there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether the service behind it is an emulation.
    pub emulated: bool,
    /// What it declares to work.
    pub capabilities: Vec<String>,
    /// Which variants it declares.
    pub choices: BTreeMap<String, String>,
    /// What of its capabilities no requirement of the suite looks at yet: nothing is said of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untested: Vec<String>,
    /// How many requirements it is tested on at the same time.
    #[serde(default)]
    pub parallelism: u32,
}

/// A requirement in a subject's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRow {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How binding it is.
    pub level: Level,
    /// The folder of the contract it is in.
    pub chapter: String,
    /// Why it exists, with the link to its source.
    pub reason: String,
    /// Set when it will not be run: `unsupported` or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Verdict>,
    /// Why it will not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detail {
    /// The step of the scenario at which it happened, with its keyword.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The row of the scenario's examples, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// The feature file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was seen; for an error, what broke.
    pub seen: String,
    /// A word for machines: `adapter_crashed`, `deadline`, `interrupted` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What the expectation file has to say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The last lines of the conversation with the adapter, shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<String>,
}
