//! Processes.

use std::{
    ffi::{CStr, CString, c_int, c_ulong},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use super::{c, checked};

const SET_DUMPABLE: c_int = 4;
const SET_NAME: c_int = 15;
const SET_CHILD_SUBREAPER: c_int = 36;
const DO_NOT_WAIT: c_int = 1;
const TELL_STOPPED: c_int = 2;
const HERE: c_int = -100;
const AS_EFFECTIVE_USER: c_int = 0x200;
const MAY_EXECUTE: c_int = 1;
const MAY_WRITE: c_int = 2;

/// Which of the two a process is after a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forked {
    Child,
    Parent { child: i32 },
}

/// Copies this process. It must have one thread only; nothing that forks ever starts another.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: there is one thread, so the copy is whole and all of the library may be used in it.
    match checked(unsafe { c::fork() })? {
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child }),
    }
}

/// Ends this process at once, without running anything that its parent has prepared for its own end.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { c::_exit(code) }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Exited(u8),
    Signaled(u8),
    /// It has not ended, only stopped.
    Stopped,
}

impl Status {
    fn from_raw(status: c_int) -> Self {
        let [low, high, ..] = status.to_le_bytes();
        match low & 0x7f {
            0 => Self::Exited(high),
            0x7f => Self::Stopped,
            signal => Self::Signaled(signal),
        }
    }
}

/// What a look at the children came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// This one has ended (or stopped) and is reaped.
    Child { pid: i32, status: Status },
    /// There are children, and all of them live.
    AllAlive,
    /// There are no children at all: the system's own proof.
    NoChildren,
}

/// Reaps one child that has ended, without waiting for it; `stopped` wants those that have stopped, too.
pub(crate) fn reap(stopped: bool) -> Reaped {
    let mut status = 0;
    let options = DO_NOT_WAIT | if stopped { TELL_STOPPED } else { 0 };
    // SAFETY: the status lives through the call.
    match checked(unsafe { c::waitpid(-1, &raw mut status, options) }) {
        Ok(0) => Reaped::AllAlive,
        Ok(pid) => Reaped::Child {
            pid,
            status: Status::from_raw(status),
        },
        Err(_) => Reaped::NoChildren,
    }
}

/// Sends a signal to a process, or to the group of that number when it is negative. That there is none is no error.
pub(crate) fn send_signal(pid: i32, signal: i32) -> io::Result<()> {
    debug_assert!(pid != 0 && pid != -1, "never everything that there is");
    // SAFETY: no memory is touched.
    checked(unsafe { c::kill(pid, signal) }).map(drop)
}

/// Makes this process the one that orphans among its descendants go to.
pub(crate) fn subreaper() -> io::Result<()> {
    set(SET_CHILD_SUBREAPER, 1)
}

/// Says whether others of this user may look into this process's memory.
pub(crate) fn set_dumpable(dumpable: bool) -> io::Result<()> {
    set(SET_DUMPABLE, dumpable.into())
}

fn set(option: c_int, value: c_ulong) -> io::Result<()> {
    let none: c_ulong = 0;
    // SAFETY: the options that are used take numbers only.
    checked(unsafe { c::prctl(option, value, none, none, none) }).map(drop)
}

/// What lists of processes call this one.
pub(crate) fn set_name(name: &CStr) {
    // SAFETY: the name ends with a NUL and is only read.
    let _ = unsafe { c::prctl(SET_NAME, name.as_ptr()) };
}

/// Makes this process the leader of a session of its own, without a terminal.
pub(crate) fn new_session() {
    // SAFETY: no memory is touched. It fails only for one that leads a session already.
    let _ = unsafe { c::setsid() };
}

/// Which permissions new files do not get; returns what it was.
pub(crate) fn set_umask(mask: u32) -> u32 {
    // SAFETY: no memory is touched, and it cannot fail.
    unsafe { c::umask(mask & 0o777) }
}

/// The user that this process acts as.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: no memory is touched, and it cannot fail.
    unsafe { c::geteuid() }
}

/// Whether this process may run a file, or enter a directory.
pub(crate) fn may_execute(path: &Path) -> bool {
    may(path, MAY_EXECUTE).is_ok()
}

/// Asks whether this process may write to a file.
pub(crate) fn may_write(path: &Path) -> io::Result<()> {
    may(path, MAY_WRITE)
}

fn may(path: &Path, what: c_int) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a NUL and is only read.
    checked(unsafe { c::faccessat(HERE, path.as_ptr(), what, AS_EFFECTIVE_USER) }).map(drop)
}
