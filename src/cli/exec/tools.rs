//! The tools of `herm exec --rpc`: programs of this machine that the command may call.

use std::{collections::BTreeMap, path::PathBuf, process::Stdio, sync::Arc};

use herm::caller::Tools;
use herm_protocol::{
    Error, ErrorKind,
    rpc::{DEFAULT_MAX_BYTES, Rpc, is_name},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
};

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
/// its standard output is the reply.
#[derive(Clone, Debug)]
pub(super) struct Programs(Arc<BTreeMap<String, PathBuf>>);

impl Programs {
    pub(super) fn new(tools: &[Tool]) -> Self {
        let programs = tools.iter().cloned().map(|tool| (tool.name, tool.program));
        Self(Arc::new(programs.collect()))
    }

    /// What the command may call; nothing is said where there is nothing.
    pub(super) fn allowed(&self) -> Option<Rpc> {
        (!self.0.is_empty()).then(|| Rpc::allowing(self.0.keys()))
    }
}

impl Tools for Programs {
    async fn call(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, Error> {
        let Some(program) = self.0.get(tool) else {
            let message = format!("the tool {tool} is not allowed");
            return Err(Error::new(ErrorKind::PermissionDenied, tool, message));
        };
        let failed = |what: String| {
            let message = format!("{}, the program of the tool {tool}, {what}", program.display());
            Error::new(ErrorKind::ToolFailed, tool, message)
        };
        let child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| failed(format!("cannot be run: {error}")))?;
        let reply = converse(&mut child, arguments)
            .await
            .map_err(|error| failed(format!("cannot be talked to: {error}")))?;
        if reply.len() as u64 > DEFAULT_MAX_BYTES {
            let message = format!("the reply of the tool {tool} has more than {DEFAULT_MAX_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, "max_bytes", message));
        }
        let status = child.wait().await.map_err(|error| failed(error.to_string()))?;
        if status.success() {
            Ok(reply)
        } else {
            Err(failed(format!("ended with {status}")))
        }
    }
}

/// Writes all arguments and reads the whole reply. That the program does not read everything is no fault.
async fn converse(child: &mut Child, arguments: &[u8]) -> std::io::Result<Vec<u8>> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let write = async move {
        if let Some(mut input) = input {
            let _ = input.write_all(arguments).await;
        }
    };
    let read = async move {
        let mut reply = Vec::new();
        if let Some(output) = output {
            output.take(DEFAULT_MAX_BYTES + 1).read_to_end(&mut reply).await?;
        }
        Ok(reply)
    };
    tokio::join!(write, read).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_a_name_and_a_program() {
        let tool = Tool::parse("search=/bin/a=b").unwrap();
        assert_eq!((tool.name.as_str(), tool.program), ("search", "/bin/a=b".into()));
        for wrong in ["", "a", "a=", "=b", "a b=c"] {
            assert!(Tool::parse(wrong).is_err(), "{wrong}");
        }
    }
}
