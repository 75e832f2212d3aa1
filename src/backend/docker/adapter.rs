//! The backend as the protocol sees it.

use std::time::Duration;

use async_trait::async_trait;
use herm_protocol::{
    Adapter, ByteString, Error, Execution, Finished, Progress,
    exec::RunParams,
    file::{
        ChmodParams, DirectoryListing, FileContent, FileInfo, MoveParams, PathParams, ReadParams,
        RemoveParams, WriteParams,
    },
    initialize::{InitializeParams, Initialized, Preflight, Problem},
    job::{JobInfo, JobList, JobListParams, JobOutput, JobOutputParams, JobRef, JobStarted, JobWaitParams},
    ledger::Ledger,
    policy::{ClassifyParams, HostAccess},
    sandbox::{
        CloseHow, CloseParams, Closed, OpenParams, Opened, ReapParams, Reaped, SandboxInfo, SandboxList,
        SandboxRef,
    },
    session::SessionRef,
};
use tokio::task::JoinSet;

use super::{DockerBackend, declaration, files, find::Claim, run, sandbox::state_of};
use crate::{
    backend::local::{Mode, check},
    caller::Caller,
    files::inside::{self, Call},
    resident::info,
};

/// Bytes that one reading of a job's output gives when the caller does not say.
const JOB_READ: u64 = 1024 * 1024;

/// How long a resident that goes on without this process may take to hear all that it was told.
const SETTLES: Duration = Duration::from_secs(1);

/// How long the processes of a job that is killed may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(10);

impl DockerBackend {
    /// Does something with a path of a sandbox: `make` is given the resident's program and the whole path.
    async fn with_path<T>(
        &self,
        sandbox: &str,
        path: &ByteString,
        make: impl FnOnce(&str, &ByteString) -> Result<Call<T>, Error>,
    ) -> Result<T, Error> {
        let sandbox = self.sandbox(sandbox)?;
        check::path("path", path)?;
        let inhabited = sandbox.inhabited("files")?;
        let whole = sandbox.resolve(path).as_path().into();
        let call = make(&inhabited.program, &whole)?;
        files::carry_out(&sandbox.id, inhabited, call).await
    }
}

fn problem(error: Error) -> Problem {
    Problem {
        what: error.message,
        fix: error.data.fix.unwrap_or_default(),
    }
}

#[async_trait]
impl Adapter for DockerBackend {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        {
            let mut place = self.place();
            place.run = params.run;
            if !params.scratch.is_empty() {
                place.scratch = params.scratch.into();
                place.kept = Some(place.scratch.join("kept"));
            }
        }
        let (mode, streams, spool_full) = (self.0.mode, self.0.ways.streams, self.0.ways.spool_full);
        Ok(declaration(self.usual_shell().await, mode, streams, spool_full))
    }

    async fn preflight(&self) -> Result<Preflight, Error> {
        let problems = match self.missing().await {
            Ok(()) => Vec::new(),
            Err(error) => vec![problem(error)],
        };
        Ok(Preflight { problems })
    }

    async fn open(&self, params: OpenParams, progress: Progress) -> Result<Opened, Error> {
        Box::pin(self.open_and_tell(params, Claim::Whole, Some(&progress))).await
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        match params.how {
            CloseHow::Destroy => self.destroy(&params.sandbox).await,
            CloseHow::Detach => self.detach(&params.sandbox).await,
            CloseHow::Stop => Box::pin(self.stop(&params.sandbox)).await,
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
        self.list_all().await
    }

    async fn inspect(&self, params: SandboxRef) -> Result<SandboxInfo, Error> {
        let open = self.sandbox(&params.sandbox);
        let Ok(sandbox) = open else {
            let all = self.list_all().await?;
            let found = all
                .sandboxes
                .into_iter()
                .find(|found| found.sandbox == params.sandbox);
            return found.ok_or_else(|| Error::sandbox_not_found(&params.sandbox));
        };
        let container = self.engine().await?.container(&sandbox.id).await?;
        let container = container.ok_or_else(|| Error::sandbox_not_found(&params.sandbox))?;
        Ok(sandbox.describe(state_of(&container)))
    }

    async fn reap(&self, params: ReapParams) -> Result<Reaped, Error> {
        if self.0.mode == Mode::Native {
            return Err(Error::unsupported("sandbox.reap"));
        }
        Box::pin(self.reap(params)).await
    }

    async fn start_job(&self, params: RunParams) -> Result<JobStarted, Error> {
        check::command(&params, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("detach")?;
        let number = run::start_job(&sandbox, inhabited, self.0.ways, params).await?;
        Ok(JobStarted {
            job: inhabited.job_id(number),
        })
    }

    async fn list_jobs(&self, params: JobListParams) -> Result<JobList, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("job.list")?;
        let records = inhabited.resident.jobs(&sandbox.id).await?;
        let jobs = records.into_iter().map(|record| {
            let number = record.job;
            let told = info(record)?;
            Ok(JobInfo {
                job: inhabited.job_id(number),
                ..told
            })
        });
        Ok(JobList {
            jobs: jobs.collect::<Result<_, Error>>()?,
        })
    }

    async fn read_job(&self, params: JobOutputParams) -> Result<JobOutput, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("job.output")?;
        let (job, most) = (inhabited.job_number(&params.job)?, params.max.unwrap_or(JOB_READ));
        inhabited
            .resident
            .read_job(&sandbox.id, job, params.stream, params.from, most)
            .await
    }

    async fn wait_job(&self, params: JobWaitParams) -> Result<JobInfo, Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("job.wait")?;
        let job = inhabited.job_number(&params.job)?;
        let within = params.within_ms.map(Duration::from_millis);
        let told = inhabited.resident.wait_job(&sandbox.id, job, within).await?;
        Ok(JobInfo {
            job: params.job,
            ..told
        })
    }

    async fn kill_job(&self, params: JobRef) -> Result<(), Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("job.kill")?;
        let job = inhabited.job_number(&params.job)?;
        inhabited.resident.kill_job(&sandbox.id, job, KILL_LIMIT).await
    }

    async fn forget_job(&self, params: JobRef) -> Result<(), Error> {
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("job.forget")?;
        let job = inhabited.job_number(&params.job)?;
        inhabited.resident.forget_job(&sandbox.id, job).await
    }

    async fn close_session(&self, params: SessionRef) -> Result<(), Error> {
        check::session(&params.session, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let inhabited = sandbox.inhabited("session.close")?;
        inhabited
            .resident
            .close_session(&sandbox.id, &params.session)
            .await
    }

    async fn read_file(&self, params: ReadParams) -> Result<FileContent, Error> {
        let (offset, length) = (params.offset, params.length);
        self.with_path(&params.sandbox, &params.path, |program, path| {
            inside::read(program, path, offset, length)
        })
        .await
    }

    async fn write_file(&self, params: WriteParams) -> Result<(), Error> {
        let data = params.data;
        self.with_path(&params.sandbox, &params.path, |program, path| {
            inside::write(program, path, data)
        })
        .await
    }

    async fn stat_file(&self, params: PathParams) -> Result<FileInfo, Error> {
        self.with_path(&params.sandbox, &params.path, inside::stat).await
    }

    async fn list_directory(&self, params: PathParams) -> Result<DirectoryListing, Error> {
        self.with_path(&params.sandbox, &params.path, inside::list_directory)
            .await
    }

    async fn remove_file(&self, params: RemoveParams) -> Result<(), Error> {
        let recursive = params.recursive;
        self.with_path(&params.sandbox, &params.path, |program, path| {
            inside::remove(program, path, recursive)
        })
        .await
    }

    async fn make_directory(&self, params: PathParams) -> Result<(), Error> {
        self.with_path(&params.sandbox, &params.path, inside::make_directory)
            .await
    }

    async fn move_file(&self, params: MoveParams) -> Result<(), Error> {
        check::path("to", &params.to)?;
        let to = self
            .sandbox(&params.sandbox)?
            .resolve(&params.to)
            .as_path()
            .into();
        self.with_path(&params.sandbox, &params.from, |program, from| {
            inside::move_path(program, from, &to)
        })
        .await
    }

    async fn change_mode(&self, params: ChmodParams) -> Result<(), Error> {
        let mode = params.mode;
        self.with_path(&params.sandbox, &params.path, |program, path| {
            inside::change_mode(program, path, mode)
        })
        .await
    }

    async fn classify(&self, params: ClassifyParams) -> Result<HostAccess, Error> {
        self.reach_of(params).await
    }

    async fn ledger(&self) -> Result<Ledger, Error> {
        self.owned().await
    }

    async fn shutdown(&self) {
        let open: Vec<_> = self.sandboxes().open.values().cloned().collect();
        let kept = open
            .iter()
            .filter(|sandbox| sandbox.key.is_some())
            .filter_map(|sandbox| sandbox.inhabited.as_ref());
        futures::future::join_all(kept.map(|inhabited| inhabited.resident.settle(SETTLES))).await;
        drop(open);
        let ids = {
            let mut sandboxes = self.sandboxes();
            sandboxes.shut_down = true;
            // What is kept under a key goes on without us, unless it is tied to us.
            sandboxes
                .open
                .retain(|_, sandbox| sandbox.key.is_none() || sandbox.is_tied());
            sandboxes.open.keys().cloned().collect::<Vec<_>>()
        };
        let mut ends = JoinSet::new();
        for id in ids {
            let backend = self.clone();
            ends.spawn(async move { backend.end(&id).await });
        }
        for end in ends.join_all().await {
            if let Err(error) = end {
                super::log(error);
            }
        }
        self.0.guard.dismiss().await;
    }
}
