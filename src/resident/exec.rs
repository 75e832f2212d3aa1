//! One command from its start to its outcome, over as many connections as it takes.

use std::{future::pending, sync::Arc, time::Duration};

use herm_protocol::{
    Error, Finished, Interrupt,
    exec::{Outcome, Stdin},
};
use herm_resident::wire::{Ending, ErrorKind, Outcome as WireOutcome, Reply, Request, Start, Stream};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::{
    Resident,
    calls::Calls,
    client::{ATTEMPTS, Unreached},
    connection::{CallFault, Connection},
    convert::{self, unreached},
    feed::{Feed, Piece},
    mailbox::{Event, Mailbox},
};
use crate::caller::{Caller, Control, Input, Output, Tools};

/// Bytes of output that may be under way to this client.
const WINDOW: u64 = 1024 * 1024;

/// How long the caller of a command that was ended by force has to take the rest of its output.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long a resident that answers has to tell of the end of a command whose deadline and grace have passed, and to hand
/// over the last of its output.
const LATE: Duration = Duration::from_secs(10);

/// How long a resident has to answer at all when a deadline and its grace have passed: one that is frozen does not, and the
/// caller is not to wait for it.
const SIGN_OF_LIFE: Duration = Duration::from_millis(600);

/// What is told when the outcome is known and some output is not.
const LAST_OUTPUT: &str = "the last of the output could not be had from the resident";

/// How a start went.
pub(super) enum Begun {
    /// It runs, or could not be set up, which is told next.
    Started {
        connection: Arc<Connection>,
        job: u64,
        mailbox: Arc<Mailbox>,
    },
    /// The resident was lost when it may have been started.
    Lost(Unreached),
}

impl Resident {
    /// Runs a command to its end. `start` says what; its input comes from `stdin`, and where that is streamed from the caller.
    ///
    /// A connection that is lost is made again, and the command goes on where it was: it is not started twice, and every byte
    /// is handed over once.
    ///
    /// # Errors
    /// Nothing was started: the arguments cannot be used, or the resident cannot be reached.
    pub async fn run(
        &self,
        sandbox: &str,
        mut start: Start,
        stdin: Stdin,
        caller: Caller<impl Output, impl Input, impl Tools>,
        control: &mut impl Control,
    ) -> Result<Finished, Error> {
        let Caller { output, input, tools } = caller;
        let (with_start, feed) = Feed::new(stdin, input);
        start.stdin = with_start;
        start.attach = Some(WINDOW);
        let limit = limit_of(&start);
        let grace = Duration::from_millis(start.grace_ms.into());
        let begun = match limit {
            Some(limit) => match timeout_at(limit + SIGN_OF_LIFE, self.begin(sandbox, &start)).await {
                Ok(begun) => begun?,
                Err(_) => return Ok(timed_out_unseen()),
            },
            None => self.begin(sandbox, &start).await?,
        };
        let (connection, job, mailbox) = match begun {
            Begun::Started {
                connection,
                job,
                mailbox,
            } => (connection, job, mailbox),
            Begun::Lost(why) => return Ok(lost(&why)),
        };
        let exec = Exec {
            resident: self,
            connection,
            mailbox,
            job,
            output,
            feed,
            calls: Calls::new(tools, job, start.tools.as_ref()),
            serves: start.tools.is_some().then_some(start.request),
            cursor: [0, 0],
            ending: None,
            cancelled: false,
            grace,
            limit,
            deaf: false,
            extended: false,
            losses: 0,
            unreached: None,
            notice: None,
        };
        exec.follow(control).await
    }

    /// Starts a command. The same request is sent again as long as it is the same resident, which starts it once.
    pub(super) async fn begin(&self, sandbox: &str, start: &Start) -> Result<Begun, Error> {
        let mut sent = false;
        for _ in 0..ATTEMPTS {
            let connection = match self.connection().await {
                Ok(connection) => connection,
                Err(why) if sent => return Ok(Begun::Lost(why)),
                Err(why) => return Err(unreached(sandbox, why)),
            };
            let make = |call| Request::Start {
                call,
                start: Box::new(start.clone()),
            };
            sent = true;
            let credit = start.attach.unwrap_or(0);
            match connection.attach(make, credit, self.settings().answer).await {
                Ok((Reply::Started { job, .. }, mailbox)) => {
                    return Ok(Begun::Started {
                        connection,
                        job,
                        mailbox,
                    });
                }
                Ok(_) => {
                    return Err(Error::internal(
                        "start a command",
                        "the resident answered what was not asked",
                    ));
                }
                Err(CallFault::Refused(refusal)) => return Err(convert::refusal(sandbox, refusal)),
                Err(CallFault::Lost(_)) => {}
            }
        }
        let why = format!("the connection was lost {ATTEMPTS} times while a command was started");
        Ok(Begun::Lost(Unreached::Away(why)))
    }
}

/// When the deadline of a command and its grace have passed. A deadline beyond the clock's range is none.
fn limit_of(start: &Start) -> Option<Instant> {
    let grace = Duration::from_millis(start.grace_ms.into());
    let limit = (start.deadline_ms > 0).then(|| Duration::from_millis(start.deadline_ms) + grace);
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// The outcome of a command whose deadline has passed while its resident did not answer: it is frozen, and what runs
/// below it most likely, too. When it goes on, the first thing that it sees is the deadline.
fn timed_out_unseen() -> Finished {
    Finished {
        notices: vec![
            "the resident did not answer when the deadline had passed; what runs is ended as soon as it does"
                .into(),
        ],
        ..Outcome::TimedOut.into()
    }
}

/// The outcome of a command that was cancelled while its resident did not answer.
fn cancelled_unseen() -> Finished {
    Finished {
        notices: vec![
            "the resident did not answer when the command was cancelled; what runs is ended as soon as it does".into(),
        ],
        ..Outcome::Cancelled.into()
    }
}

/// The outcome of a command whose resident was lost.
fn lost(why: &Unreached) -> Finished {
    let outcome = match why {
        Unreached::Gone(_) => Outcome::SandboxLost,
        Unreached::Away(_) => Outcome::TransportLost,
    };
    Finished {
        notices: vec![format!("how the command ended is not known: {why}")],
        ..outcome.into()
    }
}

/// A running command.
struct Exec<'a, O, I, T> {
    resident: &'a Resident,
    connection: Arc<Connection>,
    mailbox: Arc<Mailbox>,
    job: u64,
    output: O,
    feed: Feed<I>,
    calls: Calls<T>,
    /// The request that started it, where it may call tools.
    serves: Option<[u8; 16]>,
    /// Bytes of each stream that were handed over.
    cursor: [u64; 2],
    ending: Option<Ending>,
    /// Whether the caller wants its end.
    cancelled: bool,
    /// How long the command has, when it is asked to end.
    grace: Duration,
    /// When the resident has broken its word.
    limit: Option<Instant>,
    /// Whether the caller takes no more output.
    deaf: bool,
    /// Whether the limit was extended once: for a resident that answers, or to ask for the rest of the output again.
    extended: bool,
    /// How often the connection was lost.
    losses: u32,
    /// Why the resident cannot be reached any more, when that was found out.
    unreached: Option<Unreached>,
    /// What the caller should know besides.
    notice: Option<&'static str>,
}

/// What comes next.
enum Next {
    Event(Option<Event>),
    Wish(Interrupt),
    Piece(Piece),
    Late,
}

impl<O: Output, I: Input, T: Tools> Exec<'_, O, I, T> {
    async fn follow(mut self, control: &mut impl Control) -> Result<Finished, Error> {
        self.output.started().await;
        while !self.is_complete() {
            let next = tokio::select! {
                event = self.mailbox.next() => Next::Event(event),
                wish = control.next() => Next::Wish(wish),
                piece = self.feed.next() => Next::Piece(piece),
                () = self.calls.work(&self.connection) => continue,
                () = reached(self.limit) => Next::Late,
            };
            let taken = match next {
                Next::Event(Some(event)) => self.take(event, control).await,
                Next::Event(None) => Err(()),
                Next::Wish(wish) => {
                    self.pass_on(wish).await;
                    Ok(())
                }
                Next::Piece(piece) => {
                    self.feed.send(&self.connection, self.job, piece).await;
                    Ok(())
                }
                Next::Late if self.ending.is_some() && !self.extended => {
                    self.extended = true;
                    Err(())
                }
                Next::Late if self.ending.is_some() => {
                    self.notice = Some(LAST_OUTPUT);
                    break;
                }
                Next::Late if self.is_alive().await => {
                    if self.extended {
                        return Ok(self.broken_word());
                    }
                    self.extended = true;
                    self.limit = Some(Instant::now() + LATE);
                    Ok(())
                }
                Next::Late => {
                    self.cancel().await;
                    self.connection.leave(self.job);
                    return Ok(if self.cancelled {
                        cancelled_unseen()
                    } else {
                        timed_out_unseen()
                    });
                }
            };
            if taken.is_ok() {
                continue;
            }
            match self.recover().await {
                Ok(()) => {}
                // How it ended is known; only the rest of what it wrote is not.
                Err(_) if self.ending.is_some() => {
                    self.notice = Some(LAST_OUTPUT);
                    break;
                }
                Err(why) => return Ok(lost(&why)),
            }
        }
        self.finish().await
    }

    fn is_complete(&self) -> bool {
        let whole =
            |ending: &Ending| self.cursor[0] >= ending.totals[0] && self.cursor[1] >= ending.totals[1];
        self.ending
            .as_ref()
            .is_some_and(|ending| self.deaf || whole(ending))
    }

    /// Takes what was told of the command. `Err` when the connection is of no more use.
    async fn take(&mut self, event: Event, control: &mut impl Control) -> Result<(), ()> {
        match event {
            Event::Output { .. } if self.deaf => Ok(()),
            Event::Output { stream, offset, data } => self.hand_over(stream, offset, data, control).await,
            // A spool that blocks loses nothing.
            Event::Gap { .. } => Err(()),
            Event::StdinTaken { offset, open } => {
                self.feed.taken(offset, open);
                Ok(())
            }
            Event::Tool(number, told) => self.calls.take(number, told),
            Event::Finished(ending) => {
                self.feed.close();
                self.ending = Some(*ending);
                self.extended = false;
                self.limit = Some(Instant::now() + LATE);
                Ok(())
            }
        }
    }

    /// Hands bytes to the caller, who may take their time unless the command was ended by force.
    async fn hand_over(
        &mut self,
        stream: Stream,
        offset: u64,
        data: Vec<u8>,
        control: &mut impl Control,
    ) -> Result<(), ()> {
        let cursor = self.cursor[stream.index()];
        if offset != cursor {
            return Err(());
        }
        self.cursor[stream.index()] += data.len() as u64;
        let output = self.output.clone();
        let writing = output.write(convert::stream(stream), &data);
        tokio::pin!(writing);
        let mut given_up = false;
        loop {
            tokio::select! {
                () = &mut writing => break,
                wish = control.next() => self.pass_on(wish).await,
                // A caller who waits for a tool may take no output meanwhile.
                (number, told) = self.mailbox.next_call() => {
                    if self.calls.take(number, told).is_err() {
                        // What is being written is written to its end; then the loss is noticed.
                        self.connection.close("it tells more of calls than can be under way");
                    }
                }
                () = self.calls.work(&self.connection) => {}
                () = forced_end(self.ending.as_ref(), &self.mailbox) => {
                    given_up = tokio::time::timeout(PATIENCE, &mut writing).await.is_err();
                    break;
                }
                () = reached(self.limit.filter(|_| self.ending.is_none())) => {
                    given_up = true;
                    break;
                }
                // A caller who takes nothing does not keep the loss of the sandbox from being noticed.
                () = self.mailbox.lost(), if self.unreached.is_none() => {
                    let over = self.ending.is_some() || self.mailbox.has_ended();
                    let Err(why) = self.recover().await else { continue };
                    let gone = matches!(why, Unreached::Gone(_));
                    self.unreached = Some(why);
                    if !over || gone {
                        given_up = timeout(PATIENCE, &mut writing).await.is_err();
                    }
                    if !over {
                        return Err(());
                    }
                    if gone {
                        break;
                    }
                }
            }
        }
        if given_up {
            // What was not taken is a gap; nothing more is handed over.
            self.deaf = true;
            return Ok(());
        }
        if self.ending.is_some() {
            self.limit = Some(Instant::now() + LATE);
        }
        // A connection that is lost is noticed where events are taken.
        let _ = self.connection.grant(self.job, data.len() as u64).await;
        Ok(())
    }

    async fn pass_on(&mut self, wish: Interrupt) {
        match wish {
            Interrupt::Cancel => {
                self.cancel().await;
                // Who asks again does not get more time for it.
                if !self.cancelled && self.ending.is_none() {
                    let ended = Instant::now() + self.grace + SIGN_OF_LIFE;
                    self.limit = Some(self.limit.map_or(ended, |limit| limit.min(ended)));
                }
                self.cancelled = true;
            }
            Interrupt::Signal(number) => {
                let job = self.job;
                // A signal that may have been sent is not sent again.
                if let Ok(number) = u8::try_from(number) {
                    self.connection
                        .tell(|call| Request::Signal { call, job, number })
                        .await;
                }
            }
        }
    }

    async fn cancel(&self) {
        let job = self.job;
        self.connection.tell(|call| Request::Cancel { call, job }).await;
    }

    /// Goes on with a new connection, unless that was done too often or cannot be done any more.
    async fn recover(&mut self) -> Result<(), Unreached> {
        if let Some(why) = self.unreached.take() {
            return Err(why);
        }
        self.losses += 1;
        if self.losses > ATTEMPTS {
            let why = format!("the connection was lost {} times during one command", self.losses);
            return Err(Unreached::Away(why));
        }
        self.resume().await
    }

    /// Makes a new connection, and goes on where the old one ended.
    async fn resume(&mut self) -> Result<(), Unreached> {
        for _ in 0..ATTEMPTS {
            self.connection
                .close("what came on it cannot be used, or it was lost");
            let connection = self.resident.connection().await?;
            let (job, from) = (self.job, self.cursor);
            let make = |call| Request::Attach {
                call,
                job,
                from,
                credit: WINDOW,
            };
            match connection
                .attach(make, WINDOW, self.resident.settings().answer)
                .await
            {
                Ok((Reply::Started { .. }, mailbox)) => {
                    (self.connection, self.mailbox) = (connection, mailbox);
                    if self.ending.is_some() {
                        self.limit = Some(Instant::now() + LATE);
                    } else {
                        self.feed.again(&self.connection, job).await;
                        self.serve_again().await;
                    }
                    if self.cancelled {
                        self.cancel().await;
                    }
                    return Ok(());
                }
                Ok(_) => {}
                Err(CallFault::Refused(refusal)) if refusal.kind == ErrorKind::ShuttingDown => {
                    return Err(Unreached::Gone(refusal.message));
                }
                Err(CallFault::Refused(refusal)) => return Err(Unreached::Away(refusal.message)),
                Err(CallFault::Lost(_)) => self.connection = connection,
            }
        }
        Err(Unreached::Away(format!(
            "the connection was lost {ATTEMPTS} times in a row"
        )))
    }

    /// Has the calls that are open told again on a new connection. One that is lost meanwhile is noticed where events are
    /// taken.
    async fn serve_again(&mut self) {
        let Some(request) = self.serves else { return };
        let job = self.job;
        let serve = |call| Request::ServeTools { call, job, request };
        let answer = self.resident.settings().answer;
        if self.connection.call(serve, answer).await.is_ok() {
            self.calls.again();
        }
    }

    /// Whether the resident answers, or has told of the end meanwhile.
    async fn is_alive(&self) -> bool {
        // Its time is not that of an answer, at whose end the connection would be given up.
        let ping = self
            .connection
            .call(|call| Request::Ping { call }, Duration::from_hours(1));
        timeout(SIGN_OF_LIFE, ping).await.is_ok()
    }

    /// The resident has let a deadline pass, although it answers.
    fn broken_word(self) -> Finished {
        let why = "the resident did not tell of the end of a command that was to be ended long ago";
        self.connection.leave(self.job);
        lost(&Unreached::Away(why.into()))
    }

    /// Tells the outcome. What was left running stays known as a job.
    async fn finish(mut self) -> Result<Finished, Error> {
        self.connection.leave(self.job);
        let ending = self.ending.take();
        let ending = ending.ok_or_else(|| Error::internal("run a command", "its end was not told"))?;
        let job = self.job;
        let left_behind = ending.left_behind;
        let forget = |call| Request::Forget { call, job };
        if !left_behind && (self.cancelled || self.deaf) {
            // Output is still on its way to us. Who went now could be given up before this is read.
            let _ = timeout(SIGN_OF_LIFE, self.connection.call(forget, SIGN_OF_LIFE)).await;
        } else if !left_behind {
            self.connection.tell(forget).await;
        }
        Ok(Finished {
            outcome: convert::outcome(ending.outcome)?,
            notices: ending
                .notices
                .into_iter()
                .chain(self.notice.map(str::to_owned))
                .collect(),
            job: left_behind.then(|| job.to_string()),
        })
    }
}

/// Resolves when the command was ended by force, and its end is known.
async fn forced_end(known: Option<&Ending>, mailbox: &Mailbox) {
    let forced = |ending: &Ending| {
        matches!(
            ending.outcome,
            WireOutcome::TimedOut | WireOutcome::Cancelled | WireOutcome::SandboxLost
        )
    };
    if known.is_some_and(forced) {
        return;
    }
    mailbox.ended(forced).await;
}

async fn reached(limit: Option<Instant>) {
    match limit {
        Some(limit) => sleep_until(limit).await,
        None => pending().await,
    }
}
