//! One exec, from its acceptance until it is forgotten and nothing of it is left.

use std::{
    collections::VecDeque,
    fs::File,
    io::{PipeReader, PipeWriter},
    time::{Duration, Instant},
};

use super::{
    spool::{SLACK, Spool},
    tools::Tools,
};
use crate::{
    session::Carried,
    supervisor::Force,
    system::Status,
    wire::{Ending, JobRecord, JobState, SpoolFull, Stream},
};

/// How far an exec is.
#[derive(Debug)]
pub(super) enum Phase {
    /// Its supervisor was forked; whether the command could be started is not known.
    Starting,
    Running,
    /// The command has ended; what it wrote, or what it left running writes, is still taken for a short time.
    Draining {
        end: End,
        /// When the command had ended.
        at: Instant,
        /// Until when at most.
        until: Instant,
        /// Until when, unless more comes.
        quiet: Instant,
    },
    Ended(Box<Ending>),
}

/// How a command ended, as its supervisor saw it, or as became of it when that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) status: Option<Status>,
    pub(super) force: Option<Force>,
    /// Whether nothing of the tree was left.
    pub(super) gone: bool,
}

/// A stream of output.
#[derive(Debug)]
pub(super) struct Output {
    /// Its reading end, as long as somebody can write.
    pub(super) pipe: Option<PipeReader>,
    /// Whether it is not read because there is no room.
    pub(super) paused: bool,
    pub(super) enlarged: bool,
    pub(super) spool: Spool,
    /// The greatest offset that was read from without being attached: what comes before it was taken.
    pub(super) taken: u64,
    /// How much more than its capacity the spool takes of what is left in the pipe at the end.
    pub(super) slack: u64,
}

impl Output {
    pub(super) fn new(pipe: PipeReader, spool: Spool) -> Self {
        Self {
            pipe: Some(pipe),
            paused: false,
            enlarged: false,
            spool,
            taken: 0,
            slack: SLACK,
        }
    }
}

/// The input of a command that is fed.
#[derive(Debug)]
pub(super) struct Input {
    /// `None` when the command has got the end of file, or reads no more.
    pub(super) pipe: Option<PipeWriter>,
    /// What was fed and not yet taken.
    pub(super) queue: VecDeque<u8>,
    /// How many bytes the pipe has taken.
    pub(super) taken: u64,
    /// Whether nothing is fed any more.
    pub(super) eof: bool,
    /// The connection that feeds, which is told what was taken.
    pub(super) feeder: Option<u64>,
    /// Whether the pipe is being waited for.
    pub(super) waiting: bool,
}

/// A client that is attached.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) connection: u64,
    /// Offset of the next byte to send of each stream.
    pub(super) cursor: [u64; 2],
    /// Bytes that may still be sent.
    pub(super) credit: u64,
    /// Bytes that may be under way: so many behind its cursor it may not have got, and they stay held.
    pub(super) window: u64,
    /// Where its output ends, once it was told the end of the job.
    pub(super) limit: Option<[u64; 2]>,
}

/// The process that supervises an exec.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) pid: i32,
    pub(super) control: File,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) request: [u8; 16],
    pub(super) accepted: Instant,
    pub(super) shown: String,
    pub(super) keep: bool,
    pub(super) spool_full: SpoolFull,
    pub(super) deadline: Option<Instant>,
    pub(super) grace: Duration,
    /// The process number of the command; 0 before it runs.
    pub(super) pid: i32,
    pub(super) phase: Phase,
    /// As long as it lives, something of the exec may live.
    pub(super) supervisor: Option<Supervisor>,
    pub(super) outputs: [Option<Output>; 2],
    pub(super) input: Option<Input>,
    pub(super) readers: Vec<Reader>,
    /// Calls that wait for the end.
    pub(super) waiters: Vec<(u64, u32)>,
    /// Calls that wait for the start, and whether each was the first to ask for it.
    pub(super) starters: Vec<(u64, u32, bool)>,
    pub(super) notices: Vec<String>,
    /// The tools that its code may call.
    pub(super) tools: Option<Tools>,
    /// What it carries of its session.
    pub(super) session: Option<Carried>,
    /// How often the kernel had killed for lack of memory before the start.
    pub(super) kills_before: Option<u64>,
    /// Why it is being ended.
    pub(super) force: Option<Force>,
    /// What became of the command after its supervisor was killed.
    pub(super) orphan: Option<Status>,
    /// When its supervisor was found killed before it had told the end.
    pub(super) lost: Option<Instant>,
    /// When something is to be done about it next.
    pub(super) wake: Option<Instant>,
    /// Nobody wants anything of it any more.
    pub(super) forgotten: bool,
}

impl Job {
    pub(super) fn output(&self, stream: Stream) -> Option<&Output> {
        self.outputs[stream.index()].as_ref()
    }

    pub(super) fn totals(&self) -> [u64; 2] {
        Stream::ALL.map(|stream| self.output(stream).map_or(0, |output| output.spool.end()))
    }

    pub(super) fn held_from(&self) -> [u64; 2] {
        Stream::ALL.map(|stream| self.output(stream).map_or(0, |output| output.spool.from()))
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Whether anybody can still write.
    pub(super) fn is_written(&self) -> bool {
        self.outputs.iter().flatten().any(|output| output.pipe.is_some())
    }

    /// Whether all that is left of it is the memory of it.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended() && self.supervisor.is_none() && !self.is_written()
    }

    /// How many bytes of a stream can be taken now: with clients attached, as many as the slowest of them lets; with none,
    /// as the caller has said.
    pub(super) fn room(&self, stream: Stream) -> u64 {
        let Some(output) = self.output(stream) else {
            return 0;
        };
        if self.forgotten {
            return u64::MAX;
        }
        let index = stream.index();
        // One that was told the end wants no more than there was then.
        let waiting = self.readers.iter().filter(|reader| {
            reader
                .limit
                .is_none_or(|limit| reader.cursor[index] < limit[index])
        });
        // What is held for a client that may have lost it leaves room for what comes.
        let most = output.spool.capacity() / 2;
        let floor = waiting
            .map(|reader| reader.cursor[index].saturating_sub(reader.window.min(most)))
            .min();
        let room = match (floor, self.spool_full) {
            (Some(floor), _) => output.spool.room(floor),
            (None, SpoolFull::Block) => output.spool.room(output.taken),
            (None, SpoolFull::DropOldest) => u64::MAX,
        };
        if matches!(self.phase, Phase::Draining { .. }) {
            room.saturating_add(output.slack)
        } else {
            room
        }
    }

    /// Whether it waits for somebody who takes what it has written.
    fn is_blocked(&self) -> bool {
        let paused = |output: &Output| output.paused && output.pipe.is_some();
        !self.has_ended() && self.readers.is_empty() && self.outputs.iter().flatten().any(paused)
    }

    pub(super) fn record(&self, now: Instant) -> JobRecord {
        let age = now.saturating_duration_since(self.accepted).as_millis();
        JobRecord {
            job: self.id,
            request: self.request,
            state: match &self.phase {
                Phase::Ended(ending) => JobState::Ended(ending.as_ref().clone()),
                _ => JobState::Running,
            },
            pid: u32::try_from(self.pid).unwrap_or(0),
            age_ms: u64::try_from(age).unwrap_or(u64::MAX),
            command: self.shown.clone(),
            alive: self.supervisor.is_some(),
            totals: self.totals(),
            held_from: self.held_from(),
            attached: self.readers.iter().any(|reader| reader.limit.is_none()),
            blocked: self.is_blocked(),
        }
    }
}
