//! `herm exec`: one command through the executor.

mod arguments;
mod live;
mod record;
mod result;

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use herm::{
    backend::local::{self, LocalBackend, Mode},
    caller::Output,
};
use herm_harness::{tell::tell, verdict::Exit};
use herm_protocol::{
    Adapter as _, Error, ErrorKind, Finished, Interrupt,
    exec::{Outcome, RunParams, SetupFailure, Stdin, Stream},
    initialize::InitializeParams,
    sandbox::{OpenParams, OpenState, SandboxSpec},
};
use tokio::sync::mpsc;

pub(super) use self::arguments::Arguments;
use self::{
    live::{Live, OwnStdin, Wishes},
    record::Record,
    result::{Ended, exit_code, print_json, unwritten},
};
use super::{fail, kept::refused, list::print, runtime::block_on, signals::EndSignals};

pub(super) fn run(arguments: Arguments) -> ExitCode {
    if arguments.backend != local::BACKEND {
        let backend = &arguments.backend;
        return fail(
            Exit::Usage,
            format_args!("there is no backend {backend:?}; there is: {}", local::BACKEND),
        );
    }
    if arguments.detach {
        return block_on(start_job(arguments));
    }
    block_on(execute(arguments))
}

/// Starts a command that goes on as a job, and prints its id.
async fn start_job(arguments: Arguments) -> ExitCode {
    let backend = LocalBackend::new(Mode::Resident);
    let started = async {
        let cwd = chosen_directory(&arguments)
            .map_err(|outcome| Error::new(ErrorKind::NotFound, "cwd", outcome.to_string()))?;
        let params = prepare(&backend, &arguments, cwd).await?;
        backend
            .start_job(RunParams {
                detach: true,
                ..params
            })
            .await
    };
    match started.await {
        Ok(started) => print(&started.job),
        Err(error) => fail(refused(&error), error),
    }
}

async fn execute(arguments: Arguments) -> ExitCode {
    let signals = match EndSignals::take_unless_ignored() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Broken, format_args!("failed to take over signals: {error}")),
    };
    let (wishes, asked) = mpsc::unbounded_channel();
    let signal = listen(signals, wishes.clone());
    let json = arguments.json;
    let ended = if json {
        let record = Record::default();
        let ended = in_a_sandbox(arguments, record.clone(), Wishes(asked)).await;
        if let Err(error) = print_json(&ended, &record) {
            return unwritten(Stream::Stdout, &error);
        }
        ended
    } else {
        let live = Live::new(wishes);
        let failure = live.failure();
        let ended = in_a_sandbox(arguments, live, Wishes(asked)).await;
        // A signal came first or comes to the same.
        if let Some((stream, error)) = failure.get()
            && signal.load(Ordering::Relaxed) == 0
        {
            return unwritten(*stream, error);
        }
        ended
    };
    exit_code(&ended, signal.load(Ordering::Relaxed), json)
}

/// Turns the first signal into a wish to cancel; its number can be read later, and is 0 before.
fn listen(mut signals: EndSignals, wishes: mpsc::UnboundedSender<Interrupt>) -> Arc<AtomicU8> {
    let number = Arc::new(AtomicU8::new(0));
    let heard = number.clone();
    tokio::spawn(async move {
        heard.store(signals.next().await, Ordering::Relaxed);
        let _ = wishes.send(Interrupt::Cancel);
    });
    number
}

/// Runs the command in a sandbox of its own, which is gone afterwards.
async fn in_a_sandbox(arguments: Arguments, output: impl Output, wishes: Wishes) -> Ended {
    let started = std::time::Instant::now();
    let backend = LocalBackend::new(Mode::default());
    let finished = run_in(&backend, arguments, output, wishes).await;
    let duration = started.elapsed();
    backend.shutdown().await;
    Ended { finished, duration }
}

async fn run_in(
    backend: &LocalBackend,
    arguments: Arguments,
    output: impl Output,
    wishes: Wishes,
) -> Result<Finished, Error> {
    let cwd = match chosen_directory(&arguments) {
        Ok(cwd) => cwd,
        Err(outcome) => return Ok(outcome.into()),
    };
    let mut params = prepare(backend, &arguments, cwd).await?;
    if !std::io::stdin().is_terminal() {
        params.stdin = Stdin::Stream;
    }
    let mut finished = backend
        .execute(params, output, OwnStdin::default(), wishes)
        .await?;
    if arguments.cwd.is_some() {
        name_option(&mut finished.outcome);
    }
    Ok(finished)
}

/// Opens the sandbox, and says what is to be run in it.
async fn prepare(
    backend: &LocalBackend,
    arguments: &Arguments,
    cwd: Option<PathBuf>,
) -> Result<RunParams, Error> {
    backend
        .initialize(InitializeParams {
            protocol: Vec::new(),
            run: format!("exec-{}", std::process::id()),
            scratch: String::new(),
        })
        .await?;
    let spec = SandboxSpec {
        env: arguments.env.clone(),
        ..SandboxSpec::default()
    };
    let key = arguments.key.clone();
    let opened = backend.open_sandbox(OpenParams { key, spec }).await?;
    if opened.state == OpenState::Recreated {
        for notice in &opened.notices {
            tell(format_args!("herm: {notice}"));
        }
    }
    let mut params = RunParams::new(opened.sandbox, "exec", arguments.command());
    params.session.clone_from(&arguments.session);
    params.cwd = cwd.map(|cwd| cwd.as_path().into());
    params.timeout_ms = arguments
        .timeout
        .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    Ok(params)
}

/// Where the command starts; `None` is the kept sandbox's own directory.
fn chosen_directory(arguments: &Arguments) -> Result<Option<PathBuf>, Outcome> {
    if arguments.key.is_some() && arguments.cwd.is_none() {
        return Ok(None);
    }
    start_directory(arguments.cwd.as_deref()).map(Some)
}

/// Where the command starts. An absolute directory does not need the current one, which may be gone.
fn start_directory(asked: Option<&Path>) -> Result<PathBuf, Outcome> {
    match asked {
        Some(asked) if asked.is_absolute() => Ok(asked.to_owned()),
        asked => match std::env::current_dir() {
            Ok(here) => Ok(asked.map_or(here.clone(), |asked| here.join(asked))),
            Err(error) => Err(Outcome::SetupFailed {
                kind: SetupFailure::CwdNotFound,
                message: format!(
                    "the current directory cannot be used: {error}; name an absolute one with --cwd"
                ),
            }),
        },
    }
}

/// Says which option named a directory that cannot be used.
fn name_option(outcome: &mut Outcome) {
    if let Outcome::SetupFailed { kind, message } = outcome
        && matches!(
            kind,
            SetupFailure::CwdNotFound | SetupFailure::CwdNotADirectory | SetupFailure::CwdDenied
        )
    {
        message.insert_str(0, "--cwd: ");
    }
}
