//! The tools that the harness has for commands that call them, and what was called.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{Error, ErrorKind, client::HostTools};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// Gives back what it is given, its bytes in the other order.
pub(crate) const TURN: &str = "turn";

/// Gives back what it is given.
pub(crate) const REPEAT: &str = "repeat";

/// As [`TURN`], but it takes its time.
pub(crate) const TURN_SLOWLY: &str = "turn-slowly";

/// As [`TURN_SLOWLY`], but it takes longer than most who ask would wait by default.
pub(crate) const TURN_LATE: &str = "turn-late";

/// Gives back what it is given when two are here.
pub(crate) const MEET: &str = "meet";

/// Replies with more than two thousand bytes.
pub(crate) const TALK: &str = "talk";

/// Fails.
pub(crate) const FAIL: &str = "fail";

/// What it says when it does.
pub(crate) const FAILS: &str = "it is broken, as it should be";

/// Never answers.
pub(crate) const NEVER: &str = "never";

/// How long a slow tool takes.
const SLOW: Duration = Duration::from_millis(900);

/// How long a late tool takes: the bounds that are met in the field are 2, 3 and 5 seconds.
const LATE: Duration = Duration::from_millis(5500);

/// How long one waits for the other.
const ALONE: Duration = Duration::from_secs(5);

/// Tools, and what was asked of them.
#[derive(Debug)]
pub(crate) struct Toolbox {
    called: Mutex<Vec<String>>,
    here: watch::Sender<u32>,
}

impl Toolbox {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            called: Mutex::default(),
            here: watch::Sender::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the tools that were called, in the order of the calls.
    pub(crate) fn called(&self) -> Vec<String> {
        self.lock().clone()
    }
}

#[async_trait]
impl HostTools for Toolbox {
    async fn call(&self, tool: &str, mut arguments: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.lock().push(tool.to_owned());
        match tool {
            TURN => {}
            TALK => return Ok(vec![b'.'; 2048]),
            REPEAT => return Ok(arguments),
            TURN_SLOWLY => sleep(SLOW).await,
            TURN_LATE => sleep(LATE).await,
            MEET => {
                self.here.send_modify(|here| *here += 1);
                let mut here = self.here.subscribe();
                let met = timeout(ALONE, here.wait_for(|here| *here >= 2)).await;
                return met.map(|_| arguments).map_err(|_| failure("nobody came"));
            }
            NEVER => std::future::pending().await,
            _ => return Err(failure(FAILS)),
        }
        arguments.reverse();
        Ok(arguments)
    }
}

fn failure(message: &str) -> Error {
    Error::new(ErrorKind::ToolFailed, "tool", message)
}
