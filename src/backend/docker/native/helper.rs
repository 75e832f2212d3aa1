//! What the engine's exec is asked for: commands, and helpers of ours beside them.

use std::time::Duration;

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures::StreamExt as _;
use herm_protocol::{Error, ErrorKind, sandbox::SandboxState};
use tokio::{io::AsyncWriteExt as _, time::timeout};

use super::super::{
    engine::{ANSWER, Engine},
    sandbox::{Sandbox, state_of},
};

/// Bytes of output that are read at a time.
const READ: usize = 64 * 1024;

/// Bytes that a helper says at most.
const SAID: usize = 4096;

/// How long a helper may take whose end nobody should have to wait for.
pub(super) const SHORTLY: Duration = Duration::from_secs(5);

/// What ends a process group: it is asked first, and killed a quarter of a second later.
pub(super) const END: &str = "kill -TERM -$1 2>/dev/null || { echo done; exit 0; }\n\
    n=0\n\
    while kill -0 -$1 2>/dev/null && [ $n -lt 5 ]; do sleep 0.05 2>/dev/null || n=5; n=$((n + 1)); done\n\
    kill -KILL -$1 2>/dev/null; echo done";

/// What sends a signal to one.
pub(super) const SIGNAL: &str = "kill -$2 -$1 2>/dev/null; echo done";

/// What writes a text that is too long for an argument into a file.
const STORE: &str = "umask 077; cat >\"$1\"";

/// What takes it away again.
const FORGET: &str = "rm -f -- \"$1\"; echo done";

/// What tells how many processes were killed for lack of memory.
const KILLED: &str = "for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do\n\
    if [ -r $f ]; then while read -r n v; do if [ \"$n\" = oom_kill ]; then echo \"$v\"; fi; done <$f; fi\n\
    done; echo done";

/// The last line of a helper that is done. An engine tells of no end in a sandbox for two seconds after a command that has
/// left its output to others, so that who says this itself is believed before.
const DONE: &[u8] = b"done\n";

/// Starts an exec; gives its id, and its streams.
///
/// # Errors
/// The sandbox is gone or frozen, or the engine does not answer.
pub(super) async fn begin(
    engine: &Engine,
    sandbox: &Sandbox,
    options: CreateExecOptions<String>,
) -> Result<(String, StartExecResults), Error> {
    let creating = engine.docker.create_exec(&sandbox.id, options);
    let made = match engine.call("make an exec", ANSWER, creating).await {
        Ok(made) => made,
        Err(error) => return Err(why(engine, sandbox, error).await),
    };
    let options = StartExecOptions {
        output_capacity: Some(READ),
        ..StartExecOptions::default()
    };
    let starting = engine.docker.start_exec(&made.id, Some(options));
    match engine.call("run a command", ANSWER, starting).await {
        Ok(started) => Ok((made.id, started)),
        Err(error) => Err(why(engine, sandbox, error).await),
    }
}

/// Why an engine has refused to run something: it has many ways to say that a container is gone, or going, or frozen.
async fn why(engine: &Engine, sandbox: &Sandbox, error: Error) -> Error {
    if error.kind() == ErrorKind::TimedOut {
        return error;
    }
    let of_container = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists);
    match engine.container(&sandbox.id).await {
        _ if sandbox.is_closing() => Error::sandbox_not_found(&sandbox.id),
        Ok(Some(container)) => match state_of(&container) {
            SandboxState::Paused => frozen(sandbox),
            SandboxState::Running if !of_container => error,
            _ => Error::sandbox_not_found(&sandbox.id),
        },
        Ok(None) => Error::sandbox_not_found(&sandbox.id),
        Err(_) => error,
    }
}

/// What state a sandbox is in, if it is there.
pub(super) async fn state(engine: &Engine, sandbox: &Sandbox) -> Option<SandboxState> {
    let container = engine.container(&sandbox.id).await.ok()??;
    Some(state_of(&container))
}

fn frozen(sandbox: &Sandbox) -> Error {
    let message = format!(
        "the container of sandbox {:?} is paused, and runs no commands",
        sandbox.id
    );
    Error::new(ErrorKind::Unavailable, &sandbox.id, message)
        .with_fix("let it go on (docker unpause), and call again")
}

/// Runs a helper to its end; gives its code, and the beginning of what it printed.
///
/// # Errors
/// As [`begin`], and a helper that does not end.
pub(super) async fn helper(
    engine: &Engine,
    sandbox: &Sandbox,
    script: &str,
    words: &[&str],
    input: Option<&[u8]>,
) -> Result<(i64, Vec<u8>), Error> {
    let shell = sandbox.shell.map_or("/bin/sh", |shell| shell.posix);
    let argv = [shell, "-c", script, "sh"]
        .into_iter()
        .chain(words.iter().copied());
    let options = CreateExecOptions {
        attach_stdin: Some(input.is_some()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        cmd: Some(argv.map(str::to_owned).collect()),
        ..CreateExecOptions::default()
    };
    let (id, results) = begin(engine, sandbox, options).await?;
    let mut said = Vec::new();
    if let StartExecResults::Attached {
        mut output,
        input: mut writer,
    } = results
    {
        let working = async {
            if let Some(input) = input {
                let _ = writer.write_all(input).await;
            }
            let _ = writer.shutdown().await;
            while let Some(Ok(piece)) = output.next().await {
                let piece = piece.into_bytes();
                said.extend_from_slice(&piece[..piece.len().min(SAID.saturating_sub(said.len()))]);
                if said.ends_with(DONE) {
                    break;
                }
            }
        };
        let worked = timeout(ANSWER, working).await;
        if said.ends_with(DONE) {
            said.truncate(said.len() - DONE.len());
            return Ok((0, said));
        }
        if worked.is_err() {
            let message = format!(
                "a helper in sandbox {:?} has not ended within {ANSWER:?}",
                sandbox.id
            );
            return Err(Error::new(ErrorKind::TimedOut, &sandbox.id, message).with_fix("call again"));
        }
    }
    let looking = engine.docker.inspect_exec(&id);
    let exec = engine.call("look at a helper", ANSWER, looking).await?;
    Ok((exec.exit_code.unwrap_or_default(), said))
}

/// How many processes of a sandbox were killed for lack of memory until now, where that can be known.
pub(super) async fn killed(engine: &Engine, sandbox: &Sandbox) -> Option<u64> {
    let helping = helper(engine, sandbox, KILLED, &[], None);
    let (_, said) = timeout(SHORTLY, helping).await.ok()?.ok()?;
    std::str::from_utf8(&said).ok()?.lines().next_back()?.parse().ok()
}

/// Stores a text in a file of the sandbox.
///
/// # Errors
/// There is no room for it, or the sandbox is gone.
pub(super) async fn store(engine: &Engine, sandbox: &Sandbox, file: &str, text: &[u8]) -> Result<(), Error> {
    match helper(engine, sandbox, STORE, &[file], Some(text)).await? {
        (0, _) => Ok(()),
        (code, _) => {
            let message = format!(
                "the text of the command is longer than an argument may be, and could not be stored in {file} of the sandbox (code {code})"
            );
            Err(Error::new(ErrorKind::LimitExceeded, "command.shell", message)
                .with_fix("send a shorter text, or see whether there is space in /tmp of the sandbox"))
        }
    }
}

/// Takes such a file away. What could not be removed goes with the sandbox.
pub(super) async fn forget(engine: &Engine, sandbox: &Sandbox, file: &str) {
    let _ = timeout(SHORTLY, helper(engine, sandbox, FORGET, &[file], None)).await;
}
