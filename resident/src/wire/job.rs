//! Jobs: every exec is one, from its acceptance until it is forgotten.

use super::bytes::{DecodeError, Reader, Writer};

/// The longest message for people.
const MESSAGE: usize = 16 * 1024;
const NOTICES: usize = 64;

/// A stream of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output, or both streams where they are merged.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Both, in the order in which pairs name them.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// The place in a pair of both streams.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self == Self::Stderr)
    }

    pub(super) fn write(self, writer: &mut Writer) {
        writer.flag(self == Self::Stderr);
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(if reader.flag()? {
            Self::Stderr
        } else {
            Self::Stdout
        })
    }
}

/// How a command ended. Of the closed set of outcomes, only the loss of the connection is not here: the client sees that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It exited by itself; a shell's 126 and 127 are here too.
    Exited {
        /// 0–255.
        code: u8,
    },
    /// A signal ended it that the resident did not send.
    Signaled {
        /// The signal's number.
        number: u8,
        /// Why, where it is known.
        cause: SignalCause,
    },
    /// Its deadline passed and everything of it was ended.
    TimedOut,
    /// [`Request::Cancel`](super::Request::Cancel) ended it.
    Cancelled,
    /// The resident was shut down and ended it.
    SandboxLost,
    /// Nothing of it ran.
    SetupFailed {
        /// What was in the way.
        kind: SetupFailure,
        /// For people, naming the resource.
        message: String,
    },
}

/// Why a signal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalCause {
    /// A memory limit: the cgroup's own counter says so.
    OutOfMemory,
    /// Not known.
    Unknown,
}

/// Why nothing of a command ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SetupFailure {
    /// The directory to start in is not there.
    CwdNotFound = 1,
    /// The path to start in is no directory.
    CwdNotADirectory = 2,
    /// The directory to start in may not be entered.
    CwdDenied = 3,
    /// The shell is not there.
    ShellNotFound = 4,
    /// The program of an argument list is not there.
    ProgramNotFound = 5,
    /// The program of an argument list may not be run, or is no program.
    ProgramDenied = 6,
    /// A limit that was asked for cannot be set.
    LimitUnavailable = 7,
    /// Processes, memory, descriptors or disk space have run out.
    ResourcesExhausted = 8,
    /// Anything else; the message says what.
    Other = 9,
    /// The arguments and variables together are more than the system takes: the caller's mistake, not the sandbox's state.
    ArgumentsTooLong = 10,
}

impl SetupFailure {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::CwdNotFound,
        Self::CwdNotADirectory,
        Self::CwdDenied,
        Self::ShellNotFound,
        Self::ProgramNotFound,
        Self::ProgramDenied,
        Self::LimitUnavailable,
        Self::ResourcesExhausted,
        Self::Other,
        Self::ArgumentsTooLong,
    ];

    /// The number that stands for it in a message.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// What a number stands for.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

impl Outcome {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Exited { code } => writer.u8(1).u8(*code),
            Self::Signaled { number, cause } => {
                writer.u8(2).u8(*number).flag(*cause == SignalCause::OutOfMemory)
            }
            Self::TimedOut => writer.u8(3),
            Self::Cancelled => writer.u8(4),
            Self::SandboxLost => writer.u8(5),
            Self::SetupFailed { kind, message } => writer.u8(6).u8(kind.number()).text(message),
        };
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Self::Exited { code: reader.u8()? },
            2 => Self::Signaled {
                number: reader.u8()?,
                cause: if reader.flag()? {
                    SignalCause::OutOfMemory
                } else {
                    SignalCause::Unknown
                },
            },
            3 => Self::TimedOut,
            4 => Self::Cancelled,
            5 => Self::SandboxLost,
            6 => {
                let number = reader.u8()?;
                let kind = SetupFailure::from_number(number).ok_or(DecodeError::Unknown(number))?;
                Self::SetupFailed {
                    kind,
                    message: reader.text(MESSAGE)?,
                }
            }
            other => return Err(DecodeError::Unknown(other)),
        })
    }
}

/// The end of a job: how, and exactly how much it had written until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How the command ended.
    pub outcome: Outcome,
    /// Bytes of standard output and of standard error until the answer; what processes left behind write later comes on top.
    pub totals: [u64; 2],
    /// Microseconds from acceptance to the end of the command.
    pub duration_us: u64,
    /// Whether processes of the command live on. They end by [`Request::Cancel`](super::Request::Cancel), or with the resident.
    pub left_behind: bool,
    /// What the caller should know.
    pub notices: Vec<String>,
}

impl Ending {
    pub(super) fn write(&self, writer: &mut Writer) {
        self.outcome.write(writer);
        writer
            .u64(self.totals[0])
            .u64(self.totals[1])
            .u64(self.duration_us)
            .flag(self.left_behind);
        writer.list(&self.notices, |writer, notice| {
            writer.text(notice);
        });
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let ending = Self {
            outcome: Outcome::read(reader)?,
            totals: [reader.u64()?, reader.u64()?],
            duration_us: reader.u64()?,
            left_behind: reader.flag()?,
            notices: reader.list(4, |reader| reader.text(MESSAGE))?,
        };
        if ending.notices.len() > NOTICES {
            Err(DecodeError::TooLong)
        } else {
            Ok(ending)
        }
    }
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The command runs, or is being ended.
    Running,
    /// The command has ended.
    Ended(Ending),
}

/// What the resident says of a job in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The resident's number for it.
    pub job: u64,
    /// The id of the request that started it.
    pub request: [u8; 16],
    /// How far it is.
    pub state: JobState,
    /// The process number of its shell or program within the sandbox; 0 when it never had one.
    pub pid: u32,
    /// Milliseconds since it was accepted.
    pub age_ms: u64,
    /// The beginning of its text, or its arguments, for people.
    pub command: String,
    /// Whether any process of it lives.
    pub alive: bool,
    /// Bytes written until now.
    pub totals: [u64; 2],
    /// Offset of the first byte of each stream that is still held.
    pub held_from: [u64; 2],
    /// Whether a client is attached.
    pub attached: bool,
    /// Whether it waits for room: what is held of a stream is full, and nobody takes it.
    pub blocked: bool,
}

/// The longest that a command is shown.
pub(super) const SHOWN: usize = 256;

impl JobRecord {
    /// Bytes of one that runs and shows no command.
    pub(super) const SHORTEST: usize = 76;

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.u64(self.job).fixed(&self.request);
        match &self.state {
            JobState::Running => {
                writer.u8(0);
            }
            JobState::Ended(ending) => ending.write(writer.u8(1)),
        }
        writer
            .u32(self.pid)
            .u64(self.age_ms)
            .text(&self.command)
            .flag(self.alive);
        writer.u64(self.totals[0]).u64(self.totals[1]);
        writer
            .u64(self.held_from[0])
            .u64(self.held_from[1])
            .flag(self.attached)
            .flag(self.blocked);
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            job: reader.u64()?,
            request: reader.fixed()?,
            state: match reader.u8()? {
                0 => JobState::Running,
                1 => JobState::Ended(Ending::read(reader)?),
                other => return Err(DecodeError::Unknown(other)),
            },
            pid: reader.u32()?,
            age_ms: reader.u64()?,
            command: reader.text(SHOWN)?,
            alive: reader.flag()?,
            totals: [reader.u64()?, reader.u64()?],
            held_from: [reader.u64()?, reader.u64()?],
            attached: reader.flag()?,
            blocked: reader.flag()?,
        })
    }

    /// A command as people are shown it: its beginning, without what is no text.
    #[must_use]
    pub fn shown(command: &[u8]) -> String {
        let start = command.get(..SHOWN / 4).unwrap_or(command);
        let mut shown = String::from_utf8_lossy(start).into_owned();
        if start.len() < command.len() {
            shown.push('…');
        }
        shown
    }
}
