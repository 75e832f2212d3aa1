//! A command in resident mode: the caller's wishes, put so that the resident understands them.

use std::{os::unix::ffi::OsStringExt as _, sync::Arc};

use herm_protocol::{
    ByteString, Error, ErrorKind, Finished,
    exec::{Command, Outcome, RunParams, Stdin},
};
use herm_resident::wire::{
    Command as WireCommand, Session, Start, StateKept, Stdin as WireStdin, ToolsAllowed,
};

use super::{
    Streams, environment,
    residence::Residence,
    run::{GRACE, Ground, logical},
    sandbox::Sandbox,
};
use crate::caller::{Caller, Control, Input, Output, Tools};

/// Input of this size at most goes with a job, which nobody feeds later.
const JOB_INPUT: usize = 8 * 1024 * 1024;

/// Runs a command that was checked to its end.
///
/// # Errors
/// A sandbox that is closed, arguments that cannot be used: nothing ran then.
pub(super) async fn run(
    sandbox: &Arc<Sandbox>,
    residence: &Residence,
    ground: Ground,
    mut params: RunParams,
    caller: Caller<impl Output, impl Input, impl Tools>,
    control: &mut impl Control,
) -> Result<Finished, Error> {
    let _admission = sandbox.admit()?;
    let healed = heal(sandbox, &params).await;
    let stdin = std::mem::take(&mut params.stdin);
    let start = start_of(sandbox, ground, params)?;
    let finished = residence
        .resident
        .run(&sandbox.id, start, stdin, caller, control)
        .await?;
    if finished.outcome == Outcome::SandboxLost {
        residence.traces.vanish().await;
    }
    Ok(Finished {
        notices: healed.into_iter().chain(finished.notices).collect(),
        ..finished
    })
}

/// Starts a command that goes on as a job, and gives the job's id.
///
/// # Errors
/// As [`run`], and input that comes later.
pub(super) async fn start_job(
    sandbox: &Arc<Sandbox>,
    residence: &Residence,
    ground: Ground,
    mut params: RunParams,
) -> Result<String, Error> {
    let _admission = sandbox.admit()?;
    let stdin = match std::mem::take(&mut params.stdin) {
        Stdin::None => WireStdin::None,
        Stdin::Bytes { data } if data.as_bytes().len() <= JOB_INPUT => WireStdin::Bytes(data.into_bytes()),
        Stdin::Bytes { data } => {
            let message = format!(
                "stdin has {} bytes; a job takes at most {JOB_INPUT}",
                data.as_bytes().len()
            );
            return Err(Error::new(ErrorKind::LimitExceeded, "stdin", message)
                .with_fix("write the input to a file first, and let the command read that"));
        }
        Stdin::Stream => {
            return Err(Error::invalid_argument(
                "stdin",
                "cannot be streamed to a job, which nobody feeds",
            ));
        }
    };
    let _ = heal(sandbox, &params).await;
    let start = Start {
        stdin,
        ..start_of(sandbox, ground, params)?
    };
    let job = residence.resident.start_job(&sandbox.id, start).await?;
    Ok(job.to_string())
}

/// Makes the sandbox's own directory again if a command has removed it, and says so.
async fn heal(sandbox: &Arc<Sandbox>, params: &RunParams) -> Option<String> {
    if params.cwd.is_some() {
        return None;
    }
    let work = sandbox.cwd.to_string_lossy().into_owned();
    let sandbox = sandbox.clone();
    let healed = tokio::task::spawn_blocking(move || sandbox.heal().unwrap_or(false)).await;
    healed
        .unwrap_or(false)
        .then(|| format!("the working directory {work} had been removed; it was made again, empty"))
}

/// What a command uses of its session. A job, which may end at any time, leaves nothing to it.
fn session_of(sandbox: &Sandbox, ground: &Ground, params: &RunParams) -> Option<Session> {
    let name = params.session.clone()?;
    let is_bash = ground.shell.as_ref().is_some_and(|shell| shell.choice == "bash");
    Some(Session {
        name,
        kept: if is_bash {
            StateKept::Shell
        } else {
            StateKept::CwdEnv
        },
        cwd: Some(sandbox.cwd.clone().into_os_string().into_vec()),
        own: params
            .env
            .iter()
            .map(|variable| variable.name.as_bytes().to_vec())
            .collect(),
        leaves: !params.detach,
    })
}

fn start_of(sandbox: &Sandbox, ground: Ground, params: RunParams) -> Result<Start, Error> {
    let session = session_of(sandbox, &ground, &params);
    let in_its_session = session.is_some() && params.cwd.is_none();
    let cwd = params
        .cwd
        .map_or_else(|| sandbox.cwd.clone(), |cwd| sandbox.resolve(&cwd));
    let shown_cwd = logical(&cwd).unwrap_or_else(|_| cwd.clone());
    let environment = environment::of_exec(ground.environment, &sandbox.env, &params.env, &shown_cwd);
    let command = match params.command {
        Command::Argv(words) => WireCommand::Argv(words.into_iter().map(ByteString::into_bytes).collect()),
        Command::Shell(text) => WireCommand::Shell {
            // The one that was declared: the resident looks further for a shell than this backend does.
            shell: ground.shell.map_or_else(Vec::new, |shell| shell.name.into()),
            text: text.into_bytes(),
        },
    };
    let mut request = [0; 16];
    getrandom::fill(&mut request).map_err(|error| Error::internal("name a request at random", error))?;
    Ok(Start {
        cwd: (!in_its_session).then(|| cwd.into_os_string().into_vec()),
        session,
        clear_env: true,
        env: environment
            .into_iter()
            .map(|(name, value)| (name.into_vec(), value.into_vec()))
            .collect(),
        tools: params.rpc.map(|rpc| ToolsAllowed {
            max_calls: rpc.max_calls.unwrap_or(u64::MAX),
            max_bytes: rpc.bytes(),
            names: rpc.allow,
        }),
        deadline_ms: params.timeout_ms.unwrap_or(0),
        umask: ground.umask,
        merged: ground.streams == Streams::Merged,
        spool_full: ground.spool_full.on_the_wire(),
        grace_ms: u32::try_from(GRACE.as_millis()).unwrap_or(u32::MAX),
        ..Start::new(request, command)
    })
}
