//! The backend as the protocol sees it.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, ByteString, Error, ErrorKind, Execution, Finished, Progress,
    exec::RunParams,
    file::{
        ChmodParams, DirectoryListing, FileContent, FileInfo, MoveParams, PathParams, ReadParams,
        RemoveParams, WriteParams,
    },
    initialize::{InitializeParams, Initialized, Preflight},
    job::{JobInfo, JobList, JobListParams, JobOutput, JobOutputParams, JobRef, JobStarted, JobWaitParams},
    ledger::{Ledger, LedgerItem},
    sandbox::{
        CloseHow, CloseParams, Closed, OpenParams, Opened, SandboxInfo, SandboxList, SandboxRef, SandboxState,
    },
    session::SessionRef,
};
use tokio::task::JoinSet;

use super::{
    Mode, SpoolFull, Streams, check, declaration, environment, log::tell, memory::Memory, open, preflight,
    residence::Residence, resident_run, run, run::Ground, sandbox::Sandbox, shell::Shell, signals,
};
use crate::{
    caller::{Caller, Control, Input, Output, Tools},
    files,
    resident::{Binary, info},
};

/// How long a resident that goes on without this process may take to hear all that it was told.
const SETTLES: Duration = Duration::from_secs(1);

/// How long an operation on files may take; a file system that hangs must not hang the caller.
const FILE_LIMIT: Duration = Duration::from_mins(1);

/// Bytes that one reading of a job's output gives when the caller does not say.
const JOB_READ: u64 = 1024 * 1024;

/// How long the processes of a job that is killed may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The local backend. Clones are the same backend.
#[derive(Clone, Debug)]
pub struct LocalBackend(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) mode: Mode,
    pub(super) streams: Streams,
    /// The resident's program, looked for once; the reason where there is none.
    pub(super) binary: OnceLock<Result<Binary, Error>>,
    pub(super) ground: Ground,
    pub(super) place: Mutex<Place>,
    pub(super) sandboxes: Mutex<Sandboxes>,
}

/// Where sandboxes are made.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) run: String,
    pub(super) scratch: PathBuf,
    /// Where sandboxes are kept under a key; the user's own directory when not set.
    pub(super) kept: Option<PathBuf>,
}

#[derive(Debug, Default)]
pub(super) struct Sandboxes {
    pub(super) shut_down: bool,
    pub(super) open: HashMap<String, Arc<Sandbox>>,
}

impl LocalBackend {
    /// A backend that makes its sandboxes in the system's directory for temporary files, until `initialize` names
    /// another. It looks once for the shell and at this process's variables.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self::make(mode, Streams::default(), SpoolFull::default(), &[])
    }

    /// As [`LocalBackend::new`], with the output of its commands on one stream or on two, and with jobs that do that when no
    /// more of their output can be kept. Native mode keeps the streams apart whatever is asked, and has no jobs.
    #[must_use]
    pub fn with_choices(mode: Mode, streams: Streams, spool_full: SpoolFull) -> Self {
        Self::make(mode, streams, spool_full, &[])
    }

    /// As [`Self::with_choices`] with streams that are apart; commands also see the variables of this process that have
    /// these names.
    #[must_use]
    pub fn passing_on(mode: Mode, spool_full: SpoolFull, variables: &[String]) -> Self {
        Self::make(mode, Streams::default(), spool_full, variables)
    }

    fn make(mode: Mode, streams: Streams, spool_full: SpoolFull, variables: &[String]) -> Self {
        let environment = environment::base(std::env::vars_os(), variables);
        let search = environment.get("PATH".as_ref() as &std::ffi::OsStr);
        let shell = search.and_then(|search| Shell::find(search));
        let streams = match mode {
            Mode::Native => Streams::Apart,
            Mode::Resident => streams,
        };
        Self(Arc::new(Inner {
            mode,
            streams,
            binary: OnceLock::new(),
            ground: Ground {
                shell,
                environment,
                guard: Arc::default(),
                umask: environment::umask(),
                streams,
                spool_full,
                memory: Memory::find(),
            },
            place: Mutex::new(Place {
                run: String::new(),
                scratch: std::env::temp_dir(),
                kept: None,
            }),
            sandboxes: Mutex::default(),
        }))
    }

    /// What this backend says of itself on this machine.
    #[must_use]
    pub fn declaration(&self) -> Initialized {
        let shell = self.0.ground.shell.as_ref();
        declaration(
            shell.map_or("posix", |shell| shell.choice),
            self.0.mode,
            self.0.streams,
            self.0.ground.spool_full,
        )
    }

    /// Runs a command to its end, as [`Adapter::run`] does, for a caller in this process.
    ///
    /// # Errors
    /// As [`Adapter::run`]: nothing ran then.
    pub async fn execute(
        &self,
        params: RunParams,
        caller: Caller<impl Output, impl Input, impl Tools>,
        mut control: impl Control,
    ) -> Result<Finished, Error> {
        check::command(&params, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        if let Some(residence) = sandbox.residence() {
            let ground = self.0.ground.clone();
            return resident_run::run(&sandbox, residence, ground, params, caller, &mut control).await;
        }
        let Caller { output, input, .. } = caller;
        run::run(&sandbox, self.0.ground.clone(), params, output, input, control).await
    }

    fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, Error> {
        let found = self.sandboxes().open.get(id).cloned();
        found.ok_or_else(|| Error::sandbox_not_found(id))
    }

    pub(super) fn sandboxes(&self) -> MutexGuard<'_, Sandboxes> {
        self.0.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn place(&self) -> MutexGuard<'_, Place> {
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a sandbox; it is forgotten when nothing of it is left.
    async fn end(&self, id: &str) -> Result<Closed, Error> {
        let sandbox = match self.sandbox(id) {
            Ok(sandbox) if sandbox.key.is_none() => sandbox,
            _ => return self.end_kept(id).await,
        };
        sandbox.close().await?;
        let existed = self.sandboxes().open.remove(id).is_some();
        Ok(Closed { existed })
    }

    /// Does something with a path of a sandbox where it may block.
    async fn with_path<T: Send + 'static>(
        &self,
        sandbox: &str,
        path: &ByteString,
        work: impl FnOnce(PathBuf) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let sandbox = self.sandbox(sandbox)?;
        check::path("path", path)?;
        let path = sandbox.resolve(path);
        let resource = path.to_string_lossy().into_owned();
        blocking(&resource, move || {
            // Missing parents are made: not for a sandbox that is not there.
            sandbox.check_there()?;
            work(path)
        })
        .await
    }
}

impl Default for LocalBackend {
    fn default() -> Self {
        Self::new(Mode::default())
    }
}

/// Does something that may block, within the limit for operations on files.
pub(in crate::backend) async fn blocking<T: Send + 'static>(
    resource: &str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let work = tokio::task::spawn_blocking(work);
    let Ok(done) = tokio::time::timeout(FILE_LIMIT, work).await else {
        let message = format!("the file system did not answer for {resource} within {FILE_LIMIT:?}");
        let error = Error::new(ErrorKind::TimedOut, resource, message);
        return Err(
            error.with_fix("see whether the file system still answers; the operation may yet be done")
        );
    };
    done.map_err(|error| Error::internal("work on files", error))?
}

/// Who keeps the jobs of a sandbox; in native mode nobody does.
fn residence_of<'a>(sandbox: &'a Sandbox, what: &str) -> Result<&'a Residence, Error> {
    sandbox.residence().ok_or_else(|| Error::unsupported(what))
}

/// The number of a job by its id. What is only written like it is another id.
fn job_number(id: &str) -> Result<u64, Error> {
    let number = id.parse().ok().filter(|number: &u64| number.to_string() == id);
    number.ok_or_else(|| {
        Error::new(ErrorKind::JobNotFound, id, format!("there is no job {id:?}"))
            .with_fix("list the jobs of the sandbox; each says its id")
    })
}

fn describe(sandbox: &Sandbox) -> SandboxInfo {
    SandboxInfo {
        sandbox: sandbox.id.clone(),
        key: sandbox.key.clone(),
        state: SandboxState::Running,
        cwd: Some(sandbox.cwd.as_path().into()),
    }
}

#[async_trait]
impl Adapter for LocalBackend {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        signals::hand_on_defaults().map_err(|error| Error::internal("handle signals", error))?;
        let mut place = self.place();
        place.run = params.run;
        if !params.scratch.is_empty() {
            place.scratch = params.scratch.into();
            place.kept = Some(place.scratch.join("kept"));
        }
        Ok(self.declaration())
    }

    async fn preflight(&self) -> Result<Preflight, Error> {
        let (shell, scratch) = (self.0.ground.shell.clone(), self.place().scratch.clone());
        let missing = blocking("preflight", move || {
            Ok(preflight::missing(shell.as_ref(), &scratch))
        })
        .await?;
        let problems = missing.into_iter().map(Into::into).collect();
        Ok(Preflight { problems })
    }

    async fn open(&self, params: OpenParams, _: Progress) -> Result<Opened, Error> {
        self.open_sandbox(params).await
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        match params.how {
            CloseHow::Destroy => self.end(&params.sandbox).await,
            CloseHow::Detach => self.detach(&params.sandbox),
            CloseHow::Stop => self.stop(&params.sandbox).await,
        }
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        let Execution {
            output,
            input,
            control,
            tools,
        } = execution;
        let caller = Caller { output, input, tools };
        self.execute(params, caller, control).await
    }

    async fn list(&self) -> Result<SandboxList, Error> {
        let mut open: Vec<_> = self.sandboxes().open.values().cloned().collect();
        open.retain(|sandbox| sandbox.key.is_none());
        let mut sandboxes = blocking("sandbox.list", move || {
            let there = open.iter().filter(|sandbox| sandbox.check_there().is_ok());
            Ok(there.map(|sandbox| describe(sandbox)).collect::<Vec<_>>())
        })
        .await?;
        sandboxes.extend(self.kept().await?);
        sandboxes.sort_by(|left, right| left.sandbox.cmp(&right.sandbox));
        Ok(SandboxList { sandboxes })
    }

    async fn inspect(&self, params: SandboxRef) -> Result<SandboxInfo, Error> {
        let sandbox = match self.sandbox(&params.sandbox) {
            Ok(sandbox) => sandbox,
            Err(error) => {
                let mut kept = self.kept().await?.into_iter();
                return kept.rfind(|kept| kept.sandbox == params.sandbox).ok_or(error);
            }
        };
        blocking(&params.sandbox, move || {
            sandbox.check_there().map(|()| describe(&sandbox))
        })
        .await
    }

    async fn start_job(&self, params: RunParams) -> Result<JobStarted, Error> {
        check::command(&params, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let residence = residence_of(&sandbox, "detach")?;
        let job = resident_run::start_job(&sandbox, residence, self.0.ground.clone(), params).await?;
        Ok(JobStarted { job })
    }

    async fn list_jobs(&self, params: JobListParams) -> Result<JobList, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "job.list")?.resident;
        let records = resident.jobs(&sandbox.id).await?;
        let jobs = records.into_iter().map(info).collect::<Result<_, _>>()?;
        Ok(JobList { jobs })
    }

    async fn read_job(&self, params: JobOutputParams) -> Result<JobOutput, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "job.output")?.resident;
        let (job, most) = (job_number(&params.job)?, params.max.unwrap_or(JOB_READ));
        resident
            .read_job(&sandbox.id, job, params.stream, params.from, most)
            .await
    }

    async fn wait_job(&self, params: JobWaitParams) -> Result<JobInfo, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "job.wait")?.resident;
        let within = params.within_ms.map(Duration::from_millis);
        resident
            .wait_job(&sandbox.id, job_number(&params.job)?, within)
            .await
    }

    async fn kill_job(&self, params: JobRef) -> Result<(), Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "job.kill")?.resident;
        resident
            .kill_job(&sandbox.id, job_number(&params.job)?, KILL_LIMIT)
            .await
    }

    async fn forget_job(&self, params: JobRef) -> Result<(), Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "job.forget")?.resident;
        resident.forget_job(&sandbox.id, job_number(&params.job)?).await
    }

    async fn close_session(&self, params: SessionRef) -> Result<(), Error> {
        check::session(&params.session, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let resident = &residence_of(&sandbox, "session.close")?.resident;
        resident.close_session(&sandbox.id, &params.session).await
    }

    async fn read_file(&self, params: ReadParams) -> Result<FileContent, Error> {
        let (offset, length) = (params.offset, params.length);
        self.with_path(&params.sandbox, &params.path, move |path| {
            files::read(&path, offset, length)
        })
        .await
    }

    async fn write_file(&self, params: WriteParams) -> Result<(), Error> {
        let data = params.data;
        self.with_path(&params.sandbox, &params.path, move |path| {
            files::write(&path, data.as_bytes())
        })
        .await
    }

    async fn stat_file(&self, params: PathParams) -> Result<FileInfo, Error> {
        self.with_path(&params.sandbox, &params.path, |path| files::stat(&path))
            .await
    }

    async fn list_directory(&self, params: PathParams) -> Result<DirectoryListing, Error> {
        self.with_path(&params.sandbox, &params.path, |path| files::list_directory(&path))
            .await
    }

    async fn remove_file(&self, params: RemoveParams) -> Result<(), Error> {
        let recursive = params.recursive;
        self.with_path(&params.sandbox, &params.path, move |path| {
            files::remove(&path, recursive)
        })
        .await
    }

    async fn make_directory(&self, params: PathParams) -> Result<(), Error> {
        self.with_path(&params.sandbox, &params.path, |path| files::make_directory(&path))
            .await
    }

    async fn move_file(&self, params: MoveParams) -> Result<(), Error> {
        check::path("to", &params.to)?;
        let to = self.sandbox(&params.sandbox)?.resolve(&params.to);
        self.with_path(&params.sandbox, &params.from, move |from| {
            files::move_path(&from, &to)
        })
        .await
    }

    async fn change_mode(&self, params: ChmodParams) -> Result<(), Error> {
        let mode = params.mode;
        self.with_path(&params.sandbox, &params.path, move |path| {
            files::change_mode(&path, mode)
        })
        .await
    }

    async fn ledger(&self) -> Result<Ledger, Error> {
        let sandboxes: Vec<_> = self.sandboxes().open.values().cloned().collect();
        let mut items = Vec::new();
        for sandbox in sandboxes {
            items.push(LedgerItem {
                kind: "directory".into(),
                id: sandbox.directory.to_string_lossy().into_owned(),
            });
            items.extend(sandbox.processes().await.iter().map(|process| LedgerItem {
                kind: "process".into(),
                id: format!("{}:{}", process.pid, process.start_time),
            }));
        }
        items.sort();
        Ok(Ledger { items })
    }

    async fn shutdown(&self) {
        let open: Vec<_> = self.sandboxes().open.values().cloned().collect();
        let kept = open
            .iter()
            .filter(|sandbox| sandbox.key.is_some())
            .filter_map(|sandbox| sandbox.residence());
        futures::future::join_all(kept.map(|residence| residence.resident.settle(SETTLES))).await;
        drop(open);
        let ids: Vec<_> = {
            let mut sandboxes = self.sandboxes();
            sandboxes.shut_down = true;
            // What is kept under a key goes on without us.
            sandboxes.open.retain(|_, sandbox| sandbox.key.is_none());
            sandboxes.open.keys().cloned().collect()
        };
        let mut ends = JoinSet::new();
        for id in ids {
            let backend = self.clone();
            ends.spawn(async move { backend.end(&id).await });
        }
        for end in ends.join_all().await {
            if let Err(error) = end {
                tell(error);
            }
        }
        self.0.ground.guard.dismiss().await;
    }
}

impl LocalBackend {
    /// The sandbox with its resident, in resident mode. A failure leaves nothing of the sandbox.
    async fn inhabited(&self, sandbox: Sandbox) -> Result<Sandbox, Error> {
        if self.0.mode == Mode::Native {
            return Ok(sandbox);
        }
        let directory = sandbox.directory.join("resident");
        let started = match self.0.binary.get_or_init(Binary::find) {
            Ok(binary) => {
                let ground = &self.0.ground;
                Residence::start(binary, &directory, &ground.environment, &ground.guard).await
            }
            Err(error) => Err(error.clone()),
        };
        match started {
            Ok(residence) => Ok(sandbox.with_residence(residence)),
            Err(error) => {
                sandbox.close().await?;
                Err(error)
            }
        }
    }

    /// Opens a sandbox, as [`Adapter::open`] does, for a caller in this process.
    ///
    /// # Errors
    /// As [`Adapter::open`]: nothing was made then.
    pub async fn open_sandbox(&self, params: OpenParams) -> Result<Opened, Error> {
        check::spec(params.key.as_deref(), &params.spec, self.0.mode, &[])?;
        if let Some(key) = params.key {
            return self.open_kept(&key, params.spec).await;
        }
        let Place { run, scratch, .. } = self.place().clone();
        let resource = scratch.to_string_lossy().into_owned();
        let (guard, shell) = (self.0.ground.guard.clone(), self.0.ground.shell.clone());
        let sandbox = blocking(&resource, move || {
            match preflight::missing(shell.as_ref(), &scratch).into_iter().next() {
                Some(missing) => Err(missing.into()),
                None => open::make(params, &run, &scratch, &guard),
            }
        })
        .await?;
        let sandbox = self.inhabited(sandbox).await?;
        let opened = open::opened(&sandbox, self.0.mode);
        self.keep(sandbox).await?;
        Ok(opened)
    }

    /// Takes a new sandbox among those that are open.
    pub(super) async fn keep(&self, sandbox: Sandbox) -> Result<(), Error> {
        let sandbox = Arc::new(sandbox);
        let refused = {
            let mut sandboxes = self.sandboxes();
            if !sandboxes.shut_down {
                sandboxes.open.insert(sandbox.id.clone(), sandbox.clone());
            }
            sandboxes.shut_down
        };
        if refused {
            if sandbox.key.is_none() {
                sandbox.close().await?;
            }
            let error = Error::new(
                ErrorKind::Unavailable,
                "sandbox.open",
                "the backend is shutting down",
            );
            return Err(error.with_fix("start the backend again"));
        }
        Ok(())
    }
}
