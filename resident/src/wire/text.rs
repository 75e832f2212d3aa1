//! Lines of text, for channels that carry nothing else: a provider's session log, a terminal.
//!
//! Below the raw frames lies a stream of bytes. Here it is cut into pieces, and each goes as a line of its own:
//!
//! ```text
//! ~herm D 00000000000000a3 5f0c2d11 AQAAAA8B…   a piece: its number, CRC-32 of number and bytes, base64
//! ~herm A 00000000000000a4 1c291ca3            taken up to, but not including, this number
//! ~herm R 00000000000000a2 97c2afd5            please send again from this number on
//! ```
//!
//! Numbers begin at 0 and rise by one. Whatever stands before the mark on a line, and every line without it, is noise of
//! the channel and is skipped. A piece that is damaged or missing is asked for again; one that came before is dropped. When
//! the channel itself is lost, both sides keep their numbers and go on on the next.

use std::{collections::VecDeque, fmt::Write as _};

use super::{base64, crc32};

/// The bytes of the stream that one line carries at most.
pub const PIECE: usize = 48 * 1024;

/// The bytes that a sender holds until they are acknowledged. It takes no more than that.
pub const WINDOW: usize = 1024 * 1024;

const MARK: &[u8] = b"~herm ";
/// Mark, kind, number, sum, the longest piece and what is between.
const LONGEST_LINE: usize = 32 + 16 + 8 + PIECE.div_ceil(3) * 4;
/// The shortest piece takes a byte, so no more of them fit into the window; this bounds what a liar can make us hold.
const NOISE: usize = 4096;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A piece of the stream.
    Data {
        /// Its number.
        number: u64,
        /// The bytes, at least one.
        bytes: Vec<u8>,
    },
    /// Everything before this number has been taken.
    Acknowledge {
        /// The number.
        number: u64,
    },
    /// Everything from this number on is wanted again.
    Resend {
        /// The number.
        number: u64,
    },
}

impl Line {
    /// The line, with its newline.
    #[must_use]
    pub fn encode(&self) -> String {
        let (kind, number, bytes): (char, u64, &[u8]) = match self {
            Self::Data { number, bytes } => ('D', *number, bytes),
            Self::Acknowledge { number } => ('A', *number, &[]),
            Self::Resend { number } => ('R', *number, &[]),
        };
        let mut line = String::with_capacity(64 + bytes.len() / 3 * 4);
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "~herm {kind} {number:016x} {:08x}",
            sum(kind, number, bytes)
        );
        if !bytes.is_empty() {
            line.push(' ');
            line.push_str(&base64::encode(bytes));
        }
        line.push('\n');
        line
    }

    /// What a line says, its end not included; `None` for noise and for what was damaged.
    #[must_use]
    pub fn decode(line: &[u8]) -> Option<Self> {
        if line.len() > LONGEST_LINE + NOISE {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = line.windows(MARK.len()).rposition(|window| window == MARK)?;
        let mut fields = line.get(start + MARK.len()..)?.split(|byte| *byte == b' ');
        let kind = match fields.next()? {
            b"D" => 'D',
            b"A" => 'A',
            b"R" => 'R',
            _ => return None,
        };
        let number = hexadecimal(fields.next()?, 16)?;
        let expected = hexadecimal(fields.next()?, 8)?;
        let bytes = fields.next().map_or(Some(Vec::new()), base64::decode)?;
        let complete = fields.next().is_none() && bytes.len() <= PIECE && bytes.is_empty() == (kind != 'D');
        if !complete || u64::from(sum(kind, number, &bytes)) != expected {
            return None;
        }
        Some(match kind {
            'D' => Self::Data { number, bytes },
            'A' => Self::Acknowledge { number },
            _ => Self::Resend { number },
        })
    }
}

/// The checksum covers the kind and the number, too.
fn sum(kind: char, number: u64, bytes: &[u8]) -> u32 {
    let mut all = Vec::with_capacity(bytes.len() + 9);
    all.push(u8::try_from(kind).unwrap_or(0));
    all.extend_from_slice(&number.to_le_bytes());
    all.extend_from_slice(bytes);
    crc32(&all)
}

fn hexadecimal(digits: &[u8], length: usize) -> Option<u64> {
    let plain = digits.len() == length
        && digits
            .iter()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| plain)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The sending side of one direction: numbers pieces and keeps them until they are acknowledged.
#[derive(Debug, Default)]
pub struct Sender {
    /// The number of the first piece that is held.
    first: u64,
    held: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Sender {
    /// How many more bytes it takes now.
    #[must_use]
    pub fn room(&self) -> usize {
        WINDOW - self.bytes.min(WINDOW)
    }

    /// The lines for as many of the bytes as there is room for, and how many those are.
    pub fn send(&mut self, bytes: &[u8]) -> (String, usize) {
        let taken = bytes.get(..self.room()).unwrap_or(bytes);
        let mut lines = String::new();
        for piece in taken.chunks(PIECE) {
            let number = self.first + self.held.len() as u64;
            lines.push_str(
                &Line::Data {
                    number,
                    bytes: piece.to_vec(),
                }
                .encode(),
            );
            self.held.push_back(piece.to_vec());
        }
        self.bytes += taken.len();
        (lines, taken.len())
    }

    /// The other side has everything before that number. A number that was never sent changes nothing.
    pub fn acknowledged(&mut self, number: u64) {
        if number > self.first + self.held.len() as u64 {
            return;
        }
        while self.first < number {
            self.bytes -= self.held.pop_front().map_or(0, |piece| piece.len());
            self.first += 1;
        }
    }

    /// The lines again, from that number on, as far as they are held.
    #[must_use]
    pub fn again(&self, number: u64) -> String {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let pieces = self.held.iter().enumerate().skip(skipped);
        pieces
            .map(|(index, piece)| {
                Line::Data {
                    number: self.first + index as u64,
                    bytes: piece.clone(),
                }
                .encode()
            })
            .collect()
    }

    /// The lines of everything that was not acknowledged: what a new channel begins with.
    #[must_use]
    pub fn all(&self) -> String {
        self.again(self.first)
    }
}

/// The receiving side of one direction: puts pieces in order, and says what the other side is to be told.
#[derive(Debug, Default)]
pub struct Receiver {
    partial: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    skipping: bool,
    next: u64,
    /// Whether a hole was seen and asked for; it is not asked for with every piece behind it.
    asked: bool,
}

/// What came of bytes from the channel.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The next bytes of the stream.
    pub bytes: Vec<u8>,
    /// The other side has taken everything of ours before that number.
    pub acknowledged: Option<u64>,
    /// The other side wants ours again from that number on.
    pub resend: Option<u64>,
    /// Lines to answer with.
    pub answer: String,
}

impl Receiver {
    /// Takes bytes of the channel, however they are cut.
    pub fn receive(&mut self, channel: &[u8]) -> Received {
        let mut received = Received::default();
        let before = self.next;
        for part in channel.split_inclusive(|byte| *byte == b'\n') {
            let (content, complete) = part
                .strip_suffix(b"\n")
                .map_or((part, false), |content| (content, true));
            if self.partial.len() + content.len() > LONGEST_LINE + NOISE {
                self.partial = Vec::new();
                self.skipping = true;
            }
            if !self.skipping {
                self.partial.extend_from_slice(content);
            }
            if complete {
                let line = std::mem::take(&mut self.partial);
                if !std::mem::take(&mut self.skipping) {
                    self.line(&line, &mut received);
                }
            }
        }
        if self.next != before {
            received
                .answer
                .push_str(&Line::Acknowledge { number: self.next }.encode());
        }
        received
    }

    fn line(&mut self, line: &[u8], received: &mut Received) {
        match Line::decode(line) {
            Some(Line::Data { number, bytes }) if number == self.next => {
                self.next += 1;
                self.asked = false;
                received.bytes.extend_from_slice(&bytes);
            }
            Some(Line::Data { number, .. }) if number > self.next => self.ask(received),
            // It came before, so the acknowledgement may have been lost.
            Some(Line::Data { .. }) => {
                received
                    .answer
                    .push_str(&Line::Acknowledge { number: self.next }.encode());
            }
            Some(Line::Acknowledge { number }) => {
                received.acknowledged = received.acknowledged.max(Some(number));
            }
            Some(Line::Resend { number }) => received.resend = Some(number),
            None if line.windows(MARK.len()).any(|window| window == MARK) => self.ask(received),
            None => {}
        }
    }

    fn ask(&mut self, received: &mut Received) {
        if !self.asked {
            self.asked = true;
            received.answer.push_str(&self.resume());
        }
    }

    /// The line that asks for everything that did not come: to be said on a new channel, or when nothing came for long.
    #[must_use]
    pub fn resume(&self) -> String {
        Line::Resend { number: self.next }.encode()
    }
}
