//! Calls that the code of a command makes to tools of its caller: what the resident tells of one, and what it is told.
//!
//! A call is known by a number that the resident never uses again. Its arguments come in pieces, each of which waits for
//! [`ToolAnswer::ArgumentsTaken`]; its reply goes in pieces, each of which waits for [`ToolCall::ReplyTaken`]. Either side
//! says again what it has no answer for when a connection was lost, and what is there already is not taken again, so a tool
//! is called once. [`ToolCall::Gone`] is the end of every call.

use super::bytes::{DecodeError, Reader, Writer};

/// The most bytes of arguments or of a reply in one message.
pub const MAX_TOOL_DATA: usize = 256 * 1024;

/// The longest name of a tool, in bytes.
pub const MAX_TOOL_NAME: usize = 128;

/// The longest message of a failed call, in bytes; a longer one is cut.
pub const MAX_TOOL_MESSAGE: usize = 2048;

/// The most tools that a command is allowed by name.
const NAMES: usize = 1024;

/// Which tools a command may call, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsAllowed {
    /// Their names.
    pub names: Vec<String>,
    /// How many calls may be made.
    pub max_calls: u64,
    /// The most bytes of the arguments, and of the reply, of one call.
    pub max_bytes: u64,
}

/// What a resident tells of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolCall {
    /// A piece of the arguments; the first one tells of the call.
    Arguments {
        /// The tool.
        tool: String,
        /// How many bytes came before these.
        offset: u64,
        /// The bytes, at most [`MAX_TOOL_DATA`].
        data: Vec<u8>,
        /// Whether these are the last.
        end: bool,
    },
    /// How much of the reply the code has taken.
    ReplyTaken {
        /// Bytes from the beginning.
        offset: u64,
    },
    /// The call is over: it was answered, or the code has gone.
    Gone,
}

/// What a resident is told of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAnswer {
    /// How much of the arguments was taken.
    ArgumentsTaken {
        /// Bytes from the beginning.
        offset: u64,
    },
    /// A piece of the tool's reply.
    Reply {
        /// How many bytes the whole reply has.
        total: u64,
        /// How many bytes came before these.
        offset: u64,
        /// The bytes, at most [`MAX_TOOL_DATA`].
        data: Vec<u8>,
    },
    /// There is no reply.
    Failed {
        /// The kind.
        kind: ToolFailure,
        /// For people, at most [`MAX_TOOL_MESSAGE`] bytes.
        message: String,
    },
}

/// Why a call has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ToolFailure {
    /// It is not allowed.
    Denied = 1,
    /// Its arguments, or the reply, are longer than is allowed.
    TooLong = 2,
    /// Nobody can be asked: the command has ended, or its caller is gone.
    Unavailable = 3,
    /// The tool has failed.
    Failed = 4,
}

impl ToolFailure {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Denied, Self::TooLong, Self::Unavailable, Self::Failed];

    /// The word that stands in the answer to the code.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::TooLong => "too_long",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
        }
    }

    /// The exit code of the program that calls for the code, in the manner of sysexits(3).
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Denied => 77,
            Self::TooLong => 65,
            Self::Unavailable => 69,
            Self::Failed => 70,
        }
    }
}

impl ToolsAllowed {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.list(&self.names, |writer, name| {
            writer.text(name);
        });
        writer.u64(self.max_calls).u64(self.max_bytes);
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let names = reader.list(4, |reader| reader.text(MAX_TOOL_NAME))?;
        if names.len() > NAMES {
            return Err(DecodeError::TooLong);
        }
        Ok(Self {
            names,
            max_calls: reader.u64()?,
            max_bytes: reader.u64()?,
        })
    }
}

impl ToolCall {
    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Arguments {
                tool,
                offset,
                data,
                end,
            } => writer.u8(1).text(tool).u64(*offset).flag(*end).bytes(data),
            Self::ReplyTaken { offset } => writer.u8(2).u64(*offset),
            Self::Gone => writer.u8(3),
        };
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => {
                let (tool, offset, end) = (reader.text(MAX_TOOL_NAME)?, reader.u64()?, reader.flag()?);
                let data = reader.bytes(MAX_TOOL_DATA)?;
                Self::Arguments {
                    tool,
                    offset,
                    data,
                    end,
                }
            }
            2 => Self::ReplyTaken {
                offset: reader.u64()?,
            },
            3 => Self::Gone,
            other => return Err(DecodeError::Unknown(other)),
        })
    }
}

impl ToolAnswer {
    /// A failure whose message fits.
    #[must_use]
    pub fn failed(kind: ToolFailure, message: &str) -> Self {
        let message = message.get(..message.floor_char_boundary(MAX_TOOL_MESSAGE));
        Self::Failed {
            kind,
            message: message.unwrap_or_default().into(),
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::ArgumentsTaken { offset } => writer.u8(1).u64(*offset),
            Self::Reply { total, offset, data } => writer.u8(2).u64(*total).u64(*offset).bytes(data),
            Self::Failed { kind, message } => writer.u8(3).u8(*kind as u8).text(message),
        };
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Self::ArgumentsTaken {
                offset: reader.u64()?,
            },
            2 => Self::Reply {
                total: reader.u64()?,
                offset: reader.u64()?,
                data: reader.bytes(MAX_TOOL_DATA)?,
            },
            3 => {
                let number = reader.u8()?;
                let kind = ToolFailure::ALL.into_iter().find(|kind| *kind as u8 == number);
                Self::Failed {
                    kind: kind.ok_or(DecodeError::Unknown(number))?,
                    message: reader.text(MAX_TOOL_MESSAGE)?,
                }
            }
            other => return Err(DecodeError::Unknown(other)),
        })
    }
}
