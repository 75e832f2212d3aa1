//! How a command has ended: what the engine tells by one number, and what can be known besides.

use std::time::Duration;

use herm_protocol::{
    Error, Finished,
    exec::{Outcome, SetupFailure, SignalCause},
    sandbox::SandboxState,
};
use tokio::time::sleep;

use super::{
    super::{engine::ANSWER, sandbox::state_of},
    Code, Exec,
    helper::killed,
    reading::Beginning,
};

/// What an engine tells of a command that was killed: 128 and the number of the signal.
pub(super) const KILLED: i64 = 137;

/// The signal.
const SIGKILL: i32 = 9;

/// How often is looked whether the sandbox of a command is gone with it.
pub(super) const LOOKS: u32 = 3;

/// How long lies between.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Bytes of arguments and variables that any system takes.
const SURELY_TAKEN: usize = 1024 * 1024;

impl Exec {
    /// How it has ended.
    pub(super) async fn outcome(&self, code: Code) -> Result<Finished, Error> {
        let Some(code) = code else {
            return Ok(self.lost().await.into());
        };
        if code == KILLED && self.goes_with_its_sandbox().await {
            return Ok(Outcome::SandboxLost.into());
        }
        let beginning = self.beginning.borrow().clone();
        let said = match beginning {
            Beginning::Runs { killed, .. } if code == KILLED && self.was_killed_since(killed).await => {
                let (number, cause) = (SIGKILL, SignalCause::OutOfMemory);
                return Ok(Outcome::Signaled { number, cause }.into());
            }
            Beginning::Runs { .. } => {
                let code = i32::try_from(code).unwrap_or(-1);
                return Ok(Outcome::Exited { code }.into());
            }
            Beginning::Refused(kind, message) => return Ok(Outcome::SetupFailed { kind, message }.into()),
            Beginning::Failed(said) => said,
            Beginning::Awaited => String::new(),
        };
        if self.sandbox.is_closing() || self.is_lost().await {
            return Ok(Outcome::SandboxLost.into());
        }
        if self.size > SURELY_TAKEN {
            let problem = format!(
                "has {} bytes in all, and the system does not take them",
                self.size
            );
            return Err(Error::invalid_argument("command", problem)
                .with_fix("send what is long as a file or as input of the command"));
        }
        let message = format!("no command was started; the engine or the shell says: {said} (code {code})");
        let kind = match code {
            126 | 127 => SetupFailure::ShellNotFound,
            _ => SetupFailure::Other,
        };
        Ok(Outcome::SetupFailed { kind, message }.into())
    }

    /// The exit code of an exec that has ended.
    pub(super) async fn code(&self, id: &str) -> Result<Option<i64>, Error> {
        let looking = self.engine.docker.inspect_exec(id);
        let exec = self.engine.call("look at a command", ANSWER, looking).await?;
        Ok(exec.exit_code.filter(|_| exec.running == Some(false)))
    }

    /// Whether more were killed for lack of memory by now than before it began.
    async fn was_killed_since(&self, before: Option<u64>) -> bool {
        match before {
            Some(before) => killed(&self.engine, &self.sandbox)
                .await
                .is_some_and(|now| now > before),
            None => false,
        }
    }

    /// Whether its sandbox is gone, or going, which an engine may tell a moment later.
    async fn goes_with_its_sandbox(&self) -> bool {
        for _ in 0..LOOKS {
            if self.sandbox.is_closing() || self.is_lost().await {
                return true;
            }
            sleep(LOOK).await;
        }
        false
    }

    pub(super) async fn is_lost(&self) -> bool {
        match self.engine.container(&self.sandbox.id).await {
            Ok(Some(container)) => state_of(&container) == SandboxState::Stopped,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    async fn lost(&self) -> Outcome {
        if self.goes_with_its_sandbox().await {
            Outcome::SandboxLost
        } else {
            Outcome::TransportLost
        }
    }
}
