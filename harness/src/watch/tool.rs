//! Runs a program for a caller that may be killed at any moment, and sees to the end of everything that the program has
//! started: when it ends itself, when its caller has gone, or when this process is asked to end.
//!
//! Standard input is one end of a pair of sockets. What the caller writes is the program's input, until it shuts that side
//! down; that the other end is closed says that the caller has gone. When nothing is left of the program, one line says how
//! it ended, see [`ToolEnd`].

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Write as _},
    os::{
        fd::AsFd as _,
        unix::{net::UnixStream, process::ExitStatusExt as _},
    },
    process::{Child, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};

use super::{
    descendants,
    guard::{command_of, heed_signals, wait},
};

/// How often a signal that asks for the end is looked for; what ends or goes is seen at once.
const LOOK: Duration = Duration::from_secs(1);

/// How the program ended, as its guard tells the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolEnd {
    /// It ran, and ended so.
    Ended(ExitStatus),
    /// It could not be started: why.
    NotStarted(String),
}

impl ToolEnd {
    /// The end that a guard has told; none when it was ended before it could.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.strip_suffix('\n')?;
        match line.split_once(' ')? {
            ("ended", status) => Some(Self::Ended(ExitStatus::from_raw(status.parse().ok()?))),
            ("refused", why) => Some(Self::NotStarted(why.to_owned())),
            _ => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Ended(status) => format!("ended {}\n", status.into_raw()),
            Self::NotStarted(why) => format!("refused {}\n", why.replace('\n', " ")),
        }
    }
}

/// Runs `command`, whose output is that of this process, and ends everything that it has started.
///
/// # Errors
/// The system refuses what is needed to watch it.
pub fn guard_tool(command: &[OsString]) -> io::Result<()> {
    descendants::adopt_orphans()?;
    let asked = heed_signals()?;
    let caller = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let end = match command_of(command)?.stdin(Stdio::piped()).spawn() {
        Ok(mut child) => {
            // The program stays with its caller's terminal and group. This process does not, so that what is sent to the
            // whole group, by a terminal or by timeout(1), leaves somebody who ends the rest.
            let _ = setsid();
            rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
            feed(&mut child, caller.try_clone()?);
            let ended = watch(&child, &caller, &asked)?;
            descendants::end_all()?;
            ended.map(ToolEnd::Ended)
        }
        Err(error) => Some(ToolEnd::NotStarted(error.to_string())),
    };
    if let Some(end) = end {
        // Who has gone is not told.
        let _ = (&caller).write_all(end.line().as_bytes());
    }
    Ok(())
}

/// Passes the caller's input on, in the background: the program need not read it.
fn feed(child: &mut Child, mut caller: UnixStream) {
    let Some(input) = child.stdin.take() else {
        return;
    };
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        let mut input = Some(input);
        while let Ok(count @ 1..) = caller.read(&mut buffer) {
            // What the program does not read is still taken from the caller.
            input = input.and_then(|mut input| input.write_all(&buffer[..count]).ok().map(|()| input));
        }
    });
}

/// Waits for the end of the program. None when it has to be ended.
fn watch(child: &Child, caller: &UnixStream, asked: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    let id = Pid::from_child(child);
    let handle = pidfd_open(id, PidfdFlags::empty())?;
    loop {
        if let Some(status) = descendants::reap_ended(id) {
            return Ok(Some(ExitStatus::from_raw(status.as_raw())));
        }
        if asked.load(Ordering::SeqCst) || wait(&handle, Some(caller), LOOK)? {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_a_line() {
        for end in [
            ToolEnd::Ended(ExitStatus::from_raw(0)),
            ToolEnd::Ended(ExitStatus::from_raw(9)),
            ToolEnd::Ended(ExitStatus::from_raw(256)),
            ToolEnd::NotStarted("No such file".into()),
        ] {
            assert_eq!(ToolEnd::parse(&end.line()), Some(end));
        }
        for half in ["", "ended", "ended 0", "ended x\n", "other 0\n"] {
            assert_eq!(ToolEnd::parse(half), None, "{half:?}");
        }
    }
}
