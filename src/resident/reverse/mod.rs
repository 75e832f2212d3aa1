//! Reaching a resident without its engine: the client listens in a directory that is mounted read-only into the sandbox, and
//! the resident, which watches it, dials out.
//!
//! The sandbox can write nothing there: neither put a link in the way nor listen in the resident's place. Who connects is
//! looked at before a word is exchanged, and only the resident is answered; then both prove that they know the secret.

mod directory;
mod expected;

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    net::{UnixListener, UnixStream},
    time::{Instant, MissedTickBehavior, interval_at, timeout_at},
};

pub(crate) use directory::MEETING;
pub use directory::MeetingDirectory;
pub use expected::Expected;

use super::{Channel, Dial, DialError, Secret};
use directory::Announced;

/// How long a resident has to dial. It takes less than a millisecond when it is not busy.
const WITHIN: Duration = Duration::from_secs(4);

/// How long until it is called again under another name, in case it has missed the first one, or found no room to connect.
const CALL_AGAIN: Duration = Duration::from_millis(250);

/// What anybody else is told before the connection ends.
const TURNED_AWAY: &[u8] = b"herm: only the resident of this sandbox is answered here\n";

/// Has a resident dial. One for each sandbox.
#[derive(Debug)]
pub struct ReverseDial {
    directory: MeetingDirectory,
    expected: Expected,
    secret: Secret,
    turned_away: AtomicU64,
}

impl ReverseDial {
    /// Has the expected process dial, which watches that directory (`init --dial`) and knows that secret.
    #[must_use]
    pub fn new(directory: MeetingDirectory, expected: Expected, secret: Secret) -> Self {
        Self {
            directory,
            expected,
            secret,
            turned_away: AtomicU64::new(0),
        }
    }

    /// How many connections of others were ended, since this was made.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Waits for the resident, and calls it again from time to time.
    async fn meet(
        &self,
        announced: &mut Announced,
        listener: &UnixListener,
    ) -> Result<UnixStream, DialError> {
        let mut again = interval_at(Instant::now() + CALL_AGAIN, CALL_AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let (stream, _) = accepted.map_err(DialError::Unreachable)?;
                    if self.is_resident(&stream).await {
                        return Ok(stream);
                    }
                    self.turned_away.fetch_add(1, Ordering::Relaxed);
                    // Who does not read it is not waited for.
                    let _ = stream.try_write(TURNED_AWAY);
                }
                _ = again.tick() => {
                    self.expected.is_there().map_err(DialError::Gone)?;
                    announced.rename().map_err(DialError::Unreachable)?;
                }
            }
        }
    }

    async fn is_resident(&self, stream: &UnixStream) -> bool {
        let Ok(credentials) = stream.peer_cred() else {
            return false;
        };
        match credentials.pid() {
            Some(pid) if pid > 0 => self.expected.is(pid).await,
            // It is in no namespace that can be seen from here.
            _ => false,
        }
    }

    fn late(&self, before: u64) -> DialError {
        let others = match self.turned_away() - before {
            0 => String::new(),
            others => format!("; {others} connections of other processes of the sandbox were ended"),
        };
        let why = format!("the resident did not dial within {WITHIN:?}{others}");
        DialError::Unreachable(io::Error::new(io::ErrorKind::TimedOut, why))
    }
}

#[async_trait]
impl Dial for ReverseDial {
    async fn dial(&self) -> Result<Channel, DialError> {
        self.expected.is_there().map_err(DialError::Gone)?;
        let before = self.turned_away();
        let (mut announced, listener) = self.directory.announce().await.map_err(DialError::Unreachable)?;
        let met = timeout_at(Instant::now() + WITHIN, self.meet(&mut announced, &listener)).await;
        // Gone before anything is said, so that nobody comes late.
        drop(announced);
        let stream = met.unwrap_or_else(|_| Err(self.late(before)))?;
        let (input, output) = stream.into_split();
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            secret: Some(self.secret.clone()),
        })
    }
}
