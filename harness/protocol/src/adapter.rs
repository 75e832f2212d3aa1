//! The trait that a backend written in Rust implements.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use crate::{
    ByteString, Error, ExecTools,
    capture::Recorder,
    condition::{ConditionApplied, ConditionList, ConditionParams},
    exec::{Outcome, RunParams, Stream},
    file::{
        ChmodParams, DirectoryListing, FileContent, FileInfo, MoveParams, PathParams, ReadParams,
        RemoveParams, WriteParams,
    },
    initialize::{InitializeParams, Initialized, Preflight},
    job::{JobInfo, JobList, JobListParams, JobOutput, JobOutputParams, JobRef, JobStarted, JobWaitParams},
    ledger::Ledger,
    message::Message,
    method::{Notification as _, OpenProgress},
    policy::{ClassifyParams, HostAccess},
    sandbox::{
        CloseParams, Closed, OpenParams, Opened, ProgressParams, ReapParams, Reaped, SandboxInfo,
        SandboxList, SandboxRef,
    },
    session::SessionRef,
};

/// A sandbox backend. Calls come concurrently; only `initialize` comes alone and first.
///
/// Four methods are mandatory. The others answer `unsupported` until they are written, and stand behind the capability
/// that their parameters name. Totals, digests, gaps, credit and the order of events are kept by [`crate::serve`].
#[async_trait]
pub trait Adapter: Send + Sync + 'static {
    /// Says who this is and what it can do. The version was negotiated already.
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error>;

    /// Says what is missing on this machine.
    async fn preflight(&self) -> Result<Preflight, Error> {
        Err(Error::unsupported("preflight"))
    }

    /// Opens a sandbox that is ready to run commands. A failed open leaves nothing behind.
    async fn open(&self, params: OpenParams, progress: Progress) -> Result<Opened, Error>;

    /// Closes a sandbox; what is not there is no error.
    async fn close(&self, params: CloseParams) -> Result<Closed, Error>;

    /// Runs a command to its end.
    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error>;

    /// Lists sandboxes.
    async fn list(&self) -> Result<SandboxList, Error> {
        Err(Error::unsupported("sandbox.list"))
    }

    /// Describes a sandbox.
    async fn inspect(&self, _: SandboxRef) -> Result<SandboxInfo, Error> {
        Err(Error::unsupported("sandbox.inspect"))
    }

    /// Removes what nobody needs any more, and nothing else.
    async fn reap(&self, _: ReapParams) -> Result<Reaped, Error> {
        Err(Error::unsupported("sandbox.reap"))
    }

    /// Starts a command that goes on as a job.
    async fn start_job(&self, _: RunParams) -> Result<JobStarted, Error> {
        Err(Error::unsupported("detach"))
    }

    /// Lists jobs.
    async fn list_jobs(&self, _: JobListParams) -> Result<JobList, Error> {
        Err(Error::unsupported("job.list"))
    }

    /// Reads what a job has written.
    async fn read_job(&self, _: JobOutputParams) -> Result<JobOutput, Error> {
        Err(Error::unsupported("job.output"))
    }

    /// Waits for the end of a job.
    async fn wait_job(&self, _: JobWaitParams) -> Result<JobInfo, Error> {
        Err(Error::unsupported("job.wait"))
    }

    /// Ends a job with everything of it.
    async fn kill_job(&self, _: JobRef) -> Result<(), Error> {
        Err(Error::unsupported("job.kill"))
    }

    /// Forgets a job that has ended.
    async fn forget_job(&self, _: JobRef) -> Result<(), Error> {
        Err(Error::unsupported("job.forget"))
    }

    /// Forgets the state of a session; one that is not known is no error.
    async fn close_session(&self, _: SessionRef) -> Result<(), Error> {
        Err(Error::unsupported("session.close"))
    }

    /// Reads a file.
    async fn read_file(&self, _: ReadParams) -> Result<FileContent, Error> {
        Err(Error::unsupported("file.read"))
    }

    /// Writes a file.
    async fn write_file(&self, _: WriteParams) -> Result<(), Error> {
        Err(Error::unsupported("file.write"))
    }

    /// Describes a path.
    async fn stat_file(&self, _: PathParams) -> Result<FileInfo, Error> {
        Err(Error::unsupported("file.stat"))
    }

    /// Lists a directory.
    async fn list_directory(&self, _: PathParams) -> Result<DirectoryListing, Error> {
        Err(Error::unsupported("file.list"))
    }

    /// Removes a file or directory.
    async fn remove_file(&self, _: RemoveParams) -> Result<(), Error> {
        Err(Error::unsupported("file.remove"))
    }

    /// Makes a directory.
    async fn make_directory(&self, _: PathParams) -> Result<(), Error> {
        Err(Error::unsupported("file.mkdir"))
    }

    /// Moves a file or directory.
    async fn move_file(&self, _: MoveParams) -> Result<(), Error> {
        Err(Error::unsupported("file.move"))
    }

    /// Sets permission bits.
    async fn change_mode(&self, _: ChmodParams) -> Result<(), Error> {
        Err(Error::unsupported("file.chmod"))
    }

    /// Tells what the subject owns.
    async fn ledger(&self) -> Result<Ledger, Error> {
        Err(Error::unsupported("ledger.snapshot"))
    }

    /// Tells how far mounts would reach into the host; nothing is mounted.
    async fn classify(&self, _: ClassifyParams) -> Result<HostAccess, Error> {
        Err(Error::unsupported("policy.classify"))
    }

    /// Lists the conditions that can be brought about.
    async fn list_conditions(&self) -> Result<ConditionList, Error> {
        Err(Error::unsupported("condition.list"))
    }

    /// Brings a condition about.
    async fn apply_condition(&self, _: ConditionParams) -> Result<ConditionApplied, Error> {
        Err(Error::unsupported("condition.apply"))
    }

    /// Undoes a condition; one that does not hold is no error.
    async fn clear_condition(&self, _: ConditionParams) -> Result<(), Error> {
        Err(Error::unsupported("condition.clear"))
    }

    /// The connection has ended: end every command, and remove every sandbox that is not meant to outlive it.
    async fn shutdown(&self) {}
}

/// A shared adapter is one, too.
#[async_trait]
impl<A: Adapter> Adapter for std::sync::Arc<A> {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        (**self).initialize(params).await
    }

    async fn preflight(&self) -> Result<Preflight, Error> {
        (**self).preflight().await
    }

    async fn open(&self, params: OpenParams, progress: Progress) -> Result<Opened, Error> {
        (**self).open(params, progress).await
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        (**self).close(params).await
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        (**self).run(params, execution).await
    }

    async fn list(&self) -> Result<SandboxList, Error> {
        (**self).list().await
    }

    async fn inspect(&self, params: SandboxRef) -> Result<SandboxInfo, Error> {
        (**self).inspect(params).await
    }

    async fn reap(&self, params: ReapParams) -> Result<Reaped, Error> {
        (**self).reap(params).await
    }

    async fn start_job(&self, params: RunParams) -> Result<JobStarted, Error> {
        (**self).start_job(params).await
    }

    async fn list_jobs(&self, params: JobListParams) -> Result<JobList, Error> {
        (**self).list_jobs(params).await
    }

    async fn read_job(&self, params: JobOutputParams) -> Result<JobOutput, Error> {
        (**self).read_job(params).await
    }

    async fn wait_job(&self, params: JobWaitParams) -> Result<JobInfo, Error> {
        (**self).wait_job(params).await
    }

    async fn kill_job(&self, params: JobRef) -> Result<(), Error> {
        (**self).kill_job(params).await
    }

    async fn forget_job(&self, params: JobRef) -> Result<(), Error> {
        (**self).forget_job(params).await
    }

    async fn close_session(&self, params: SessionRef) -> Result<(), Error> {
        (**self).close_session(params).await
    }

    async fn read_file(&self, params: ReadParams) -> Result<FileContent, Error> {
        (**self).read_file(params).await
    }

    async fn write_file(&self, params: WriteParams) -> Result<(), Error> {
        (**self).write_file(params).await
    }

    async fn stat_file(&self, params: PathParams) -> Result<FileInfo, Error> {
        (**self).stat_file(params).await
    }

    async fn list_directory(&self, params: PathParams) -> Result<DirectoryListing, Error> {
        (**self).list_directory(params).await
    }

    async fn remove_file(&self, params: RemoveParams) -> Result<(), Error> {
        (**self).remove_file(params).await
    }

    async fn make_directory(&self, params: PathParams) -> Result<(), Error> {
        (**self).make_directory(params).await
    }

    async fn move_file(&self, params: MoveParams) -> Result<(), Error> {
        (**self).move_file(params).await
    }

    async fn change_mode(&self, params: ChmodParams) -> Result<(), Error> {
        (**self).change_mode(params).await
    }

    async fn ledger(&self) -> Result<Ledger, Error> {
        (**self).ledger().await
    }

    async fn classify(&self, params: ClassifyParams) -> Result<HostAccess, Error> {
        (**self).classify(params).await
    }

    async fn list_conditions(&self) -> Result<ConditionList, Error> {
        (**self).list_conditions().await
    }

    async fn apply_condition(&self, params: ConditionParams) -> Result<ConditionApplied, Error> {
        (**self).apply_condition(params).await
    }

    async fn clear_condition(&self, params: ConditionParams) -> Result<(), Error> {
        (**self).clear_condition(params).await
    }

    async fn shutdown(&self) {
        (**self).shutdown().await;
    }
}

/// Tells the caller of `sandbox.open` how far it is.
#[derive(Clone)]
pub struct Progress {
    pub(crate) lines: mpsc::Sender<Vec<u8>>,
}

impl Progress {
    /// Progress that goes to a channel of protocol lines, for adapters that are tried without a connection.
    #[must_use]
    pub fn to(lines: mpsc::Sender<Vec<u8>>) -> Self {
        Self { lines }
    }

    /// One step, for people.
    pub async fn report(&self, message: impl Into<String>) {
        let params = ProgressParams {
            message: message.into(),
        };
        let _ = self
            .lines
            .send(Message::notification(OpenProgress::NAME, &params).to_line())
            .await;
    }
}

/// How a command ended, as the backend saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The outcome.
    pub outcome: Outcome,
    /// What the caller should know.
    pub notices: Vec<String>,
    /// The job under which something of it goes on.
    pub job: Option<String>,
}

impl From<Outcome> for Finished {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            notices: Vec::new(),
            job: None,
        }
    }
}

/// The caller's side of one running command.
pub struct Execution {
    /// Where output goes.
    pub output: ExecOutput,
    /// What the caller feeds; it ends at once unless the exec asked for streamed input.
    pub input: ExecInput,
    /// What the caller wants done to the running command.
    pub control: ExecControl,
    /// The tools that its code may call; see [`RunParams::rpc`].
    pub tools: ExecTools,
}

/// Where a command's output goes. Clones write to the same exec.
#[derive(Clone)]
pub struct ExecOutput(pub(crate) Arc<Recorder>);

impl ExecOutput {
    /// The command was accepted and begins to run. Called by itself before the first output at the latest.
    pub async fn started(&self) {
        self.0.start().await;
    }

    /// Takes bytes that the command wrote; returns when the caller has room for more.
    pub async fn write(&self, stream: Stream, data: &[u8]) {
        self.0.write(stream, data).await;
    }
}

/// A piece of streamed input.
#[derive(Debug)]
pub(crate) struct InputPiece {
    pub(crate) data: ByteString,
    pub(crate) eof: bool,
    pub(crate) taken: oneshot::Sender<bool>,
}

/// What the caller feeds to a command.
pub struct ExecInput {
    pub(crate) pieces: mpsc::UnboundedReceiver<InputPiece>,
    pub(crate) ended: bool,
}

impl ExecInput {
    /// The next bytes; `None` at end of file. Asking for more tells the caller that there is room.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let piece = self.pieces.recv().await?;
        self.ended = piece.eof;
        let _ = piece.taken.send(true);
        Some(piece.data.into_bytes())
    }
}

/// What a caller wants done to a running command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// End everything of it; the outcome is `cancelled`.
    Cancel,
    /// Send it this signal.
    Signal(i32),
}

/// What a caller wants done to a running command.
pub struct ExecControl {
    pub(crate) interrupts: mpsc::UnboundedReceiver<Interrupt>,
}

impl ExecControl {
    /// The next wish; never resolves when there will be none.
    pub async fn next(&mut self) -> Interrupt {
        match self.interrupts.recv().await {
            Some(interrupt) => interrupt,
            None => std::future::pending().await,
        }
    }
}
