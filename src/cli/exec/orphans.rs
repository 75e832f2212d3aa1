//! What a command leaves that has killed its resident: nobody knows of it any more but the system, which gives orphans to
//! this process.

use std::time::Duration;

use herm::backend::local::GUARD;
use herm_harness::watch::{adopt_orphans, end_orphans};
use herm_protocol::{Error, Finished, exec::Outcome};

/// How long what was killed may take to be gone.
const LIMIT: Duration = Duration::from_secs(2);

/// Has orphans given to this process from now on. Where that cannot be had, there is one guarantee less.
pub(super) fn adopt() {
    let _ = adopt_orphans();
}

/// Ends them when the sandbox is lost. Otherwise its resident has done so.
pub(super) async fn end_if_lost(finished: &Result<Finished, Error>) {
    let lost =
        |finished: &Finished| matches!(finished.outcome, Outcome::SandboxLost | Outcome::TransportLost);
    if finished.as_ref().is_ok_and(lost) {
        // It has ended after its time.
        let _ = tokio::task::spawn_blocking(|| end_orphans(GUARD, LIMIT)).await;
    }
}
