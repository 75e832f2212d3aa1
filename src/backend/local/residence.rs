//! A resident of a sandbox of this machine: how it is started, reached and ended.

use std::{
    env,
    ffi::OsStr,
    fs::{self, DirBuilder},
    io,
    os::{
        fd::AsRawFd as _,
        unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    },
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{Error, ErrorKind, hexadecimal};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    net::UnixStream,
    process::{ChildStdin, Command},
    time::timeout,
};

use super::{
    environment::Environment,
    guard::{Guard, Held},
    process_table::{self, Process},
    traces::Traces,
};
use crate::{
    files::remove_tree,
    resident::{Binary, Channel, Dial, DialError, OVERRIDE, Resident, Secret, Settings, place},
};

/// How long a resident may take to listen.
const START: Duration = Duration::from_secs(10);

/// How long it may take to end everything.
const END: Duration = Duration::from_secs(10);

/// How long a resident that may be stopped is tried to be reached.
const SOON: Duration = Duration::from_millis(500);

/// Characters of what one that did not start has said that are told.
const SAID: usize = 500;

/// How often a start is tried again whose program is still held open for writing.
const BUSY: u32 = 100;

/// The variable that hands the secret over; the resident takes it out of what commands see.
const SECRET_VARIABLE: &str = "HERM_RESIDENT_SECRET";

/// Bytes of a secret.
const SECRET: usize = 32;

/// The resident of one sandbox.
#[derive(Debug)]
pub(super) struct Residence {
    pub(super) resident: Resident,
    /// By what is known what it leaves when it is lost.
    pub(super) traces: Traces,
    /// Where it has its socket and its spools.
    directory: PathBuf,
    /// When this is closed, by whatever ends this process, the resident ends with everything that it runs.
    leash: Mutex<Option<ChildStdin>>,
    /// Until it has ended, the guard answers for it.
    held: Mutex<Option<Held>>,
}

impl Residence {
    /// Starts a resident in a directory that is made for it. A failure leaves nothing.
    pub(super) async fn start(
        binary: &Binary,
        directory: &Path,
        environment: &Environment,
        guard: &Guard,
    ) -> Result<Self, Error> {
        let started = start(binary, directory, environment, Some(guard)).await;
        if started.is_err() {
            // What could not be removed is told with the failure of the whole opening.
            let _ = remove_tree(directory);
        }
        started
    }

    /// Starts a resident that outlives this process, in a directory that may be there from an earlier one.
    pub(super) async fn start_kept(
        binary: &Binary,
        directory: &Path,
        environment: &Environment,
    ) -> Result<Self, Error> {
        start(binary, directory, environment, None).await
    }

    /// The resident of a directory, if one is there that answers.
    pub(super) async fn attach(directory: &Path) -> Option<Self> {
        let dial = SocketDial {
            socket: directory.join("socket"),
            secret: SecretOf::File(directory.join("secret")),
        };
        let resident = Resident::new(dial, Settings::default());
        resident.reach().await.ok()?;
        Some(Self::kept(resident, directory).await)
    }

    async fn kept(resident: Resident, directory: &Path) -> Self {
        Self {
            resident,
            traces: Traces::of(directory).await,
            directory: directory.to_owned(),
            leash: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// The number of its process, if it can be reached.
    pub(super) async fn pid(&self) -> Option<u32> {
        self.resident.reach().await.ok().map(|welcome| welcome.pid)
    }

    /// The resident itself and every live process below it.
    pub(super) async fn processes(&self) -> Vec<Process> {
        let Ok(welcome) = self.resident.reach().await else {
            return Vec::new();
        };
        let Ok(pid) = i32::try_from(welcome.pid) else {
            return Vec::new();
        };
        let looked = tokio::task::spawn_blocking(move || process_table::tree(pid)).await;
        looked.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Lets the resident go on when a command has stopped it; it would not hear that it is to end.
    async fn let_go_on(&self) {
        // This asks nothing of it when there is a connection.
        let Ok(Ok(welcome)) = timeout(SOON, self.resident.reach()).await else {
            return;
        };
        let pid = i32::try_from(welcome.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| self.traces.is_resident(pid.as_raw_pid())) {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Ends everything that runs, then the resident.
    ///
    /// # Errors
    /// It does not end in time.
    pub(super) async fn end(&self) -> Result<(), Error> {
        self.let_go_on().await;
        let ended = self.resident.shut_down(END).await;
        drop(self.leash.lock().unwrap_or_else(PoisonError::into_inner).take());
        if ended.is_ok() {
            drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        ended.map_err(|error| {
            let directory = self.directory.to_string_lossy();
            let message =
                format!("the resident in {directory} did not end what runs in the sandbox: {error}");
            Error::new(ErrorKind::TimedOut, directory.clone(), message)
                .with_fix("see what its processes wait for, and close again")
        })
    }
}

/// What could not be ended is left to the guard.
impl Drop for Residence {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(held) = held {
            held.abandon();
        }
    }
}

/// Starts a resident. With a guard it ends with this process, without it stays until nothing goes on.
async fn start(
    binary: &Binary,
    directory: &Path,
    environment: &Environment,
    guard: Option<&Guard>,
) -> Result<Residence, Error> {
    let failed = |error: io::Error| {
        let shown = directory.to_string_lossy();
        let message = format!("failed to start a resident in {shown}: {error}");
        Error::new(ErrorKind::Unavailable, shown.clone(), message).with_fix(
            if error.kind() == io::ErrorKind::WouldBlock {
                "raise the limit on processes (ulimit -u), or end other processes of yours".to_owned()
            } else if env::var_os(OVERRIDE).is_some_and(|path| !path.is_empty()) {
                format!("see whether {OVERRIDE} names a resident, or unset it")
            } else {
                format!(
                    "see whether there is space (df {shown}) and whether programs may run there (mount option noexec), or name \
                     another place: TMPDIR for sandboxes without a key, HERM_STATE for kept ones; a lack of processes or memory \
                     (ulimit -u, ulimit -v) may end it, too"
                )
            },
        )
    };
    let (binary, home) = (binary.clone(), directory.to_owned());
    let placed = tokio::task::spawn_blocking(move || {
        match DirBuilder::new().mode(0o700).create(&home) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        place(&binary, &home)
    });
    let program = placed.await.map_err(io::Error::other).flatten().map_err(failed)?;
    let mut command = Command::new(&program);
    command
        .arg("daemon")
        .arg(directory)
        .current_dir("/")
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut secret = SecretOf::File(directory.join("secret"));
    if guard.is_some() {
        let mut known = [0; SECRET];
        getrandom::fill(&mut known).map_err(|error| failed(io::Error::other(error.to_string())))?;
        secret = SecretOf::Known(Secret::new(known));
        command
            .args(["--idle", "0", "--leash"])
            .env(SECRET_VARIABLE, hexadecimal(&known))
            .stdin(Stdio::piped());
    }
    let leash = run(command).await.map_err(failed)?;
    let socket = directory.join("socket");
    let resident = Resident::new(SocketDial { socket, secret }, Settings::default());
    let welcome = resident
        .reach()
        .await
        .map_err(|error| failed(io::Error::other(error)))?;
    let mut residence = Residence::kept(resident, directory).await;
    residence.leash = Mutex::new(leash);
    residence.held = Mutex::new(guard.map(|guard| guard.hold(format!("@{}", welcome.pid))));
    Ok(residence)
}

/// Runs the command that puts a resident into the background, which returns when that listens; gives its leash.
async fn run(mut command: Command) -> io::Result<Option<ChildStdin>> {
    let mut child = command.spawn();
    for _ in 0..BUSY {
        // Another thread that starts a program just now holds the file open for writing until it executes.
        if !matches!(&child, Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        child = command.spawn();
    }
    let mut child = child?;
    let leash = child.stdin.take();
    let output = match timeout(START, child.wait_with_output()).await {
        Ok(output) => output?,
        Err(_) => return Err(io::Error::other(format!("it does not listen within {START:?}"))),
    };
    if output.status.success() {
        return Ok(leash);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(SAID).collect();
    Err(io::Error::other(if said.is_empty() {
        format!("it ended with {}", output.status)
    } else {
        said
    }))
}

/// Reaches a resident by its socket.
#[derive(Debug)]
struct SocketDial {
    socket: PathBuf,
    secret: SecretOf,
}

/// Where the secret of a resident is known from.
#[derive(Clone, Debug)]
enum SecretOf {
    /// It was made by us.
    Known(Secret),
    /// The resident has written it into a file that only this user reads.
    File(PathBuf),
}

impl SecretOf {
    async fn get(&self) -> io::Result<Secret> {
        match self {
            Self::Known(secret) => Ok(secret.clone()),
            Self::File(path) => {
                let bytes = tokio::fs::read(path).await?;
                let bytes = bytes
                    .try_into()
                    .map_err(|_| io::Error::other(format!("{} is no secret", path.display())))?;
                Ok(Secret::new(bytes))
            }
        }
    }
}

#[async_trait]
impl Dial for SocketDial {
    async fn dial(&self) -> Result<Channel, DialError> {
        let failed = |error: io::Error| match error.kind() {
            // Nobody listens: the socket is there as long as its resident is, and so is its directory.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                DialError::Gone(format!("nobody listens at {}: {error}", self.socket.display()))
            }
            _ => DialError::Unreachable(error),
        };
        let (socket, _link) = short(&self.socket).map_err(failed)?;
        let stream = UnixStream::connect(&socket).await.map_err(failed)?;
        let secret = self.secret.get().await.map_err(DialError::Unreachable)?;
        let (input, output) = stream.into_split();
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            secret: Some(secret),
        })
    }
}

/// The longest path that the address of a socket takes (unix(7)).
const LONGEST: usize = 107;

/// A path of a socket that is short enough for its address: the path itself, or one through an open directory, which has to
/// stay open.
fn short(socket: &Path) -> io::Result<(PathBuf, Option<fs::File>)> {
    if socket.as_os_str().len() <= LONGEST {
        return Ok((socket.to_owned(), None));
    }
    let directory = fs::File::open(socket.parent().unwrap_or(Path::new("/")))?;
    let name = socket.file_name().unwrap_or(OsStr::from_bytes(b"socket"));
    let path = Path::new("/proc/self/fd")
        .join(directory.as_raw_fd().to_string())
        .join(name);
    Ok((path, Some(directory)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_resident_whose_directory_is_gone_is_gone_however_long_its_path_is() {
        let home = tempfile::tempdir().unwrap();
        let long = "d".repeat(LONGEST);
        for directory in ["d", &long] {
            let directory = home.path().join(directory);
            let dial = SocketDial {
                socket: directory.join("socket"),
                secret: SecretOf::Known(Secret::new([0; 32])),
            };
            for made in [false, true] {
                if made {
                    fs::create_dir(&directory).unwrap();
                }
                let error = dial.dial().await.err();
                assert!(matches!(error, Some(DialError::Gone(_))), "{made}: {error:?}");
            }
        }
    }
}
