//! Ties an adapter to its guard: a guard that is killed could not end it any more, so the system does.

use std::{ffi::OsString, io, os::unix::process::CommandExt as _};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::guard::{command_of, not_started};

/// Turns this process, whose parent is the guard with that process number, into the command, which is killed when the
/// guard ends. Returns only when that fails.
#[must_use]
pub fn leash(guard: u32, command: &[OsString]) -> io::Error {
    let tied = set_parent_process_death_signal(Some(Signal::KILL));
    if let Err(error) = tied {
        return error.into();
    }
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(guard) {
        return io::Error::other("the guard of the adapter has ended");
    }
    match command_of(command) {
        Ok(mut adapter) => not_started(command, &adapter.exec()),
        Err(error) => error,
    }
}
