//! What a scenario works with: an adapter, a sandbox, and what was seen.

mod beat;
mod condition;
mod conversation;
mod failure;
mod host;
mod keeping;
mod key;
mod ledger;
mod machine;
mod others;
mod room;
mod secret;
pub mod shell;
mod stay;
mod step_limit;
pub(crate) mod tools;
mod worker;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use herm_protocol::{
    ByteString, Error,
    client::{CallError, Client, Exec, ExecRecord},
    exec::{Command, RunParams, RunResult, Stream},
    initialize::Initialized,
    method,
    sandbox::{
        CloseHow, CloseParams, Closed, Network, OpenParams, Opened, Reaped, ResourceLimits, SandboxSpec,
    },
};

pub use beat::Beat;
pub(crate) use condition::Without;
pub(crate) use conversation::shorten_line;
pub use conversation::{Conversation, Listener};
pub use failure::Failure;
pub use host::processes_with;
pub(crate) use ledger::Ledger;
pub(crate) use machine::Machine;
pub(crate) use secret::{CommandLines, Secret};
pub(crate) use stay::Stay;
pub(crate) use step_limit::StepLimit;
pub use worker::{CANARY, Sandbox, Worker, Workshop};

use crate::{step::StepResult, steps::Expected};

/// The world of one scenario.
#[derive(Default)]
pub struct Scene {
    /// Makes and keeps adapters.
    pub(crate) workshop: Option<Arc<Workshop>>,
    /// Whether the scenario wants a sandbox of its own.
    pub(crate) fresh: bool,
    /// Whether the scenario wants an adapter process of its own.
    pub(crate) alone: bool,
    /// The adapter and the shared sandbox that were borrowed.
    pub(crate) worker: Option<Worker>,
    /// Conversations with other adapters of the scenario's own.
    pub(crate) strangers: Vec<Arc<Conversation>>,
    /// Sandboxes that this scenario opened, in order.
    pub(crate) own: Vec<Sandbox>,
    /// Commands that still run.
    pub(crate) running: Vec<Exec>,
    /// What was seen of the last command that ended.
    pub(crate) last: Option<ExecRecord>,
    /// The last refusal.
    pub(crate) refusal: Option<Error>,
    /// The beat that a command keeps.
    pub(crate) beat: Option<Beat>,
    /// Conditions that hold.
    pub(crate) held: condition::Held,
    /// The adapter in a room of its own, where the scenario has one.
    pub(crate) stay: Option<Stay>,
    /// How long the step that is carried out may take.
    pub(crate) step_limit: Option<StepLimit>,
    /// What was put on this machine and that no sandbox was given.
    pub(crate) machine: Machine,
    /// A secret of the scenario's.
    pub(crate) secret: Option<Secret>,
    /// Things that steps remember for later ones.
    pub(crate) notes: Notes,
}

/// Things that steps remember for later ones.
#[derive(Default)]
pub(crate) struct Notes {
    /// The path of the directory in question.
    pub(crate) directory: Option<ByteString>,
    /// The path of the file in question.
    pub(crate) file: Option<ByteString>,
    /// The content that the file should have, or the output that is expected.
    pub(crate) content: Option<Vec<u8>>,
    /// The path of the mark that a command leaves.
    pub(crate) mark: Option<ByteString>,
    /// The id of a sandbox, or a name, that an error should tell.
    pub(crate) name: Option<String>,
    /// The id of a job that was forgotten.
    pub(crate) forgotten: Option<String>,
    /// The stream in question, where it is not standard output.
    pub(crate) stream: Option<Stream>,
    /// The session in question.
    pub(crate) session: Option<String>,
    /// Many sessions, in the order in which they were begun.
    pub(crate) sessions: Vec<String>,
    /// What the backend said of itself, or what a call gave, for the next step.
    pub(crate) value: Option<serde_json::Value>,
    /// The tools that a command was given.
    pub(crate) tools: Option<Arc<tools::Toolbox>>,
    /// The key of the scenario's sandbox.
    pub(crate) key: Option<String>,
    /// What another caller was answered that opened a key.
    pub(crate) opened: Option<Opened>,
    /// The ids of jobs, in the order in which they were started.
    pub(crate) jobs: Vec<String>,
    /// A number for the next step.
    pub(crate) number: Option<u64>,
    /// Paths on this machine that were the sandbox's which was destroyed last.
    pub(crate) places: Vec<PathBuf>,
    /// Records of commands that ran at the same time.
    pub(crate) records: Vec<ExecRecord>,
    /// What each of them should have been answered.
    pub(crate) expected: Vec<Expected>,
    /// Whether each of them has left its mark.
    pub(crate) marks: Vec<bool>,
    /// Whether the scenario's key had a sandbox before callers came at once.
    pub(crate) found: bool,
    /// The network that the scenario's key was opened with.
    pub(crate) network: Option<Network>,
    /// The directory of this machine that the sandbox was given, or should have been.
    pub(crate) mounted: Option<PathBuf>,
    /// The limits that the sandbox in question was given.
    pub(crate) limits: ResourceLimits,
    /// How long the sandbox in question may be idle, in milliseconds.
    pub(crate) idle_ms: Option<u64>,
    /// What was told each time that somebody asked for what nobody needs to be removed.
    pub(crate) reaped: Vec<Reaped>,
    /// How the backend was without each thing that it needs.
    pub(crate) without: Vec<Without>,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene")
            .field("own", &self.own)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl cucumber::World for Scene {
    type Error = std::convert::Infallible;

    async fn new() -> Result<Self, Self::Error> {
        Ok(Self::default())
    }
}

impl Scene {
    pub(crate) fn workshop(&self) -> Result<Arc<Workshop>, Failure> {
        self.workshop
            .clone()
            .ok_or_else(|| Failure::suite("the scene has no workshop"))
    }

    /// How long a call may take that does nothing but answer.
    pub(crate) fn patience(&self) -> Duration {
        self.workshop
            .as_ref()
            .map_or(Duration::from_secs(10), |workshop| {
                workshop.scaled(Duration::from_secs(10))
            })
    }

    /// A time of the contract, scaled by how far away the subject is.
    pub(crate) fn scaled(&self, time: Duration) -> Duration {
        self.workshop
            .as_ref()
            .map_or(time, |workshop| workshop.scaled(time))
    }

    /// The adapter, started when it is first asked for.
    pub(crate) async fn client(&mut self) -> Result<Arc<Client>, Failure> {
        Ok(self.worker().await?.client.clone())
    }

    pub(crate) async fn initialized(&mut self) -> Result<Initialized, Failure> {
        Ok(self.worker().await?.initialized.clone())
    }

    async fn worker(&mut self) -> Result<&mut Worker, Failure> {
        if self.worker.is_none() {
            let workshop = self.workshop()?;
            let worker = match self.stay.as_ref().map(|stay| stay.room.clone()) {
                Some(room) => workshop.employ_in(&room).await?,
                None => workshop.borrow(self.alone).await?,
            };
            self.worker = Some(worker);
        }
        self.worker
            .as_mut()
            .ok_or_else(|| Failure::suite("no adapter was borrowed"))
    }

    /// A word that no other scenario has, and that is no part of another such word.
    #[expect(
        clippy::unused_self,
        reason = "a scenario asks its scene for whatever it uses"
    )]
    pub(crate) fn token(&mut self) -> String {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::SeqCst);
        format!("herm-{:x}-{serial:x}.", std::process::id())
    }

    /// Opens a sandbox of the scenario's own.
    pub(crate) async fn open(&mut self, spec: SandboxSpec) -> Result<Opened, CallError> {
        self.open_keyed(None, spec).await
    }

    /// Opens a sandbox of the scenario's own under a key.
    pub(crate) async fn open_keyed(
        &mut self,
        key: Option<String>,
        spec: SandboxSpec,
    ) -> Result<Opened, CallError> {
        let client = self
            .client()
            .await
            .map_err(|failure| CallError::Refused(Error::internal("start the adapter", failure.seen)))?;
        let deadline = self.scaled(Duration::from_mins(1));
        let opened = client
            .call::<method::Open>(&OpenParams { key, spec }, deadline)
            .await?;
        self.own.push(Sandbox::new(opened.clone()));
        Ok(opened)
    }

    /// The sandbox in question: the scenario's own, the latest unless another was chosen, or the shared one.
    pub(crate) async fn sandbox(&mut self) -> Result<Sandbox, Failure> {
        if let Some(own) = self.own.last() {
            return Ok(own.clone());
        }
        if self.fresh {
            return self.prepare_sandbox(SandboxSpec::default()).await;
        }
        let (deadline, patience) = (self.scaled(Duration::from_mins(1)), self.patience());
        self.worker().await?.shared_sandbox(deadline, patience).await
    }

    /// Opens a sandbox that has to be there for the scenario to mean anything, and waits until it runs commands: that one
    /// is ready at once is a requirement of its own.
    pub(crate) async fn prepare_sandbox(&mut self, spec: SandboxSpec) -> Result<Sandbox, Failure> {
        self.open_ready(spec).await.map_err(Failure::while_preparing)
    }

    /// As [`Self::prepare_sandbox`], where it is a rule that this sandbox can be opened.
    pub(crate) async fn open_ready(&mut self, spec: SandboxSpec) -> Result<Sandbox, Failure> {
        self.open(spec).await?;
        let own = self.own.last().cloned();
        let sandbox = own.ok_or_else(|| Failure::suite("the sandbox was not kept"))?;
        let patience = self.patience();
        self.worker().await?.await_ready(&sandbox.id, patience).await?;
        Ok(sandbox)
    }

    /// Parameters of a shell command in the sandbox in question.
    pub(crate) async fn command(&mut self, text: impl Into<ByteString>) -> Result<RunParams, Failure> {
        let sandbox = self.sandbox().await?;
        Ok(self.command_in(&sandbox.id, Command::Shell(text.into())))
    }

    /// Parameters of any command in any sandbox.
    pub(crate) fn command_in(&mut self, sandbox: &str, command: Command) -> RunParams {
        let mut params = RunParams::new(sandbox, self.token(), command);
        params.window = Some(1024 * 1024);
        params
    }

    /// Runs a command to its end and keeps what was seen; a refusal is kept, too.
    pub(crate) async fn run(&mut self, params: &RunParams) -> StepResult {
        let patience = self.patience() + params.timeout().unwrap_or_default().min(Duration::from_secs(5));
        self.run_within(params, patience).await
    }

    pub(crate) async fn run_within(&mut self, params: &RunParams, deadline: Duration) -> StepResult {
        let exec = self.start(params).await?;
        self.last = None;
        let record = exec.wait(deadline).await.map_err(|fault| self.broken(fault))?;
        self.keep(record);
        Ok(())
    }

    /// A connection that is broken, or that leaves a request open, is of no use to another scenario.
    pub(crate) fn broken(&mut self, fault: herm_protocol::client::Fault) -> Failure {
        if let Some(worker) = &mut self.worker {
            worker.broken = true;
        }
        fault.into()
    }

    pub(crate) fn keep(&mut self, record: ExecRecord) {
        self.refusal = record
            .answer
            .as_ref()
            .and_then(|answer| answer.as_ref().err().cloned());
        self.last = Some(record);
    }

    /// Starts a command.
    pub(crate) async fn start(&mut self, params: &RunParams) -> Result<Exec, Failure> {
        let client = self.client().await?;
        client.run(params).map_err(Failure::from)
    }

    /// What was seen of the last command.
    pub(crate) fn record(&self) -> Result<&ExecRecord, Failure> {
        self.last
            .as_ref()
            .ok_or_else(|| Failure::suite("no command has ended"))
    }

    /// The result of the last command; a refusal is a failure.
    pub(crate) fn result(&self) -> Result<&RunResult, Failure> {
        match &self.record()?.answer {
            Some(Ok(result)) => Ok(result),
            Some(Err(error)) => Err(Failure::failed("the command to run", error.to_string())),
            None => Err(Failure::suite("the command has not ended")),
        }
    }

    /// The refusal of the last call.
    pub(crate) fn refusal(&self) -> Result<&Error, Failure> {
        self.refusal.as_ref().ok_or_else(|| {
            let seen = match self.last.as_ref().and_then(ExecRecord::result) {
                Some(result) => format!("it was carried out: {}", result.outcome),
                None => "it was carried out".into(),
            };
            Failure::failed("the call to be refused", seen)
        })
    }

    /// The typed call's answer; a refusal is kept for later steps and gives `None`.
    pub(crate) fn answer<T>(&mut self, answer: Result<T, CallError>) -> Result<Option<T>, Failure> {
        match answer {
            Ok(answer) => {
                self.refusal = None;
                Ok(Some(answer))
            }
            Err(CallError::Refused(error)) => {
                self.refusal = Some(error);
                Ok(None)
            }
            Err(CallError::Fault(fault)) => Err(self.broken(fault)),
        }
    }

    /// Runs a command that has to work for the scenario to mean anything, and gives what it printed.
    pub(crate) async fn prepare(&mut self, text: impl Into<ByteString>) -> Result<Vec<u8>, Failure> {
        let patience = self.patience();
        self.prepare_within(text, patience).await
    }

    /// As [`Self::prepare`], for what takes longer than others.
    pub(crate) async fn prepare_within(
        &mut self,
        text: impl Into<ByteString>,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let seen = self.observe_within(text, patience).await;
        seen.map_err(Failure::while_preparing)
    }

    /// Runs a command that looks at what another one has done, and gives what it printed.
    pub(crate) async fn observe(&mut self, text: impl Into<ByteString>) -> Result<Vec<u8>, Failure> {
        let patience = self.patience();
        self.observe_within(text, patience).await
    }

    /// As [`Self::observe`], for what takes longer than others.
    pub(crate) async fn observe_within(
        &mut self,
        text: impl Into<ByteString>,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let (last, refusal) = (self.last.take(), self.refusal.take());
        let params = self.command(text).await?;
        let seen = self.run_within(&params, patience).await.and_then(|()| {
            let result = self.result()?;
            match &result.outcome {
                herm_protocol::exec::Outcome::Exited { code: 0 } => Ok(self.record()?.bytes(Stream::Stdout)),
                other => {
                    let said = self.record()?.bytes(Stream::Stderr).escape_ascii().to_string();
                    Err(Failure::failed(
                        "a plain command to work",
                        format!("{other}; it said {said:?}"),
                    ))
                }
            }
        });
        (self.last, self.refusal) = (last, refusal);
        seen
    }

    /// The directory that commands of the sandbox in question start in.
    pub(crate) async fn workdir(&mut self) -> Result<ByteString, Failure> {
        let sandbox = self.sandbox().await?;
        if let Some(workdir) = self.known_workdir(&sandbox.id) {
            return Ok(workdir);
        }
        let mut workdir = self.prepare("pwd -P").await?;
        workdir.pop_if(|byte| *byte == b'\n');
        let workdir = ByteString::from(workdir);
        self.learn_workdir(&sandbox.id, &workdir);
        Ok(workdir)
    }

    fn known_workdir(&self, id: &str) -> Option<ByteString> {
        let shared = self.worker.iter().filter_map(|worker| worker.shared.as_ref());
        self.own
            .iter()
            .chain(shared)
            .find(|sandbox| sandbox.id == id)?
            .workdir
            .clone()
    }

    fn learn_workdir(&mut self, id: &str, workdir: &ByteString) {
        let shared = self.worker.iter_mut().filter_map(|worker| worker.shared.as_mut());
        for sandbox in self
            .own
            .iter_mut()
            .chain(shared)
            .filter(|sandbox| sandbox.id == id)
        {
            sandbox.workdir = Some(workdir.clone());
        }
    }

    /// A path in the working directory that no other scenario uses.
    pub(crate) async fn new_path(&mut self, stem: &str) -> Result<ByteString, Failure> {
        let name = format!("{stem}-{}", self.token());
        self.path_of(name.as_bytes()).await
    }

    /// The path of a name in the working directory.
    pub(crate) async fn path_of(&mut self, name: &[u8]) -> Result<ByteString, Failure> {
        let mut path = self.workdir().await?.into_bytes();
        path.push(b'/');
        path.extend_from_slice(name);
        Ok(path.into())
    }

    /// Destroys a sandbox.
    pub(crate) async fn destroy(&mut self, id: &str) -> Result<Closed, CallError> {
        let params = CloseParams {
            sandbox: id.into(),
            how: CloseHow::Destroy,
        };
        let deadline = self.scaled(Duration::from_secs(30));
        let client = self
            .client()
            .await
            .map_err(|failure| CallError::Refused(Error::internal("start the adapter", failure.seen)))?;
        client.call::<method::Close>(&params, deadline).await
    }

    /// Closes what is kept under a key in a room of its own, while the room is there: later nobody finds it any more.
    async fn close_kept_of(&mut self, stay: Option<&Stay>, most: Duration) {
        let (Some(stay), Some(_), Some(workshop)) = (stay, &self.notes.key, self.workshop.clone()) else {
            return;
        };
        let usable = |worker: &Worker| !worker.broken && worker.client.fault().is_none();
        if !self.worker.as_ref().is_some_and(usable) {
            // Where none can be had the run itself removes what it has left.
            let Ok(successor) = workshop.employ_in(&stay.room).await else {
                return;
            };
            if let Some(former) = self.worker.replace(successor) {
                workshop.give_back(former, true).await;
            }
        }
        if let Some(worker) = &mut self.worker {
            for sandbox in self.own.drain(..) {
                worker.close(&sandbox.id, most).await;
            }
        }
    }

    /// Gives back what the scenario has borrowed and ends what it has made. `red` says that it did not go well, so that
    /// nothing of it is used again. An adapter that has broken meanwhile is told here, and not to the next scenario.
    pub(crate) async fn end(&mut self, red: bool, keep: bool) -> Option<Failure> {
        let broken = self
            .worker
            .as_ref()
            .is_none_or(|worker| worker.broken || worker.client.fault().is_some());
        std::mem::take(&mut self.machine).end().await;
        // What is held cannot be ended in order.
        let uncleared = self.clear_conditions().await.err();
        let most = self.last_patience();
        for exec in self
            .running
            .drain(..)
            .filter(|exec| !broken && exec.record().answer.is_none())
        {
            // A backend that cannot cancel ends it with the sandbox.
            let _ = exec.cancel(Duration::from_secs(2)).await;
        }
        let stay = self.stay.take();
        if !keep {
            self.close_kept_of(stay.as_ref(), most).await;
        }
        if let (Some(stay), Some(workshop)) = (stay, &self.workshop) {
            stay.end(workshop).await;
        }
        let strange = self.strangers.drain(..).find_map(|stranger| stranger.misfit());
        let Some(mut worker) = self.worker.take() else {
            return strange.or(uncleared);
        };
        if !keep && !worker.broken {
            for sandbox in self.own.drain(..) {
                worker.close(&sandbox.id, most).await;
            }
            if red && let Some(shared) = worker.shared.take() {
                worker.close(&shared.id, most).await;
            }
        }
        // Nobody listens for a secret of this scenario any more.
        if self.secret.take().is_some() {
            worker.overheard();
        }
        let broken = if self.alone || red {
            None
        } else {
            worker.check().await
        };
        // Asked last, so that it is about everything that came during this scenario.
        let misfit = worker.misfit().or(strange);
        let broken = match (misfit, broken) {
            (Some(misfit), Some(broken)) => Some(misfit.besides(&broken)),
            (misfit, broken) => misfit.or(broken),
        };
        if let Some(workshop) = &self.workshop {
            let sandbox = self.own.last().or(worker.shared.as_ref()).cloned();
            match sandbox {
                Some(sandbox) if keep && red => workshop.keep(worker, sandbox),
                _ => workshop.give_back(worker, self.alone).await,
            }
        }
        broken.or(uncleared)
    }

    /// How long anything may take when the scenario is over. Who has asked for the end of the run waits for it; what is left
    /// open is ended with the adapter.
    fn last_patience(&self) -> Duration {
        let workshop = self.workshop.as_ref();
        match workshop.and_then(|workshop| workshop.stop_signal().signal()) {
            Some(_) => Duration::from_secs(2),
            None => self.scaled(Duration::from_secs(30)),
        }
    }
}
