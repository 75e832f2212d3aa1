//! Reading what a command writes.
//!
//! The end of a command is the end of its leader, not the end of its pipes: whatever it left running may hold them for
//! ever. So what is in a pipe when the leader ends is taken in any case, what comes after is taken for a short fixed
//! time, and then the reader lets go. A pipe with a writer left is drained on, unread, so that the writer goes on.

use std::{os::fd::AsFd, time::Duration};

use herm_protocol::exec::Stream;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{ChildStderr, ChildStdout},
    sync::watch,
    time::Instant,
};

use crate::caller::Output;

/// How long output is still taken after the leader has ended, when something else holds the pipe.
pub(super) const DRAIN: Duration = Duration::from_millis(250);

/// Bytes read at a time; a pipe holds as many.
const BUFFER: usize = 64 * 1024;

/// How far the command is, for its readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It runs; everything is taken.
    Running,
    /// Its leader has ended; what is there is taken, and until then what comes.
    Draining(Instant),
    /// Nothing more is taken, not even what was read and finds no room at the caller's.
    Stopped,
}

/// The reading ends of a command's output; `None` for one that has no writer any more.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl Pipes {
    /// Whether somebody can still write.
    pub(super) fn held(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Reads both to the end and drops what comes, so that writers are not stopped.
    pub(super) async fn discard(self) {
        tokio::join!(discard(self.stdout), discard(self.stderr));
    }
}

async fn discard(pipe: Option<impl AsyncRead + Unpin>) {
    if let Some(mut pipe) = pipe {
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
}

/// Hands everything to the caller until the phase says stop; gives back the pipes that have a writer left.
pub(super) async fn pump(output: impl Output, pipes: Pipes, mut phase: watch::Receiver<Phase>) -> Pipes {
    tokio::select! {
        () = output.started() => {}
        () = stopped(&mut phase) => return pipes,
    }
    let (stdout, stderr) = tokio::join!(
        read(Stream::Stdout, pipes.stdout, &output, phase.clone()),
        read(Stream::Stderr, pipes.stderr, &output, phase.clone()),
    );
    Pipes { stdout, stderr }
}

/// Resolves when nothing more is to be taken.
async fn stopped(phase: &mut watch::Receiver<Phase>) {
    // Without a sender nobody waits for output either.
    let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
}

async fn read<P: AsyncRead + AsFd + Unpin>(
    stream: Stream,
    pipe: Option<P>,
    output: &impl Output,
    phase: watch::Receiver<Phase>,
) -> Option<P> {
    let mut reader = Reader {
        stream,
        pipe: pipe?,
        output,
        phase,
        buffer: vec![0; BUFFER],
    };
    loop {
        let phase = *reader.phase.borrow_and_update();
        let step = match phase {
            Phase::Running => reader.take_next(None).await,
            Phase::Draining(until) => reader.drain(until).await,
            Phase::Stopped => Step::Over,
        };
        match step {
            Step::More => {}
            Step::Over => return Some(reader.pipe),
            Step::End => return None,
        }
    }
}

/// What one step of reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There may be more.
    More,
    /// No more is wanted.
    Over,
    /// Nobody writes any more.
    End,
}

struct Reader<'a, P, O> {
    stream: Stream,
    pipe: P,
    output: &'a O,
    phase: watch::Receiver<Phase>,
    buffer: Vec<u8>,
}

impl<P: AsyncRead + AsFd + Unpin, O: Output> Reader<'_, P, O> {
    /// One round of draining: what waits in the pipe now, however long the caller makes it wait; then, if there is
    /// time left, what comes next. Each round takes one pipe-full at most before it looks at the clock, so that a
    /// writer that never pauses cannot keep the answer back.
    async fn drain(&mut self, until: Instant) -> Step {
        let last = Instant::now() >= until;
        let mut waiting = rustix::io::ioctl_fionread(&self.pipe).unwrap_or(0);
        while waiting > 0 {
            let size = usize::try_from(waiting).unwrap_or(BUFFER).min(BUFFER);
            let Ok(taken @ 1..) = self.pipe.read(&mut self.buffer[..size]).await else {
                return Step::End;
            };
            if self.hand_over(taken).await == Step::Over {
                return Step::Over;
            }
            waiting = waiting.saturating_sub(taken as u64);
        }
        match self.take_next(Some(until)).await {
            Step::More if last => Step::Over,
            step => step,
        }
    }

    /// Waits for the next bytes, a change of phase, or that time, and hands the bytes to the caller.
    async fn take_next(&mut self, until: Option<Instant>) -> Step {
        let read = self.pipe.read(&mut self.buffer);
        let taken = tokio::select! {
            biased;
            taken = read => taken,
            changed = self.phase.changed() => {
                return if changed.is_ok() { Step::More } else { Step::Over };
            }
            () = reached(until) => return Step::More,
        };
        match taken {
            Ok(0) | Err(_) => Step::End,
            Ok(taken) => self.hand_over(taken).await,
        }
    }

    async fn hand_over(&mut self, bytes: usize) -> Step {
        tokio::select! {
            biased;
            () = stopped(&mut self.phase) => Step::Over,
            () = self.output.write(self.stream, &self.buffer[..bytes]) => Step::More,
        }
    }
}

/// Resolves at that time; never when there is none.
pub(super) async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
