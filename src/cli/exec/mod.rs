//! `herm exec`: one command through the executor.

mod arguments;
mod input;
mod live;
mod origins;
mod orphans;
mod record;
mod result;
mod tools;

use std::{
    io::{IsTerminal as _, Write as _},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use herm::{
    backend::Backend,
    caller::{Caller, Output},
    config::{BackendName, Config, ExecMode},
};
use herm_harness::{tell::tell, verdict::Exit};
use herm_protocol::{
    Error, ErrorKind, Finished, Interrupt,
    exec::{Outcome, RunParams, SetupFailure, Stdin, Stream},
    initialize::InitializeParams,
    sandbox::{OpenParams, SandboxSpec},
};
use tokio::sync::mpsc;

pub(super) use self::{arguments::Arguments, result::unwritten};
use self::{
    live::{Live, OwnStdin, Wishes},
    origins::Origins,
    record::Record,
    result::{Ended, exit_code, print_json},
    tools::Programs,
};
use super::{
    Refusal, fail,
    kept::{losses, refused},
    runtime::block_on,
    signals::EndSignals,
    usage,
};

/// The null device is character device 1:3.
const NULL_DEVICE: u64 = 1 << 8 | 3;

pub(super) fn run(arguments: Arguments) -> ExitCode {
    let place = match Place::of(&arguments) {
        Ok(place) => place,
        Err((exit, message)) => return fail(exit, message),
    };
    if arguments.detach {
        return block_on(start_job(arguments, place));
    }
    block_on(execute(arguments, place))
}

/// Where a command runs, and what the configuration says of that; decided once.
struct Place {
    backend: Backend,
    config: Config,
    /// The programs of this machine that it may call.
    programs: Programs,
}

impl Place {
    fn of(arguments: &Arguments) -> Result<Self, Refusal> {
        let programs = Programs::new(&arguments.rpc).map_err(usage)?;
        let (backend, config) = arguments.backend.open(arguments.spool_full)?;
        if arguments.key.is_some() && config.exec_mode() == ExecMode::Native {
            return Err(usage(
                "--key: sandboxes are kept in resident mode only, and terminal.exec_mode is native; leave --key out, or set that to auto",
            ));
        }
        Ok(Self {
            backend,
            config,
            programs,
        })
    }
}

impl Place {
    /// Whether commands run among the directories of this machine.
    fn is_here(&self) -> bool {
        self.backend.name() == BackendName::Local
    }

    /// The directory of this machine that the configuration names. Elsewhere the backend itself obeys the configuration.
    fn configured_directory(&self) -> Option<PathBuf> {
        self.config.local().cwd.filter(|_| self.is_here())
    }

    /// Where the command starts; `None` is the sandbox's own directory. Relative ones begin there, unless that is not of this
    /// machine.
    fn chosen_directory(&self, arguments: &Arguments) -> Result<Option<PathBuf>, Outcome> {
        match &arguments.cwd {
            None if arguments.key.is_some() || !self.is_here() => Ok(None),
            Some(asked) if !self.is_here() => Ok(Some(asked.clone())),
            asked => {
                start_directory(asked.clone().or_else(|| self.configured_directory()).as_deref()).map(Some)
            }
        }
    }
}

/// Starts a command that goes on as a job, and prints its id.
async fn start_job(arguments: Arguments, place: Place) -> ExitCode {
    let started = async {
        let cwd = place
            .chosen_directory(&arguments)
            .map_err(|outcome| Error::new(ErrorKind::NotFound, "cwd", outcome.to_string()))?;
        let stdin = input::of_job().await?;
        if !place.backend.outlives_this_process() {
            let what = "a job ends with this process: terminal.docker_persist_across_processes is false";
            return Err(Error::new(ErrorKind::InvalidArgument, "--detach", what)
                .with_fix("leave --detach out, or set that to true"));
        }
        let (params, notices) = prepare(&place, &arguments, cwd).await?;
        for notice in notices {
            tell(format_args!("herm: {notice}"));
        }
        let adapter = place.backend.adapter();
        adapter
            .start_job(RunParams {
                detach: true,
                stdin,
                ..params
            })
            .await
    };
    match started.await {
        Ok(started) => {
            let key = arguments.key.as_deref().unwrap_or_default();
            tell_job(key, &started.job)
        }
        Err(error) => fail(refused(&error), error),
    }
}

/// Prints the id of a job that runs. Whoever is not told could neither wait for it nor end it.
fn tell_job(key: &str, job: &str) -> ExitCode {
    let mut stdout = std::io::stdout();
    let written = writeln!(stdout, "{job}").and_then(|()| stdout.flush());
    let Err(error) = written else {
        if is_nowhere(&stdout) {
            tell(format_args!("herm: the job {job} of the sandbox {key:?} runs"));
        }
        return ExitCode::SUCCESS;
    };
    tell(format_args!(
        "herm: the job {job} of the sandbox {key:?} runs; its id could not be written to standard output: {error}"
    ));
    unwritten(Stream::Stdout, &error)
}

/// Whether output goes to the null device, opened in the way in which it takes the place of an output that was closed when
/// this process began. A shell that is told to send output there opens it for writing alone.
fn is_nowhere(output: impl AsFd) -> bool {
    let null = rustix::fs::fstat(&output).is_ok_and(|stat| stat.st_rdev == NULL_DEVICE);
    let both = rustix::fs::fcntl_getfl(&output).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::RDWR));
    null && both
}

async fn execute(arguments: Arguments, place: Place) -> ExitCode {
    let signals = match EndSignals::take_unless_ignored() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Broken, format_args!("failed to take over signals: {error}")),
    };
    let (wishes, asked) = mpsc::unbounded_channel();
    let signal = listen(signals, wishes.clone());
    let json = arguments.json;
    let ended = if json {
        let record = Record::default();
        let ended = Box::pin(in_a_sandbox(arguments, place, record.clone(), Wishes(asked))).await;
        if let Err(error) = print_json(&ended, &record) {
            return unwritten(Stream::Stdout, &error);
        }
        ended
    } else {
        let live = Live::new(wishes);
        let failure = live.failure();
        let ended = Box::pin(in_a_sandbox(arguments, place, live, Wishes(asked))).await;
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
async fn in_a_sandbox(arguments: Arguments, place: Place, output: impl Output, wishes: Wishes) -> Ended {
    let started = std::time::Instant::now();
    let deadline = Origins::of(&arguments, &place.config).deadline();
    // A sandbox that is kept outlives this process, and so does what runs in it.
    let kept = arguments.key.is_some();
    if !kept {
        orphans::adopt();
    }
    let finished = run_in(&place, arguments, output, wishes).await;
    let duration = started.elapsed();
    if !kept {
        orphans::end_if_lost(&finished).await;
    }
    place.backend.adapter().shutdown().await;
    Ended {
        finished,
        duration,
        deadline,
    }
}

async fn run_in(
    place: &Place,
    arguments: Arguments,
    output: impl Output,
    wishes: Wishes,
) -> Result<Finished, Error> {
    let cwd = match place.chosen_directory(&arguments) {
        Ok(cwd) => cwd,
        Err(outcome) => return Ok(outcome.into()),
    };
    let (mut params, notices) = prepare(place, &arguments, cwd).await?;
    if !arguments.json {
        for notice in &notices {
            tell(format_args!("herm: {notice}"));
        }
    }
    if !std::io::stdin().is_terminal() {
        params.stdin = Stdin::Stream;
    }
    let programs = &place.programs;
    params.rpc = programs.allowed();
    let caller = Caller {
        output,
        input: OwnStdin::default(),
        tools: programs.clone(),
    };
    let finished = place.backend.execute(params, caller, wishes).await;
    programs.ended().await;
    let mut finished = finished?;
    if arguments.json {
        finished.notices.splice(0..0, notices);
    }
    Origins::of(&arguments, &place.config).name_directory(&mut finished.outcome);
    Ok(finished)
}

/// Opens the sandbox, and says what is to be run in it.
/// With it comes what is to be told of that: with `--json` everything, as who reads it forgets nothing.
async fn prepare(
    place: &Place,
    arguments: &Arguments,
    cwd: Option<PathBuf>,
) -> Result<(RunParams, Vec<String>), Error> {
    let backend = &place.backend;
    backend
        .adapter()
        .initialize(InitializeParams {
            protocol: Vec::new(),
            run: format!("exec-{}", std::process::id()),
            scratch: String::new(),
        })
        .await?;
    let key = arguments.key.clone();
    // The configured directory of a kept sandbox is that of the sandbox, not of every command in it.
    let configured = place.configured_directory().filter(|_| key.is_some());
    let own = configured.map(|cwd| start_directory(Some(&cwd))).transpose();
    let own = own.map_err(|outcome| Error::invalid_argument("terminal.cwd", outcome))?;
    let spec = SandboxSpec {
        cwd: own.map(|cwd| cwd.as_path().into()),
        ..SandboxSpec::default()
    };
    let opened = backend.open_sandbox(OpenParams { key, spec }).await?;
    let notices = if arguments.json && !place.is_here() {
        opened.notices.clone()
    } else {
        losses(&opened, backend).await
    };
    let mut params = RunParams::new(opened.sandbox, "exec", arguments.command());
    params.session.clone_from(&arguments.session);
    // They are the command's, and not those of a sandbox that others find again.
    params.env.clone_from(&arguments.env);
    params.cwd = cwd.map(|cwd| cwd.as_path().into());
    let configured = || place.config.timeout().filter(|_| !arguments.detach);
    params.timeout_ms = arguments
        .timeout
        .or_else(configured)
        .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    Ok((params, notices))
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
