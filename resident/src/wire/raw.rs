//! Raw frames: four bytes of length, little-endian, then so many bytes. The highest bit of the length says that the
//! message goes on in the next frame.

use std::fmt;

use super::MAX_FRAME;

const MORE: u32 = 1 << 31;
const HEADER: usize = 4;

/// A message in frames.
#[must_use]
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len() + HEADER);
    frame_into(message, |piece| bytes.extend_from_slice(piece));
    bytes
}

/// Hands a message in frames over, piece by piece.
pub fn frame_into(message: &[u8], mut put: impl FnMut(&[u8])) {
    let mut rest = message;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(MAX_FRAME));
        let more = if after.is_empty() { 0 } else { MORE };
        put(&(u32::from_le_bytes(frame_start(piece.len())) | more).to_le_bytes());
        put(piece);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}

/// What stands before a message of that length, which must fit into one frame.
#[must_use]
pub fn frame_start(length: usize) -> [u8; HEADER] {
    debug_assert!(length <= MAX_FRAME, "a longer message takes several frames");
    // A frame is far shorter than the bit is high.
    u32::try_from(length).unwrap_or(0).to_le_bytes()
}

/// Why a stream of bytes cannot be taken apart any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A frame is longer than any may be.
    FrameTooLong(u32),
    /// A message is longer than it may be here.
    MessageTooLong {
        /// What it may be at most, in bytes.
        limit: usize,
    },
    /// A frame without a byte.
    Empty,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FrameTooLong(length) => {
                write!(
                    f,
                    "a frame of {length} bytes is longer than the {MAX_FRAME} that are allowed"
                )
            }
            Self::MessageTooLong { limit } => {
                write!(
                    f,
                    "a message is longer than the {limit} bytes that are allowed here"
                )
            }
            Self::Empty => f.write_str("a frame is empty"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Takes a stream of bytes apart into messages. It holds at most one message, and the bytes that were added since.
#[derive(Debug, Default)]
pub struct Deframer {
    /// Bytes that were added, of which those before `taken` are done with.
    buffer: Vec<u8>,
    taken: usize,
    /// What earlier frames have brought of the message.
    message: Vec<u8>,
}

/// From this number of bytes on, an empty buffer is given back.
const LARGE: usize = 256 * 1024;

impl Deframer {
    /// Adds bytes as they came.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, if it is there as a whole; `limit` is how long it may be.
    ///
    /// # Errors
    /// When what comes is too long. The stream is of no use from there on.
    pub fn next(&mut self, limit: usize) -> Result<Option<Vec<u8>>, FrameError> {
        while let Some(header) = self.buffer.get(self.taken..).and_then(<[u8]>::first_chunk) {
            let header = u32::from_le_bytes(*header);
            let length = header & !MORE;
            let body = usize::try_from(length).map_err(|_| FrameError::FrameTooLong(length))?;
            if body > MAX_FRAME {
                return Err(FrameError::FrameTooLong(length));
            }
            if body == 0 {
                return Err(FrameError::Empty);
            }
            if self.message.len() + body > limit {
                return Err(FrameError::MessageTooLong { limit });
            }
            let start = self.taken + HEADER;
            let Some(body) = self.buffer.get(start..start + body) else {
                return Ok(None);
            };
            self.message.extend_from_slice(body);
            self.taken = start + body.len();
            if header & MORE == 0 {
                if self.taken == self.buffer.len() {
                    self.clear();
                }
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }

    fn clear(&mut self) {
        self.taken = 0;
        self.buffer.clear();
        if self.buffer.capacity() > LARGE {
            self.buffer = Vec::new();
        }
    }
}
