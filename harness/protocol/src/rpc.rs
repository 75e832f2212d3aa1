//! Calls that code in a sandbox makes back to tools of its caller.
//!
//! `exec.run` allows tools by name. The code of that command calls them through a program that the backend puts into its
//! variables ([`PROGRAM_VARIABLE`]); the backend asks with `rpc.call`, a request from the adapter to the harness, and gives
//! the reply to the code. What is not allowed is refused before anybody is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ByteString;

/// The variable of a command that may call tools: the path of a program that is run as `"$HERM_RPC" call TOOL`, with the
/// arguments on its standard input; the reply comes on its standard output.
pub const PROGRAM_VARIABLE: &str = "HERM_RPC";

/// The most bytes of arguments or of a reply that one message carries. Whatever JSON makes of them fits into a message.
pub const PIECE: usize = 1024 * 1024;

/// The most bytes of the arguments, and of the reply, of one call when `exec.run` does not say.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The longest name of a tool, in bytes.
pub const LONGEST_NAME: usize = 128;

/// How the program that [`PROGRAM_VARIABLE`] names ends, in the manner of sysexits(3).
pub mod exit {
    /// The reply is on standard output, whole.
    pub const REPLIED: i32 = 0;
    /// It was called in another way than `call TOOL`.
    pub const USAGE: i32 = 64;
    /// The arguments or the reply are longer than `max_bytes`.
    pub const TOO_LONG: i32 = 65;
    /// Nobody can be asked: the command has ended, or its caller is gone.
    pub const UNAVAILABLE: i32 = 69;
    /// The tool was called and failed; standard error says how.
    pub const FAILED: i32 = 70;
    /// Refused: the tool is not allowed, the command may call none, or `max_calls` were made.
    pub const DENIED: i32 = 77;
}

/// Which tools a command may call, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rpc {
    /// Names: letters, digits, `.`, `_` and `-`, at most 128 of them. Any other tool is refused and never asked for.
    pub allow: Vec<String>,
    /// How many calls the command may make; unbounded when not given. A call that was refused does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// The most bytes of the arguments, and of the reply, of one call; 64 MiB when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Rpc {
    /// These tools, with no bound on the number of calls.
    pub fn allowing<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self {
            allow: tools.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The most bytes of the arguments, and of the reply, of one call.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES)
    }
}

/// Whether a tool can have this name.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits)
}

/// Parameters of `rpc.call`, from the adapter: a tool is called. It is answered with the beginning of the tool's reply;
/// a tool that failed, with an error of kind `tool_failed`. Arguments of more than a mebibyte come in several messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallParams {
    /// The sandbox of the command.
    pub sandbox: String,
    /// The command whose code calls.
    pub exec: String,
    /// The adapter's name for this call, never used again for this exec: the tool is called once under it.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments, or a piece of them, at most 1 MiB.
    pub arguments: ByteString,
    /// How many bytes of the arguments came before these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: u64,
    /// Whether another piece follows, as `rpc.call` of the same `call`. Until the last one the answer is empty, and nothing
    /// is called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Parameters of `rpc.read`, from the adapter: more of a reply that was longer than one message. After its last byte the
/// reply is forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolReplyParams {
    /// The command whose code called.
    pub exec: String,
    /// The call.
    pub call: String,
    /// Offset of the first byte wanted: as many as came before.
    pub from: u64,
}

/// Answer to `rpc.call` and to `rpc.read`: a piece of the tool's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolReply {
    /// The bytes, at most 1 MiB; none only where the reply has no more.
    pub data: ByteString,
    /// How many bytes the whole reply has.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_not_long() {
        for name in ["a", "web_search", "fs.read-2", &"x".repeat(LONGEST_NAME)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a\n", "é", "a/b", &"x".repeat(LONGEST_NAME + 1)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
