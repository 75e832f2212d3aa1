//! Adapters that are started once and used by one scenario after the other.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use herm_protocol::{
    ByteString, VERSION,
    client::{CallError, Client, ClientOptions, Launch},
    exec::{Command, Outcome, RunParams},
    initialize::{InitializeParams, Initialized},
    method,
    sandbox::{CloseHow, CloseParams, OpenParams, Opened, Variable},
};

use super::{
    Failure,
    conversation::{Conversation, Listener},
    room::{Room, Rooms},
};
use crate::{stop::Stop, watch::Keeping};

/// How long an adapter may take to introduce itself, before scaling.
const INTRODUCTION: Duration = Duration::from_secs(15);

/// How long an adapter may take to end when its input has ended, before it is signalled.
const GRACE: Duration = Duration::from_secs(5);

/// The same for one that is broken.
const SHORT_GRACE: Duration = Duration::from_secs(1);

/// After so many adapters in a row that could not run anything, no more are started.
const GIVEN_UP_AFTER: u32 = 3;

/// How long an adapter may take to say that there is no such sandbox.
const CHECK: Duration = Duration::from_secs(5);

/// How the value of every canary begins; the run's id follows.
pub const CANARY: &str = "herm-canary-";

/// An open sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Its id.
    pub id: String,
    /// How the backend answered.
    pub opened: Opened,
    /// The directory that commands start in, once it was asked for.
    pub workdir: Option<ByteString>,
}

impl Sandbox {
    pub(crate) fn new(opened: Opened) -> Self {
        Self {
            id: opened.sandbox.clone(),
            opened,
            workdir: None,
        }
    }
}

/// An adapter process, and the sandbox that scenarios share.
pub struct Worker {
    /// The connection.
    pub client: Arc<Client>,
    /// What the adapter said of itself.
    pub initialized: Initialized,
    /// The sandbox that scenarios share, once one was opened.
    pub shared: Option<Sandbox>,
    /// Whether it is of no further use.
    pub broken: bool,
    transcript: Arc<Conversation>,
    useless: Arc<AtomicU32>,
}

impl Worker {
    pub(super) async fn shared_sandbox(
        &mut self,
        deadline: Duration,
        patience: Duration,
    ) -> Result<Sandbox, Failure> {
        if let Some(shared) = &self.shared {
            return Ok(shared.clone());
        }
        let opened = self
            .client
            .call::<method::Open>(&OpenParams::default(), deadline)
            .await;
        let opened = opened.map_err(|error| {
            self.useless.fetch_add(1, Ordering::SeqCst);
            Failure::from(error).while_preparing()
        })?;
        let sandbox = self.shared.insert(Sandbox::new(opened)).clone();
        self.await_ready(&sandbox.id, patience).await?;
        Ok(sandbox)
    }

    /// Waits until a sandbox runs commands.
    pub(super) async fn await_ready(&mut self, id: &str, within: Duration) -> Result<(), Failure> {
        let until = Instant::now() + within;
        for attempt in 0_u32.. {
            let exec = format!("herm-ready-{id}-{attempt}");
            let params = RunParams::new(id, exec, Command::Shell("true".into()));
            let record = match self.client.run(&params)?.wait(within).await {
                Ok(record) => record,
                Err(fault) => {
                    self.broken = true;
                    self.useless.fetch_add(1, Ordering::SeqCst);
                    return Err(Failure::from(fault).while_preparing());
                }
            };
            let ready = record
                .result()
                .is_some_and(|result| result.outcome == Outcome::Exited { code: 0 });
            if ready {
                self.useless.store(0, Ordering::SeqCst);
            }
            if ready || Instant::now() > until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // One that never runs a command is told by whatever the scenario asks of it.
        Ok(())
    }

    pub(crate) async fn close(&mut self, id: &str, deadline: Duration) {
        let params = CloseParams {
            sandbox: id.into(),
            how: CloseHow::Destroy,
        };
        if self
            .client
            .call::<method::Close>(&params, deadline)
            .await
            .is_err()
        {
            self.broken = true;
        }
    }

    /// Opens a sandbox, runs a command in it, and closes it.
    pub(super) async fn try_out(&mut self, patience: Duration) -> Result<(), Failure> {
        let opened = self
            .client
            .call::<method::Open>(&OpenParams::default(), patience)
            .await?;
        let params = RunParams::new(&opened.sandbox, "herm-try-out", Command::Shell("true".into()));
        let record = self.client.run(&params)?.wait(patience).await?;
        self.close(&opened.sandbox, patience).await;
        match record.result().map(|result| &result.outcome) {
            Some(Outcome::Exited { code: 0 }) => Ok(()),
            _ => Err(Failure::failed(
                "a command to run",
                format!("{:?}", record.answer),
            )),
        }
    }

    /// Closes a sandbox that nobody has opened, which every backend answers, and says what is broken if no answer comes back:
    /// an adapter that has died of an earlier message answers nothing.
    pub(super) async fn check(&mut self) -> Option<Failure> {
        if self.broken {
            return None;
        }
        let params = CloseParams {
            sandbox: "herm-check".into(),
            how: CloseHow::Destroy,
        };
        let answer = self.client.call::<method::Close>(&params, CHECK).await;
        let Err(CallError::Fault(fault)) = answer else {
            return None;
        };
        self.broken = true;
        Some(Failure::suite(format!("after the last step: {fault}")).of_kind(fault.kind()))
    }

    /// What came since this was last asked and does not fit the schema.
    pub(super) fn misfit(&self) -> Option<Failure> {
        self.transcript.misfit()
    }

    /// Listens for a secret in all that the adapter says from now on.
    pub(super) fn listen_for(&self, secret: &str) {
        self.transcript.listen_for(secret);
    }

    /// The first line in which the secret was told that was listened for.
    pub(super) fn overheard(&self) -> Option<String> {
        self.transcript.overheard()
    }

    /// The last lines of the conversation.
    #[must_use]
    pub fn transcript(&self) -> Vec<String> {
        self.transcript.last_lines()
    }
}

/// Starts adapters and lends them out.
pub struct Workshop {
    pub(super) launch: Launch,
    run: String,
    pub(super) scratch: String,
    /// The folder of the run, where guards tell what was left; the subject's own, or one above it.
    pub(super) run_folder: PathBuf,
    /// How many processes of ours are around an adapter.
    pub(super) around: usize,
    factor: u32,
    /// What adapters leave behind to be found again, where the subject has such things.
    pub(super) keeping: Mutex<Option<Keeping>>,
    idle: Mutex<Vec<Worker>>,
    /// Adapters whose sandboxes are left as they are, with these.
    kept: Mutex<Vec<(Worker, Sandbox)>>,
    stop: Stop,
    /// How many adapters were started.
    adapters: AtomicU32,
    /// How many adapters in a row could not run anything.
    useless: Arc<AtomicU32>,
    listener: Option<Arc<Listener>>,
    /// Whether every message is checked against the schema.
    validate: bool,
}

impl Workshop {
    /// A workshop for a subject.
    #[must_use]
    pub fn new(
        launch: Launch,
        run: String,
        scratch: String,
        stop: Stop,
        listener: Option<Arc<Listener>>,
        validate: bool,
    ) -> Self {
        Self {
            launch,
            run,
            run_folder: PathBuf::from(&scratch),
            scratch,
            around: 0,
            factor: 1,
            keeping: Mutex::default(),
            idle: Mutex::default(),
            kept: Mutex::default(),
            stop,
            adapters: AtomicU32::new(0),
            useless: Arc::default(),
            listener,
            validate,
        }
    }

    /// The folder for the subject's temporary files in this run, on this machine.
    pub fn scratch(&self) -> &Path {
        Path::new(&self.scratch)
    }

    /// Sets the folder of the run, where it is not the subject's own.
    pub fn set_run_folder(&mut self, folder: PathBuf) {
        self.run_folder = folder;
    }

    /// Sets by how much every deadline is longer than on this machine.
    pub fn set_factor(&mut self, factor: u32) {
        self.factor = factor;
    }

    /// Sets whether what is launched is a guard with the adapter below it.
    pub fn set_guarded(&mut self, guarded: bool) {
        self.around = usize::from(guarded);
    }

    /// A time of the contract, scaled by how far away the subject is.
    pub fn scaled(&self, time: Duration) -> Duration {
        time * self.factor
    }

    /// The value of a secret that adapters of this run are started with, if they were.
    pub fn canary(&self, name: &str) -> Option<String> {
        let canary = format!("{CANARY}{}", self.run);
        let is_canary = |(variable, value): &(OsString, OsString)| {
            variable == name && value.as_bytes().starts_with(CANARY.as_bytes())
        };
        self.launch.environment.iter().any(is_canary).then_some(canary)
    }

    /// Tells when the run is to end early.
    pub fn stop_signal(&self) -> Stop {
        self.stop.clone()
    }

    /// Starts an adapter without introducing anybody.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(&self) -> Result<(Arc<Client>, Arc<Conversation>), Failure> {
        self.start_with(&self.launch)
    }

    fn start_with(&self, launch: &Launch) -> Result<(Arc<Client>, Arc<Conversation>), Failure> {
        let serial = self.adapters.fetch_add(1, Ordering::SeqCst) + 1;
        let conversation = Arc::new(Conversation::new(serial, self.listener.clone(), self.validate));
        let client = Client::start(launch, ClientOptions::default(), conversation.clone())?;
        Ok((Arc::new(client), conversation))
    }

    /// What a client says when it introduces itself.
    pub fn introduction(&self) -> InitializeParams {
        InitializeParams {
            protocol: vec![VERSION.into()],
            run: self.run.clone(),
            scratch: self.scratch.clone(),
        }
    }

    /// Starts an adapter that knows who it talks to.
    ///
    /// # Errors
    /// It could not be started, does not answer, or speaks another version; each is an `error`.
    pub async fn employ(&self) -> Result<Worker, Failure> {
        self.employ_with(&[]).await
    }

    /// As [`Workshop::employ`], with variables in place of those of the same name.
    ///
    /// # Errors
    /// As [`Workshop::employ`].
    pub(super) async fn employ_with(&self, variables: &[Variable]) -> Result<Worker, Failure> {
        let mut launch = self.launch.clone();
        for variable in variables {
            let name = variable.name.to_os_string();
            launch.environment.retain(|(known, _)| *known != name);
            launch.environment.push((name, variable.value.to_os_string()));
        }
        let (client, transcript) = self.start_with(&launch)?;
        let mut worker = self.introduce(client, transcript, &self.introduction()).await?;
        if !variables.is_empty() {
            // Started in a world of its own, where nothing may run: that says nothing of those that are started in the usual one.
            worker.useless = Arc::default();
        }
        Ok(worker)
    }

    /// The same in a room of its own.
    pub(super) async fn employ_in(&self, room: &Room) -> Result<Worker, Failure> {
        let mut launch = self.launch.clone();
        let scratch = room.scratch.clone();
        for (_, value) in launch.environment.iter_mut().filter(|(name, _)| name == "TMPDIR") {
            *value = scratch.clone().into();
        }
        let introduction = InitializeParams {
            run: room.run.clone(),
            scratch: scratch.display().to_string(),
            ..self.introduction()
        };
        let (client, transcript) = self.start_with(&launch)?;
        self.introduce(client, transcript, &introduction).await
    }

    /// Makes the rooms of a scenario.
    pub(super) async fn rooms(&self, name: &str) -> Result<Rooms, Failure> {
        Rooms::make(&self.scratch, &self.run, name).await
    }

    async fn introduce(
        &self,
        client: Arc<Client>,
        transcript: Arc<Conversation>,
        introduction: &InitializeParams,
    ) -> Result<Worker, Failure> {
        let deadline = self.scaled(INTRODUCTION);
        let answer = client.call::<method::Initialize>(introduction, deadline).await;
        let problem = match answer {
            Ok(initialized) if initialized.protocol == VERSION => {
                return Ok(Worker {
                    client,
                    initialized,
                    shared: None,
                    broken: false,
                    transcript,
                    useless: self.useless.clone(),
                });
            }
            Ok(initialized) => {
                let seen = format!(
                    "the adapter answered with protocol {:?}, which was not offered",
                    initialized.protocol
                );
                Failure {
                    kind: Some("version_mismatch".into()),
                    ..Failure::suite(seen)
                }
            }
            Err(error) => {
                let kind = error.refusal().map_or_else(
                    || Failure::from(error.clone()).kind,
                    |error| Some(error.kind().to_string()),
                );
                Failure {
                    kind,
                    ..Failure::suite(format!("the adapter did not introduce itself: {error}"))
                }
            }
        };
        client.stop(Duration::from_secs(1)).await;
        Err(match transcript.misfit() {
            Some(misfit) => misfit.besides(&problem),
            None => problem,
        })
    }

    /// An adapter that is idle, or a new one.
    ///
    /// # Errors
    /// As [`Workshop::employ`].
    pub async fn borrow(&self, new: bool) -> Result<Worker, Failure> {
        let useless = self.useless.load(Ordering::SeqCst);
        if useless >= GIVEN_UP_AFTER {
            let seen =
                format!("given up: {useless} times in a row no sandbox could be had that runs a command");
            return Err(Failure {
                kind: Some("given_up".into()),
                ..Failure::suite(seen)
            });
        }
        let idle = if new { None } else { self.lock().pop() };
        match idle {
            Some(worker) if worker.client.fault().is_none() => Ok(worker),
            Some(broken) => {
                broken.client.stop(GRACE).await;
                self.employ().await
            }
            None => self.employ().await,
        }
    }

    /// Takes an adapter back; one that is broken or not wanted any more is stopped.
    pub async fn give_back(&self, worker: Worker, retire: bool) {
        if retire || worker.broken || worker.client.fault().is_some() {
            let grace = if worker.broken { SHORT_GRACE } else { GRACE };
            worker.client.stop(grace).await;
        } else {
            self.lock().push(worker);
        }
    }

    /// Keeps an adapter, so that the sandbox of a failure can be looked at.
    pub(super) fn keep(&self, worker: Worker, sandbox: Sandbox) {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((worker, sandbox));
    }

    /// The sandboxes that are kept, for people.
    pub fn kept(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let describe = |sandbox: &Sandbox| {
            let told = sandbox.workdir.as_ref().or(sandbox.opened.cwd.as_ref());
            let told =
                told.map(|directory| format!(", whose commands start in {}", directory.to_string_lossy()));
            format!("sandbox {}{}", sandbox.id, told.unwrap_or_default())
        };
        kept.iter().map(|(_, sandbox)| describe(sandbox)).collect()
    }

    /// Stops all idle adapters, each after closing its shared sandbox, and ends what is kept.
    pub async fn shut(&self) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for (worker, _) in kept {
            worker.client.stop(GRACE).await;
        }
        let idle = std::mem::take(&mut *self.lock());
        let stops = idle.into_iter().map(|mut worker| async move {
            if let Some(shared) = worker.shared.take() {
                worker.close(&shared.id, self.scaled(GRACE)).await;
            }
            worker.client.stop(GRACE).await;
        });
        futures::future::join_all(stops).await;
        self.end_what_is_kept().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
