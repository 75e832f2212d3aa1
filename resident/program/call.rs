//! Calls a tool for code of a command: `call TOOL`, with the arguments on standard input and the reply on standard output.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _, Write as _},
    os::{
        fd::AsFd as _,
        unix::{ffi::OsStrExt as _, net::UnixStream},
    },
    path::Path,
    process::ExitCode,
};

use crate::{
    dial,
    system::poll,
    wire::{MAX_TOOL_MESSAGE, MAX_TOOL_NAME, ToolFailure},
};

/// It was called in another way than `call TOOL` (sysexits(3)).
pub(crate) const USAGE: u8 = 64;

/// Standard input cannot be read (sysexits(3)).
const NOT_READ: u8 = 66;

/// Standard output cannot be written to (sysexits(3)).
const NOT_WRITTEN: u8 = 74;

/// The longest first line of an answer: a word and a number.
const LONGEST_LINE: usize = 64;

const BUFFER: usize = 64 * 1024;

/// Why there is no reply, and how the program ends.
struct Failed {
    code: u8,
    message: String,
}

impl Failed {
    fn new(kind: ToolFailure, message: impl Into<String>) -> Self {
        Self {
            code: kind.exit_code(),
            message: message.into(),
        }
    }
}

/// The resident has closed the connection before it had said all.
fn lost(_: io::Error) -> Failed {
    let message = "the call was cut off: the command has ended, or what it runs in";
    Failed::new(ToolFailure::Unavailable, message)
}

/// Calls, and says what went wrong on standard error.
pub(crate) fn run(tool: &OsStr) -> ExitCode {
    match call(tool) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed { code, message }) => {
            let _ = writeln!(io::stderr(), "call {}: {message}", tool.display());
            ExitCode::from(code)
        }
    }
}

fn call(tool: &OsStr) -> Result<(), Failed> {
    let (Some(socket), Some(token)) = (env::var_os("HERM_RPC_SOCKET"), env::var_os("HERM_RPC_TOKEN")) else {
        let message = "the command may call no tools: HERM_RPC_SOCKET and HERM_RPC_TOKEN are not set";
        return Err(Failed::new(ToolFailure::Denied, message));
    };
    if tool.len() > MAX_TOOL_NAME || tool.as_bytes().contains(&b'\n') {
        return Err(Failed::new(ToolFailure::Denied, "no tool has such a name"));
    }
    let Some(mut socket) = dial::connect(Path::new(&socket)) else {
        let message = format!("nobody listens at {}", socket.display());
        return Err(Failed::new(ToolFailure::Unavailable, message));
    };
    socket.set_nonblocking(false).map_err(lost)?;
    let mut line = OsString::from("call ");
    line.push(token);
    line.push(" ");
    line.push(tool);
    line.push("\n");
    // What was refused is said even when it was not asked to the end.
    let sent = socket
        .write_all(line.as_bytes())
        .map_err(lost)
        .and_then(|()| send_arguments(&mut socket));
    take_reply(&mut socket).map_err(|failed| match sent {
        Err(unread @ Failed { code: NOT_READ, .. }) => unread,
        _ => failed,
    })
}

/// Sends standard input in chunks, until it ends or the answer is there.
fn send_arguments(socket: &mut UnixStream) -> Result<(), Failed> {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let Ok(mut input) = input.map(File::from) else {
        // It was closed: there are no arguments.
        return socket.write_all(&[0; 4]).map_err(lost);
    };
    let mut buffer = vec![0; BUFFER];
    loop {
        let [readable, answered] = poll([Some(input.as_fd()), Some(socket.as_fd())], None).map_err(lost)?;
        if answered {
            return Ok(());
        }
        if !readable {
            continue;
        }
        let length = match input.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                // Without its end, what was sent is no call.
                let _ = socket.shutdown(std::net::Shutdown::Both);
                return Err(Failed {
                    code: NOT_READ,
                    message: format!("standard input cannot be read: {error}"),
                });
            }
        };
        let start = u32::try_from(length).unwrap_or(0).to_le_bytes();
        socket.write_all(&start).map_err(lost)?;
        if length == 0 {
            return Ok(());
        }
        socket
            .write_all(buffer.get(..length).unwrap_or_default())
            .map_err(lost)?;
    }
}

fn take_reply(socket: &mut UnixStream) -> Result<(), Failed> {
    let (line, rest) = first_line(socket)?;
    let (word, length) = line.split_once(' ').unwrap_or_default();
    let Ok(length) = length.parse::<u64>() else {
        return Err(Failed::new(
            ToolFailure::Unavailable,
            "what answered is no resident",
        ));
    };
    if word == "ok" {
        return copy_reply(socket, &rest, length);
    }
    let mut message = rest;
    let most = (MAX_TOOL_MESSAGE as u64)
        .min(length)
        .saturating_sub(message.len() as u64);
    let _ = socket.take(most).read_to_end(&mut message);
    let kind = ToolFailure::ALL.into_iter().find(|kind| kind.word() == word);
    Err(Failed::new(
        kind.unwrap_or(ToolFailure::Failed),
        String::from_utf8_lossy(&message),
    ))
}

/// The first line, and what came behind it.
fn first_line(socket: &mut UnixStream) -> Result<(String, Vec<u8>), Failed> {
    let mut bytes = Vec::new();
    let mut buffer = [0; LONGEST_LINE];
    loop {
        if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let rest = bytes.split_off(end + 1);
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            return Ok((line, rest));
        }
        if bytes.len() > LONGEST_LINE {
            return Err(Failed::new(
                ToolFailure::Unavailable,
                "what answered is no resident",
            ));
        }
        match socket.read(&mut buffer) {
            Ok(0) => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => bytes.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

fn copy_reply(socket: &mut UnixStream, first: &[u8], total: u64) -> Result<(), Failed> {
    let mut output = io::stdout().lock();
    let unwritten = |error: io::Error| Failed {
        code: NOT_WRITTEN,
        message: format!("the reply cannot be written to standard output: {error}"),
    };
    output.write_all(first).map_err(unwritten)?;
    let mut left = total.saturating_sub(first.len() as u64);
    let mut buffer = vec![0; BUFFER];
    while left > 0 {
        let length = match socket.read(&mut buffer) {
            Ok(0) => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(lost(error)),
        };
        output
            .write_all(buffer.get(..length).unwrap_or_default())
            .map_err(unwritten)?;
        left = left.saturating_sub(length as u64);
    }
    output.flush().map_err(unwritten)
}
