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
use herm_protocol::{Error, ErrorKind};
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

/// Characters of what one that did not start has said that are told.
const SAID: usize = 500;

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
    /// Starts a resident in a directory that is made for it, beside the sandbox's working directory. A failure leaves
    /// nothing.
    pub(super) async fn start(
        binary: &Binary,
        (directory, work): (&Path, &Path),
        environment: &Environment,
        guard: &Guard,
    ) -> Result<Self, Error> {
        let started = start(binary, (directory, work), environment, guard).await;
        if started.is_err() {
            // What could not be removed is told with the failure of the whole opening.
            let _ = remove_tree(directory);
        }
        started
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

    /// Ends everything that runs, then the resident.
    ///
    /// # Errors
    /// It does not end in time.
    pub(super) async fn end(&self) -> Result<(), Error> {
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

async fn start(
    binary: &Binary,
    (directory, work): (&Path, &Path),
    environment: &Environment,
    guard: &Guard,
) -> Result<Residence, Error> {
    let failed = |error: io::Error| {
        let shown = directory.to_string_lossy();
        let message = format!("failed to start a resident in {shown}: {error}");
        Error::new(ErrorKind::Unavailable, shown.clone(), message).with_fix(
            if env::var_os(OVERRIDE).is_some_and(|path| !path.is_empty()) {
                format!("see whether {OVERRIDE} names a resident, or unset it")
            } else {
                "free space there, mount it so that programs may run, or use the native mode".to_owned()
            },
        )
    };
    let (binary, home, work) = (binary.clone(), directory.to_owned(), work.to_owned());
    let placed = tokio::task::spawn_blocking(move || {
        DirBuilder::new().mode(0o700).create(&home)?;
        let program = place(&binary, &home)?;
        let traces = Traces::of(program.clone(), &work);
        Ok((program, traces))
    });
    let (program, traces) = placed.await.map_err(io::Error::other).flatten().map_err(failed)?;
    let mut secret = [0; SECRET];
    getrandom::fill(&mut secret).map_err(|error| failed(io::Error::other(error.to_string())))?;
    let mut child = Command::new(&program)
        .arg("daemon")
        .arg(directory)
        .args(["--idle", "0", "--leash"])
        .current_dir("/")
        .env_clear()
        .envs(environment)
        .env(SECRET_VARIABLE, hexadecimal(&secret))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let leash = child.stdin.take();
    // It returns when the daemon that it has put into the background listens.
    let output = match timeout(START, child.wait_with_output()).await {
        Ok(output) => output.map_err(failed)?,
        Err(_) => {
            return Err(failed(io::Error::other(format!(
                "it does not listen within {START:?}"
            ))));
        }
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(SAID).collect();
        let why = if said.is_empty() {
            format!("it ended with {}", output.status)
        } else {
            said
        };
        return Err(failed(io::Error::other(why)));
    }
    let dial = SocketDial {
        socket: directory.join("socket"),
        secret: Secret::new(secret),
    };
    let resident = Resident::new(dial, Settings::default());
    let welcome = resident
        .reach()
        .await
        .map_err(|error| failed(io::Error::other(error)))?;
    Ok(Residence {
        resident,
        traces,
        directory: directory.to_owned(),
        leash: Mutex::new(leash),
        held: Mutex::new(Some(guard.hold(format!("@{}", welcome.pid)))),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    herm_protocol::hexadecimal(bytes)
}

/// Reaches a resident by its socket.
#[derive(Debug)]
struct SocketDial {
    socket: PathBuf,
    secret: Secret,
}

#[async_trait]
impl Dial for SocketDial {
    async fn dial(&self) -> Result<Channel, DialError> {
        let (socket, _link) = short(&self.socket).map_err(DialError::Unreachable)?;
        let stream = UnixStream::connect(&socket)
            .await
            .map_err(|error| match error.kind() {
                // Nobody listens: the socket is there as long as its resident is.
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    DialError::Gone(format!("nobody listens at {}: {error}", self.socket.display()))
                }
                _ => DialError::Unreachable(error),
            })?;
        let (input, output) = stream.into_split();
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            secret: Some(self.secret.clone()),
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
