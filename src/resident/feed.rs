//! The input of a command: sent as the command takes it, and sent again when a connection was lost.

use std::{collections::VecDeque, sync::Arc};

use herm_protocol::exec::Stdin;
use herm_resident::wire::{self, MAX_DATA, Request};

use super::connection::Connection;
use crate::caller::Input;

/// Bytes that may be under way to the command.
const WINDOW: u64 = 256 * 1024;

/// Input of this size at most goes with the start of its command.
const WITH_START: usize = 256 * 1024;

/// What a command is fed.
pub(super) struct Feed<I> {
    /// Where more comes from; `None` when nothing more does.
    source: Option<Source<I>>,
    /// Bytes that were sent and are not known to be taken, from `taken` on.
    sent: VecDeque<u8>,
    taken: u64,
    /// Whether nothing more is sent.
    ended: bool,
    /// Whether the end was sent, and is to be sent again.
    end_is_due: bool,
}

enum Source<I> {
    Bytes(Vec<u8>),
    Caller(I),
}

impl<I: Input> Feed<I> {
    /// Splits input into what goes with the start of the command and what is fed to it.
    pub(super) fn new(stdin: Stdin, input: I) -> (wire::Stdin, Self) {
        let (with_start, source) = match stdin {
            Stdin::None => (wire::Stdin::None, None),
            Stdin::Bytes { data } if data.as_bytes().len() <= WITH_START => {
                (wire::Stdin::Bytes(data.into_bytes()), None)
            }
            Stdin::Bytes { data } => (wire::Stdin::Stream, Some(Source::Bytes(data.into_bytes()))),
            Stdin::Stream => (wire::Stdin::Stream, Some(Source::Caller(input))),
        };
        let feed = Self {
            ended: source.is_none(),
            source,
            sent: VecDeque::new(),
            taken: 0,
            end_is_due: false,
        };
        (with_start, feed)
    }

    /// The next thing to send; never resolves when there is none. It may be called again when it was given up.
    pub(super) async fn next(&mut self) -> Piece {
        let room = WINDOW.saturating_sub(self.sent.len() as u64);
        if self.ended || room == 0 {
            return std::future::pending().await;
        }
        match &mut self.source {
            Some(Source::Bytes(bytes)) => {
                let size = usize::try_from(room).unwrap_or(MAX_DATA).min(bytes.len());
                let rest = bytes.split_off(size);
                let data = std::mem::replace(bytes, rest);
                let eof = bytes.is_empty();
                Piece { data, eof }
            }
            Some(Source::Caller(input)) => match input.next().await {
                Some(data) => Piece { data, eof: false },
                None => Piece {
                    data: Vec::new(),
                    eof: true,
                },
            },
            None => std::future::pending().await,
        }
    }

    /// Sends a piece. A connection that is lost meanwhile is made again by others, who then call [`Feed::again`].
    pub(super) async fn send(&mut self, connection: &Arc<Connection>, job: u64, piece: Piece) {
        let mut offset = self.taken + self.sent.len() as u64;
        self.sent.extend(&piece.data);
        if piece.eof {
            (self.ended, self.end_is_due) = (true, true);
            self.source = None;
        }
        for (data, eof) in pieces(&piece.data, piece.eof) {
            let size = data.len() as u64;
            let request = Request::Stdin {
                job,
                offset,
                data,
                eof,
            };
            if connection.send(request).await.is_err() {
                return;
            }
            offset += size;
        }
    }

    /// Sends what was sent before and is not known to be taken.
    pub(super) async fn again(&mut self, connection: &Arc<Connection>, job: u64) {
        if self.sent.is_empty() && !self.end_is_due {
            return;
        }
        let data: Vec<u8> = self.sent.drain(..).collect();
        let eof = self.end_is_due;
        self.send(connection, job, Piece { data, eof }).await;
    }

    /// The command has taken everything up to an offset, and can take more if it is open. What it says beyond what was
    /// sent is not believed.
    pub(super) fn taken(&mut self, offset: u64, open: bool) {
        let newly = offset.saturating_sub(self.taken).min(self.sent.len() as u64);
        self.sent.drain(..usize::try_from(newly).unwrap_or(0));
        self.taken += newly;
        if !open {
            self.close();
        }
    }

    /// Nothing more is fed; who feeds is told so.
    pub(super) fn close(&mut self) {
        self.source = None;
        (self.ended, self.end_is_due) = (true, false);
        self.sent.clear();
    }
}

/// A piece of input.
#[derive(Debug)]
pub(super) struct Piece {
    data: Vec<u8>,
    eof: bool,
}

/// Cuts a piece into messages; the end goes with the last.
fn pieces(data: &[u8], eof: bool) -> Vec<(Vec<u8>, bool)> {
    let mut pieces: Vec<_> = data
        .chunks(MAX_DATA)
        .map(|chunk| (chunk.to_vec(), false))
        .collect();
    match pieces.last_mut() {
        Some(last) => last.1 = eof,
        None if eof => pieces.push((Vec::new(), true)),
        None => {}
    }
    pieces
}
