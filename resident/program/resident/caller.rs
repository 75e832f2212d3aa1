//! Code of a command that calls a tool: its connection, what comes from it, what waits to go to it.
//!
//! What is said on it is in the documentation of the library. Whatever comes may be wrong or malicious: it is read piece by
//! piece, and nothing is held beyond a piece.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
};

use crate::{
    system::{Epoll, Interest},
    wire::{MAX_TOOL_DATA, MAX_TOOL_NAME, ToolFailure},
};

/// The longest first line: a word, a token, a name.
const LONGEST_LINE: usize = 64 + MAX_TOOL_NAME;

/// What the first line begins with.
const WORD: &str = "call";

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first line has not come.
    New,
    /// The call was let in.
    Open,
    /// What waits is still sent, and then the connection ends.
    Closing,
}

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Nothing that anything has to be done about, or a piece of arguments.
    Bytes,
    /// The first line.
    Call { token: String, tool: String },
    /// Not what belongs here.
    Nonsense(&'static str),
    /// The code is gone.
    Lost,
}

#[derive(Debug)]
pub(super) struct Caller {
    socket: UnixStream,
    /// The job whose code it is; none for a process that belongs to no command.
    pub(super) job: Option<u64>,
    pub(super) tool: String,
    /// Whether the client was told of the call, and is to be told its end.
    pub(super) told: bool,
    state: State,
    interest: Interest,
    line: Vec<u8>,
    arguments: Arguments,
    out: Vec<u8>,
    /// How much of `out` has gone.
    gone: usize,
    reply: Option<Reply>,
}

/// Arguments on their way from the code to the client.
#[derive(Debug, Default)]
struct Arguments {
    /// The length that stands before a chunk, as far as it has come.
    length: Vec<u8>,
    /// Bytes of the chunk that have not come.
    left: usize,
    /// The piece that the client gets next, or has not said that it has.
    piece: Vec<u8>,
    /// How many bytes came before the piece.
    offset: u64,
    /// Whether the piece was sent, on a connection that is not lost.
    sent: bool,
    /// Whether the last byte has come.
    ended: bool,
    /// Whether the client has all.
    taken: bool,
}

/// A reply on its way from the client to the code.
#[derive(Debug)]
struct Reply {
    total: u64,
    taken: u64,
    /// Whether the client is to be told how much was taken.
    untold: bool,
}

impl Arguments {
    /// Takes chunks apart: four bytes of length, little-endian, then so many bytes; a length of 0 is the end.
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            if self.ended {
                return Err("bytes follow the end of the arguments");
            }
            if self.left > 0 {
                let (data, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.piece.extend_from_slice(data);
                self.left -= data.len();
                bytes = rest;
                continue;
            }
            let (length, rest) = bytes.split_at((4 - self.length.len()).min(bytes.len()));
            self.length.extend_from_slice(length);
            bytes = rest;
            if let Some(length) = self.length.first_chunk() {
                self.left = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                self.ended = self.left == 0;
                self.length.clear();
            }
        }
        Ok(())
    }

    fn room(&self) -> usize {
        MAX_TOOL_DATA.saturating_sub(self.piece.len())
    }
}

impl Caller {
    pub(super) fn new(socket: UnixStream, job: Option<u64>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            job,
            tool: String::new(),
            told: false,
            state: State::New,
            interest: Interest::READ,
            line: Vec::new(),
            arguments: Arguments::default(),
            out: Vec::new(),
            gone: 0,
            reply: None,
        })
    }

    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    pub(super) fn is_new(&self) -> bool {
        self.state == State::New
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state == State::Closing
    }

    /// Lets the call in.
    pub(super) fn open(&mut self, tool: String) {
        self.tool = tool;
        self.state = State::Open;
    }

    /// Reads what there is, as far as there is room for it.
    pub(super) fn read(&mut self) -> Came {
        if !self.wants_more() {
            // Nothing is waited for but the code's end.
            return if self.out.is_empty() {
                Came::Lost
            } else {
                Came::Bytes
            };
        }
        let room = if self.is_new() {
            LONGEST_LINE - self.line.len()
        } else {
            self.arguments.room()
        };
        let mut buffer = vec![0; room];
        let bytes = match self.socket.read(&mut buffer) {
            Ok(0) => return Came::Lost,
            Ok(length) => buffer.get(..length).unwrap_or_default(),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Came::Bytes;
            }
            Err(_) => return Came::Lost,
        };
        if !self.is_new() {
            return self
                .arguments
                .take(bytes)
                .map_or_else(Came::Nonsense, |()| Came::Bytes);
        }
        self.line.extend_from_slice(bytes);
        self.greet()
    }

    fn greet(&mut self) -> Came {
        let Some(end) = self.line.iter().position(|byte| *byte == b'\n') else {
            return if self.line.len() < LONGEST_LINE {
                Came::Bytes
            } else {
                Came::Nonsense("the first line is too long")
            };
        };
        let rest = self.line.split_off(end + 1);
        let line = std::mem::take(&mut self.line);
        let words = std::str::from_utf8(&line)
            .unwrap_or_default()
            .trim_end_matches('\n');
        let words: Vec<_> = words.splitn(3, ' ').collect();
        let [WORD, token, tool] = words.as_slice() else {
            return Came::Nonsense("the first line is not: call TOKEN TOOL");
        };
        if let Err(problem) = self.arguments.take(&rest) {
            return Came::Nonsense(problem);
        }
        Came::Call {
            token: (*token).into(),
            tool: (*tool).into(),
        }
    }

    /// How many bytes of arguments have come.
    pub(super) fn length(&self) -> u64 {
        self.arguments.offset + self.arguments.piece.len() as u64
    }

    /// The piece of the arguments that is to be sent now: its offset, its bytes, whether it is the last.
    pub(super) fn next_piece(&self) -> Option<(u64, &[u8], bool)> {
        let Arguments {
            piece,
            offset,
            sent,
            ended,
            taken,
            ..
        } = &self.arguments;
        let due = self.state == State::Open && !sent && !taken && (*ended || piece.len() >= MAX_TOOL_DATA);
        due.then_some((*offset, piece.as_slice(), *ended))
    }

    pub(super) fn piece_was_sent(&mut self) {
        self.arguments.sent = true;
        self.told = true;
    }

    /// The client has all arguments up to an offset. What it says of bytes that it was not sent is not believed.
    pub(super) fn arguments_taken(&mut self, offset: u64) {
        let arguments = &mut self.arguments;
        if arguments.sent && offset == arguments.offset + arguments.piece.len() as u64 {
            arguments.offset = offset;
            arguments.piece = Vec::new();
            arguments.sent = false;
            arguments.taken = arguments.ended;
        }
    }

    /// Has what the client has no answer for said again: it has a new connection.
    pub(super) fn say_again(&mut self) {
        self.arguments.sent = false;
        if let Some(reply) = &mut self.reply {
            reply.untold = true;
        }
    }

    /// Takes a piece of the reply; what was taken before is not taken again.
    pub(super) fn take_reply(&mut self, total: u64, offset: u64, data: &[u8]) -> Result<(), &'static str> {
        if self.is_closing() {
            return Ok(());
        }
        if self.reply.is_none() {
            self.out.extend_from_slice(format!("ok {total}\n").as_bytes());
        }
        let reply = self.reply.get_or_insert(Reply {
            total,
            taken: 0,
            untold: true,
        });
        let end = offset.checked_add(data.len() as u64);
        if reply.total != total || offset > reply.taken || end.is_none_or(|end| end > total) {
            return Err("a piece of a reply does not fit what came before it");
        }
        if self.out.len() - self.gone > 2 * MAX_TOOL_DATA {
            return Err("more of a reply came than was taken");
        }
        let known = usize::try_from(reply.taken - offset).unwrap_or(usize::MAX);
        let new = data.get(known..).unwrap_or_default();
        self.out.extend_from_slice(new);
        reply.taken += new.len() as u64;
        reply.untold = true;
        Ok(())
    }

    /// Answers that there is no reply. One that has begun just ends, and its length says that it is not whole.
    pub(super) fn fail(&mut self, kind: ToolFailure, message: &str) {
        if self.is_closing() {
            return;
        }
        self.state = State::Closing;
        if self.reply.is_none() {
            let start = format!("{} {}\n", kind.word(), message.len());
            self.out.extend_from_slice(start.as_bytes());
            self.out.extend_from_slice(message.as_bytes());
        }
    }

    /// Sends what waits, as far as the code takes it; returns whether it is still there.
    pub(super) fn flush(&mut self) -> bool {
        while self.gone < self.out.len() {
            match self.socket.write(self.out.get(self.gone..).unwrap_or_default()) {
                Ok(0) => return false,
                Ok(length) => self.gone += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.out = Vec::new();
        self.gone = 0;
        true
    }

    /// Whether everything was said.
    pub(super) fn is_done(&self) -> bool {
        let whole = self
            .reply
            .as_ref()
            .is_some_and(|reply| reply.taken == reply.total);
        self.out.is_empty() && (self.is_closing() || whole)
    }

    /// How much of the reply was taken, once, when there is room for more.
    pub(super) fn reply_taken(&mut self) -> Option<u64> {
        let reply = self.reply.as_mut().filter(|reply| reply.untold)?;
        if !self.out.is_empty() {
            return None;
        }
        reply.untold = false;
        Some(reply.taken)
    }

    fn wants_more(&self) -> bool {
        let arguments = !self.arguments.ended && self.arguments.room() > 0;
        self.is_new() || self.state == State::Open && arguments
    }

    /// Waits for what is of use now. When that is nothing, the end of the code is still noticed.
    pub(super) fn update_interest(&mut self, epoll: &Epoll, token: u64) {
        let interest = Interest {
            read: self.wants_more(),
            write: !self.out.is_empty(),
        };
        if interest != self.interest && epoll.modify(&self.socket, token, interest).is_ok() {
            self.interest = interest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UnixStream, Caller) {
        let (code, socket) = UnixStream::pair().unwrap();
        (code, Caller::new(socket, Some(1)).unwrap())
    }

    #[test]
    fn a_call_is_read_however_it_is_cut() {
        let whole = b"call 0f tool\n\x03\0\0\0abc\x02\0\0\0de\0\0\0\0";
        for cut in 1..whole.len() {
            let (mut code, mut caller) = pair();
            let mut call = None;
            for part in [&whole[..cut], &whole[cut..]] {
                code.write_all(part).unwrap();
                loop {
                    match caller.read() {
                        Came::Call { token, tool } => {
                            caller.open(tool.clone());
                            call = Some((token, tool));
                        }
                        Came::Bytes => break,
                        other => panic!("{cut}: {other:?}"),
                    }
                    if caller.arguments.ended {
                        break;
                    }
                }
            }
            assert_eq!(call, Some(("0f".into(), "tool".into())));
            assert_eq!(caller.next_piece(), Some((0, &b"abcde"[..], true)), "{cut}");
        }
    }

    #[test]
    fn what_is_no_call_is_told() {
        for wrong in [&b"\n"[..], b"call x\n", b"take x y\n", b"call x y\n\0\0\0\0more"] {
            let (mut code, mut caller) = pair();
            code.write_all(wrong).unwrap();
            assert!(
                matches!(caller.read(), Came::Nonsense(_)),
                "{}",
                wrong.escape_ascii()
            );
        }
        let (mut code, mut caller) = pair();
        code.write_all(&[b'x'; 2 * LONGEST_LINE]).unwrap();
        assert!(matches!(caller.read(), Came::Nonsense(_)));
    }

    #[test]
    fn arguments_that_are_not_whole_are_no_call() {
        let (mut code, mut caller) = pair();
        code.write_all(b"call t tool\n\x09\0\0\0abc").unwrap();
        assert!(matches!(caller.read(), Came::Call { .. }));
        caller.open("tool".into());
        drop(code);
        assert_eq!(caller.read(), Came::Lost);
        assert_eq!(caller.next_piece(), None);
    }

    #[test]
    fn pieces_of_a_reply_that_come_again_are_taken_once() {
        let (mut code, mut caller) = pair();
        caller.open("tool".into());
        caller.take_reply(5, 0, b"abc").unwrap();
        assert!(caller.flush());
        assert_eq!(caller.reply_taken(), Some(3));
        assert_eq!(caller.reply_taken(), None);
        caller.say_again();
        assert_eq!(caller.reply_taken(), Some(3));
        caller.take_reply(5, 0, b"abcd").unwrap();
        assert!(caller.take_reply(5, 5, b"").is_err() && caller.take_reply(6, 4, b"e").is_err());
        caller.take_reply(5, 4, b"e").unwrap();
        assert!(caller.flush() && caller.is_done());
        let mut buffer = [0; 64];
        let length = code.read(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"ok 5\nabcde");
    }
}
