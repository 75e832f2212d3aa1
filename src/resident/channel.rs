//! How a resident is reached.

use std::{fmt, io};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Secret;

/// A stream of bytes to a resident and back.
pub struct Channel {
    /// What the resident sends.
    pub input: Box<dyn AsyncRead + Send + Unpin>,
    /// What is sent to it.
    pub output: Box<dyn AsyncWrite + Send + Unpin>,
    /// What both sides prove to know; `None` where the other end of the channel has done that already.
    pub secret: Option<Secret>,
}

/// Why a resident is not reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// It is gone, and with it everything that ran in the sandbox: trying again is of no use.
    #[error("the resident is gone: {0}")]
    Gone(String),
    /// It may be there; trying again may help.
    #[error("the resident cannot be reached: {0}")]
    Unreachable(io::Error),
}

/// Makes channels to one resident.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync + 'static {
    /// Makes a channel. The caller bounds how long that may take.
    ///
    /// # Errors
    /// [`DialError`], which says whether it is worth trying again.
    async fn dial(&self) -> Result<Channel, DialError>;
}
