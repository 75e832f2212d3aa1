//! How the command ended, as exit code, message and JSON.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use herm_harness::verdict::Exit;
use herm_protocol::{
    Error, ErrorKind, Finished,
    exec::{Outcome, SetupFailure, Stream},
};
use serde_json::{Value, json};

use super::record::Record;
use crate::cli::fail;

/// The exit code after a deadline, as timeout(1) has it.
const TIMED_OUT: u8 = 124;
/// The exit code of what is there and cannot be run, as a shell has it.
const CANNOT_RUN: u8 = 126;
/// The exit code of what is not there, as a shell has it.
const NOT_THERE: u8 = 127;
/// What a shell adds to a signal's number.
const SIGNALED: i32 = 128;
/// The signal that a process gets that writes where nobody reads.
const SIGPIPE: u8 = 13;

/// What a notice says of processes that a command has left.
const LIVES_ON: &str = " live on; they end ";

/// How a command ended, and how long it took.
pub(super) struct Ended {
    pub(super) finished: Result<Finished, Error>,
    pub(super) duration: Duration,
    /// Who set the deadline, when the command line did not.
    pub(super) deadline: Option<String>,
}

/// Prints the one object of `--json`.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print_json(ended: &Ended, record: &Record) -> io::Result<()> {
    let object = match &ended.finished {
        Ok(finished) => object(finished, ended, record),
        Err(error) => json!({"error": error}),
    };
    let mut stdout = io::stdout();
    writeln!(stdout, "{object}")?;
    stdout.flush()
}

/// The end after output was lost: where nobody reads there is nobody to tell, as SIGPIPE has it.
pub(in crate::cli) fn unwritten(stream: Stream, error: &io::Error) -> ExitCode {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ExitCode::from(Exit::Interrupted { signal: SIGPIPE }.code());
    }
    let name = match stream {
        Stream::Stdout => "standard output",
        Stream::Stderr => "standard error",
    };
    fail(
        Exit::Broken,
        format_args!("output is lost: failed to write to {name}: {error}"),
    )
}

fn object(finished: &Finished, ended: &Ended, record: &Record) -> Value {
    let mut notices = finished.notices.clone();
    if finished.outcome == Outcome::TimedOut {
        notices.extend(ended.deadline.clone());
    }
    let (stdout, stdout_bytes) = record.stream(Stream::Stdout);
    let (stderr, stderr_bytes) = record.stream(Stream::Stderr);
    json!({
        "outcome": finished.outcome,
        "stdout": stdout,
        "stderr": stderr,
        "totals": {"stdout": {"bytes": stdout_bytes}, "stderr": {"bytes": stderr_bytes}},
        "gaps": record.gaps(),
        "duration_ms": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
        "notices": notices,
    })
}

/// The exit code, with a message on standard error where the code is not the command's own. `signal` is that which
/// this process got, 0 for none.
pub(super) fn exit_code(ended: &Ended, signal: u8, json: bool) -> ExitCode {
    let finished = match &ended.finished {
        Ok(finished) => finished,
        Err(error) => return refused(error, json),
    };
    let tell = |message: &str| {
        if !json {
            herm_harness::tell::tell(format_args!("herm: {message}"));
        }
    };
    if matches!(
        finished.outcome,
        Outcome::Exited { .. } | Outcome::Signaled { .. }
    ) {
        // What lives on is no surprise to whoever has put it into the background; herm jobs has it.
        let notices = finished
            .notices
            .iter()
            .filter(|notice| !notice.contains(LIVES_ON));
        notices.for_each(|notice| tell(notice));
    }
    ExitCode::from(match &finished.outcome {
        Outcome::Exited { code } => low_byte(*code),
        Outcome::Signaled { number, .. } => low_byte(SIGNALED + number),
        Outcome::TimedOut => {
            tell(if finished.notices.is_empty() {
                "the deadline passed; everything that the command had started was ended"
            } else {
                "the deadline passed"
            });
            let deadline = ended.deadline.as_ref();
            finished
                .notices
                .iter()
                .chain(deadline)
                .for_each(|notice| tell(notice));
            TIMED_OUT
        }
        Outcome::Cancelled if signal == 0 => Exit::Interrupted { signal: SIGPIPE }.code(),
        Outcome::Cancelled => Exit::Interrupted { signal }.code(),
        Outcome::SandboxLost | Outcome::TransportLost => {
            tell(&finished.outcome.to_string());
            Exit::Broken.code()
        }
        Outcome::SetupFailed { kind, message } => {
            tell(message);
            match kind {
                SetupFailure::ProgramNotFound | SetupFailure::ShellNotFound => NOT_THERE,
                _ => CANNOT_RUN,
            }
        }
    })
}

fn refused(error: &Error, json: bool) -> ExitCode {
    let exit = match error.kind() {
        ErrorKind::Internal | ErrorKind::TimedOut | ErrorKind::Unavailable | ErrorKind::LimitExceeded => {
            Exit::Broken
        }
        _ => Exit::Usage,
    };
    if json {
        ExitCode::from(exit.code())
    } else {
        fail(exit, error)
    }
}

/// What the system keeps of a number that a process ends with.
fn low_byte(code: i32) -> u8 {
    code.to_le_bytes()[0]
}
