//! Commands in an image without a shell: the engine starts the program by itself, and nothing of ours is in between.
//!
//! Its process is then known by the number that the engine's machine has for it, and can be ended from here where that is
//! this machine, and this user may.

use std::time::Duration;

use bollard::exec::{CreateExecOptions, StartExecResults};
use futures::StreamExt as _;
use herm_protocol::{
    ByteString, Error,
    exec::{Outcome, SetupFailure},
    sandbox::Variable,
};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, test_kill_process_group};
use tokio::time::{Instant, sleep, timeout};

use super::super::{
    engine::{ANSWER, Engine},
    sandbox::Sandbox,
};
use crate::backend::local::adapter::blocking;

/// How long a command has between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(250);

/// How often is looked how far it is.
const LOOK: Duration = Duration::from_millis(10);

/// How long the engine may take to say why there is no command.
const SAYS: Duration = Duration::from_secs(2);

/// How a program is asked for.
///
/// # Errors
/// A word, a variable or a path is no text, which the engine takes only.
pub(super) fn options(
    argv: &[ByteString],
    cwd: &ByteString,
    variables: &[Variable],
) -> Result<CreateExecOptions<String>, Error> {
    let text = |field: String, bytes: &[u8]| {
        String::from_utf8(bytes.to_vec()).map_err(|_| {
            let problem = "is no text, and the image has no shell, without which the engine takes text only";
            Error::invalid_argument(field, problem)
        })
    };
    let words = argv
        .iter()
        .enumerate()
        .map(|(index, word)| text(format!("command.argv[{index}]"), word.as_bytes()));
    let variables = variables.iter().map(|Variable { name, value }| {
        let whole = [name.as_bytes(), b"=", value.as_bytes()].concat();
        text("env".to_owned(), &whole)
    });
    Ok(CreateExecOptions {
        cmd: Some(words.collect::<Result<_, _>>()?),
        env: Some(variables.collect::<Result<_, _>>()?),
        working_dir: Some(text("cwd".to_owned(), cwd.as_bytes())?),
        ..CreateExecOptions::default()
    })
}

/// Waits until it runs; gives the number of its process, or why there is none.
///
/// # Errors
/// The engine does not answer.
pub(super) async fn begin(
    engine: &Engine,
    id: &str,
    results: &mut StartExecResults,
) -> Result<Result<u32, Outcome>, Error> {
    let end = Instant::now() + ANSWER;
    loop {
        let exec = engine
            .call("look at a command", ANSWER, engine.docker.inspect_exec(id))
            .await?;
        let pid = exec.pid.and_then(|pid| u32::try_from(pid).ok());
        if let Some(pid) = pid.filter(|pid| *pid > 0) {
            return Ok(Ok(pid));
        }
        if exec.running == Some(false) && exec.exit_code.is_some_and(|code| code != 0) {
            let message = said(results).await;
            let kind = refusal(&message, exec.exit_code.unwrap_or_default());
            return Ok(Err(Outcome::SetupFailed { kind, message }));
        }
        if Instant::now() > end {
            let problem = "the engine has neither started it nor said why not";
            return Err(Error::internal("run a command", problem));
        }
        sleep(LOOK).await;
    }
}

async fn said(results: &mut StartExecResults) -> String {
    let mut said = Vec::new();
    if let StartExecResults::Attached { output, .. } = results {
        let reading = async {
            while let Some(Ok(piece)) = output.next().await {
                said.extend_from_slice(&piece.into_bytes());
            }
        };
        // What has come until then is told.
        let _ = timeout(SAYS, reading).await;
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// Why an engine has not started a program, by what it says and by the code that it gives.
fn refusal(message: &str, code: i64) -> SetupFailure {
    let says = |words: &str| message.contains(words);
    match code {
        _ if says("chdir") && says("permission denied") => SetupFailure::CwdDenied,
        _ if says("chdir") && says("not a directory") => SetupFailure::CwdNotADirectory,
        _ if says("chdir") || says("Cwd") => SetupFailure::CwdNotFound,
        127 => SetupFailure::ProgramNotFound,
        126 if says("not found") || says("no such file") => SetupFailure::ProgramNotFound,
        126 => SetupFailure::ProgramDenied,
        _ => SetupFailure::Other,
    }
}

/// Ends the process group of a command; says whether that could be done.
pub(super) async fn end(engine: &Engine, sandbox: &Sandbox, pid: u32) -> bool {
    if !signal(engine, sandbox, pid, Signal::TERM.as_raw()).await {
        return false;
    }
    sleep(GRACE).await;
    // Who has ended by then is no process of the sandbox any more.
    signal(engine, sandbox, pid, Signal::KILL.as_raw()).await;
    true
}

/// Sends a signal to the process group of a command; says whether that could be done.
pub(super) async fn signal(engine: &Engine, sandbox: &Sandbox, pid: u32, number: i32) -> bool {
    let container = engine.container(&sandbox.id).await.ok().flatten();
    let Some(container) = container.and_then(|container| container.id) else {
        return false;
    };
    let sending = blocking("a process", move || Ok(send(&container, pid, number).is_some()));
    sending.await.unwrap_or(false)
}

/// This blocks, shortly. The number of a process is only believed while that is held, and in the container's cgroup: it may
/// be one of another machine, or of somebody else by now.
fn send(container: &str, pid: u32, number: i32) -> Option<()> {
    let process = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let _held = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    if !groups.contains(container) {
        return None;
    }
    test_kill_process_group(process).ok()?;
    let signal = Signal::from_named_raw(number)?;
    kill_process_group(process, signal).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_program_was_not_started_is_told_apart() {
        for (message, code, kind) in [
            (
                "exec: \"x\": executable file not found in $PATH: unknown",
                127,
                SetupFailure::ProgramNotFound,
            ),
            (
                "exec: \"/etc\": permission denied: unknown",
                126,
                SetupFailure::ProgramDenied,
            ),
            (
                "chdir to cwd (\"/x\") set in config.json failed: no such file or directory",
                126,
                SetupFailure::CwdNotFound,
            ),
            (
                "chdir to cwd (\"/x\") set in config.json failed: permission denied",
                126,
                SetupFailure::CwdDenied,
            ),
        ] {
            assert_eq!(refusal(message, code), kind, "{message}");
        }
    }

    #[test]
    fn nothing_is_sent_to_a_process_that_is_not_the_containers() {
        assert_eq!(send("no-such-container", std::process::id(), 0), None);
    }
}
