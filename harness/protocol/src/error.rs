//! The typed error that an adapter answers with.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of thing went wrong: a closed set, stable across versions of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Something of that name is there already and the call asked not to replace it.
    AlreadyExists,
    /// A credential that the backend needs is not there.
    CredentialMissing,
    /// No exec of that id is running.
    ExecNotFound,
    /// The adapter itself is broken; whatever was asked for may or may not have happened.
    Internal,
    /// An argument is missing, of the wrong type or out of range; nothing was done.
    InvalidArgument,
    /// The path names a directory where a file is needed.
    IsADirectory,
    /// A bound of the backend was reached (message size, number of sandboxes, quota).
    LimitExceeded,
    /// No job of that id is known (any more).
    JobNotFound,
    /// The path names a file where a directory is needed.
    NotADirectory,
    /// A file or directory is not there.
    NotFound,
    /// The call needs `initialize` to come first.
    NotInitialized,
    /// The operating system or the service refused access.
    PermissionDenied,
    /// No sandbox of that id exists (any more).
    SandboxNotFound,
    /// A deadline inside the backend passed.
    TimedOut,
    /// A tool of the caller was called and failed; only in answers to `rpc.call`.
    ToolFailed,
    /// The engine, host or service behind the backend cannot be reached.
    Unavailable,
    /// The backend does not offer this method or option, as its capabilities say.
    Unsupported,
    /// No protocol version in common.
    VersionMismatch,
}

impl ErrorKind {
    /// The JSON-RPC code that goes with the kind.
    #[must_use]
    pub fn code(self) -> i64 {
        match self {
            Self::Unsupported => codes::METHOD_NOT_FOUND,
            Self::InvalidArgument => codes::INVALID_PARAMS,
            Self::Internal => codes::INTERNAL_ERROR,
            _ => codes::DOMAIN,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_value(self).unwrap_or_default();
        f.write_str(text.as_str().unwrap_or_default())
    }
}

/// JSON-RPC 2.0 error codes that the protocol uses.
pub mod codes {
    /// The line is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// Unsupported: unknown method, or an option of a capability that was not declared.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The adapter is broken.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Every other kind; `data.kind` tells them apart.
    pub const DOMAIN: i64 = -32000;
}

/// What stands in an error's `data`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// The kind. An error without one (of another JSON-RPC implementation) is judged by its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
    /// What the error is about: a field's name, an id, a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What the caller can do about it, as an imperative sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// With `version_mismatch`: the versions that the adapter speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported: Vec<String>,
}

/// A JSON-RPC error object with the protocol's `data`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The JSON-RPC code; `errorCodes` of the schema tells what each means.
    pub code: i64,
    /// One sentence for people that names the resource.
    pub message: String,
    /// The typed part.
    #[serde(default)]
    pub data: ErrorData,
}

impl Error {
    /// An error of a kind about a resource.
    pub fn new(kind: ErrorKind, resource: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: kind.code(),
            message: message.into(),
            data: ErrorData {
                kind: Some(kind),
                resource: Some(resource.into()),
                ..ErrorData::default()
            },
        }
    }

    /// Adds what the caller can do about it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.data.fix = Some(fix.into());
        self
    }

    /// The method or option is not offered.
    pub fn unsupported(what: impl Into<String>) -> Self {
        let what = what.into();
        let message = format!("{what} is not supported by this backend");
        Self::new(ErrorKind::Unsupported, what, message)
            .with_fix("leave it out, or use a backend that declares the capability")
    }

    /// An argument that cannot be used; `problem` reads on after the field's name.
    pub fn invalid_argument(field: impl Into<String>, problem: impl fmt::Display) -> Self {
        let field = field.into();
        let message = format!("{field} {problem}");
        let fix = format!("correct {field} and call again");
        Self::new(ErrorKind::InvalidArgument, field, message).with_fix(fix)
    }

    /// The sandbox is not there.
    pub fn sandbox_not_found(id: impl Into<String>) -> Self {
        let id = id.into();
        let message = format!("sandbox {id:?} does not exist or is closed");
        Self::new(ErrorKind::SandboxNotFound, id, message).with_fix("open another sandbox")
    }

    /// The adapter itself failed while doing `what`.
    pub fn internal(what: impl Into<String>, cause: impl fmt::Display) -> Self {
        let what = what.into();
        let message = format!("failed to {what}: {cause}");
        Self::new(ErrorKind::Internal, what, message).with_fix("report this as a fault of the backend")
    }

    /// The kind, where none is stated derived from the code.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.data.kind.unwrap_or(match self.code {
            codes::METHOD_NOT_FOUND => ErrorKind::Unsupported,
            codes::INVALID_PARAMS | codes::INVALID_REQUEST | codes::PARSE_ERROR => ErrorKind::InvalidArgument,
            _ => ErrorKind::Internal,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind())?;
        if let Some(fix) = &self.data.fix {
            write!(f, "; {fix}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
