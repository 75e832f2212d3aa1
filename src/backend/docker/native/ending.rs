//! Ending a command before its time, and sending signals to it.
//!
//! In a sandbox that is frozen nothing runs, a helper neither. Who waits is answered in time all the same; the command is
//! ended as soon as the sandbox goes on.

use std::{sync::Arc, time::Duration};

use herm_protocol::sandbox::SandboxState;
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{
    Exec, bare,
    helper::{self, helper},
    reading::Beginning,
};

/// How often is looked whether a frozen sandbox goes on: what is due ends well within a second.
const LOOK: Duration = Duration::from_millis(200);

/// How often it is tried to end a command in a sandbox that is there.
const TRIES: u32 = 20;

/// How far the end of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is being ended.
    Working,
    /// Its sandbox is frozen, and it is ended when that goes on.
    Frozen,
    /// Nothing here can end it.
    Impossible,
    /// It has ended.
    Done,
}

impl Ending {
    /// What the caller is told of it.
    pub(super) fn notice(self) -> Option<&'static str> {
        match self {
            Self::Frozen => Some("the sandbox is paused: the command is killed when it goes on"),
            Self::Impossible => Some(
                "the command lives on until the sandbox ends: its image has no shell to end it with, and its process is not one \
                 that this user may end from outside",
            ),
            Self::Working => {
                Some("the command has not ended yet: the engine has not answered; it is killed when it does")
            }
            Self::Done => None,
        }
    }
}

/// Begins to end a command, and goes on with that whether or not somebody waits for it.
pub(super) fn end(exec: Arc<Exec>) -> watch::Receiver<Ending> {
    let (told, ending) = watch::channel(Ending::Working);
    tokio::spawn(async move {
        let done = exec.end(&told).await;
        told.send_replace(done);
    });
    ending
}

/// Sends signals in the order in which they come, each when the command runs.
pub(super) async fn signal(exec: &Exec, mut numbers: mpsc::UnboundedReceiver<i32>) {
    while let Some(number) = numbers.recv().await {
        let Some(pid) = exec.pid().await else { return };
        if exec.bare {
            if !bare::signal(&exec.engine, &exec.sandbox, pid, number).await {
                super::super::log(format!("signal {number} could not be sent to process {pid}"));
            }
            continue;
        }
        let words = [pid.to_string(), number.to_string()];
        let sent = helper(
            &exec.engine,
            &exec.sandbox,
            helper::SIGNAL,
            &[&words[0], &words[1]],
            None,
        )
        .await;
        if let Err(error) = sent {
            super::super::log(error);
        }
    }
}

impl Exec {
    /// The number of its process, once it runs. One that was refused has none.
    async fn pid(&self) -> Option<u32> {
        let mut beginning = self.beginning.subscribe();
        let known = beginning
            .wait_for(|beginning| *beginning != Beginning::Awaited)
            .await
            .ok()?;
        match *known {
            Beginning::Runs { pid, .. } => Some(pid),
            _ => None,
        }
    }

    /// Ends its process group, once it has come to have one.
    async fn end(&self, told: &watch::Sender<Ending>) -> Ending {
        let Some(pid) = self.pid().await else {
            return Ending::Done;
        };
        if self.bare {
            return if bare::end(&self.engine, &self.sandbox, pid).await {
                Ending::Done
            } else {
                Ending::Impossible
            };
        }
        let (pid, mut tries) = (pid.to_string(), 0);
        while !self.sandbox.is_closing() {
            let words = [pid.as_str()];
            let ending = helper(&self.engine, &self.sandbox, helper::END, &words, None);
            let error = match timeout(helper::SHORTLY, ending).await {
                Ok(Ok(_)) => return Ending::Done,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the engine does not answer".to_owned(),
            };
            match helper::state(&self.engine, &self.sandbox).await {
                Some(SandboxState::Paused) => {
                    told.send_replace(Ending::Frozen);
                }
                Some(SandboxState::Running) if tries < TRIES => tries += 1,
                Some(SandboxState::Running) => {
                    super::super::log(format!("process group {pid} could not be ended: {error}"));
                    return Ending::Impossible;
                }
                _ => return Ending::Done,
            }
            sleep(LOOK).await;
        }
        Ending::Done
    }
}
