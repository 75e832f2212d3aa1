//! A command in a container with a resident: the caller's wishes, put so that the resident understands them.

use std::{
    os::unix::ffi::OsStringExt as _,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use herm_protocol::{
    ByteString, Error, ErrorKind, Finished,
    exec::{Command, Outcome, RunParams, Stdin},
    sandbox::Variable,
};
use herm_resident::wire::{
    Command as WireCommand, Session, Start, StateKept, Stdin as WireStdin, ToolsAllowed,
};

use super::sandbox::{Inhabited, Sandbox};
use crate::{
    backend::local::{SpoolFull, Streams},
    caller::{Caller, Control, Input, Output, Tools},
};

/// How long a command has between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(250);

/// Permission bits that new files of commands do not get, as in any container.
const UMASK: u32 = 0o022;

/// Input of this size at most goes with a job, which nobody feeds later.
const JOB_INPUT: usize = 8 * 1024 * 1024;

/// What holds for every command of a backend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) streams: Streams,
    pub(super) spool_full: SpoolFull,
}

/// Runs a command that was checked to its end.
///
/// # Errors
/// A sandbox that is gone, arguments that cannot be used: nothing ran then.
pub(super) async fn run(
    sandbox: &Sandbox,
    inhabited: &Inhabited,
    ways: Ways,
    mut params: RunParams,
    caller: Caller<impl Output, impl Input, impl Tools>,
    control: &mut impl Control,
) -> Result<Finished, Error> {
    let stdin = std::mem::take(&mut params.stdin);
    let start = start_of(sandbox, ways, params)?;
    let mut finished = inhabited
        .resident
        .run(&sandbox.id, start, stdin, caller, control)
        .await?;
    // Who ends the first process of a container kills the others with it.
    if matches!(finished.outcome, Outcome::Signaled { .. }) && inhabited.resident.reach().await.is_err() {
        finished.outcome = Outcome::SandboxLost;
    }
    Ok(finished)
}

/// Starts a command that goes on as a job, and gives its number.
///
/// # Errors
/// As [`run`], and input that comes later.
pub(super) async fn start_job(
    sandbox: &Sandbox,
    inhabited: &Inhabited,
    ways: Ways,
    mut params: RunParams,
) -> Result<u64, Error> {
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
    let start = Start {
        stdin,
        ..start_of(sandbox, ways, params)?
    };
    inhabited.resident.start_job(&sandbox.id, start).await
}

fn start_of(sandbox: &Sandbox, ways: Ways, params: RunParams) -> Result<Start, Error> {
    let session = session_of(sandbox, &params);
    let in_its_session = session.is_some() && params.cwd.is_none();
    let cwd = params
        .cwd
        .map_or_else(|| sandbox.cwd.clone(), |cwd| sandbox.resolve(&cwd));
    let command = match params.command {
        Command::Argv(words) => WireCommand::Argv(words.into_iter().map(ByteString::into_bytes).collect()),
        Command::Shell(text) => WireCommand::Shell {
            shell: sandbox.shell_name().as_bytes().to_vec(),
            text: text.into_bytes(),
        },
    };
    let mut request = [0; 16];
    getrandom::fill(&mut request).map_err(|error| Error::internal("name a request at random", error))?;
    Ok(Start {
        env: variables(&sandbox.env, &params.env, &cwd),
        cwd: (!in_its_session).then(|| cwd.into_os_string().into_vec()),
        session,
        tools: params.rpc.map(|rpc| ToolsAllowed {
            max_calls: rpc.max_calls.unwrap_or(u64::MAX),
            max_bytes: rpc.bytes(),
            names: rpc.allow,
        }),
        deadline_ms: params.timeout_ms.unwrap_or(0),
        umask: Some(UMASK),
        merged: ways.streams == Streams::Merged,
        spool_full: ways.spool_full.on_the_wire(),
        grace_ms: u32::try_from(GRACE.as_millis()).unwrap_or(u32::MAX),
        ..Start::new(request, command)
    })
}

/// What a command sees besides the variables of its container; later ones win.
fn variables(sandbox: &[Variable], exec: &[Variable], cwd: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut set = |name: &[u8], value: &[u8]| match all.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value.to_vec(),
        None => all.push((name.to_vec(), value.to_vec())),
    };
    for variable in sandbox.iter().chain(exec) {
        set(variable.name.as_bytes(), variable.value.as_bytes());
    }
    // A shell corrects a wrong PWD; other programs believe it. Where `..` leads, only the sandbox knows.
    if cwd.components().any(|part| part == Component::ParentDir) {
        all.retain(|(name, _)| name != b"PWD");
    } else {
        let logical: PathBuf = cwd.components().collect();
        set(b"PWD", logical.as_os_str().as_encoded_bytes());
    }
    all
}

/// What a command uses of its session. A job, which may end at any time, leaves nothing to it.
fn session_of(sandbox: &Sandbox, params: &RunParams) -> Option<Session> {
    Some(Session {
        name: params.session.clone()?,
        kept: if sandbox.shell_name() == "bash" {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exec_wins_over_the_sandbox_and_the_directory_over_both() {
        let sandbox = [Variable::new("A", "sandbox"), Variable::new("B", "sandbox")];
        let exec = [
            Variable::new("A", "exec"),
            Variable::new("A", "again"),
            Variable::new("PWD", "/wrong"),
        ];
        let all = variables(&sandbox, &exec, Path::new("/right"));
        let text = |(name, value): &(Vec<u8>, Vec<u8>)| {
            format!(
                "{}={}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value)
            )
        };
        assert_eq!(
            all.iter().map(text).collect::<Vec<_>>(),
            ["A=again", "B=sandbox", "PWD=/right"]
        );
    }
}
