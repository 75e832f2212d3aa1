//! Running a command.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ByteString, rpc::Rpc, sandbox::Variable};

/// Parameters of `exec.run`. The request is answered once: when the command has ended, or, with `detach`, when it was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunParams {
    /// Where.
    pub sandbox: String,
    /// The caller's name for this exec, unique on the connection.
    pub exec: String,
    /// What.
    pub command: Command,
    /// The directory it starts in: absolute, or as the choice `relative_path` says. Needs `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<ByteString>,
    /// Variables on top of the sandbox's; a name given here wins. Needs `env`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Variable>,
    /// What it reads. Anything but `none` needs `stdin`, streaming needs `stdin_stream`.
    #[serde(default)]
    pub stdin: Stdin,
    /// Milliseconds from acceptance after which everything of the command is ended. Needs `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The session whose state it starts from and leaves behind, by a name of the caller's: 1 to 256 bytes. What that state
    /// is says the choice `state`. A session begins with the first command that names it; a command without one starts
    /// afresh. The command is text for the shell, whose state it is. `cwd` and `env` are this command's own: the session
    /// keeps what it had. Needs `sessions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The user it runs as. Needs `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The terminal it runs on. Needs `pty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
    /// Whether the call returns at once, with [`crate::job::JobStarted`], and the command goes on as a job. Needs `jobs`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach: bool,
    /// How much of the output is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// How many bytes of output may be under way before the caller grants more with `exec.credit`; unbounded when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Milliseconds between `exec.alive` notifications; 5000 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alive_ms: Option<u64>,
    /// The tools of its caller that it may call; none when not given. Not with `detach`, where nobody waits who could be
    /// asked. Needs `rpc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<Rpc>,
}

impl RunParams {
    /// A command in a sandbox with everything else left at its default.
    pub fn new(sandbox: impl Into<String>, exec: impl Into<String>, command: Command) -> Self {
        Self {
            sandbox: sandbox.into(),
            exec: exec.into(),
            command,
            cwd: None,
            env: Vec::new(),
            stdin: Stdin::None,
            timeout_ms: None,
            session: None,
            user: None,
            pty: None,
            detach: false,
            capture: None,
            window: None,
            alive_ms: None,
            rpc: None,
        }
    }
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program with its arguments, no shell between. Needs `argv`.
    Argv(Vec<ByteString>),
    /// Text for the shell that the choice `shell` names.
    Shell(ByteString),
}

/// What a command reads on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum Stdin {
    /// End of file at once.
    #[default]
    None,
    /// These bytes, then end of file.
    Bytes {
        /// The bytes.
        data: ByteString,
    },
    /// What `exec.stdin` brings.
    Stream,
}

/// A terminal's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pty {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

/// How much of the output is sent: its first and last bytes, each stream for itself. What lies between is a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// Bytes from the start.
    pub head: u64,
    /// Bytes from the end, sent when the command has ended.
    pub tail: u64,
    /// Whether the answer has the SHA-256 of the whole.
    #[serde(default)]
    pub digest: bool,
}

/// A stream of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output; both streams in one where the choice `streams` is `merged`.
    Stdout,
    /// Standard error.
    Stderr,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "standard output",
            Self::Stderr => "standard error",
        })
    }
}

/// Notification `exec.started`: the command was accepted. It comes once, before any output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedParams {
    /// Which exec.
    pub exec: String,
}

/// Notification `exec.output`: a piece of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputParams {
    /// Which exec.
    pub exec: String,
    /// Which stream.
    pub stream: Stream,
    /// The number of bytes of this stream that the command wrote before this piece.
    pub offset: u64,
    /// The bytes.
    pub data: ByteString,
}

/// Notification `exec.alive`: the command still runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AliveParams {
    /// Which exec.
    pub exec: String,
}

/// Notification `exec.credit` to the adapter: so many more bytes of output may be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreditParams {
    /// Which exec.
    pub exec: String,
    /// Bytes on top of what was granted before.
    pub bytes: u64,
}

/// Parameters of `exec.stdin`. It is answered when the bytes were taken, which is the back pressure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StdinParams {
    /// Which exec.
    pub exec: String,
    /// The bytes.
    #[serde(default)]
    pub data: ByteString,
    /// Whether end of file follows.
    #[serde(default)]
    pub eof: bool,
}

/// Answer to `exec.stdin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StdinTaken {
    /// Whether the command could still read the bytes; `false` when it has closed its input or ended.
    pub open: bool,
}

/// Parameters of `exec.cancel`: everything of the command is ended, the outcome is `cancelled`. Needs `cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelParams {
    /// Which exec.
    pub exec: String,
}

/// Parameters of `exec.signal`. Needs `signal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalParams {
    /// Which exec.
    pub exec: String,
    /// The signal's number, 1–64.
    pub signal: i32,
}

/// Answer to `exec.run`: how the command ended, and exactly how much it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// How it ended.
    pub outcome: Outcome,
    /// Totals of standard output.
    pub stdout: StreamTotal,
    /// Totals of standard error.
    pub stderr: StreamTotal,
    /// What of the output was not sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Milliseconds from acceptance to the end of the command.
    pub duration_ms: u64,
    /// What the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// The job under which something that the command has left running, and that holds its output, goes on. Needs `jobs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

/// How much a command wrote to a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamTotal {
    /// Bytes, whether sent or not.
    pub bytes: u64,
    /// SHA-256 of all of them in lower-case hexadecimal, when `capture.digest` asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A stretch of output that was not sent: the bytes from offset `from` up to, but not including, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Which stream.
    pub stream: Stream,
    /// Offset of the first missing byte.
    pub from: u64,
    /// Offset of the first byte after the gap.
    pub to: u64,
}

/// How a command ended: a closed set. An unknown status is never an exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Outcome {
    /// It exited by itself; a shell's 126 and 127 are here too.
    Exited {
        /// 0–255.
        code: i32,
    },
    /// A signal ended it that the backend did not send.
    Signaled {
        /// The signal's number.
        number: i32,
        /// Why, where it is known.
        #[serde(default)]
        cause: SignalCause,
    },
    /// Its deadline passed and everything of it was ended.
    TimedOut,
    /// `exec.cancel` ended it.
    Cancelled,
    /// The sandbox it ran in is gone.
    SandboxLost,
    /// The connection to the sandbox was lost; how it ended is not known.
    TransportLost,
    /// Nothing of it ran.
    SetupFailed {
        /// What was in the way.
        kind: SetupFailure,
        /// For people, naming the resource.
        message: String,
    },
}

/// Why a signal came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalCause {
    /// A memory limit.
    OutOfMemory,
    /// Not known.
    #[default]
    Unknown,
}

/// Why nothing of a command ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetupFailure {
    /// The directory to start in is not there.
    CwdNotFound,
    /// The path to start in is no directory.
    CwdNotADirectory,
    /// The directory to start in may not be entered.
    CwdDenied,
    /// The shell is not there.
    ShellNotFound,
    /// The program of an argument list is not there.
    ProgramNotFound,
    /// The program of an argument list may not be run, or is no program.
    ProgramDenied,
    /// A limit that was asked for cannot be set.
    LimitUnavailable,
    /// Processes, memory or descriptors have run out.
    ResourcesExhausted,
    /// Anything else; the message says what.
    Other,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exited with code {code}"),
            Self::Signaled {
                number,
                cause: SignalCause::OutOfMemory,
            } => {
                write!(f, "ended by signal {number}, out of memory")
            }
            Self::Signaled { number, .. } => write!(f, "ended by signal {number}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::SandboxLost => f.write_str("sandbox lost"),
            Self::TransportLost => f.write_str("transport lost"),
            Self::SetupFailed { message, .. } => write!(f, "set-up failed: {message}"),
        }
    }
}

impl RunParams {
    /// The deadline, if there is one.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}
