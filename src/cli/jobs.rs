//! `herm jobs`: commands that go on after their call has returned.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use clap::{Args, Subcommand, ValueEnum};
use herm::backend::Backend;
use herm_harness::{tell::tell, verdict::Exit};
use herm_protocol::{
    Adapter, Error, ErrorKind,
    exec::{Outcome, Stream},
    job::{JobInfo, JobListParams, JobOutputParams, JobRef, JobWaitParams},
};

use super::{
    configured::BackendArguments,
    exec::unwritten,
    fail,
    kept::{losses, on_one_line, refused},
    list::print,
    runtime::block_on,
};

/// How often a job that is waited for is looked at, in milliseconds.
const LOOK: u64 = 1000;

/// How long one wait for more output is.
const WAIT: Duration = Duration::from_millis(100);

/// The jobs of a sandbox that is kept under a key (`herm exec --key KEY --detach`).
///
/// Exit codes: 0 done; for `wait` that of the command, as `herm exec` has it; 1 there is no such job or sandbox; 2 usage;
/// 4 the executor is broken, or output cannot be written; 141 whoever read the output has gone, the job goes on.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    backend: BackendArguments,
    /// The sandbox's key
    #[arg(value_name = "KEY")]
    key: String,
    #[command(subcommand)]
    act: Option<Act>,
}

/// What is done; without, jobs are listed.
#[derive(Debug, Subcommand)]
enum Act {
    /// List them
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a job has written, from a cursor on
    Output {
        /// The job
        job: String,
        /// Which stream
        #[arg(long, value_enum, default_value_t = Which::Stdout)]
        stream: Which,
        /// How many bytes to leave out: those that were read before
        #[arg(long, value_name = "BYTES", default_value_t = 0)]
        from: u64,
        /// Go on until the job has ended
        #[arg(long)]
        follow: bool,
    },
    /// Wait for the end of a job, and end as it did
    Wait {
        /// The job
        job: String,
    },
    /// End a job with everything of it
    Kill {
        /// The job
        job: String,
    },
    /// Forget a job that has ended, with its output
    Forget {
        /// The job
        job: String,
    },
}

/// A stream of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Stdout,
    Stderr,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    let backend = match arguments.backend.open_to_look_after() {
        Ok(backend) => backend,
        Err((exit, message)) => return fail(exit, message),
    };
    block_on(async move {
        match act(&backend, arguments).await {
            Ok(exit) => exit,
            Err(error) => fail(refused(&error), error),
        }
    })
}

async fn act(backend: &Backend, arguments: Arguments) -> Result<ExitCode, Error> {
    let key = backend.shared_key(arguments.key);
    // Nothing is made by asking.
    if !backend
        .list_kept()
        .await?
        .iter()
        .any(|kept| kept.key.as_deref() == Some(key.as_str()))
    {
        let message = format!("no sandbox is kept under {key:?}");
        return Err(
            Error::new(ErrorKind::SandboxNotFound, key, message).with_fix("herm ps lists those that are")
        );
    }
    let opened = backend.attach_kept(&key).await?;
    for notice in losses(&opened, backend).await {
        tell(format_args!("herm: {notice}"));
    }
    let sandbox = opened.sandbox;
    let adapter = backend.adapter();
    match arguments.act.unwrap_or(Act::List { json: false }) {
        Act::List { json } => {
            let jobs = adapter.list_jobs(JobListParams { sandbox }).await?.jobs;
            Ok(if json {
                print(&serde_json::to_string_pretty(&jobs).unwrap_or_default())
            } else if jobs.is_empty() {
                print("no job")
            } else {
                print(&jobs.iter().map(line_of).collect::<Vec<_>>().join("\n"))
            })
        }
        Act::Output {
            job,
            stream,
            from,
            follow,
        } => {
            let stream = match stream {
                Which::Stdout => Stream::Stdout,
                Which::Stderr => Stream::Stderr,
            };
            let max = None;
            let params = JobOutputParams {
                sandbox,
                job,
                stream,
                from,
                max,
            };
            copy(adapter, params, follow).await
        }
        Act::Wait { job } => {
            let params = JobWaitParams {
                sandbox,
                job,
                within_ms: Some(LOOK),
            };
            wait(adapter, &key, params).await
        }
        Act::Kill { job } => adapter
            .kill_job(JobRef { sandbox, job })
            .await
            .map(|()| ExitCode::SUCCESS),
        Act::Forget { job } => adapter
            .forget_job(JobRef { sandbox, job })
            .await
            .map(|()| ExitCode::SUCCESS),
    }
}

/// Waits until a job has ended; tells once when it cannot go on because nobody reads it.
async fn wait(adapter: &dyn Adapter, key: &str, params: JobWaitParams) -> Result<ExitCode, Error> {
    let mut told = false;
    loop {
        let info = adapter.wait_job(params.clone()).await?;
        if info.outcome.is_some() {
            return Ok(exit_of(&info));
        }
        if info.blocked && !told {
            told = true;
            tell(format_args!(
                "herm: the job waits for a reader: more of its output is not kept; it goes on when somebody reads \
                 (herm jobs {key:?} output {} --follow), and with herm exec --spool-full drop_oldest no job waits",
                info.job
            ));
        }
    }
}

fn line_of(job: &JobInfo) -> String {
    let state = match &job.outcome {
        Some(outcome) => outcome.to_string(),
        None if job.blocked => "waits for a reader".to_owned(),
        None => "runs".to_owned(),
    };
    let seconds = job.age_ms / 1000;
    let bytes = job.stdout.bytes + job.stderr.bytes;
    let command = job.command.to_string_lossy();
    format!(
        "{:>4}  {state}, {seconds} s old, {bytes} bytes: {}",
        job.job,
        on_one_line(&command)
    )
}

/// Prints what there is of a stream, and with `follow` what comes.
async fn copy(adapter: &dyn Adapter, mut params: JobOutputParams, follow: bool) -> Result<ExitCode, Error> {
    // Both streams of a job are printed to the one of this process.
    let stream = Stream::Stdout;
    loop {
        let output = adapter.read_job(params.clone()).await?;
        if let Some(gap) = output.gap {
            tell(format_args!(
                "herm: bytes {} to {} are kept no more",
                gap.from, gap.to
            ));
        }
        let data = output.data.as_bytes();
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(data).and_then(|()| stdout.flush()) {
            return Ok(unwritten(stream, &error));
        }
        drop(stdout);
        params.from = output.offset + data.len() as u64;
        if output.end || (data.is_empty() && !follow) {
            return Ok(ExitCode::SUCCESS);
        }
        if data.is_empty() {
            tokio::time::sleep(WAIT).await;
        }
    }
}

fn exit_of(info: &JobInfo) -> ExitCode {
    let Some(outcome) = &info.outcome else {
        return fail(Exit::Broken, "the job was answered before its end");
    };
    let code = match outcome {
        Outcome::Exited { code } => *code,
        Outcome::Signaled { number, .. } => 128 + number,
        Outcome::TimedOut => 124,
        Outcome::Cancelled => 130,
        Outcome::SetupFailed { .. } => 126,
        Outcome::SandboxLost | Outcome::TransportLost => Exit::Broken.code().into(),
    };
    if !matches!(outcome, Outcome::Exited { .. }) {
        tell(format_args!("herm: the job {outcome}"));
    }
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
