//! The wire's words in those of the protocol.

use herm_protocol::{
    Error, ErrorKind,
    exec::{Outcome, SetupFailure, SignalCause, Stream},
};
use herm_resident::wire;

use super::client::{AskFault, Unreached};

pub(super) fn stream(stream: wire::Stream) -> Stream {
    match stream {
        wire::Stream::Stdout => Stream::Stdout,
        wire::Stream::Stderr => Stream::Stderr,
    }
}

pub(super) fn wire_stream(stream: Stream) -> wire::Stream {
    match stream {
        Stream::Stdout => wire::Stream::Stdout,
        Stream::Stderr => wire::Stream::Stderr,
    }
}

/// How a command ended; `Err` where nothing was accepted, because the arguments are the caller's mistake.
pub(super) fn outcome(outcome: wire::Outcome) -> Result<Outcome, Error> {
    Ok(match outcome {
        wire::Outcome::Exited { code } => Outcome::Exited { code: code.into() },
        wire::Outcome::Signaled { number, cause } => Outcome::Signaled {
            number: number.into(),
            cause: match cause {
                wire::SignalCause::OutOfMemory => SignalCause::OutOfMemory,
                wire::SignalCause::Unknown => SignalCause::Unknown,
            },
        },
        wire::Outcome::TimedOut => Outcome::TimedOut,
        wire::Outcome::Cancelled => Outcome::Cancelled,
        wire::Outcome::SandboxLost => Outcome::SandboxLost,
        wire::Outcome::SetupFailed {
            kind: wire::SetupFailure::ArgumentsTooLong,
            message,
        } => return Err(arguments_too_long(&message)),
        wire::Outcome::SetupFailed { kind, message } => Outcome::SetupFailed {
            kind: setup_failure(kind),
            message,
        },
    })
}

fn arguments_too_long(message: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "command", message)
        .with_fix("send what is long as a file or as input of the command")
}

fn setup_failure(kind: wire::SetupFailure) -> SetupFailure {
    match kind {
        wire::SetupFailure::CwdNotFound => SetupFailure::CwdNotFound,
        wire::SetupFailure::CwdNotADirectory => SetupFailure::CwdNotADirectory,
        wire::SetupFailure::CwdDenied => SetupFailure::CwdDenied,
        wire::SetupFailure::ShellNotFound => SetupFailure::ShellNotFound,
        wire::SetupFailure::ProgramNotFound => SetupFailure::ProgramNotFound,
        wire::SetupFailure::ProgramDenied => SetupFailure::ProgramDenied,
        wire::SetupFailure::LimitUnavailable => SetupFailure::LimitUnavailable,
        wire::SetupFailure::ResourcesExhausted => SetupFailure::ResourcesExhausted,
        wire::SetupFailure::Other | wire::SetupFailure::ArgumentsTooLong => SetupFailure::Other,
    }
}

/// A refusal of the resident, as an error about a sandbox.
pub(super) fn refusal(sandbox: &str, refusal: wire::Refusal) -> Error {
    let wire::Refusal {
        kind,
        resource,
        message,
    } = refusal;
    match kind {
        wire::ErrorKind::InvalidArgument | wire::ErrorKind::WrongState => {
            Error::new(ErrorKind::InvalidArgument, resource, message)
                .with_fix("correct the call, and call again")
        }
        wire::ErrorKind::NotFound => Error::new(ErrorKind::JobNotFound, resource, message)
            .with_fix("list the jobs of the sandbox; one that was forgotten does not come back"),
        wire::ErrorKind::TooMany => Error::new(ErrorKind::LimitExceeded, resource, message)
            .with_fix("forget jobs that have ended, or end some that run"),
        wire::ErrorKind::ShuttingDown => Error::sandbox_not_found(sandbox),
        wire::ErrorKind::Version
        | wire::ErrorKind::Unauthenticated
        | wire::ErrorKind::Protocol
        | wire::ErrorKind::Internal => Error::internal("ask the resident of the sandbox", message),
    }
}

/// A resident that cannot be reached, as an error about a sandbox.
pub(super) fn unreached(sandbox: &str, unreached: Unreached) -> Error {
    match unreached {
        Unreached::Gone(why) => Error::new(
            ErrorKind::SandboxNotFound,
            sandbox,
            format!("sandbox {sandbox:?} is gone: {why}"),
        )
        .with_fix("open another sandbox; herm exec does so when it is run again"),
        Unreached::Away(why) => Error::new(
            ErrorKind::Unavailable,
            sandbox,
            format!("sandbox {sandbox:?} cannot be reached: {why}"),
        )
        .with_fix("see whether the machine that it runs on can be reached, and call again"),
    }
}

pub(super) fn ask_fault(sandbox: &str, fault: AskFault) -> Error {
    match fault {
        AskFault::Refused(why) => refusal(sandbox, why),
        AskFault::Unreached(why) => unreached(sandbox, why),
    }
}
