//! The tools of `herm exec --rpc`: programs of this machine that the command may call.

use std::{
    collections::BTreeMap,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use herm::caller::Tools;
use herm_harness::watch::ToolEnd;
use herm_protocol::{
    Error, ErrorKind,
    rpc::{DEFAULT_MAX_BYTES, Rpc, is_name},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    process::{ChildStdout, Command},
    sync::watch,
    time::timeout,
};

use crate::cli::watch::guarded_tool;

/// How long what a tool has started may take to be gone after the call was given up.
const GUARD_LIMIT: Duration = Duration::from_secs(5);

/// The longest line in which a guard tells how its program ended, in bytes.
const LONGEST_LINE: u64 = 4096;

/// A tool as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    name: String,
    program: PathBuf,
}

impl Tool {
    /// The tool that `NAME=PROGRAM` says.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, program)) = text.split_once('=').filter(|(_, program)| !program.is_empty()) else {
            return Err("it has no name and program with \"=\" between".into());
        };
        if !is_name(name) {
            return Err(format!(
                "{name:?} is no name of a tool: letters, digits, \".\", \"_\" and \"-\""
            ));
        }
        Ok(Self {
            name: name.into(),
            program: program.into(),
        })
    }
}

/// Programs by the names of their tools. A program gets the arguments of a call on its standard input; what it writes to
/// its standard output is the reply. Each runs under a guard, which ends everything that it has started when it ends, when
/// the call is given up, and when this process ends in whatever way.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    programs: Arc<BTreeMap<String, PathBuf>>,
    /// How many guards are there.
    guards: watch::Sender<usize>,
}

impl Programs {
    /// Those of the command line.
    ///
    /// # Errors
    /// Two have one name.
    pub(super) fn new(tools: &[Tool]) -> Result<Self, String> {
        let mut programs = BTreeMap::new();
        for Tool { name, program } in tools {
            if let Some(other) = programs.insert(name.clone(), program.clone()) {
                return Err(format!(
                    "--rpc names the tool {name} twice, as {} and as {}; give each a name of its own",
                    other.display(),
                    program.display()
                ));
            }
        }
        Ok(Self {
            programs: Arc::new(programs),
            guards: watch::Sender::default(),
        })
    }

    /// What the command may call; nothing is said where there is nothing.
    pub(super) fn allowed(&self) -> Option<Rpc> {
        (!self.programs.is_empty()).then(|| Rpc::allowing(self.programs.keys()))
    }

    /// Waits until nothing is left of programs whose calls were given up, for a short while at most.
    pub(super) async fn ended(&self) {
        let mut guards = self.guards.subscribe();
        let none = guards.wait_for(|guards| *guards == 0);
        let _ = timeout(GUARD_LIMIT, none).await;
    }

    /// Starts the guard of a program.
    fn guard(&self, program: &Path) -> io::Result<Guarded> {
        let words = guarded_tool(program)?;
        let (own, theirs) = StdStream::pair()?;
        own.set_nonblocking(true)?;
        let mut words = words.into_iter();
        let mut child = Command::new(words.next().unwrap_or_default())
            .args(words)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        self.guards.send_modify(|guards| *guards += 1);
        let guards = self.guards.clone();
        tokio::spawn(async move {
            // It ends when the other end of its input is closed, or before.
            let _ = child.wait().await;
            guards.send_modify(|guards| *guards -= 1);
        });
        Ok(Guarded {
            socket: UnixStream::from_std(own)?,
            output,
        })
    }
}

impl Tools for Programs {
    async fn call(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, Error> {
        let Some(program) = self.programs.get(tool) else {
            let message = format!("the tool {tool} is not allowed");
            return Err(Error::new(ErrorKind::PermissionDenied, tool, message));
        };
        let failed = |what: String| {
            let message = format!("{}, the program of the tool {tool}, {what}", program.display());
            Error::new(ErrorKind::ToolFailed, tool, message)
        };
        let guarded = self
            .guard(program)
            .map_err(|error| failed(format!("cannot be run: {error}")))?;
        let (reply, end) = guarded
            .converse(arguments)
            .await
            .map_err(|error| failed(format!("cannot be talked to: {error}")))?;
        if reply.len() as u64 > DEFAULT_MAX_BYTES {
            let message = format!("the reply of the tool {tool} has more than {DEFAULT_MAX_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, "max_bytes", message));
        }
        match end {
            Some(ToolEnd::Ended(status)) if status.success() => Ok(reply),
            Some(ToolEnd::Ended(status)) => Err(failed(format!("ended with {status}"))),
            Some(ToolEnd::NotStarted(why)) => Err(failed(format!("cannot be run: {why}"))),
            None => Err(failed("was ended from outside".into())),
        }
    }
}

/// A program under its guard. It ends with this value.
struct Guarded {
    socket: UnixStream,
    output: Option<ChildStdout>,
}

impl Guarded {
    /// Writes all arguments and reads the whole reply, then how the program ended. That it does not read everything is no
    /// fault. A reply that is too long is not waited for to its end.
    async fn converse(self, arguments: &[u8]) -> io::Result<(Vec<u8>, Option<ToolEnd>)> {
        let (told, mut input) = self.socket.into_split();
        let write = async move {
            // Its end is that of the input; the socket itself stays open with its other half.
            let _ = input.write_all(arguments).await;
        };
        let output = self.output;
        let read = async move {
            let mut reply = Vec::new();
            if let Some(output) = output {
                output.take(DEFAULT_MAX_BYTES + 1).read_to_end(&mut reply).await?;
            }
            Ok::<_, io::Error>(reply)
        };
        let reply = tokio::join!(write, read).1?;
        if reply.len() as u64 > DEFAULT_MAX_BYTES {
            return Ok((reply, None));
        }
        let mut line = String::new();
        told.take(LONGEST_LINE).read_to_string(&mut line).await?;
        Ok((reply, ToolEnd::parse(&line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tools_do_not_share_a_name() {
        let tools = ["a=/bin/cat", "b=/bin/cat", "a=/bin/false"].map(|tool| Tool::parse(tool).unwrap());
        let error = Programs::new(&tools).unwrap_err();
        assert!(error.contains("twice") && error.contains("/bin/false"), "{error}");
        assert!(Programs::new(&tools[..2]).is_ok());
    }

    #[test]
    fn a_tool_has_a_name_and_a_program() {
        let tool = Tool::parse("search=/bin/a=b").unwrap();
        assert_eq!((tool.name.as_str(), tool.program), ("search", "/bin/a=b".into()));
        for wrong in ["", "a", "a=", "=b", "a b=c"] {
            assert!(Tool::parse(wrong).is_err(), "{wrong}");
        }
    }
}
