//! Starting a command.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use herm_protocol::{
    Error,
    exec::{Command, SetupFailure},
};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::{fs::Access, io::Errno};
use tokio::process::ChildStdin;

use super::{
    environment::Environment,
    group::Group,
    guard::Guard,
    output::Pipes,
    program::{self, Failure},
    shell::{self, Shell, TextFile},
};

/// How often a program that is busy is tried again, and how long after.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Everything that a start needs.
pub(super) struct Launch {
    pub(super) command: Command,
    pub(super) shell: Option<Shell>,
    pub(super) cwd: PathBuf,
    pub(super) environment: Environment,
    /// Whether the command is fed; if not, it reads end of file.
    pub(super) fed: bool,
    /// Where text goes that is too long for an argument.
    pub(super) text_path: PathBuf,
    pub(super) guard: Arc<Guard>,
}

/// A command that runs.
pub(super) struct Launched {
    pub(super) group: Group,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) pipes: Pipes,
    pub(super) text: Option<TextFile>,
}

/// Why a command does not run.
pub(super) enum Refusal {
    /// What was asked for cannot be had here and now.
    Setup(Failure),
    /// What was asked for can never be had.
    Argument(Error),
    /// The backend is broken.
    Internal(Error),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Setup(failure)
    }
}

/// What is executed, with its arguments; `name` is what the program is told to be called.
struct Invocation {
    program: PathBuf,
    name: OsString,
    arguments: Vec<OsString>,
    text: Option<TextFile>,
}

impl Launch {
    /// Starts the command as leader of a session of its own. This blocks for as long as the system needs.
    pub(super) fn start(self) -> Result<Launched, Refusal> {
        check_directory(&self.cwd)?;
        let invocation = self.invocation()?;
        let bytes = self.bytes(&invocation);
        let mut child = self
            .spawn(&invocation)
            .map_err(|error| self.refusal(&invocation.program, bytes, &error))?;
        let stdin = child.stdin().take();
        let pipes = Pipes {
            stdout: child.stdout().take(),
            stderr: child.stderr().take(),
        };
        let group = Group::new(child, &self.guard).ok_or_else(|| {
            Refusal::Internal(Error::internal("start a command", "it has no process number"))
        })?;
        Ok(Launched {
            group,
            stdin,
            pipes,
            text: invocation.text,
        })
    }

    /// Starts it. A program that was written a moment ago can be busy: another command, between its fork and its
    /// exec, may hold what was the writer's descriptor. That passes.
    fn spawn(&self, invocation: &Invocation) -> io::Result<Box<dyn ChildWrapper>> {
        let mut tries = BUSY_TRIES;
        loop {
            let result = CommandWrap::from(self.system_command(invocation))
                .wrap(ProcessSession)
                .spawn();
            match result {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::TXTBSY) && tries > 0 => {
                    tries -= 1;
                    std::thread::sleep(BUSY_PAUSE);
                }
                result => return result.map(ChildWrapper::into_inner),
            }
        }
    }

    fn system_command(&self, invocation: &Invocation) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&invocation.program);
        command
            .arg0(&invocation.name)
            .args(&invocation.arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.environment)
            .stdin(if self.fed { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn invocation(&self) -> Result<Invocation, Refusal> {
        match &self.command {
            Command::Argv(arguments) => {
                let mut arguments = arguments.iter().map(herm_protocol::ByteString::to_os_string);
                let name = arguments.next().unwrap_or_default();
                let search = self
                    .environment
                    .get(OsStr::new("PATH"))
                    .cloned()
                    .unwrap_or_default();
                let program = program::find(&name, &search, &self.cwd)?;
                Ok(Invocation {
                    program,
                    name,
                    arguments: arguments.collect(),
                    text: None,
                })
            }
            Command::Shell(text) => {
                let shell = self.shell.as_ref().ok_or_else(|| {
                    let message = "neither bash nor sh is in the PATH of the backend; install one";
                    Failure::new(SetupFailure::ShellNotFound, message)
                })?;
                let (argument, text) = shell::argument(text.as_bytes(), self.text_path.clone())
                    .map_err(|error| unwritten(&self.text_path, &error))?;
                Ok(Invocation {
                    program: shell.path.clone(),
                    name: shell.name.into(),
                    // Text may begin with `-` or `+`.
                    arguments: vec!["-c".into(), "--".into(), argument],
                    text,
                })
            }
        }
    }

    /// What the system counts against its limit on arguments and variables, each with its NUL.
    fn bytes(&self, invocation: &Invocation) -> usize {
        let arguments = invocation.arguments.iter().map(|argument| argument.len() + 1);
        let variables = self
            .environment
            .iter()
            .map(|(name, value)| name.len() + value.len() + 2);
        arguments.chain(variables).sum()
    }

    fn refusal(&self, program: &Path, bytes: usize, error: &io::Error) -> Refusal {
        // The directory may have gone since it was looked at.
        if let Err(failure) = check_directory(&self.cwd) {
            return failure.into();
        }
        match Errno::from_io_error(error) {
            Some(Errno::TOOBIG) => Refusal::Argument(Error::invalid_argument(
                "command",
                format!(
                    "has {bytes} bytes of arguments and variables, more than the system takes; \
                     put data in a file or on standard input"
                ),
            )),
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => Failure::new(
                SetupFailure::ResourcesExhausted,
                format!("the system has no process, memory or descriptor left for the command: {error}"),
            )
            .into(),
            Some(
                Errno::NOENT | Errno::ACCESS | Errno::NOEXEC | Errno::PERM | Errno::LOOP | Errno::NOTDIR,
            ) => program::refused(program, error).into(),
            _ => Failure::new(
                SetupFailure::Other,
                format!("failed to start {}: {error}", program.to_string_lossy()),
            )
            .into(),
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let kind = match Errno::from_io_error(error) {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::MFILE | Errno::NFILE) => SetupFailure::ResourcesExhausted,
        _ => SetupFailure::Other,
    };
    let message = format!(
        "failed to write the command's text to {}: {error}",
        path.to_string_lossy()
    );
    Failure::new(kind, message)
}

/// Whether a command can start in that directory.
pub(super) fn check_directory(cwd: &Path) -> Result<(), Failure> {
    let shown = cwd.to_string_lossy();
    let (kind, problem) = match cwd.metadata() {
        Ok(metadata) if !metadata.is_dir() => (SetupFailure::CwdNotADirectory, "is not a directory"),
        Ok(_) => match rustix::fs::access(cwd, Access::EXEC_OK) {
            Ok(()) => return Ok(()),
            Err(_) => (SetupFailure::CwdDenied, "may not be entered"),
        },
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOTDIR) => (
                SetupFailure::CwdNotADirectory,
                "leads through something that is not a directory",
            ),
            Some(Errno::ACCESS) => (SetupFailure::CwdDenied, "may not be entered"),
            Some(Errno::NOENT) => (SetupFailure::CwdNotFound, "does not exist"),
            _ => {
                let message = format!("the directory {shown} cannot be looked at: {error}");
                return Err(Failure::new(SetupFailure::Other, message));
            }
        },
    };
    Err(Failure::new(kind, format!("the directory {shown} {problem}")))
}
