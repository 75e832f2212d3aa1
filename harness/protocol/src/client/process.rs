//! The adapter as a child process.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::BufReader,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use super::Fault;
use crate::{
    codec::{Line, Overflow, read_line},
    transcript::{Direction, Transcript},
};

/// Bytes of a log line that are kept; the rest of the line is dropped.
const LOG_LINE: usize = 64 * 1024;

/// Lines of log that are kept for a crash report.
const LAST_WORDS: usize = 5;

/// How long a guard may take after SIGTERM to end and remove what an adapter has left.
const CLEAN_UP: Duration = Duration::from_secs(10);

/// How an adapter is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment: nothing else is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory it starts in; the caller's own when not given.
    pub directory: Option<PathBuf>,
}

/// How an adapter ended after it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// By itself, when its input ended.
    AtEndOfInput(ExitStatus),
    /// Only when it was sent SIGTERM.
    WhenAsked,
    /// Only when it was sent SIGKILL.
    WhenKilled,
}

/// A running adapter in a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub struct AdapterProcess {
    child: Child,
    group: Option<Pid>,
    log: Arc<Mutex<Vec<String>>>,
    log_reader: JoinHandle<()>,
}

impl AdapterProcess {
    /// Starts the adapter with pipes for all three streams.
    ///
    /// # Errors
    /// [`Fault::NotStarted`] naming the program.
    pub fn start(
        launch: &Launch,
        transcript: Arc<dyn Transcript>,
    ) -> Result<(Self, ChildStdin, ChildStdout), Fault> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        let not_started = |cause: String| Fault::NotStarted {
            program: launch.program.to_string_lossy().into_owned(),
            cause,
        };
        let mut child = command.spawn().map_err(|error| not_started(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_started("its streams could not be opened".into()));
        };
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let log = Arc::default();
        let log_reader = tokio::spawn(read_log(stderr, Arc::clone(&log), transcript));
        Ok((
            Self {
                child,
                group,
                log,
                log_reader,
            },
            stdin,
            stdout,
        ))
    }

    /// Its process id while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Says how it ended (` with exit status: 3`), and the last lines of its log; waits a moment for both.
    pub async fn last_words(&mut self) -> (String, String) {
        let how = match timeout(Duration::from_secs(1), self.child.wait()).await {
            Ok(Ok(status)) => format!(" with {status}"),
            _ => ", or closed its output,".into(),
        };
        let _ = timeout(Duration::from_millis(200), &mut self.log_reader).await;
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let log = if log.is_empty() {
            String::new()
        } else {
            format!("; its last words: {}", log.join(" | "))
        };
        (how, log)
    }

    /// Waits for its end after its input was closed; after `grace` it is sent SIGTERM, and after as long
    /// again, but not before a guard had the time to clean up, SIGKILL.
    pub async fn stop(mut self, grace: Duration) -> Stopped {
        if let Ok(Ok(status)) = timeout(grace, self.child.wait()).await {
            return Stopped::AtEndOfInput(status);
        }
        self.signal(Signal::TERM);
        if timeout(grace.max(CLEAN_UP), self.child.wait()).await.is_ok() {
            return Stopped::WhenAsked;
        }
        self.signal(Signal::KILL);
        let _ = timeout(grace, self.child.wait()).await;
        Stopped::WhenKilled
    }

    /// Signals the whole process group, unless its leader has been reaped: its id may belong to somebody else by now.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            && self.child.id().is_some()
        {
            // It may have ended a moment ago, which is what was wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for AdapterProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.log_reader.abort();
    }
}

async fn read_log(stderr: ChildStderr, log: Arc<Mutex<Vec<String>>>, transcript: Arc<dyn Transcript>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let line = match read_line(&mut reader, LOG_LINE, Overflow::Skip).await {
            Ok(Line::Text(line)) => line,
            Ok(Line::TooLong { bytes }) => format!("(a line of {bytes} bytes)").into_bytes(),
            Ok(Line::End) | Err(_) => return,
        };
        transcript.line(Direction::Log, &line);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() == LAST_WORDS {
            log.remove(0);
        }
        log.push(shorten(&line, 300));
    }
}

/// For people: invalid UTF-8 replaced, and no longer than `limit` characters.
pub(super) fn shorten(line: &[u8], limit: usize) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(limit * 4)]);
    let mut short: String = text.chars().take(limit).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
