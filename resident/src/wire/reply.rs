//! Messages from the resident to a client.

use super::{
    Ending, JobRecord, MAX_DATA, Stream, ToolCall,
    bytes::{DecodeError, Reader, Writer},
    proof::{MAC, NONCE},
};

const TEXT: usize = 4096;

/// A message from the resident. A `call` is that of the request it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Answers `Hello`: the version that is spoken from here on, the resident's nonce and its proof.
    Hello {
        /// The version.
        version: u16,
        /// At random, never used before.
        nonce: [u8; NONCE],
        /// See [`Transcript::prove`](super::proof::Transcript::prove).
        mac: [u8; MAC],
    },
    /// The client is let in; see [`Welcome`].
    Welcome(Box<Welcome>),
    /// The command was accepted and started, or could not be set up, which `Finished` tells next; or the client is attached.
    Started {
        /// The number of the call.
        call: u32,
        /// The resident's number for the exec.
        job: u64,
        /// The process number of its shell or program within the sandbox; 0 when it has none.
        pid: u32,
        /// Whether the job was there before this request: it had been started by an earlier one with the same id.
        known: bool,
    },
    /// A piece of output.
    Output {
        /// Which job.
        job: u64,
        /// Which stream.
        stream: Stream,
        /// The number of bytes of this stream that the command wrote before this piece.
        offset: u64,
        /// The bytes, at most [`MAX_DATA`].
        data: Vec<u8>,
    },
    /// Output that is not held any more: from an offset up to, but not including, another.
    Gap {
        /// Which job.
        job: u64,
        /// Which stream.
        stream: Stream,
        /// Offset of the first missing byte.
        from: u64,
        /// Offset of the first byte after the gap.
        to: u64,
    },
    /// How much of the input the command's pipe has taken.
    StdinTaken {
        /// Which job.
        job: u64,
        /// Bytes from the beginning.
        offset: u64,
        /// Whether the command can still read more; when not, the rest is dropped.
        open: bool,
    },
    /// A job has ended.
    Finished {
        /// The number of the call for `Wait`, 0 for an attached client.
        call: u32,
        /// Which job.
        job: u64,
        /// How.
        ending: Box<Ending>,
    },
    /// Answers `List`.
    Listing {
        /// The number of the call.
        call: u32,
        /// Jobs in the order of their numbers.
        jobs: Vec<JobRecord>,
        /// Whether there are more behind the last.
        more: bool,
    },
    /// Answers `Read`.
    Data {
        /// The number of the call.
        call: u32,
        /// What was read.
        data: Box<Data>,
    },
    /// What was asked for is done.
    Done {
        /// The number of the call.
        call: u32,
    },
    /// What was asked for is not done; nothing of it.
    Error {
        /// The number of the call; 0 when the connection itself is meant, which then ends.
        call: u32,
        /// Why.
        error: Refusal,
    },
    /// Answers `Ping`.
    Pong {
        /// The number of the call.
        call: u32,
    },
    /// Tells the client that serves them of a call to a tool.
    Tool {
        /// Which job.
        job: u64,
        /// The number of its call.
        number: u64,
        /// What.
        told: ToolCall,
    },
}

/// Which resident this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version of the protocol that is spoken.
    pub version: u16,
    /// At random for each start of the resident.
    pub instance: [u8; 16],
    /// The version of the program, and the system that it was built for.
    pub program: String,
    /// The resident's process number within the sandbox.
    pub pid: u32,
    /// The user it runs as.
    pub uid: u32,
    /// The directory of the resident, where output is spooled to files named after job and stream; empty when it has none.
    pub directory: Vec<u8>,
    /// Whether a bash was found through the `PATH` that the resident was started with.
    pub bash: bool,
    /// Whether kills for lack of memory can be told.
    pub out_of_memory_told: bool,
}

/// Held output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Which job.
    pub job: u64,
    /// Which stream.
    pub stream: Stream,
    /// Offset of the first byte below; beyond the one that was asked for when that is not held any more.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
    /// Bytes written to this stream until now.
    pub total: u64,
    /// Whether nobody can write to it any more.
    pub ended: bool,
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind.
    pub kind: ErrorKind,
    /// What it is about: a field, a job, a path.
    pub resource: String,
    /// For people: what was expected, and the next step.
    pub message: String,
}

/// Kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ErrorKind {
    /// No version is spoken by both.
    Version = 1,
    /// The proof is wrong, or comes too late.
    Unauthenticated = 2,
    /// Bytes that are no message, or a message out of turn.
    Protocol = 3,
    /// A field says what cannot be.
    InvalidArgument = 4,
    /// No such job.
    NotFound = 5,
    /// The job is not in a state for that.
    WrongState = 6,
    /// Too many jobs, connections or bytes.
    TooMany = 7,
    /// The resident is being shut down.
    ShuttingDown = 8,
    /// The resident itself failed.
    Internal = 9,
}

impl ErrorKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Version,
        Self::Unauthenticated,
        Self::Protocol,
        Self::InvalidArgument,
        Self::NotFound,
        Self::WrongState,
        Self::TooMany,
        Self::ShuttingDown,
        Self::Internal,
    ];
}

impl Reply {
    /// The message in bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w;
        match self {
            Self::Hello { version, nonce, mac } => {
                w = Writer::tagged(1);
                w.u16(*version).fixed(nonce).fixed(mac);
            }
            Self::Welcome(welcome) => {
                w = Writer::tagged(2);
                welcome.write(&mut w);
            }
            Self::Started {
                call,
                job,
                pid,
                known,
            } => {
                w = Writer::tagged(3);
                w.u32(*call).u64(*job).u32(*pid).flag(*known);
            }
            Self::Output {
                job,
                stream,
                offset,
                data,
            } => {
                w = Writer(output_start(*job, *stream, *offset, data.len()));
                w.fixed(data);
            }
            Self::Gap {
                job,
                stream,
                from,
                to,
            } => {
                w = Writer::tagged(5);
                stream.write(w.u64(*job));
                w.u64(*from).u64(*to);
            }
            Self::StdinTaken { job, offset, open } => {
                w = Writer::tagged(6);
                w.u64(*job).u64(*offset).flag(*open);
            }
            Self::Finished { call, job, ending } => {
                w = Writer::tagged(7);
                ending.write(w.u32(*call).u64(*job));
            }
            Self::Listing { call, jobs, more } => {
                w = Writer::tagged(8);
                w.u32(*call)
                    .flag(*more)
                    .list(jobs, |writer, job| job.write(writer));
            }
            Self::Data { call, data } => {
                w = Writer::tagged(9);
                data.write(w.u32(*call));
            }
            Self::Done { call } => {
                w = Writer::tagged(10);
                w.u32(*call);
            }
            Self::Error { call, error } => {
                w = Writer::tagged(11);
                w.u32(*call)
                    .u8(error.kind as u8)
                    .text(&error.resource)
                    .text(&error.message);
            }
            Self::Pong { call } => {
                w = Writer::tagged(12);
                w.u32(*call);
            }
            Self::Tool { job, number, told } => {
                w = Writer::tagged(13);
                told.write(w.u64(*job).u64(*number));
            }
        }
        w.0
    }

    /// The message that bytes stand for.
    ///
    /// # Errors
    /// When they are none. No bytes make it panic, or allocate more than a few times their number.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let r = &mut Reader::new(bytes);
        let reply = match r.u8()? {
            1 => Self::Hello {
                version: r.u16()?,
                nonce: r.fixed()?,
                mac: r.fixed()?,
            },
            2 => Self::Welcome(Box::new(Welcome::read(r)?)),
            3 => Self::Started {
                call: r.u32()?,
                job: r.u64()?,
                pid: r.u32()?,
                known: r.flag()?,
            },
            4 => Self::Output {
                job: r.u64()?,
                stream: Stream::read(r)?,
                offset: r.u64()?,
                data: r.bytes(MAX_DATA)?,
            },
            5 => Self::Gap {
                job: r.u64()?,
                stream: Stream::read(r)?,
                from: r.u64()?,
                to: r.u64()?,
            },
            6 => Self::StdinTaken {
                job: r.u64()?,
                offset: r.u64()?,
                open: r.flag()?,
            },
            7 => Self::Finished {
                call: r.u32()?,
                job: r.u64()?,
                ending: Box::new(Ending::read(r)?),
            },
            8 => {
                let (call, more) = (r.u32()?, r.flag()?);
                Self::Listing {
                    call,
                    more,
                    jobs: r.list(JobRecord::SHORTEST, JobRecord::read)?,
                }
            }
            9 => Self::Data {
                call: r.u32()?,
                data: Box::new(Data::read(r)?),
            },
            10 => Self::Done { call: r.u32()? },
            11 => Self::Error {
                call: r.u32()?,
                error: Refusal::read(r)?,
            },
            12 => Self::Pong { call: r.u32()? },
            13 => Self::Tool {
                job: r.u64()?,
                number: r.u64()?,
                told: ToolCall::read(r)?,
            },
            other => return Err(DecodeError::Unknown(other)),
        };
        r.end()?;
        Ok(reply)
    }
}

/// The beginning of [`Reply::Output`], which so many bytes of output follow: for a sender that does not want to copy them
/// more than once.
#[must_use]
pub fn output_start(job: u64, stream: Stream, offset: u64, length: usize) -> Vec<u8> {
    let mut w = Writer::tagged(4);
    stream.write(w.u64(job));
    w.u64(offset).count(length);
    w.0
}

impl Welcome {
    fn write(&self, w: &mut Writer) {
        w.u16(self.version)
            .fixed(&self.instance)
            .text(&self.program)
            .u32(self.pid)
            .u32(self.uid);
        w.bytes(&self.directory)
            .flag(self.bash)
            .flag(self.out_of_memory_told);
    }

    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            version: r.u16()?,
            instance: r.fixed()?,
            program: r.text(TEXT)?,
            pid: r.u32()?,
            uid: r.u32()?,
            directory: r.bytes(TEXT)?,
            bash: r.flag()?,
            out_of_memory_told: r.flag()?,
        })
    }
}

impl Data {
    fn write(&self, w: &mut Writer) {
        self.stream.write(w.u64(self.job));
        w.u64(self.offset)
            .bytes(&self.data)
            .u64(self.total)
            .flag(self.ended);
    }

    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            job: r.u64()?,
            stream: Stream::read(r)?,
            offset: r.u64()?,
            data: r.bytes(MAX_DATA)?,
            total: r.u64()?,
            ended: r.flag()?,
        })
    }
}

impl Refusal {
    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        let number = r.u8()?;
        let kind = ErrorKind::ALL.into_iter().find(|kind| *kind as u8 == number);
        Ok(Self {
            kind: kind.ok_or(DecodeError::Unknown(number))?,
            resource: r.text(TEXT)?,
            message: r.text(TEXT)?,
        })
    }
}
