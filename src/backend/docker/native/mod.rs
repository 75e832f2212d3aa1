//! Native mode: each command is an exec of the engine's, behind a few lines of POSIX shell. It is for images in which no
//! program of ours can be placed.
//!
//! A command is a session of its own, and what a deadline or a cancel ends is its process group; what leaves the group by
//! itself lives on until the sandbox ends. An engine tells how a command has ended by one number, so that an end by a
//! signal and an exit with 128 and the signal's number are the same.

mod wrapper;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bollard::{
    container::LogOutput,
    exec::{CreateExecOptions, StartExecOptions, StartExecResults},
};
use futures::StreamExt as _;
use herm_protocol::{
    Error, ErrorKind, Finished, Interrupt,
    exec::{Command, Outcome, RunParams, SetupFailure, Stdin, Stream},
    hexadecimal,
    sandbox::Variable,
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _},
    time::{Instant, sleep, sleep_until, timeout},
};

use self::wrapper::{Told, Words};
use super::{
    engine::{ANSWER, Engine},
    sandbox::{Sandbox, state_of},
};
use crate::caller::{Caller, Control, Input, Output};

/// Bytes of the word that a command's first line begins with.
const SECRET: usize = 16;

/// The longest first line.
const LONGEST_LINE: usize = 16 * 1024;

/// Bytes of standard output that may come before the first line of standard error.
const EARLY: usize = 8 * 1024 * 1024;

/// How often an exec is looked at whose output goes on.
const LOOK: Duration = Duration::from_millis(100);

/// How long the last output may take when the command has ended, and what it left holds its output.
const DRAIN: Duration = Duration::from_millis(300);

/// How long the rest may take of a command that was ended by force.
const LAST: Duration = Duration::from_secs(3);

/// How long an engine may take to know how a command has ended that has ended.
const KNOWN: Duration = Duration::from_secs(5);

/// What an engine tells of a command that was killed: 128 and the number of the signal.
const KILLED: i64 = 137;

/// How often is looked whether the sandbox of such a command is gone with it.
const LOOKS: u32 = 3;

/// Bytes of arguments and variables that any system takes.
const SURELY_TAKEN: usize = 1024 * 1024;

/// What ends a process group: it is asked first, and killed a quarter of a second later.
const END: &str = "kill -TERM -$1 2>/dev/null || exit 0\n\
    n=0\n\
    while kill -0 -$1 2>/dev/null && [ $n -lt 5 ]; do sleep 0.05 2>/dev/null || n=5; n=$((n + 1)); done\n\
    kill -KILL -$1 2>/dev/null; exit 0";

/// What sends a signal to one.
const SIGNAL: &str = "kill -$2 -$1 2>/dev/null; exit 0";

/// What writes a text that is too long for an argument into a file.
const STORE: &str = "umask 077; cat >\"$1\"";

/// What takes it away again.
const FORGET: &str = "rm -f -- \"$1\"";

/// Runs a command that was checked to its end.
///
/// # Errors
/// A sandbox that is gone, arguments that cannot be used: nothing ran then.
pub(super) async fn run<T>(
    engine: &Engine,
    sandbox: &Sandbox,
    params: RunParams,
    caller: Caller<impl Output, impl Input, T>,
    control: &mut impl Control,
) -> Result<Finished, Error> {
    let accepted = Instant::now();
    let limit = params.timeout().filter(|limit| !limit.is_zero());
    let deadline = limit.and_then(|limit| accepted.checked_add(limit));
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal("name a command at random", error))?;
    let secret = hexadecimal(&bytes);
    let text_file = match &params.command {
        Command::Shell(text) if wrapper::is_long(text) => {
            let file = format!("/tmp/.herm-text-{secret}");
            store(engine, sandbox, &file, text.as_bytes()).await?;
            Some(file)
        }
        _ => None,
    };
    let cwd = params.cwd.as_ref().map_or_else(
        || sandbox.cwd.as_path().into(),
        |cwd| sandbox.resolve(cwd).as_path().into(),
    );
    let variables: Vec<Variable> = sandbox.env.iter().chain(&params.env).cloned().collect();
    let words = wrapper::words(
        &secret,
        &params.command,
        (sandbox.shell, text_file.as_deref()),
        &cwd,
        &variables,
    );
    let exec = Exec {
        engine,
        sandbox,
        secret,
        command: params.command,
        size: words.size(),
    };
    let finished = exec.follow(words, params.stdin, caller, control, deadline).await;
    if let Some(file) = text_file {
        // What could not be removed goes with the sandbox.
        let _ = helper(engine, sandbox, FORGET, &[&file], None).await;
    }
    finished
}

/// One command.
struct Exec<'a> {
    engine: &'a Engine,
    sandbox: &'a Sandbox,
    secret: String,
    command: Command,
    /// Bytes of its words.
    size: usize,
}

/// What is known of a command that begins.
#[derive(Debug, Default)]
struct Begun(Mutex<(Option<u32>, String)>);

impl Begun {
    fn lock(&self) -> MutexGuard<'_, (Option<u32>, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of its process in the sandbox, once it runs.
    fn pid(&self) -> Option<u32> {
        self.lock().0
    }

    fn with(&self, pid: u32) {
        self.lock().0 = Some(pid);
    }

    /// What was told in place of its beginning.
    fn what_was_said(&self) -> String {
        self.lock().1.clone()
    }

    fn said(&self, line: &[u8]) {
        String::from_utf8_lossy(line)
            .trim()
            .clone_into(&mut self.lock().1);
    }
}

/// How the output of a command came to its end.
#[derive(Debug)]
enum Pumped {
    /// It has ended.
    Ended,
    /// It was not waited for any longer.
    Cut,
    /// There is no command.
    Refused(SetupFailure, String),
}

/// Why a command is ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    Deadline,
    Cancel,
}

impl Exec<'_> {
    async fn follow<T>(
        &self,
        words: Words,
        stdin: Stdin,
        caller: Caller<impl Output, impl Input, T>,
        control: &mut impl Control,
        deadline: Option<Instant>,
    ) -> Result<Finished, Error> {
        let Caller { output, input, .. } = caller;
        let options = CreateExecOptions {
            attach_stdin: Some(stdin != Stdin::None),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            env: Some(words.env),
            cmd: Some(words.argv),
            ..CreateExecOptions::default()
        };
        let (id, results) = begin(self.engine, self.sandbox, options).await?;
        let StartExecResults::Attached {
            output: mut pieces,
            input: writer,
        } = results
        else {
            return Err(Error::internal(
                "run a command",
                "the engine has not attached to it",
            ));
        };
        let feeding = feed(stdin, input, writer);
        let begun = Begun::default();
        let pumping = self.pump(&mut pieces, &output, &begun);
        tokio::pin!(feeding, pumping);
        let (mut fed, mut force, mut until) = (false, None, None);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let pumped = loop {
            tokio::select! {
                biased;
                pumped = &mut pumping => break pumped,
                () = reached(until) => break Pumped::Cut,
                () = reached(deadline), if force.is_none() => {
                    force = Some(Force::Deadline);
                    self.end(&begun).await;
                    until = Some(Instant::now() + LAST);
                }
                wish = control.next(), if force.is_none() => match wish {
                    Interrupt::Cancel => {
                        force = Some(Force::Cancel);
                        self.end(&begun).await;
                        until = Some(Instant::now() + LAST);
                    }
                    Interrupt::Signal(number) => self.signal(&begun, number).await,
                },
                () = &mut feeding, if !fed => fed = true,
                // What it has left behind may hold its output for ever, and who is gone with its sandbox has no end.
                _ = look.tick(), if until.is_none() => {
                    if self.sandbox.is_closing() || !matches!(self.code(&id).await, Ok(None)) {
                        until = Some(Instant::now() + DRAIN);
                    }
                }
            }
        };
        if let Pumped::Refused(kind, message) = pumped {
            return Ok(Outcome::SetupFailed { kind, message }.into());
        }
        self.outcome(&id, force, &begun).await
    }

    /// Hands over what comes, but for the first line.
    async fn pump(
        &self,
        pieces: &mut (impl futures::Stream<Item = Result<LogOutput, bollard::errors::Error>> + Unpin),
        output: &impl Output,
        begun: &Begun,
    ) -> Pumped {
        let (mut line, mut early) = (Vec::new(), Vec::new());
        loop {
            let (stream, message) = match pieces.next().await {
                Some(Ok(LogOutput::StdOut { message } | LogOutput::Console { message })) => {
                    (Stream::Stdout, message)
                }
                Some(Ok(LogOutput::StdErr { message })) => (Stream::Stderr, message),
                Some(Ok(LogOutput::StdIn { .. })) => continue,
                Some(Err(_)) | None => break,
            };
            if begun.pid().is_some() {
                output.write(stream, &message).await;
                continue;
            }
            // An engine may bring it before the first line, without which nothing can be ended: nobody is waited for yet.
            if stream == Stream::Stdout && early.len() < EARLY {
                early.extend_from_slice(&message);
                continue;
            }
            line.extend_from_slice(&message);
            let Some(length) = line.iter().position(|byte| *byte == b'\n') else {
                if line.len() > LONGEST_LINE {
                    break;
                }
                continue;
            };
            match wrapper::told(&line[..length], &self.secret, &self.command) {
                Some(Told::Runs(pid)) => {
                    begun.with(pid);
                    output.started().await;
                    if !early.is_empty() {
                        output.write(Stream::Stdout, &std::mem::take(&mut early)).await;
                    }
                    if line.len() > length + 1 {
                        output.write(Stream::Stderr, &line[length + 1..]).await;
                    }
                    line.clear();
                }
                Some(Told::Refused(kind, message)) => return Pumped::Refused(kind, message),
                // The shell itself, or the engine, has something to say.
                None => break,
            }
        }
        begun.said(&line);
        Pumped::Ended
    }

    /// How it has ended.
    async fn outcome(&self, id: &str, force: Option<Force>, begun: &Begun) -> Result<Finished, Error> {
        match force {
            Some(Force::Deadline) => return Ok(Outcome::TimedOut.into()),
            Some(Force::Cancel) => return Ok(Outcome::Cancelled.into()),
            None => {}
        }
        let end = Instant::now() + KNOWN;
        let code = loop {
            match self.code(id).await {
                Ok(Some(code)) => break code,
                Ok(None) if Instant::now() < end => sleep(LOOK).await,
                Ok(None) | Err(_) => return Ok(self.lost().await.into()),
            }
        };
        if code == KILLED && self.was_killed_with_its_sandbox().await {
            return Ok(Outcome::SandboxLost.into());
        }
        if begun.pid().is_none() {
            if self.sandbox.is_closing() || self.is_lost().await {
                return Ok(Outcome::SandboxLost.into());
            }
            if self.size > SURELY_TAKEN {
                let problem = format!(
                    "has {} bytes in all, and the system does not take them",
                    self.size
                );
                return Err(Error::invalid_argument("command", problem)
                    .with_fix("send what is long as a file or as input of the command"));
            }
            let said = begun.what_was_said();
            let message =
                format!("no command was started; the engine or the shell says: {said} (code {code})");
            let kind = match code {
                126 | 127 => SetupFailure::ShellNotFound,
                _ => SetupFailure::Other,
            };
            return Ok(Outcome::SetupFailed { kind, message }.into());
        }
        let code = i32::try_from(code).unwrap_or(-1);
        Ok(Outcome::Exited { code }.into())
    }

    /// The exit code of an exec that has ended.
    async fn code(&self, id: &str) -> Result<Option<i64>, Error> {
        let looking = self.engine.docker.inspect_exec(id);
        let exec = self.engine.call("look at a command", ANSWER, looking).await?;
        Ok(exec.exit_code.filter(|_| exec.running == Some(false)))
    }

    /// Whether the sandbox goes down with it, which an engine may tell a moment later.
    async fn was_killed_with_its_sandbox(&self) -> bool {
        for _ in 0..LOOKS {
            if self.sandbox.is_closing() || self.is_lost().await {
                return true;
            }
            sleep(LOOK).await;
        }
        false
    }

    async fn is_lost(&self) -> bool {
        use herm_protocol::sandbox::SandboxState;
        match self.engine.container(&self.sandbox.id).await {
            Ok(Some(container)) => state_of(&container) == SandboxState::Stopped,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    async fn lost(&self) -> Outcome {
        if self.is_lost().await {
            Outcome::SandboxLost
        } else {
            Outcome::TransportLost
        }
    }

    /// Ends its process group, if it has come to have one.
    async fn end(&self, begun: &Begun) {
        if let Some(pid) = begun.pid() {
            let ended = helper(self.engine, self.sandbox, END, &[&pid.to_string()], None).await;
            if let Err(error) = ended {
                super::log(error);
            }
        }
    }

    async fn signal(&self, begun: &Begun, number: i32) {
        if let Some(pid) = begun.pid() {
            let words = [pid.to_string(), number.to_string()];
            let sent = helper(self.engine, self.sandbox, SIGNAL, &[&words[0], &words[1]], None).await;
            if let Err(error) = sent {
                super::log(error);
            }
        }
    }
}

/// Starts an exec; gives its id, and its streams.
async fn begin(
    engine: &Engine,
    sandbox: &Sandbox,
    options: CreateExecOptions<String>,
) -> Result<(String, StartExecResults), Error> {
    let creating = engine.docker.create_exec(&sandbox.id, options);
    let made = engine.call("make an exec", ANSWER, creating).await;
    let made = made.map_err(|error| match error.kind() {
        // The engine says so of a container that is gone, and of one that does not run.
        ErrorKind::NotFound | ErrorKind::AlreadyExists => Error::sandbox_not_found(&sandbox.id),
        _ => error,
    })?;
    let starting = engine.docker.start_exec(
        &made.id,
        Some(StartExecOptions {
            output_capacity: Some(64 * 1024),
            ..StartExecOptions::default()
        }),
    );
    let started = engine.call("run a command", ANSWER, starting).await?;
    Ok((made.id, started))
}

/// Runs a helper of ours to its end.
async fn helper(
    engine: &Engine,
    sandbox: &Sandbox,
    script: &str,
    words: &[&str],
    input: Option<&[u8]>,
) -> Result<i64, Error> {
    let argv = ["/bin/sh", "-c", script, "sh"]
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
            while let Some(Ok(_)) = output.next().await {}
        };
        if timeout(ANSWER, working).await.is_err() {
            let message = format!(
                "a helper in sandbox {:?} has not ended within {ANSWER:?}",
                sandbox.id
            );
            return Err(Error::new(ErrorKind::TimedOut, &sandbox.id, message).with_fix("call again"));
        }
    }
    let looking = engine.docker.inspect_exec(&id);
    let exec = engine.call("look at a helper", ANSWER, looking).await?;
    Ok(exec.exit_code.unwrap_or_default())
}

async fn store(engine: &Engine, sandbox: &Sandbox, file: &str, text: &[u8]) -> Result<(), Error> {
    match helper(engine, sandbox, STORE, &[file], Some(text)).await? {
        0 => Ok(()),
        code => {
            let message = format!(
                "the text of the command is longer than an argument may be, and could not be stored in {file} of the sandbox (code {code})"
            );
            Err(Error::new(ErrorKind::LimitExceeded, "command.shell", message)
                .with_fix("send a shorter text, or see whether there is space in /tmp of the sandbox"))
        }
    }
}

/// Feeds a command, and ends its input.
async fn feed(stdin: Stdin, mut input: impl Input, mut writer: std::pin::Pin<Box<dyn AsyncWrite + Send>>) {
    match stdin {
        Stdin::None => return,
        Stdin::Bytes { data } => {
            // Who does not read it has ended.
            let _ = writer.write_all(data.as_bytes()).await;
        }
        Stdin::Stream => {
            while let Some(data) = input.next().await {
                if writer.write_all(&data).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = writer.shutdown().await;
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
