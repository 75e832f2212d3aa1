//! Sessions: the state of a shell, carried from command to command.
//!
//! A command takes the state as it is when it starts, and leaves it as its shell had it at its end, whole: of two commands
//! at the same time the last to end wins, and what the other one changed is gone. A command whose shell did not come to an
//! end of its own (a deadline, a cancel, a signal, `exec`) leaves the session as it was, and so does a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session.close`: the state of a session is forgotten, and commands of it that still run leave nothing
/// behind. A session that is not known is no error; its name may be used again. Needs `sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRef {
    /// Where.
    pub sandbox: String,
    /// Which.
    pub session: String,
}
