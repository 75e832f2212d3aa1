//! Messages from a client to the resident.

use super::{
    MAX_DATA, Start, Stream, ToolAnswer,
    bytes::{DecodeError, Reader, Writer},
    proof::{MAC, NONCE},
};

/// A message to the resident. A `call` is the client's own number for the request; the answer bears the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The first message: which versions the client speaks, and its nonce. Answered by `Hello`.
    Hello {
        /// The oldest version.
        oldest: u16,
        /// The newest version.
        newest: u16,
        /// At random, never used before.
        nonce: [u8; NONCE],
    },
    /// The second message: the client's proof. Answered by `Welcome`.
    Prove {
        /// See [`Transcript::prove`](super::proof::Transcript::prove).
        mac: [u8; MAC],
    },
    /// Starts a command. Answered by `Started`, or by `Error` when nothing was started.
    Start {
        /// The number of the call.
        call: u32,
        /// What and how.
        start: Box<Start>,
    },
    /// Feeds a command. Answered by `StdinTaken`, as the command takes it.
    Stdin {
        /// Which job.
        job: u64,
        /// How many bytes were fed before these. Bytes that were taken already are not taken again.
        offset: u64,
        /// At most [`MAX_DATA`] bytes.
        data: Vec<u8>,
        /// Whether end of file follows.
        eof: bool,
    },
    /// Wants the output of a job, from these offsets on, and its end. Answered by `Started`, then as for the client that
    /// started it. It replaces an earlier cursor of this connection on that job; other connections have their own.
    Attach {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
        /// Offsets of the first byte wanted of standard output and of standard error.
        from: [u64; 2],
        /// Bytes that may be under way.
        credit: u64,
    },
    /// That many more bytes of output may be sent: the client has taken so many.
    Credit {
        /// Which job.
        job: u64,
        /// Bytes, of both streams together.
        bytes: u64,
    },
    /// Wants nothing more of a job, which goes on. Answered by `Done`.
    Detach {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
    },
    /// Ends everything of a job, also what its command has left behind. Answered by `Done` when it has begun; the end is
    /// told as that of every job.
    Cancel {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
    },
    /// Sends a signal to the process group of a job's command. Answered by `Done`.
    Signal {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
        /// 1–64.
        number: u8,
    },
    /// Waits for the end of a job. Answered by `Finished`, whenever that is.
    Wait {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
    },
    /// Lists jobs in the order of their numbers. Answered by `Listing`.
    List {
        /// The number of the call.
        call: u32,
        /// Only jobs with a greater number.
        after: u64,
        /// At most so many; the resident may send fewer, and says whether there are more.
        most: u32,
    },
    /// Reads held output of a job, once. Answered by `Data`. What comes before the offset was taken: where the command waits
    /// for room and nobody is attached, it may go.
    Read {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
        /// Which stream.
        stream: Stream,
        /// Offset of the first byte wanted.
        from: u64,
        /// At most so many bytes; never more than [`MAX_DATA`].
        most: u32,
    },
    /// Forgets a job that has ended: its outcome, its output and its request id. Answered by `Done`. What it has left
    /// behind lives on.
    Forget {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
    },
    /// Forgets the state of a session. Answered by `Done`, also when there was none.
    EndSession {
        /// The number of the call.
        call: u32,
        /// Its name.
        name: String,
    },
    /// Asks whether the resident is there. Answered by `Pong`.
    Ping {
        /// The number of the call.
        call: u32,
    },
    /// Has this connection answer the calls to tools that a job makes: after a lost one, from the client that started the
    /// job, which has to know its request. Answered by `Done`; then the calls that are open are told again.
    ServeTools {
        /// The number of the call.
        call: u32,
        /// Which job.
        job: u64,
        /// The request that started it.
        request: [u8; 16],
    },
    /// Says something about a call to a tool. About one that is over, `Gone` is told again.
    Tool {
        /// Which job.
        job: u64,
        /// The number of its call.
        number: u64,
        /// What.
        answer: ToolAnswer,
    },
    /// Ends everything that runs, then the resident itself. Answered by `Done` when nothing is left.
    Shutdown {
        /// The number of the call.
        call: u32,
    },
}

const SESSION_NAME: usize = 256;

impl Request {
    /// The message in bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w;
        match self {
            Self::Hello {
                oldest,
                newest,
                nonce,
            } => {
                w = Writer::tagged(1);
                w.u16(*oldest).u16(*newest).fixed(nonce);
            }
            Self::Prove { mac } => {
                w = Writer::tagged(2);
                w.fixed(mac);
            }
            Self::Start { call, start } => return Self::encode_start(*call, start),
            Self::Stdin {
                job,
                offset,
                data,
                eof,
            } => {
                w = Writer::tagged(4);
                w.u64(*job).u64(*offset).flag(*eof).bytes(data);
            }
            Self::Attach {
                call,
                job,
                from,
                credit,
            } => {
                w = Writer::tagged(5);
                w.u32(*call).u64(*job).u64(from[0]).u64(from[1]).u64(*credit);
            }
            Self::Credit { job, bytes } => {
                w = Writer::tagged(6);
                w.u64(*job).u64(*bytes);
            }
            Self::Detach { call, job } => w = of_job(7, *call, *job),
            Self::Cancel { call, job } => w = of_job(8, *call, *job),
            Self::Signal { call, job, number } => {
                w = of_job(9, *call, *job);
                w.u8(*number);
            }
            Self::Wait { call, job } => w = of_job(10, *call, *job),
            Self::List { call, after, most } => {
                w = of_job(11, *call, *after);
                w.u32(*most);
            }
            Self::Read {
                call,
                job,
                stream,
                from,
                most,
            } => {
                w = of_job(12, *call, *job);
                stream.write(&mut w);
                w.u64(*from).u32(*most);
            }
            Self::Forget { call, job } => w = of_job(13, *call, *job),
            Self::EndSession { call, name } => {
                w = Writer::tagged(14);
                w.u32(*call).text(name);
            }
            Self::Ping { call } => {
                w = Writer::tagged(15);
                w.u32(*call);
            }
            Self::Shutdown { call } => {
                w = Writer::tagged(16);
                w.u32(*call);
            }
            Self::ServeTools { call, job, request } => {
                w = of_job(17, *call, *job);
                w.fixed(request);
            }
            Self::Tool { job, number, answer } => {
                w = Writer::tagged(18);
                answer.write(w.u64(*job).u64(*number));
            }
        }
        w.0
    }

    /// [`Request::Start`] in bytes.
    #[must_use]
    pub fn encode_start(call: u32, start: &Start) -> Vec<u8> {
        let mut w = Writer::tagged(3);
        start.write(w.u32(call));
        w.0
    }

    /// The message that bytes stand for.
    ///
    /// # Errors
    /// When they are none. No bytes make it panic, or allocate more than a few times their number.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let r = &mut Reader::new(bytes);
        let request = match r.u8()? {
            1 => Self::Hello {
                oldest: r.u16()?,
                newest: r.u16()?,
                nonce: r.fixed()?,
            },
            2 => Self::Prove { mac: r.fixed()? },
            3 => Self::Start {
                call: r.u32()?,
                start: Box::new(Start::read(r)?),
            },
            4 => {
                let (job, offset, eof) = (r.u64()?, r.u64()?, r.flag()?);
                Self::Stdin {
                    job,
                    offset,
                    eof,
                    data: r.bytes(MAX_DATA)?,
                }
            }
            5 => Self::Attach {
                call: r.u32()?,
                job: r.u64()?,
                from: [r.u64()?, r.u64()?],
                credit: r.u64()?,
            },
            6 => Self::Credit {
                job: r.u64()?,
                bytes: r.u64()?,
            },
            7 => Self::Detach {
                call: r.u32()?,
                job: r.u64()?,
            },
            8 => Self::Cancel {
                call: r.u32()?,
                job: r.u64()?,
            },
            9 => Self::Signal {
                call: r.u32()?,
                job: r.u64()?,
                number: r.u8()?,
            },
            10 => Self::Wait {
                call: r.u32()?,
                job: r.u64()?,
            },
            11 => Self::List {
                call: r.u32()?,
                after: r.u64()?,
                most: r.u32()?,
            },
            12 => Self::Read {
                call: r.u32()?,
                job: r.u64()?,
                stream: Stream::read(r)?,
                from: r.u64()?,
                most: r.u32()?,
            },
            13 => Self::Forget {
                call: r.u32()?,
                job: r.u64()?,
            },
            14 => Self::EndSession {
                call: r.u32()?,
                name: r.text(SESSION_NAME)?,
            },
            15 => Self::Ping { call: r.u32()? },
            16 => Self::Shutdown { call: r.u32()? },
            17 => Self::ServeTools {
                call: r.u32()?,
                job: r.u64()?,
                request: r.fixed()?,
            },
            18 => Self::Tool {
                job: r.u64()?,
                number: r.u64()?,
                answer: ToolAnswer::read(r)?,
            },
            other => return Err(DecodeError::Unknown(other)),
        };
        r.end()?;
        Ok(request)
    }
}

fn of_job(tag: u8, call: u32, job: u64) -> Writer {
    let mut writer = Writer::tagged(tag);
    writer.u32(call).u64(job);
    writer
}
