//! Reading what an engine brings of a command, and handing it to the caller.
//!
//! An engine drops what nobody has taken two seconds after a command has ended, and has no way to be asked for it again. So
//! what it brings is read whether or not the caller has room: up to a bound while the command runs, which then has to wait,
//! and all that is there once it has ended.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bollard::{container::LogOutput, errors::Error as Fault};
use futures::{Stream as Pieces, StreamExt as _};
use herm_protocol::exec::{Command, SetupFailure, Stream};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use super::wrapper::{self, Told};
use crate::caller::Output;

/// The longest first line.
const LONGEST_LINE: usize = 16 * 1024;

/// Bytes that wait for room at the caller's while a command runs.
const WAITING: usize = 1024 * 1024;

/// Bytes that are read of a command that has ended, whatever goes on writing for it.
const LAST: usize = 8 * 1024 * 1024;

/// How long they are read at most.
const LONGEST_DRAIN: Duration = Duration::from_secs(3);

/// How far a command is, for who reads its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It runs.
    Running,
    /// It is being ended. An engine tells of no end in a sandbox while output of what has ended there is not taken, so that all
    /// is taken, and dropped where it is too much.
    Ending,
    /// It has ended. What comes is taken until nothing has come for so long.
    Draining(Duration),
    /// It was answered. Nobody waits for its output; if it has not begun yet, it is to be known when it does.
    Answered,
}

/// What has become of a command that was to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    Awaited,
    /// It runs, as the process of that number in its sandbox.
    Runs {
        pid: u32,
        /// How many processes had been killed in the sandbox for lack of memory, where that is known.
        killed: Option<u64>,
    },
    /// There is no command.
    Refused(SetupFailure, String),
    /// Its output came to an end before it, and this was said in its place.
    Failed(String),
}

/// What a command has printed, and what the caller had no room for yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Something was taken in, or there will be no more.
    more: Notify,
    /// Something was taken out.
    less: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<(Stream, Vec<u8>)>,
    bytes: usize,
    /// Whether the command has begun.
    begun: bool,
    /// Whether there will be no more.
    over: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.lock());
        self.more.notify_one();
    }

    fn push(&self, stream: Stream, data: &[u8]) {
        if !data.is_empty() {
            self.change(|waiting| {
                waiting.bytes += data.len();
                match waiting.pieces.back_mut() {
                    Some((last, piece)) if *last == stream => piece.extend_from_slice(data),
                    _ => waiting.pieces.push_back((stream, data.to_vec())),
                }
            });
        }
    }

    /// Whether the command has to wait for its caller.
    pub(super) fn is_full(&self) -> bool {
        self.lock().bytes >= WAITING
    }

    /// Resolves when there is room for more.
    async fn room(&self) {
        while self.is_full() {
            self.less.notified().await;
        }
    }

    /// Hands everything to the caller as it has room. Resolves when there will be no more, and all of it is there.
    pub(super) async fn hand_over(&self, output: &impl Output) {
        let mut told = false;
        loop {
            let (next, begun, over) = {
                let mut waiting = self.lock();
                let next = waiting.pieces.pop_front();
                if let Some((_, data)) = &next {
                    waiting.bytes -= data.len();
                }
                (next, waiting.begun, waiting.over)
            };
            if begun && !told {
                told = true;
                output.started().await;
            }
            match next {
                Some((stream, data)) => {
                    self.less.notify_one();
                    output.write(stream, &data).await;
                }
                None if over => return,
                None => self.more.notified().await,
            }
        }
    }
}

/// What comes on a stream before the command does: the wrapper's line, which names itself by a secret word. Before it may be
/// what the system says when a shell starts.
#[derive(Debug, Default)]
struct FirstLine {
    bytes: Vec<u8>,
    is_over: bool,
}

impl FirstLine {
    /// Takes what has come; says what the line tells, once it is there. What comes after it stays in `bytes`.
    fn add(&mut self, message: &[u8], secret: &str, command: &Command) -> Option<Told> {
        self.bytes.extend_from_slice(message);
        let mut begin = 0;
        while let Some(length) = self.bytes[begin..].iter().position(|byte| *byte == b'\n') {
            let end = begin + length;
            if let Some(told) = wrapper::told(&self.bytes[begin..end], secret, command) {
                self.is_over = true;
                self.bytes.drain(..=end);
                return Some(told);
            }
            begin = end + 1;
        }
        None
    }

    fn is_too_long(&self) -> bool {
        !self.is_over && self.bytes.len() > LONGEST_LINE
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// The output of a command as the engine brings it.
pub(super) struct Reader<P> {
    pieces: P,
    queue: Arc<Queue>,
    phase: watch::Receiver<Phase>,
    beginning: Arc<watch::Sender<Beginning>>,
    /// When its command was known to have ended, and how many bytes have come since.
    ended: Option<Instant>,
    last: usize,
}

impl<P: Pieces<Item = Result<LogOutput, Fault>> + Unpin> Reader<P> {
    pub(super) fn new(
        pieces: P,
        queue: Arc<Queue>,
        phase: watch::Receiver<Phase>,
        beginning: Arc<watch::Sender<Beginning>>,
    ) -> Self {
        Self {
            pieces,
            queue,
            phase,
            beginning,
            ended: None,
            last: 0,
        }
    }

    /// Reads to the end: the first line of either stream tells whether the command has begun. It is on both, since nothing
    /// orders one after the other.
    pub(super) async fn read(mut self, secret: &str, command: &Command) {
        let mut lines = [FirstLine::default(), FirstLine::default()];
        while let Some((stream, message)) = self.next().await {
            let line = &mut lines[usize::from(stream == Stream::Stderr)];
            if line.is_over {
                self.queue.push(stream, &message);
                continue;
            }
            if let Some(told) = line.add(&message, secret, command) {
                self.begin(told);
                self.queue.push(stream, &line.take());
            } else if line.is_too_long() {
                break;
            }
        }
        let said = lines.each_mut().map(FirstLine::take).concat();
        self.beginning.send_if_modified(|beginning| {
            let awaited = *beginning == Beginning::Awaited;
            if awaited {
                *beginning = Beginning::Failed(String::from_utf8_lossy(&said).trim().to_owned());
            }
            awaited
        });
        self.queue.change(|waiting| waiting.over = true);
    }

    /// The same for one before which no line is to come: it runs.
    pub(super) async fn read_all(mut self) {
        self.queue.change(|waiting| waiting.begun = true);
        while let Some((stream, message)) = self.next().await {
            self.queue.push(stream, &message);
        }
        self.queue.change(|waiting| waiting.over = true);
    }

    fn begin(&self, told: Told) {
        self.beginning.send_if_modified(|beginning| {
            let awaited = *beginning == Beginning::Awaited;
            if awaited {
                *beginning = match told {
                    Told::Runs(pid, killed) => Beginning::Runs { pid, killed },
                    Told::Refused(kind, message) => Beginning::Refused(kind, message),
                };
            }
            awaited
        });
        let runs = matches!(*self.beginning.borrow(), Beginning::Runs { .. });
        self.queue.change(|waiting| waiting.begun = runs);
    }

    /// The next piece; `None` when no more is wanted or will come.
    async fn next(&mut self) -> Option<(Stream, Vec<u8>)> {
        loop {
            let phase = *self.phase.borrow_and_update();
            let until = match phase {
                Phase::Running => {
                    tokio::select! {
                        biased;
                        () = self.queue.room() => {}
                        changed = self.phase.changed() => {
                            changed.ok()?;
                            continue;
                        }
                    }
                    None
                }
                Phase::Ending => None,
                Phase::Draining(quiet) => {
                    let now = Instant::now();
                    Some((now + quiet).min(*self.ended.get_or_insert(now) + LONGEST_DRAIN))
                }
                // What it prints is wanted by nobody; that it runs is to be known, or it could not be ended.
                Phase::Answered if *self.beginning.borrow() == Beginning::Awaited => None,
                Phase::Answered => return None,
            };
            let piece = tokio::select! {
                biased;
                piece = self.pieces.next() => piece?.ok()?,
                // Who has answered is there no longer.
                changed = self.phase.changed(), if phase != Phase::Answered => {
                    changed.ok()?;
                    continue;
                }
                () = reached(until) => return None,
            };
            let (stream, message) = match piece {
                LogOutput::StdOut { message } | LogOutput::Console { message } => (Stream::Stdout, message),
                LogOutput::StdErr { message } => (Stream::Stderr, message),
                LogOutput::StdIn { .. } => continue,
            };
            if phase != Phase::Running {
                self.last += message.len();
            }
            if self.last > LAST {
                match phase {
                    Phase::Ending => continue,
                    // Something goes on writing, as fast as it is read.
                    _ => return None,
                }
            }
            return Some((stream, message.to_vec()));
        }
    }
}

pub(super) async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// A caller with room for so many bytes, and what it has got.
    #[derive(Clone, Debug)]
    struct Slow(Arc<(tokio::sync::Semaphore, Mutex<Vec<u8>>)>);

    impl Slow {
        fn with(room: usize) -> Self {
            Self(Arc::new((tokio::sync::Semaphore::new(room), Mutex::default())))
        }

        fn got(&self) -> usize {
            self.0.1.lock().unwrap().len()
        }
    }

    impl Output for Slow {
        async fn started(&self) {}

        async fn write(&self, _: Stream, data: &[u8]) {
            for byte in data {
                self.0.0.acquire().await.unwrap().forget();
                self.0.1.lock().unwrap().push(*byte);
            }
        }
    }

    fn out(text: impl Into<Vec<u8>>) -> LogOutput {
        let message = text.into().into();
        LogOutput::StdOut { message }
    }

    fn err(text: &'static str) -> LogOutput {
        let message = text.into();
        LogOutput::StdErr { message }
    }

    struct Reading {
        queue: Arc<Queue>,
        phase: watch::Sender<Phase>,
        beginning: watch::Receiver<Beginning>,
        task: tokio::task::JoinHandle<()>,
    }

    fn read(pieces: impl Pieces<Item = LogOutput> + Send + 'static) -> Reading {
        let queue = Arc::new(Queue::default());
        let (phase, seen) = watch::channel(Phase::Running);
        let (sender, beginning) = watch::channel(Beginning::Awaited);
        let reader = Reader::new(Box::pin(pieces.map(Ok)), queue.clone(), seen, Arc::new(sender));
        let task = tokio::spawn(async move {
            let command = Command::Shell("true".into());
            reader.read("s3cret", &command).await;
        });
        Reading {
            queue,
            phase,
            beginning,
            task,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_there_was_no_room_for_is_handed_over_when_there_is() {
        let line = out("s3cret yes 7 0\n");
        let pieces = std::iter::once(line).chain((0..50).map(|_| out(vec![b'x'; 100_000])));
        let reading = read(stream::iter(pieces));
        let caller = Slow::with(10);
        let handing = tokio::spawn({
            let (queue, caller) = (reading.queue.clone(), caller.clone());
            async move { queue.hand_over(&caller).await }
        });
        sleep(Duration::from_secs(10)).await;
        assert_eq!(caller.got(), 10);
        assert!(!reading.task.is_finished(), "a command that runs has to wait");
        reading
            .phase
            .send_replace(Phase::Draining(Duration::from_millis(300)));
        reading.task.await.unwrap();
        sleep(Duration::from_secs(10)).await;
        assert_eq!(caller.got(), 10);
        caller.0.0.add_permits(10_000_000);
        handing.await.unwrap();
        assert_eq!(caller.got(), 5_000_000);
    }

    #[tokio::test]
    async fn the_line_of_either_stream_tells_that_it_runs_and_nobody_sees_them() {
        let pieces = [
            out("s3cret yes 7 2\nou"),
            err("a warning of the system\ns3cret y"),
            out("t\n"),
            err("es 7 2\nerr\n"),
        ];
        let reading = read(stream::iter(pieces));
        reading.task.await.unwrap();
        let runs = Beginning::Runs {
            pid: 7,
            killed: Some(2),
        };
        assert_eq!(*reading.beginning.borrow(), runs);
        let caller = Slow::with(100);
        reading.queue.hand_over(&caller).await;
        assert_eq!(*caller.0.1.lock().unwrap(), b"out\nerr\n");
    }

    #[tokio::test]
    async fn what_is_said_in_place_of_the_line_is_kept() {
        let reading = read(stream::iter([out("no such program\n")]));
        reading.task.await.unwrap();
        let failed = Beginning::Failed("no such program".into());
        assert_eq!(*reading.beginning.borrow(), failed);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_what_goes_on_writing_is_not_waited_for() {
        let drips = stream::unfold((), |()| async {
            sleep(Duration::from_millis(100)).await;
            Some((out("x"), ()))
        });
        let reading = read(stream::iter([out("s3cret yes 7 -\n")]).chain(drips));
        let quiet = Duration::from_millis(300);
        reading.phase.send_replace(Phase::Draining(quiet));
        let ended = timeout(LONGEST_DRAIN * 2, reading.task).await;
        ended.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_flood_is_taken_while_it_is_being_ended() {
        let flood = stream::iter((0..1000).map(|_| out(vec![b'x'; 100_000])));
        let reading = read(stream::iter([out("s3cret yes 7 -\n")]).chain(flood));
        sleep(Duration::from_millis(100)).await;
        assert!(!reading.task.is_finished() && reading.queue.is_full());
        reading.phase.send_replace(Phase::Ending);
        let ended = timeout(Duration::from_mins(1), reading.task).await;
        ended.unwrap().unwrap();
        assert!(reading.queue.lock().bytes <= WAITING + LAST + 100_000);
    }

    #[tokio::test(start_paused = true)]
    async fn that_it_runs_is_known_although_it_was_answered() {
        let late = stream::once(async {
            sleep(Duration::from_secs(5)).await;
            out("s3cret yes 7 -\n")
        });
        let mut reading = read(late.chain(stream::pending()));
        reading.phase.send_replace(Phase::Answered);
        drop(reading.phase);
        let runs = |beginning: &Beginning| matches!(beginning, Beginning::Runs { pid: 7, killed: None });
        reading.beginning.wait_for(runs).await.unwrap();
        reading.task.await.unwrap();
    }
}
