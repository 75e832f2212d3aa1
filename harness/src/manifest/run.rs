//! Runs the commands of a manifest.

use std::{ffi::OsString, io, process::Stdio, time::Duration};

use herm_protocol::{
    ByteString, ExecInput, ExecOutput,
    exec::{Outcome, SetupFailure, SignalCause, Stdin, Stream},
};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, Command},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// How long a stream may be silent, after the command has ended, before it is given up: something else holds its pipe.
const DRAIN: Duration = Duration::from_millis(300);

/// What a short command has done.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Output {
    /// What it said that it cannot do, for an error.
    pub(super) fn complaint(&self) -> String {
        let said = String::from_utf8_lossy(&self.stderr);
        let code = self
            .code
            .map_or_else(|| "no code".into(), |code| format!("code {code}"));
        format!(
            "it ended with {code}: {}",
            said.trim().chars().take(500).collect::<String>()
        )
    }
}

/// Starts a command in a process group of its own.
pub(super) fn start(words: &[OsString], stdin: Stdio) -> io::Result<Child> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "an empty command"))?;
    Command::new(program)
        .args(arguments)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.to_string_lossy())))
}

/// Runs a short command to its end, with this input.
pub(super) async fn output(
    words: &[OsString],
    input: Option<ByteString>,
    within: Duration,
) -> io::Result<Output> {
    let mut child = start(
        words,
        if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        },
    )?;
    let stdin = child.stdin.take();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let feed = feed_all(stdin, input.unwrap_or_default());
        let ((), read_out, read_err) =
            tokio::join!(feed, read_all(out, &mut stdout), read_all(err, &mut stderr));
        read_out.and(read_err)?;
        child.wait().await
    };
    if let Ok(status) = timeout(within, work).await {
        return Ok(Output {
            code: status?.code(),
            stdout,
            stderr,
        });
    }
    kill(&child);
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("it did not end within {} s", within.as_secs()),
    ))
}

async fn feed_all(stdin: Option<ChildStdin>, input: ByteString) {
    if let Some(mut stdin) = stdin {
        // A command that does not read its input is none of our business.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
}

async fn read_all(stream: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> io::Result<()> {
    match stream {
        Some(mut stream) => stream.read_to_end(into).await.map(|_| ()),
        None => Ok(()),
    }
}

/// Takes a stream to the caller until it ends, or is silent for a while after the command has ended. What was read is
/// delivered however long the caller takes.
pub(super) async fn pump(
    stream: Option<impl AsyncRead + Unpin>,
    to: ExecOutput,
    name: Stream,
    mut ended: watch::Receiver<bool>,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 32 * 1024];
    loop {
        let read = if *ended.borrow_and_update() {
            timeout(DRAIN, stream.read(&mut buffer)).await.unwrap_or(Ok(0))
        } else {
            tokio::select! {
                biased;
                read = stream.read(&mut buffer) => read,
                _ = ended.changed() => continue,
            }
        };
        match read {
            Ok(0) | Err(_) => return,
            Ok(length) => to.write(name, &buffer[..length]).await,
        }
    }
}

/// Waits for pumps: for as long as the caller takes, or, when the sandbox is lost, for a moment.
pub(super) async fn drain(pumps: &mut JoinSet<()>, lost: bool) {
    let all = async { while pumps.join_next().await.is_some() {} };
    if lost {
        let _ = timeout(DRAIN, all).await;
        pumps.abort_all();
    } else {
        all.await;
    }
}

/// Ends a command and what is in its group.
pub(super) fn kill(child: &Child) {
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    if let Some(group) = group {
        // It may have ended a moment ago, which is what was wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The sandbox was closed under a running command: its client, if it is still there, has nothing to wait for.
pub(super) async fn lost(child: &mut Child) -> Outcome {
    kill(child);
    let _ = child.wait().await;
    Outcome::SandboxLost
}

pub(super) async fn feed(stdin: Option<ChildStdin>, given: Stdin, mut input: ExecInput) {
    let Some(mut stdin) = stdin else { return };
    match given {
        Stdin::None => {}
        Stdin::Bytes { data } => {
            // A command that does not read its input ends by itself.
            let _ = stdin.write_all(data.as_bytes()).await;
        }
        Stdin::Stream => {
            while let Some(data) = input.next().await {
                if stdin.write_all(&data).await.is_err() || stdin.flush().await.is_err() {
                    return;
                }
            }
        }
    }
}

pub(super) fn outcome_of(status: std::process::ExitStatus) -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => Outcome::Exited { code },
        (None, Some(number)) => Outcome::Signaled {
            number,
            cause: SignalCause::Unknown,
        },
        (None, None) => Outcome::TransportLost,
    }
}

pub(super) fn not_started(error: &io::Error) -> Outcome {
    let kind = match error.kind() {
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => SetupFailure::ResourcesExhausted,
        _ => SetupFailure::Other,
    };
    Outcome::SetupFailed {
        kind,
        message: format!("the manifest's command cannot be started: {error}"),
    }
}
