//! One command, from its start to its outcome: a process group of this machine.

use std::{io, path::Path, process::Stdio, time::Duration};

use herm_protocol::{
    Error, ExecControl, ExecInput, ExecOutput, Execution, Finished, Interrupt,
    exec::{Command, Outcome, RunParams, SetupFailure, SignalCause, Stdin, Stream},
};
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::ChildStdin,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use crate::backend::Sandbox;

/// What commands see of this process's own variables. Everything else may be a secret of the agent's.
const PASSED_ON: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER",
];

/// How long a stream may be silent after the command has ended: a process that left its group may hold the pipe.
const DRAIN: Duration = Duration::from_millis(300);

/// Runs a command that was checked to its end.
pub(crate) async fn run(
    sandbox: &Sandbox,
    params: RunParams,
    execution: Execution,
) -> Result<Finished, Error> {
    // A deadline counts from the call; one of zero is none.
    let limit = params.timeout().filter(|limit| !limit.is_zero());
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let cwd = match &params.cwd {
        Some(cwd) => sandbox.cwd.join(cwd.to_path()),
        None => sandbox.cwd.clone(),
    };
    if let Err(outcome) = check_directory(&cwd).await {
        return Ok(outcome.into());
    }
    let mut child = match system_command(sandbox, &params, &cwd).spawn() {
        Ok(child) => child,
        Err(error) => return not_started(&error).map(Finished::from),
    };
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    let group = number
        .and_then(Pid::from_raw)
        .ok_or_else(|| Error::internal("start a command", "it has no process number"))?;
    execution.output.started().await;

    let (ended, end) = watch::channel(false);
    let mut work = JoinSet::new();
    work.spawn(pump(
        child.stdout.take(),
        execution.output.clone(),
        Stream::Stdout,
        end.clone(),
    ));
    work.spawn(pump(
        child.stderr.take(),
        execution.output,
        Stream::Stderr,
        end,
    ));
    let feeder = tokio::spawn(feed(child.stdin.take(), params.stdin, execution.input));

    let mut forced = std::pin::pin!(forced(sandbox, deadline, execution.control, group));
    let own = tokio::task::spawn_blocking(move || await_leader(group));
    let (outcome, is_own) = tokio::select! {
        biased;
        own = own => (own.map_err(io::Error::other).flatten(), true),
        outcome = &mut forced => (Ok(outcome), false),
    };
    // Everything of the group ends, also what the command has left in the background. Until the leader is reaped, below,
    // its number belongs to this group and to no other.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait().await;
    ended.send_replace(true);
    feeder.abort();
    let drain = async { while work.join_next().await.is_some() {} };
    if is_own {
        // The caller may take its time with the output, but not longer than the deadline.
        tokio::select! {
            () = drain => {}
            _ = forced => {}
        }
    } else {
        let _ = timeout(DRAIN, drain).await;
    }
    work.abort_all();
    let outcome = outcome.map_err(|error| Error::internal("learn how a command ended", error))?;
    Ok(outcome.into())
}

/// Resolves when the command is to be ended, with what is told of it then; passes signals on until then.
async fn forced(
    sandbox: &Sandbox,
    deadline: Option<Instant>,
    mut control: ExecControl,
    group: Pid,
) -> Outcome {
    let mut closing = sandbox.closing.subscribe();
    loop {
        let struck = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = struck => return Outcome::TimedOut,
            _ = closing.wait_for(|closing| *closing) => return Outcome::SandboxLost,
            wish = control.next() => match wish {
                Interrupt::Cancel => return Outcome::Cancelled,
                Interrupt::Signal(number) => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        let _ = kill_process_group(group, signal);
                    }
                }
            },
        }
    }
}

fn system_command(sandbox: &Sandbox, params: &RunParams, cwd: &Path) -> tokio::process::Command {
    let mut command = match &params.command {
        Command::Argv(words) => {
            let mut words = words.iter().map(herm_protocol::ByteString::to_os_string);
            let mut command = tokio::process::Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        }
        Command::Shell(text) => {
            let mut command = tokio::process::Command::new("/bin/sh");
            // After `--` the text may begin with a dash.
            command.args(["-c", "--"]).arg(text.to_os_string());
            command
        }
    };
    command.env_clear();
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("PWD", cwd);
    for variable in sandbox.env.iter().chain(&params.env) {
        command.env(variable.name.to_os_string(), variable.value.to_os_string());
    }
    let has_input = params.stdin != Stdin::None;
    command
        .current_dir(cwd)
        .stdin(if has_input {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Waits until the leader has ended, and leaves it to be reaped.
fn await_leader(leader: Pid) -> io::Result<Outcome> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(leader), options)?;
    let status = status.ok_or_else(|| io::Error::other("the system gives no status"))?;
    if let Some(code) = status.exit_status() {
        return Ok(Outcome::Exited { code });
    }
    let number = status.terminating_signal();
    let number =
        number.ok_or_else(|| io::Error::other("the system gives a status of no known kind"))?;
    Ok(Outcome::Signaled {
        number,
        cause: SignalCause::Unknown,
    })
}

/// Takes a stream to the caller until it ends, or is silent for a while after the command has ended.
async fn pump(
    stream: Option<impl AsyncRead + Unpin>,
    output: ExecOutput,
    name: Stream,
    mut ended: watch::Receiver<bool>,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 32 * 1024];
    loop {
        let read = if *ended.borrow_and_update() {
            timeout(DRAIN, stream.read(&mut buffer))
                .await
                .unwrap_or(Ok(0))
        } else {
            tokio::select! {
                biased;
                read = stream.read(&mut buffer) => read,
                _ = ended.changed() => continue,
            }
        };
        match read {
            Ok(0) | Err(_) => return,
            // It returns when the caller has room for more, which is the back pressure.
            Ok(length) => output.write(name, &buffer[..length]).await,
        }
    }
}

/// Hands a command its input, and then the end of it.
async fn feed(pipe: Option<ChildStdin>, given: Stdin, mut input: ExecInput) {
    let Some(mut pipe) = pipe else { return };
    if let Stdin::Bytes { data } = given {
        // A command that does not read its input ends by itself.
        let _ = pipe.write_all(data.as_bytes()).await;
        return;
    }
    while let Some(data) = input.next().await {
        if pipe.write_all(&data).await.is_err() {
            return;
        }
    }
}

async fn check_directory(cwd: &Path) -> Result<(), Outcome> {
    let shown = cwd.to_string_lossy();
    let (kind, problem) = match tokio::fs::metadata(cwd).await {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => (
            SetupFailure::CwdNotADirectory,
            "is not a directory".to_owned(),
        ),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOTDIR) => (SetupFailure::CwdNotADirectory, error.to_string()),
            Some(Errno::ACCESS) => (SetupFailure::CwdDenied, error.to_string()),
            _ => (SetupFailure::CwdNotFound, error.to_string()),
        },
    };
    let message = format!("the directory {shown}: {problem}");
    Err(Outcome::SetupFailed { kind, message })
}

/// Why nothing of a command ran.
fn not_started(error: &io::Error) -> Result<Outcome, Error> {
    let kind = match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR) => SetupFailure::ProgramNotFound,
        Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC) => SetupFailure::ProgramDenied,
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            SetupFailure::ResourcesExhausted
        }
        Some(Errno::TOOBIG) => {
            let problem = "has more bytes of arguments and variables than the system takes; put data in a file";
            return Err(Error::invalid_argument("command", problem));
        }
        _ => SetupFailure::Other,
    };
    let message = format!("the program cannot be started: {error}");
    Ok(Outcome::SetupFailed { kind, message })
}
