//! Waiting for the leader of a command to end, without reaping it.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::Duration,
};

use herm_protocol::exec::{Outcome, SignalCause};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid};
use tokio::io::{Interest, unix::AsyncFd};

/// How often is looked where the system has no process descriptors.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits until the process has ended; it stays a zombie.
///
/// # Errors
/// When the system has no status to give, as when somebody else reaped the process.
pub(super) async fn ended(pid: Pid) -> io::Result<Outcome> {
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else {
        return ended_by_looking(pid).await;
    };
    let descriptor = watched(descriptor)?;
    loop {
        if let Some(outcome) = look(WaitId::PidFd(descriptor.get_ref().as_fd()))? {
            return Ok(outcome);
        }
        descriptor.readable().await?.clear_ready();
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; that of an OwnedFd does not"
)]
fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

async fn ended_by_looking(pid: Pid) -> io::Result<Outcome> {
    loop {
        if let Some(outcome) = look(WaitId::Pid(pid))? {
            return Ok(outcome);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn look(id: WaitId<'_>) -> io::Result<Option<Outcome>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(id, options)?.map(|status| outcome(&status)).transpose()
}

fn outcome(status: &WaitIdStatus) -> io::Result<Outcome> {
    if let Some(code) = status.exit_status() {
        return Ok(Outcome::Exited { code });
    }
    let number = status
        .terminating_signal()
        .ok_or_else(|| io::Error::other(format!("the system gave a status of no known kind: {status:?}")))?;
    Ok(Outcome::Signaled {
        number,
        cause: SignalCause::Unknown,
    })
}
