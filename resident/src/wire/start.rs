//! What a client asks for when it starts a command.

use super::{
    DEFAULT_SPOOL, MAX_REQUEST, ToolsAllowed,
    bytes::{DecodeError, Reader, Writer},
};

const NAME: usize = 256;

/// A command to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The caller's own id of this request, at random. As long as the job is not forgotten, the same id is the same job.
    pub request: [u8; 16],
    /// What is run.
    pub command: Command,
    /// Where it starts; the resident's own starting directory when not given, and relative paths are taken from there.
    pub cwd: Option<Vec<u8>>,
    /// Whether the variables below are all there are; otherwise they come on top of those that the resident was started with.
    pub clear_env: bool,
    /// Names and values.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it reads.
    pub stdin: Stdin,
    /// Whether standard error goes where standard output goes, in one pipe.
    pub merged: bool,
    /// Milliseconds from acceptance until everything of it is ended; 0 is never.
    pub deadline_ms: u64,
    /// Milliseconds between asking processes to end and killing them.
    pub grace_ms: u32,
    /// Bytes of output that may be under way to this client, which is then attached from the beginning; `None` starts a
    /// job that nobody is attached to.
    pub attach: Option<u64>,
    /// Bytes of each stream that are kept.
    pub spool_bytes: u64,
    /// What happens when that is full and no client is attached.
    pub spool_full: SpoolFull,
    /// The session whose state it starts from and leaves behind.
    pub session: Option<Session>,
    /// Permission bits that new files do not get; the resident's own (077 for one that daemonised) when not given.
    pub umask: Option<u32>,
    /// Whether the outcome stays until it is forgotten. Otherwise the resident may drop it when it needs the room.
    pub keep: bool,
    /// The tools of the client that its code may call. The client has to be attached.
    pub tools: Option<ToolsAllowed>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program with its arguments, the first of which names it; found through the command's own `PATH`.
    Argv(Vec<Vec<u8>>),
    /// Text for a shell.
    Shell {
        /// Program of the shell, a name for `PATH` or a path: `bash`, `sh`. Empty: bash if it is there, else sh.
        shell: Vec<u8>,
        /// The text.
        text: Vec<u8>,
    },
}

/// What a command reads on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// End of file at once.
    None,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// What [`Request::Stdin`](super::Request::Stdin) brings.
    Stream,
}

/// What happens to output that nobody takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpoolFull {
    /// The command waits.
    Block,
    /// The oldest output goes; the loss is told as a gap.
    DropOldest,
}

/// A session, as one command uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// What it carries.
    pub kept: StateKept,
    /// Where it is as long as no command has changed its directory; the resident's own starting directory when not given.
    pub cwd: Option<Vec<u8>>,
    /// Names of variables that are this command's own: what they are is not the session's.
    pub own: Vec<Vec<u8>>,
    /// Whether the command leaves its state to the session. Otherwise it only starts from that.
    pub leaves: bool,
}

/// What of a shell's state a session carries from one command to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKept {
    /// The directory and the exported variables.
    CwdEnv,
    /// Those, and the shell's functions and aliases.
    Shell,
}

impl Start {
    /// A command with everything else at its default: no input, streams apart, no deadline, a quarter of a second of
    /// grace, nobody attached, the default spool, which blocks.
    #[must_use]
    pub fn new(request: [u8; 16], command: Command) -> Self {
        Self {
            request,
            command,
            cwd: None,
            clear_env: false,
            env: Vec::new(),
            stdin: Stdin::None,
            merged: false,
            deadline_ms: 0,
            grace_ms: 250,
            attach: None,
            spool_bytes: DEFAULT_SPOOL,
            spool_full: SpoolFull::Block,
            session: None,
            umask: None,
            keep: false,
            tools: None,
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.fixed(&self.request);
        self.command.write(writer);
        writer.option(self.cwd.as_ref(), |writer, cwd| {
            writer.bytes(cwd);
        });
        writer.flag(self.clear_env);
        writer.list(&self.env, |writer, (name, value)| {
            writer.bytes(name).bytes(value);
        });
        self.stdin.write(writer);
        writer.flag(self.merged).u64(self.deadline_ms).u32(self.grace_ms);
        writer.option(self.attach.as_ref(), |writer, credit| {
            writer.u64(*credit);
        });
        writer
            .u64(self.spool_bytes)
            .flag(self.spool_full == SpoolFull::DropOldest);
        writer.option(self.session.as_ref(), |writer, session| session.write(writer));
        writer.option(self.umask.as_ref(), |writer, umask| {
            writer.u32(*umask);
        });
        writer.flag(self.keep);
        writer.option(self.tools.as_ref(), |writer, tools| tools.write(writer));
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            request: reader.fixed()?,
            command: Command::read(reader)?,
            cwd: reader.option(|reader| reader.bytes(MAX_REQUEST))?,
            clear_env: reader.flag()?,
            env: reader.list(8, |reader| {
                Ok((reader.bytes(MAX_REQUEST)?, reader.bytes(MAX_REQUEST)?))
            })?,
            stdin: Stdin::read(reader)?,
            merged: reader.flag()?,
            deadline_ms: reader.u64()?,
            grace_ms: reader.u32()?,
            attach: reader.option(Reader::u64)?,
            spool_bytes: reader.u64()?,
            spool_full: if reader.flag()? {
                SpoolFull::DropOldest
            } else {
                SpoolFull::Block
            },
            session: reader.option(Session::read)?,
            umask: reader.option(Reader::u32)?,
            keep: reader.flag()?,
            tools: reader.option(ToolsAllowed::read)?,
        })
    }
}

impl Session {
    fn write(&self, writer: &mut Writer) {
        writer.text(&self.name).flag(self.kept == StateKept::Shell);
        writer.option(self.cwd.as_ref(), |writer, cwd| {
            writer.bytes(cwd);
        });
        writer.list(&self.own, |writer, name| {
            writer.bytes(name);
        });
        writer.flag(self.leaves);
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self {
            name: reader.text(NAME)?,
            kept: if reader.flag()? {
                StateKept::Shell
            } else {
                StateKept::CwdEnv
            },
            cwd: reader.option(|reader| reader.bytes(MAX_REQUEST))?,
            own: reader.list(4, |reader| reader.bytes(MAX_REQUEST))?,
            leaves: reader.flag()?,
        })
    }
}

impl Command {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Argv(arguments) => writer.u8(1).list(arguments, |writer, argument| {
                writer.bytes(argument);
            }),
            Self::Shell { shell, text } => writer.u8(2).bytes(shell).bytes(text),
        };
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        match reader.u8()? {
            1 => reader.list(4, |reader| reader.bytes(MAX_REQUEST)).map(Self::Argv),
            2 => Ok(Self::Shell {
                shell: reader.bytes(NAME)?,
                text: reader.bytes(MAX_REQUEST)?,
            }),
            other => Err(DecodeError::Unknown(other)),
        }
    }
}

impl Stdin {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::None => writer.u8(0),
            Self::Bytes(bytes) => writer.u8(1).bytes(bytes),
            Self::Stream => writer.u8(2),
        };
    }

    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => Ok(Self::None),
            1 => reader.bytes(MAX_REQUEST).map(Self::Bytes),
            2 => Ok(Self::Stream),
            other => Err(DecodeError::Unknown(other)),
        }
    }
}
