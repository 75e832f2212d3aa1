//! Jobs: commands that go on after their call has returned, and that any process finds again by id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ByteString,
    exec::{Gap, Outcome, Stream, StreamTotal},
};

/// Answer to `exec.run` with `detach`: the command was accepted and goes on as a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobStarted {
    /// The id that the calls about jobs name, unique in its sandbox and never given again.
    pub job: String,
}

/// Parameters of `job.list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobListParams {
    /// Where.
    pub sandbox: String,
}

/// Answer to `job.list`: every job that was not forgotten, the oldest first. A command whose caller waits for it is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<JobInfo>,
}

/// A job as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobInfo {
    /// Its id.
    pub job: String,
    /// What was run, for people; shortened when it is long.
    pub command: ByteString,
    /// Milliseconds since it was accepted.
    pub age_ms: u64,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether it waits for a reader: what is kept of a stream is full, and it goes on when that is read (`spool_full`:
    /// `block`). Left out when it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// Totals of standard output until now.
    pub stdout: StreamTotal,
    /// Totals of standard error until now.
    pub stderr: StreamTotal,
}

/// Parameters of the calls that only name a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRef {
    /// Where.
    pub sandbox: String,
    /// Which.
    pub job: String,
}

/// Parameters of `job.output`: reads one stream from a cursor. It is answered at once, with what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobOutputParams {
    /// Where.
    pub sandbox: String,
    /// Which.
    pub job: String,
    /// Which stream.
    pub stream: Stream,
    /// The offset of the first byte that is wanted. What comes before it was taken: where a full spool makes a job wait
    /// (`spool_full`: `block`), it may be dropped, so that the job goes on.
    #[serde(default)]
    pub from: u64,
    /// The most bytes that are wanted; 1 MiB when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// Answer to `job.output`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobOutput {
    /// The bytes from `offset` on.
    pub data: ByteString,
    /// The offset of the first byte of `data`: the one that was asked for, unless a gap comes before it.
    pub offset: u64,
    /// What was asked for and is kept no more, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// Whether the job has ended and nothing follows `data`.
    pub end: bool,
}

/// Parameters of `job.wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobWaitParams {
    /// Where.
    pub sandbox: String,
    /// Which.
    pub job: String,
    /// Milliseconds after which it is answered although the job still runs; not before its end when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
}
