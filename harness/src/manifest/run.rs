//! Runs the commands of a manifest.

use std::{
    ffi::OsString,
    io,
    ops::{Deref, DerefMut},
    process::Stdio,
    time::Duration,
};

use herm_protocol::{
    ByteString, Error, ExecInput, ExecOutput,
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

/// Bytes that are read at a time.
const PIECE: usize = 32 * 1024;

/// Bytes that a command may print which tells a few words: ids, a version.
pub(super) const WORDS: usize = 4 * 1024 * 1024;

/// Bytes that a command may print which reads a file.
pub(super) const CONTENT: usize = 64 * 1024 * 1024;

/// Bytes of what a command says on its standard error that are kept.
const COMPLAINT: usize = 16 * 1024;

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

/// A command in a process group of its own. Whoever drops it before it has ended ends it, and what is in its group.
pub(super) struct GroupLeader(Child);

impl Deref for GroupLeader {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for GroupLeader {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for GroupLeader {
    fn drop(&mut self) {
        kill(&self.0);
    }
}

/// Starts a command in a process group of its own.
pub(super) fn start(words: &[OsString], stdin: Stdio) -> io::Result<GroupLeader> {
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
        .map(GroupLeader)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.to_string_lossy())))
}

/// Runs a short command to its end, with this input. It may print `most` bytes. What it has started may live on, with its
/// streams.
pub(super) async fn output(
    words: &[OsString],
    input: Option<ByteString>,
    within: Duration,
    most: usize,
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
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (ended, told) = watch::channel(false);
    let work = async {
        let end = async {
            let status = child.wait().await;
            let _ = ended.send(true);
            status
        };
        let feed = async {
            feed_all(stdin, input.unwrap_or_default(), told.clone()).await;
            Ok(())
        };
        let (status, stdout, stderr, ()) = tokio::try_join!(
            end,
            read_all(out, most, Beyond::Refused, told.clone()),
            read_all(err, COMPLAINT, Beyond::LeftOut, told.clone()),
            feed,
        )?;
        Ok(Output {
            code: status.code(),
            stdout,
            stderr,
        })
    };
    let late = || {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it did not end within {} s", within.as_secs()),
        )
    };
    timeout(within, work).await.unwrap_or_else(|_| Err(late()))
}

async fn feed_all(stdin: Option<ChildStdin>, input: ByteString, mut ended: watch::Receiver<bool>) {
    let Some(mut stdin) = stdin else { return };
    tokio::select! {
        // A command that does not read its input is none of our business.
        _ = stdin.write_all(input.as_bytes()) => {}
        _ = ended.wait_for(|ended| *ended) => {}
    }
}

/// What becomes of a stream that holds more than it may.
#[derive(Clone, Copy)]
enum Beyond {
    Refused,
    LeftOut,
}

async fn read_all(
    stream: Option<impl AsyncRead + Unpin>,
    most: usize,
    beyond: Beyond,
    mut ended: watch::Receiver<bool>,
) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(mut stream) = stream else {
        return Ok(all);
    };
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match next_piece(&mut stream, &mut buffer, &mut ended).await? {
            0 => return Ok(all),
            length => &buffer[..length],
        };
        let room = most - all.len();
        if piece.len() > room && matches!(beyond, Beyond::Refused) {
            let problem = format!("it printed more than {most} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        all.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// Reads what comes next. Nothing is the end of the stream, or silence for a while after the command has ended.
async fn next_piece(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    ended: &mut watch::Receiver<bool>,
) -> io::Result<usize> {
    loop {
        if *ended.borrow_and_update() {
            return timeout(DRAIN, stream.read(buffer)).await.unwrap_or(Ok(0));
        }
        tokio::select! {
            biased;
            read = stream.read(buffer) => return read,
            _ = ended.changed() => {}
        }
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
    let mut buffer = vec![0; PIECE];
    while let Ok(length @ 1..) = next_piece(&mut stream, &mut buffer, &mut ended).await {
        to.write(name, &buffer[..length]).await;
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

/// What is told of a command that did not start.
///
/// # Errors
/// The caller's command is too long for the system, as it comes to stand in the manifest's.
pub(super) fn not_started(error: &io::Error) -> Result<Outcome, Error> {
    let kind = match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            let problem = "has more bytes of text, arguments and variables than the system takes in a command of the manifest";
            return Err(Error::invalid_argument("command", problem)
                .with_fix("put data in a file or on standard input"));
        }
        io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => SetupFailure::ResourcesExhausted,
        _ => SetupFailure::Other,
    };
    Ok(Outcome::SetupFailed {
        kind,
        message: format!("the manifest's command cannot be started: {error}"),
    })
}
