//! Native mode: each command is an exec of the engine's, behind a few lines of POSIX shell. It is for machines for which there
//! is no program of ours that could be placed.
//!
//! A command is a session of its own, and what a deadline or a cancel ends is its process group; what leaves the group by
//! itself lives on until the sandbox ends. An engine tells how a command has ended by one number, so that an end by a
//! signal and an exit with 128 and the signal's number are the same. One is told apart: where a command has ended with 137,
//! and the kernel has killed for lack of memory in its sandbox while it ran, it was killed for that. (A command that exits
//! with 137 by itself while another one is killed for that is taken for one, too; so is a shell whose last program was.)
//!
//! In an image without a shell there are no texts; programs are started by the engine alone, see [`bare`].

mod bare;
mod ending;
mod helper;
mod outcome;
mod reading;
mod wrapper;

use std::{sync::Arc, time::Duration};

use bollard::exec::{CreateExecOptions, StartExecResults};
use herm_protocol::{
    Error, Finished, Interrupt,
    exec::{Command, Outcome, RunParams, SetupFailure, Stdin},
    hexadecimal,
    sandbox::Variable,
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep},
};

use self::{
    ending::Ending,
    helper::{forget, store},
    outcome::{KILLED, LOOKS},
    reading::{Beginning, Phase, Queue, Reader, reached},
};
use super::{engine::Engine, sandbox::Sandbox};
use crate::caller::{Caller, Control, Input, Output};

/// Bytes of the word that a command's first line begins with.
const SECRET: usize = 16;

/// How often an exec is looked at whose output goes on: at first, and when it has gone on for long. An engine drops what was
/// not taken two seconds after the end.
const LOOK: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// How often it is looked at when its output has come to an end.
const LOOK_AT_END: Duration = Duration::from_millis(20);

/// How long nothing has to come of a command that has ended, where what it left holds its output. An engine that is slow
/// has so many times as long as it takes to answer.
const QUIET: (Duration, u32) = (Duration::from_millis(300), 3);

/// How long a command that is ended by force may take to end.
const LAST: Duration = Duration::from_secs(3);

/// How long the caller of such a command has to take the rest.
const ROOM: Duration = Duration::from_millis(200);

/// Runs a command that was checked to its end.
///
/// # Errors
/// A sandbox that is gone, arguments that cannot be used: nothing ran then.
pub(super) async fn run<T>(
    engine: &Engine,
    sandbox: &Arc<Sandbox>,
    params: RunParams,
    caller: Caller<impl Output, impl Input, T>,
    control: &mut impl Control,
) -> Result<Finished, Error> {
    let accepted = Instant::now();
    let limit = params.timeout().filter(|limit| !limit.is_zero());
    let deadline = limit.and_then(|limit| accepted.checked_add(limit));
    let cwd = params.cwd.as_ref().map_or_else(
        || sandbox.cwd.as_path().into(),
        |cwd| sandbox.resolve(cwd).as_path().into(),
    );
    let variables: Vec<Variable> = sandbox.env.iter().chain(&params.env).cloned().collect();
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal("name a command at random", error))?;
    let secret = hexadecimal(&bytes);
    let mut text_file = None;
    let (options, size) = match (&params.command, sandbox.shell) {
        (Command::Shell(_), None) => {
            let message = format!("there is no shell in the image of sandbox {:?}", sandbox.id);
            let kind = SetupFailure::ShellNotFound;
            return Ok(Outcome::SetupFailed { kind, message }.into());
        }
        (Command::Argv(argv), None) => (bare::options(argv, &cwd, &variables)?, 0),
        (command, Some(shell)) => {
            if let Command::Shell(text) = command
                && wrapper::is_long(text)
            {
                let file = format!("/tmp/.herm-text-{secret}");
                store(engine, sandbox, &file, text.as_bytes()).await?;
                text_file = Some(file);
            }
            let shell = (shell, text_file.as_deref());
            let words = wrapper::words(&secret, command, shell, &cwd, &variables);
            let size = words.size();
            let options = CreateExecOptions {
                env: Some(words.env),
                cmd: Some(words.argv),
                ..CreateExecOptions::default()
            };
            (options, size)
        }
    };
    let options = CreateExecOptions {
        attach_stdin: Some(params.stdin != Stdin::None),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(false),
        ..options
    };
    let exec = Arc::new(Exec {
        engine: engine.clone(),
        sandbox: sandbox.clone(),
        bare: sandbox.shell.is_none(),
        secret,
        command: params.command,
        size,
        beginning: Arc::new(watch::Sender::new(Beginning::Awaited)),
    });
    let finished = exec.run(options, params.stdin, caller, control, deadline).await;
    if let Some(file) = text_file {
        forget(engine, sandbox, &file).await;
    }
    finished
}

/// What does not hold in native mode that one might count on.
pub(super) fn notices(sandbox: &Sandbox) -> Vec<String> {
    let of_shell = match sandbox.shell {
        Some(_) => {
            "kill scope is the process group: what calls setsid lives on after a deadline and a cancel"
        }
        None => {
            "the image has no shell: texts cannot be run, and a program is ended from outside its sandbox, which this user has to \
             be allowed to do"
        }
    };
    vec![
        "native mode: no jobs and no sessions, each command has a process of its own".to_owned(),
        of_shell.to_owned(),
    ]
}

/// One command.
struct Exec {
    engine: Engine,
    sandbox: Arc<Sandbox>,
    /// Whether nothing of ours is between the engine and the program.
    bare: bool,
    secret: String,
    command: Command,
    /// Bytes of its words.
    size: usize,
    /// What has become of it; shared with who reads its output.
    beginning: Arc<watch::Sender<Beginning>>,
}

/// A command that the engine was asked to start.
struct Started {
    id: String,
    results: StartExecResults,
    /// Why there is none, where the engine has said so.
    refused: Option<Outcome>,
}

/// Why a command is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    Deadline,
    Cancel,
}

impl Force {
    fn outcome(self) -> Outcome {
        match self {
            Self::Deadline => Outcome::TimedOut,
            Self::Cancel => Outcome::Cancelled,
        }
    }
}

/// What a command has ended with by itself; `None` where that cannot be known any more.
type Code = Option<i64>;

/// How a command has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Own(Code),
    Forced(Force, Ending),
    /// There is no command.
    Refused,
}

impl Exec {
    async fn run<T>(
        self: Arc<Self>,
        options: CreateExecOptions<String>,
        stdin: Stdin,
        caller: Caller<impl Output, impl Input, T>,
        control: &mut impl Control,
        deadline: Option<Instant>,
    ) -> Result<Finished, Error> {
        let (signals, wanted) = mpsc::unbounded_channel();
        let mut wishes = Wishes {
            control,
            signals,
            deadline,
        };
        let mut starting = tokio::spawn(self.clone().start(options));
        let started = tokio::select! {
            biased;
            started = &mut starting => started.map_err(|error| Error::internal("run a command", error))??,
            force = wishes.forced() => {
                tokio::spawn(self.end_when_started(starting));
                return Ok(forced(force, Ending::Working));
            }
        };
        match started.refused {
            Some(refused) => Ok(refused.into()),
            None => self.follow(started, stdin, caller, wishes, wanted).await,
        }
    }

    /// Asks the engine to start it.
    async fn start(self: Arc<Self>, options: CreateExecOptions<String>) -> Result<Started, Error> {
        let (id, mut results) = helper::begin(&self.engine, &self.sandbox, options).await?;
        let mut refused = None;
        if self.bare {
            match bare::begin(&self.engine, &id, &mut results).await? {
                Ok(pid) => drop(self.beginning.send_replace(Beginning::Runs { pid, killed: None })),
                Err(outcome) => refused = Some(outcome),
            }
        }
        Ok(Started { id, results, refused })
    }

    /// Ends a command that was answered before the engine has started it.
    async fn end_when_started(self: Arc<Self>, starting: JoinHandle<Result<Started, Error>>) {
        let Ok(Ok(Started { results, refused, .. })) = starting.await else {
            return;
        };
        let StartExecResults::Attached { output, .. } = results else {
            return;
        };
        if refused.is_none() {
            // Nobody waits for it.
            drop(ending::end(self.clone()));
            let (_answered, phase) = watch::channel(Phase::Answered);
            self.read(output, Arc::default(), phase).await;
        }
    }

    async fn read(
        &self,
        pieces: impl futures::Stream<Item = Result<bollard::container::LogOutput, bollard::errors::Error>> + Unpin,
        queue: Arc<Queue>,
        phase: watch::Receiver<Phase>,
    ) {
        let reader = Reader::new(pieces, queue, phase, self.beginning.clone());
        if self.bare {
            reader.read_all().await;
        } else {
            reader.read(&self.secret, &self.command).await;
        }
    }

    async fn follow<T>(
        self: Arc<Self>,
        started: Started,
        stdin: Stdin,
        caller: Caller<impl Output, impl Input, T>,
        wishes: Wishes<'_, impl Control>,
        wanted: mpsc::UnboundedReceiver<i32>,
    ) -> Result<Finished, Error> {
        let Caller { output, input, .. } = caller;
        let StartExecResults::Attached {
            output: pieces,
            input: writer,
        } = started.results
        else {
            return Err(Error::internal(
                "run a command",
                "the engine has not attached to it",
            ));
        };
        let (queue, drained) = (Arc::new(Queue::default()), Arc::new(Notify::new()));
        let (phase, seen) = watch::channel(Phase::Running);
        let reading = tokio::spawn({
            let (exec, queue, drained) = (self.clone(), queue.clone(), drained.clone());
            async move {
                exec.read(pieces, queue, seen).await;
                drained.notify_one();
            }
        });
        let parts = Parts {
            phase,
            queue: queue.clone(),
            reading,
            drained,
        };
        let end = {
            let feeding = feed(stdin, input, writer);
            let handing = queue.hand_over(&output);
            let signalling = ending::signal(&self, wanted);
            let beside = (feeding, handing, signalling);
            self.to_the_end(&started.id, parts, beside, wishes).await
        };
        match end {
            End::Refused => {
                let refused = self.beginning.borrow().clone();
                let Beginning::Refused(kind, message) = refused else {
                    return Err(Error::internal(
                        "run a command",
                        "nobody knows why it was refused",
                    ));
                };
                Ok(Outcome::SetupFailed { kind, message }.into())
            }
            End::Forced(force, ending) => Ok(forced(force, ending)),
            End::Own(code) => self.outcome(code).await,
        }
    }

    /// Waits until it has ended and its output is handed over, or is to be waited for no longer.
    async fn to_the_end(
        self: &Arc<Self>,
        id: &str,
        mut parts: Parts,
        (feeding, handing, signalling): (
            impl Future<Output = ()>,
            impl Future<Output = ()>,
            impl Future<Output = ()>,
        ),
        mut wishes: Wishes<'_, impl Control>,
    ) -> End {
        let (queue, drained) = (parts.queue.clone(), parts.drained.clone());
        let looking = self.own_end(id, &queue, &drained);
        let refusing = self.refused();
        let removing = self.removed();
        tokio::pin!(feeding, handing, looking, signalling, refusing, removing);
        let (mut fed, mut handed, mut signalled, mut read) = (false, false, false, false);
        let mut own: Option<Code> = None;
        let mut force: Option<(Force, watch::Receiver<Ending>)> = None;
        let mut until = None;
        loop {
            let working = force
                .as_ref()
                .is_some_and(|(_, ending)| *ending.borrow() == Ending::Working);
            match &force {
                Some((force, ending)) if handed && !working => break End::Forced(*force, *ending.borrow()),
                None if handed && own.is_some() => break End::Own(own.flatten()),
                _ => {}
            }
            tokio::select! {
                biased;
                () = &mut refusing, if force.is_none() => break End::Refused,
                () = &mut handing, if !handed => handed = true,
                () = reached(until) => break match (&force, own) {
                    (Some((force, ending)), _) => End::Forced(*force, *ending.borrow()),
                    (None, code) => End::Own(code.flatten()),
                },
                (code, quiet) = &mut looking, if own.is_none() && force.is_none() => {
                    own = Some(code);
                    parts.phase.send_replace(Phase::Draining(quiet));
                    if code.is_none() {
                        // Its caller waits to hear that.
                        until = Some(Instant::now() + quiet);
                    }
                }
                // One that was killed with its sandbox has a caller who waits for that.
                () = &mut removing, if own == Some(Some(KILLED)) && until.is_none() => {
                    until = Some(Instant::now() + ROOM);
                }
                wish = wishes.forced(), if force.is_none() => {
                    if let Some(code) = own {
                        // How it has ended is what is told, whatever comes now.
                        if wish == Force::Cancel {
                            drop(ending::end(self.clone()));
                        }
                        break End::Own(code);
                    }
                    parts.phase.send_replace(Phase::Ending);
                    force = Some((wish, ending::end(self.clone())));
                    until = Some(Instant::now() + LAST);
                }
                () = changed(&mut force), if working => {
                    parts.phase.send_replace(Phase::Draining(QUIET.0));
                    if read {
                        until = Some(Instant::now() + ROOM);
                    }
                }
                _ = &mut parts.reading, if !read => {
                    read = true;
                    if force.is_some() && !working {
                        until = Some(Instant::now() + ROOM);
                    }
                }
                () = &mut signalling, if !signalled => signalled = true,
                () = &mut feeding, if !fed => fed = true,
            }
        }
    }

    /// Resolves when there turns out to be no command.
    async fn refused(&self) {
        let mut beginning = self.beginning.subscribe();
        let refused = beginning.wait_for(|beginning| matches!(beginning, Beginning::Refused(..)));
        if refused.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when it has ended by itself, with its code, and how long its output may be silent yet. What it has left
    /// behind may hold that for ever, and who is gone with its sandbox has no end.
    async fn own_end(&self, id: &str, queue: &Queue, drained: &Notify) -> (Code, Duration) {
        let begun = Instant::now();
        let mut at_end = false;
        loop {
            // Other ends in the sandbox wait for the output of this one to be taken.
            let most = if queue.is_full() { LOOK[0] } else { LOOK[1] };
            let pause = (begun.elapsed() / 5).clamp(LOOK[0], most);
            if at_end {
                sleep(if begun.elapsed() < LAST {
                    LOOK_AT_END
                } else {
                    pause
                })
                .await;
            } else {
                tokio::select! {
                    () = drained.notified() => at_end = true,
                    () = sleep(pause) => {}
                }
            }
            if self.sandbox.is_closing() {
                return (None, QUIET.0);
            }
            let asked = Instant::now();
            match self.code(id).await {
                Ok(None) => {}
                code => return (code.ok().flatten(), QUIET.0.max(asked.elapsed() * QUIET.1)),
            }
        }
    }

    /// Resolves when its sandbox is gone.
    async fn removed(&self) {
        for look in 0_u64.. {
            if self.sandbox.is_closing() || look < LOOKS.into() && self.is_lost().await {
                return;
            }
            sleep(outcome::LOOK).await;
        }
    }
}

/// What takes part in a command besides the caller.
struct Parts {
    phase: watch::Sender<Phase>,
    /// What it has printed.
    queue: Arc<Queue>,
    /// Who reads its output.
    reading: JoinHandle<()>,
    /// It has come to an end.
    drained: Arc<Notify>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Answered);
    }
}

/// What is wanted of a command.
struct Wishes<'a, C> {
    control: &'a mut C,
    signals: mpsc::UnboundedSender<i32>,
    deadline: Option<Instant>,
}

impl<C: Control> Wishes<'_, C> {
    /// Resolves when the command is to be ended; passes signals on until then.
    async fn forced(&mut self) -> Force {
        loop {
            tokio::select! {
                biased;
                () = reached(self.deadline) => return Force::Deadline,
                wish = self.control.next() => match wish {
                    Interrupt::Cancel => return Force::Cancel,
                    // Who sends them is there as long as the command is.
                    Interrupt::Signal(number) => drop(self.signals.send(number)),
                },
            }
        }
    }
}

/// Resolves when it is known what has become of the end of a command.
async fn changed(force: &mut Option<(Force, watch::Receiver<Ending>)>) {
    if let Some((_, ending)) = force {
        // Who ends it tells what has become of that first.
        let _ = ending.changed().await;
    }
}

fn forced(force: Force, ending: Ending) -> Finished {
    Finished {
        outcome: force.outcome(),
        notices: ending.notice().map(str::to_owned).into_iter().collect(),
        job: None,
    }
}

/// Feeds a command, and ends its input.
async fn feed(stdin: Stdin, mut input: impl Input, mut writer: std::pin::Pin<Box<dyn AsyncWrite + Send>>) {
    match stdin {
        Stdin::None => return,
        Stdin::Bytes { data } => {
            // Who does not read it has ended.
            let _ = writer.write_all(data.as_bytes()).await;
        }
        Stdin::Stream => {
            while let Some(data) = input.next().await {
                if writer.write_all(&data).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = writer.shutdown().await;
}
