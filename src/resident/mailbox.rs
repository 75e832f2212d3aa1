//! What is told of a job, from the connection that hears it to whoever wants to know.
//!
//! A sandbox may say anything, so what waits here is bounded: output by the credit that was given for it, pieces of it by
//! being joined, everything else by replacing what was told before.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use herm_resident::wire::{Ending, MAX_TOOL_DATA, Stream, ToolCall};
use tokio::sync::{Notify, watch};

/// From so many pieces on, they are joined per stream.
const PIECES: usize = 1024;

/// More gaps than this in output that waits are a breach of the protocol.
const GAPS: usize = 256;

/// More calls, or bytes of their arguments, than a resident tells at a time are a breach of the protocol.
const CALLS: usize = 512;
const CALL_BYTES: usize = 128 * MAX_TOOL_DATA;

/// What is told of a job.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// Output, the bytes from an offset on.
    Output {
        stream: Stream,
        offset: u64,
        data: Vec<u8>,
    },
    /// Output that is not held any more.
    Gap { stream: Stream, from: u64, to: u64 },
    /// How much of the input the command has taken, and whether it can take more.
    StdinTaken { offset: u64, open: bool },
    /// Something about a call to a tool, by its number.
    Tool(u64, ToolCall),
    /// It has ended.
    Finished(Box<Ending>),
}

/// Why something cannot be put in.
#[derive(Debug, PartialEq)]
pub(super) enum Breach {
    /// That many bytes more than were allowed.
    BeyondCredit(u64),
    /// More gaps than a stream can have.
    TooManyGaps,
    /// More of calls to tools than can be under way.
    TooManyCalls,
}

#[derive(Debug, Default)]
struct Mail {
    credit: u64,
    output: VecDeque<Event>,
    gaps: usize,
    stdin: Option<(u64, bool)>,
    calls: VecDeque<(u64, ToolCall)>,
    call_bytes: usize,
    ending: Option<Box<Ending>>,
    closed: bool,
}

/// A mailbox for one job.
#[derive(Debug)]
pub(super) struct Mailbox {
    mail: Mutex<Mail>,
    filled: Notify,
    /// Whether the end was put in.
    ended: watch::Sender<bool>,
    /// Whether nothing more will come.
    lost: watch::Sender<bool>,
}

impl Mailbox {
    /// An empty one that takes so many bytes of output.
    pub(super) fn new(credit: u64) -> Self {
        let mail = Mail {
            credit,
            ..Mail::default()
        };
        Self {
            mail: Mutex::new(mail),
            filled: Notify::new(),
            ended: watch::Sender::new(false),
            lost: watch::Sender::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many more bytes of output.
    pub(super) fn grant(&self, bytes: u64) {
        let mut mail = self.lock();
        mail.credit = mail.credit.saturating_add(bytes);
    }

    /// Puts something in.
    pub(super) fn put(&self, event: Event) -> Result<(), Breach> {
        let mut mail = self.lock();
        match event {
            Event::Output { stream, offset, data } => {
                let size = data.len() as u64;
                mail.credit = mail
                    .credit
                    .checked_sub(size)
                    .ok_or_else(|| Breach::BeyondCredit(size - mail.credit))?;
                mail.put_output(stream, offset, data);
            }
            Event::Gap { .. } => {
                mail.gaps += 1;
                if mail.gaps > GAPS {
                    return Err(Breach::TooManyGaps);
                }
                mail.output.push_back(event);
            }
            Event::Tool(number, told) => {
                mail.call_bytes += bytes_of(&told);
                if mail.calls.len() >= CALLS || mail.call_bytes > CALL_BYTES {
                    return Err(Breach::TooManyCalls);
                }
                mail.calls.push_back((number, told));
            }
            Event::StdinTaken { offset, open } => mail.stdin = Some((offset, open)),
            Event::Finished(ending) => mail.ending = Some(ending),
        }
        let ended = mail.ending.is_some();
        drop(mail);
        self.filled.notify_one();
        if ended {
            self.ended.send_replace(true);
        }
        Ok(())
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.lost.send_replace(true);
    }

    /// Resolves when nothing more will come.
    pub(super) async fn lost(&self) {
        // The sender lives as long as this.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// Whether the end is among what has come, taken or not.
    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Resolves when the end was put in, is not taken yet, and is such a one.
    pub(super) async fn ended(&self, such: impl Fn(&Ending) -> bool) {
        let mut ended = self.ended.subscribe();
        // The sender lives as long as this.
        let _ = ended
            .wait_for(|ended| *ended && self.lock().ending.as_ref().is_some_and(|ending| such(ending)))
            .await;
    }

    /// The next thing that is told of a call; never resolves when nothing more will come. Only one may wait.
    pub(super) async fn next_call(&self) -> (u64, ToolCall) {
        loop {
            if let Some(call) = self.lock().take_call() {
                return call;
            }
            self.filled.notified().await;
        }
    }

    /// What comes next; `None` when everything was taken and nothing more will come. Only one may wait.
    pub(super) async fn next(&self) -> Option<Event> {
        loop {
            {
                let mut mail = self.lock();
                if let Some(event) = mail.take() {
                    return Some(event);
                }
                if mail.closed {
                    return None;
                }
            }
            self.filled.notified().await;
        }
    }
}

fn bytes_of(told: &ToolCall) -> usize {
    match told {
        ToolCall::Arguments { data, .. } => data.len(),
        _ => 0,
    }
}

impl Mail {
    /// Joins bytes with those before them, where they follow each other.
    fn put_output(&mut self, stream: Stream, offset: u64, data: Vec<u8>) {
        let many = self.output.len() >= PIECES;
        let mut earlier = self.output.iter_mut().rev();
        let before = if many {
            // The streams are apart, so their order among each other is nobody's promise.
            earlier.find(|event| matches!(event, Event::Output { stream: other, .. } | Event::Gap { stream: other, .. } if *other == stream))
        } else {
            earlier.next()
        };
        match before {
            Some(Event::Output {
                stream: other,
                offset: from,
                data: bytes,
            }) if *other == stream && *from + bytes.len() as u64 == offset => bytes.extend_from_slice(&data),
            _ => self.output.push_back(Event::Output { stream, offset, data }),
        }
    }

    fn take_call(&mut self) -> Option<(u64, ToolCall)> {
        let (number, told) = self.calls.pop_front()?;
        self.call_bytes -= bytes_of(&told);
        Some((number, told))
    }

    fn take(&mut self) -> Option<Event> {
        if let Some((offset, open)) = self.stdin.take() {
            return Some(Event::StdinTaken { offset, open });
        }
        if let Some((number, told)) = self.take_call() {
            return Some(Event::Tool(number, told));
        }
        if let Some(event) = self.output.pop_front() {
            self.gaps -= usize::from(matches!(event, Event::Gap { .. }));
            return Some(event);
        }
        self.ending.take().map(Event::Finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stream: Stream, offset: u64, data: &[u8]) -> Event {
        let data = data.to_vec();
        Event::Output { stream, offset, data }
    }

    #[tokio::test]
    async fn pieces_that_follow_each_other_are_joined_and_nothing_is_lost() {
        let mailbox = Mailbox::new(100);
        mailbox.put(output(Stream::Stdout, 0, b"ab")).unwrap();
        mailbox.put(output(Stream::Stdout, 2, b"c")).unwrap();
        mailbox.put(output(Stream::Stderr, 0, b"x")).unwrap();
        mailbox
            .put(Event::Gap {
                stream: Stream::Stdout,
                from: 3,
                to: 9,
            })
            .unwrap();
        mailbox.put(output(Stream::Stdout, 9, b"d")).unwrap();
        mailbox.close();
        for expected in [
            output(Stream::Stdout, 0, b"abc"),
            output(Stream::Stderr, 0, b"x"),
            Event::Gap {
                stream: Stream::Stdout,
                from: 3,
                to: 9,
            },
            output(Stream::Stdout, 9, b"d"),
        ] {
            assert_eq!(mailbox.next().await, Some(expected));
        }
        assert_eq!(mailbox.next().await, None);
    }

    #[tokio::test]
    async fn a_flood_of_small_pieces_takes_few_places() {
        let mailbox = Mailbox::new(1 << 20);
        for offset in 0..100_000 {
            mailbox.put(output(Stream::Stdout, offset, b"o")).unwrap();
            mailbox.put(output(Stream::Stderr, offset, b"e")).unwrap();
        }
        assert!(mailbox.lock().output.len() <= PIECES + 2);
        mailbox.close();
        let mut bytes = 0;
        while let Some(Event::Output { data, .. }) = mailbox.next().await {
            bytes += data.len();
        }
        assert_eq!(bytes, 200_000);
    }

    #[test]
    fn more_than_was_allowed_is_a_breach() {
        let mailbox = Mailbox::new(3);
        mailbox.put(output(Stream::Stdout, 0, b"ab")).unwrap();
        assert_eq!(
            mailbox.put(output(Stream::Stdout, 2, b"cde")),
            Err(Breach::BeyondCredit(2))
        );
        mailbox.grant(2);
        mailbox.put(output(Stream::Stdout, 2, b"cde")).unwrap();
        let gap = || Event::Gap {
            stream: Stream::Stderr,
            from: 0,
            to: 1,
        };
        let piece = || ToolCall::Arguments {
            tool: "t".into(),
            offset: 0,
            data: vec![0; MAX_TOOL_DATA],
            end: false,
        };
        let calls = Mailbox::new(0);
        let refused = (0..1000).find_map(|number| calls.put(Event::Tool(number, piece())).err());
        assert_eq!(refused, Some(Breach::TooManyCalls));
        let calls = Mailbox::new(0);
        let refused = (0..1000).find_map(|number| calls.put(Event::Tool(number, ToolCall::Gone)).err());
        assert_eq!(refused, Some(Breach::TooManyCalls));
        let refused = (0..=GAPS).find_map(|_| mailbox.put(gap()).err());
        assert_eq!(refused, Some(Breach::TooManyGaps));
    }
}
