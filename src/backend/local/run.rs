//! One command from its acceptance to its outcome.

use std::{
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use herm_protocol::{
    Error, Finished, Interrupt,
    exec::{Outcome, RunParams, Stdin},
};
use tokio::{sync::watch, task::JoinHandle, time::Instant};

use super::{
    SpoolFull, Streams,
    environment::{self, Environment},
    group::Group,
    guard::Guard,
    input::Feeder,
    launch::{Launch, Launched, Refusal},
    leader,
    memory::Memory,
    output::{self, DRAIN, Phase, Pipes, reached},
    sandbox::{Admission, Sandbox},
    shell::{Shell, TextFile},
    survivors,
};
use crate::caller::{Control, Input, Output};

/// How long a command has between being asked to end and being killed.
pub(super) const GRACE: Duration = Duration::from_millis(250);

/// How long the last output of a command that was killed may take: with everything dead, nothing more can come.
const DRAIN_KILLED: Duration = Duration::from_millis(100);

/// What every command of the backend starts from.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) shell: Option<Shell>,
    pub(super) environment: Environment,
    pub(super) guard: Arc<Guard>,
    /// Permission bits that new files of commands do not get; this process's own, where they can be known.
    pub(super) umask: Option<u32>,
    /// Whether what commands print goes into one pipe.
    pub(super) streams: Streams,
    /// What happens to output of jobs that nobody reads.
    pub(super) spool_full: SpoolFull,
    /// How it is known that a command was killed for lack of memory.
    pub(super) memory: Option<Memory>,
}

/// Runs a command that was checked to its end.
///
/// # Errors
/// A sandbox that is closed, arguments that are too long together: nothing ran then.
pub(super) async fn run(
    sandbox: &Arc<Sandbox>,
    ground: Ground,
    params: RunParams,
    output: impl Output,
    input: impl Input,
    mut control: impl Control,
) -> Result<Finished, Error> {
    let accepted = Instant::now();
    let limit = params.timeout().filter(|limit| !limit.is_zero());
    // A deadline beyond the clock's range is none.
    let deadline = limit.and_then(|limit| accepted.checked_add(limit));
    let admission = sandbox.admit()?;
    let RunParams {
        stdin,
        cwd,
        command,
        env,
        ..
    } = params;
    let preparation = Preparation {
        sandbox: sandbox.clone(),
        ground,
        cwd: cwd.map(|cwd| sandbox.resolve(&cwd)),
        fed: stdin != Stdin::None,
    };
    let memory = preparation.ground.memory.clone();
    let starting = tokio::task::spawn_blocking(move || {
        let memory = memory.as_ref().map(Memory::before);
        let (launched, notices) = preparation.start(command, &env)?;
        Ok((launched, notices, memory))
    });
    let started = tokio::select! {
        started = starting => started.map_err(|error| Error::internal("start a command", error))?,
        // Whatever is started yet is ended when it is dropped.
        () = reached(deadline) => return Ok(Outcome::TimedOut.into()),
    };
    let (launched, notices, memory) = match started {
        Ok(started) => started,
        Err(Refusal::Setup(failure)) => {
            let (kind, message) = (failure.kind, failure.message);
            return Ok(Outcome::SetupFailed { kind, message }.into());
        }
        Err(Refusal::Argument(error) | Refusal::Internal(error)) => return Err(error),
    };
    let group = Arc::new(launched.group);
    admission.enlist(&group);
    let (phase, reader) = watch::channel(Phase::Running);
    let pump = tokio::spawn(output::pump(output, launched.pipes, reader));
    let running = Running {
        group,
        text: launched.text,
        feeder: Feeder::start(stdin, launched.stdin, input),
        phase,
        notices,
        memory,
        admission,
    };
    to_the_end(running, pump, deadline, &mut control).await
}

/// What is looked at and made before a command starts; all of it may block.
struct Preparation {
    sandbox: Arc<Sandbox>,
    ground: Ground,
    cwd: Option<PathBuf>,
    fed: bool,
}

impl Preparation {
    fn start(
        self,
        command: herm_protocol::exec::Command,
        env: &[herm_protocol::sandbox::Variable],
    ) -> Result<(Launched, Vec<String>), Refusal> {
        self.sandbox.check_there().map_err(Refusal::Argument)?;
        let mut notices = Vec::new();
        if self.cwd.is_none() && self.sandbox.heal().unwrap_or(false) {
            let work = self.sandbox.cwd.to_string_lossy();
            notices.push(format!(
                "the working directory {work} had been removed; it was made again, empty"
            ));
        }
        let cwd = self.cwd.unwrap_or_else(|| self.sandbox.cwd.clone());
        let shown_cwd = logical(&cwd).unwrap_or_else(|_| cwd.clone());
        let Ground {
            shell,
            environment,
            guard,
            umask: _,
            streams: _,
            spool_full: _,
            memory: _,
        } = self.ground;
        let launch = Launch {
            command,
            shell,
            environment: environment::of_exec(environment, &self.sandbox.env, env, &shown_cwd),
            cwd,
            fed: self.fed,
            text_path: self.sandbox.text_path(),
            guard,
        };
        Ok((launch.start()?, notices))
    }
}

/// The directory as `PWD` may name it: without `.` and `..` (POSIX, environment variables).
pub(super) fn logical(path: &Path) -> io::Result<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return path.canonicalize();
    }
    Ok(path.components().collect())
}

/// Why a command is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    Deadline,
    Cancel,
    Close,
}

impl Force {
    fn outcome(self) -> Outcome {
        match self {
            Self::Deadline => Outcome::TimedOut,
            Self::Cancel => Outcome::Cancelled,
            Self::Close => Outcome::SandboxLost,
        }
    }
}

/// A running command with everything that belongs to it.
struct Running {
    group: Arc<Group>,
    text: Option<TextFile>,
    feeder: Option<Feeder>,
    phase: watch::Sender<Phase>,
    notices: Vec<String>,
    memory: Option<Memory>,
    admission: Admission,
}

/// Runs a started command to its end.
async fn to_the_end(
    mut running: Running,
    mut pump: JoinHandle<Pipes>,
    deadline: Option<Instant>,
    control: &mut impl Control,
) -> Result<Finished, Error> {
    let ended = tokio::select! {
        biased;
        ended = leader::ended(running.group.id()) => Ok(ended),
        force = running.forced(deadline, control) => Err(force),
    };
    let (outcome, pipes, gone) = match ended {
        Ok(Ok(outcome)) => {
            let outcome = match running.memory.take() {
                Some(memory) => memory.explain(outcome).await,
                None => outcome,
            };
            let killed = matches!(outcome, Outcome::Signaled { .. });
            let (pipes, gone) = running
                .after_its_own_end(&mut pump, deadline, control, killed)
                .await;
            (running.admission.as_seen_from_outside(outcome).await, pipes, gone)
        }
        Ok(Err(error)) => {
            running.group.end(GRACE).await;
            return Err(Error::internal("learn how a command ended", error));
        }
        Err(force) => {
            let (pipes, gone) = running.end(&mut pump).await;
            (force.outcome(), pipes, gone)
        }
    };
    Ok(running.finish(outcome, pipes, gone))
}

impl Running {
    /// Resolves when the command is to be ended; passes signals on until then.
    async fn forced(&self, deadline: Option<Instant>, control: &mut impl Control) -> Force {
        loop {
            tokio::select! {
                () = reached(deadline) => return Force::Deadline,
                () = self.admission.closing() => return Force::Close,
                wish = control.next() => match wish {
                    Interrupt::Cancel => return Force::Cancel,
                    Interrupt::Signal(number) => self.group.signal_number(number).await,
                },
            }
        }
    }

    /// The leader has ended by itself, and how it did is the outcome, whatever comes now. What it wrote is handed over;
    /// what it left running lives on. One that was killed together with its sandbox has a caller who waits for that: what
    /// is not taken at once is not waited for. Returns the pipes that are held, and whether nothing of the group is left.
    async fn after_its_own_end(
        &mut self,
        pump: &mut JoinHandle<Pipes>,
        deadline: Option<Instant>,
        control: &mut impl Control,
        killed: bool,
    ) -> (Pipes, bool) {
        self.feeder = None;
        self.phase.send_replace(Phase::Draining(Instant::now() + DRAIN));
        let survived = self.group.survives().await;
        let drained = tokio::select! {
            biased;
            pipes = &mut *pump => Ok(pipes.unwrap_or_default()),
            force = self.forced(deadline, control) => Err(force),
            () = self.admission.removed(), if killed => Err(Force::Close),
        };
        let pipes = match drained {
            Ok(pipes) => pipes,
            Err(force) => {
                if force == Force::Cancel {
                    self.group.end(GRACE).await;
                }
                self.stop_reading(pump).await
            }
        };
        // A helper of the shell's own may have needed the time of the draining to end.
        let gone = !survived || self.group.is_gone().await;
        (pipes, gone)
    }

    /// Ends everything of the command, then hands over what it had written if the caller takes it in time.
    async fn end(&mut self, pump: &mut JoinHandle<Pipes>) -> (Pipes, bool) {
        let gone = self.group.end(GRACE).await;
        self.feeder = None;
        self.phase
            .send_replace(Phase::Draining(Instant::now() + DRAIN_KILLED));
        let pipes = match tokio::time::timeout(DRAIN_KILLED * 2, &mut *pump).await {
            Ok(pipes) => pipes.unwrap_or_default(),
            Err(_) => self.stop_reading(pump).await,
        };
        (pipes, gone)
    }

    async fn stop_reading(&self, pump: &mut JoinHandle<Pipes>) -> Pipes {
        self.phase.send_replace(Phase::Stopped);
        pump.await.unwrap_or_default()
    }

    /// Tells the outcome, and hands what lives on to its watcher.
    fn finish(mut self, outcome: Outcome, pipes: Pipes, gone: bool) -> Finished {
        let forced = matches!(
            outcome,
            Outcome::TimedOut | Outcome::Cancelled | Outcome::SandboxLost
        );
        if !gone {
            self.notices.push(if forced {
                format!(
                    "processes of group {} do not end although they were killed; they wait for a device",
                    self.group.id()
                )
            } else {
                format!(
                    "processes of group {} live on; they end with the sandbox",
                    self.group.id()
                )
            });
        } else if pipes.held() {
            let notice = "a process that left the command's group holds its output; what it writes from here on is dropped";
            self.notices.push(notice.into());
        }
        if gone {
            self.group.reap();
        }
        if !gone || pipes.held() {
            survivors::watch(self.group, pipes, self.text, self.admission);
        }
        Finished {
            outcome,
            notices: self.notices,
            job: None,
        }
    }
}
