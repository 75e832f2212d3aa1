//! Signals that ask a subcommand to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for an orderly end: SIGHUP, SIGINT, SIGTERM.
pub(super) struct EndSignals([(u8, Signal); 3]);

impl EndSignals {
    /// Takes these signals over from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn take() -> io::Result<Self> {
        Ok(Self([
            (1, signal(SignalKind::hangup())?),
            (2, signal(SignalKind::interrupt())?),
            (15, signal(SignalKind::terminate())?),
        ]))
    }

    /// The number of the next one.
    pub(super) async fn next(&mut self) -> u8 {
        let [
            (hangup, on_hangup),
            (interrupt, on_interrupt),
            (terminate, on_terminate),
        ] = &mut self.0;
        tokio::select! {
            Some(()) = on_hangup.recv() => *hangup,
            Some(()) = on_interrupt.recv() => *interrupt,
            Some(()) = on_terminate.recv() => *terminate,
            else => std::future::pending().await,
        }
    }
}
