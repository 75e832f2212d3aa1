//! How an adapter can break its connection.

use std::time::Duration;

use crate::Error;

/// A breach of the protocol, or the end of the adapter. The connection is of no further use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It could not be started.
    #[error("the adapter {program} could not be started: {cause}")]
    NotStarted {
        /// What was to be started.
        program: String,
        /// Why not.
        cause: String,
    },
    /// It ended, or closed its output, while it was still needed.
    #[error("the adapter ended{how}{log}")]
    Crashed {
        /// Its exit status, as ` with …`, where it is known.
        how: String,
        /// The last lines of its log, as `; its last words: …`, if there are any.
        log: String,
    },
    /// It did not answer in time.
    #[error("the adapter did not answer {method} within {} ms", within.as_millis())]
    Hung {
        /// The request.
        method: String,
        /// The deadline.
        within: Duration,
    },
    /// It printed something on its standard output that is not JSON.
    #[error("the adapter printed noise on its standard output: {line:?}; log belongs on standard error")]
    Noise {
        /// The line, shortened.
        line: String,
    },
    /// It sent JSON that is no message, or a message that does not fit its method.
    #[error("the adapter sent nonsense: {problem}: {line:?}")]
    Nonsense {
        /// What is wrong with it.
        problem: String,
        /// The line, shortened.
        line: String,
    },
    /// It sent more than it may: a line over the bound, or output beyond the credit it has.
    #[error("the adapter flooded the connection: {what}")]
    Flooded {
        /// What was too much.
        what: String,
    },
    /// It answered a request a second time.
    #[error("the adapter answered request {id} twice")]
    AnsweredTwice {
        /// The request's id.
        id: String,
    },
    /// It made a call of a tool a second time.
    #[error(
        "the adapter made the call {call:?} of exec {exec:?} twice; a call that may have been made is not made again"
    )]
    CalledTwice {
        /// The exec that the call is of.
        exec: String,
        /// The call's name.
        call: String,
    },
    /// It answered a request that was never sent.
    #[error("the adapter answered request {id}, which was never sent")]
    AnsweredUnasked {
        /// The id it named.
        id: String,
    },
}

impl Fault {
    /// A stable word for machines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotStarted { .. } => "adapter_not_started",
            Self::Crashed { .. } => "adapter_crashed",
            Self::Hung { .. } => "adapter_hung",
            Self::Noise { .. } => "adapter_noise",
            Self::Nonsense { .. } => "adapter_nonsense",
            Self::Flooded { .. } => "adapter_flooded",
            Self::AnsweredTwice { .. } => "adapter_answered_twice",
            Self::CalledTwice { .. } => "adapter_called_twice",
            Self::AnsweredUnasked { .. } => "adapter_answered_unasked",
        }
    }
}

/// Why a call has no answer of the kind that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The adapter answered with an error: the protocol is fine.
    #[error("refused: {0}")]
    Refused(Error),
    /// The connection is broken.
    #[error("{0}")]
    Fault(#[from] Fault),
}

impl CallError {
    /// The typed refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Error> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Fault(_) => None,
        }
    }
}
