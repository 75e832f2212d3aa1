//! Signals that ask a subcommand to end.

use std::io;

use herm_harness::watch::ignored_signals;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for an orderly end: SIGHUP, SIGINT, SIGTERM.
pub(super) struct EndSignals([(u8, Option<Signal>); 3]);

const HANGUP: u8 = 1;
const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;

impl EndSignals {
    /// Takes these signals over from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn take() -> io::Result<Self> {
        Self::take_but(0)
    }

    /// Takes over those that this process was not started to ignore, as nohup(1) and the background jobs of a shell are.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn take_unless_ignored() -> io::Result<Self> {
        Self::take_but(ignored_signals())
    }

    /// `left` has bit N - 1 set when signal N is left as it is.
    fn take_but(left: u64) -> io::Result<Self> {
        let take = |number: u8| {
            let left = left >> (number - 1) & 1 == 1;
            let taken = (!left).then(|| signal(SignalKind::from_raw(number.into())));
            Ok::<_, io::Error>((number, taken.transpose()?))
        };
        Ok(Self([take(HANGUP)?, take(INTERRUPT)?, take(TERMINATE)?]))
    }

    /// The number of the next one.
    pub(super) async fn next(&mut self) -> u8 {
        let [
            (hangup, on_hangup),
            (interrupt, on_interrupt),
            (terminate, on_terminate),
        ] = &mut self.0;
        tokio::select! {
            Some(()) = received(on_hangup) => *hangup,
            Some(()) = received(on_interrupt) => *interrupt,
            Some(()) = received(on_terminate) => *terminate,
            else => std::future::pending().await,
        }
    }
}

async fn received(signal: &mut Option<Signal>) -> Option<()> {
    signal.as_mut()?.recv().await
}
