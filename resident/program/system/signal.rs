//! Signals, taken as they come through a descriptor.

use std::{
    ffi::c_int,
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd},
};

use super::{c, checked};

/// Numbers of signals, the same on both architectures.
pub(crate) mod number {
    pub(crate) const INTERRUPT: i32 = 2;
    pub(crate) const KILL: i32 = 9;
    pub(crate) const TERMINATE: i32 = 15;
    pub(crate) const CHILD: i32 = 17;
    pub(crate) const CONTINUE: i32 = 18;
    pub(crate) const STOP: i32 = 19;
}

const BLOCK: c_int = 0;
const RECORD: usize = 128;

/// Signals that are blocked and told through a descriptor instead.
#[derive(Debug)]
pub(crate) struct Signals(File);

impl Signals {
    /// Takes these signals from here on. All others that can be kept away are: a command of the same user shall not end
    /// this process by accident.
    pub(crate) fn take(numbers: &[i32]) -> io::Result<Self> {
        let all = c::SignalSet([u64::MAX; 16]);
        let mut set = c::SignalSet([0; 16]);
        for number in numbers {
            set.0[0] |= 1 << (number - 1);
        }
        // SAFETY: the set lives through the call, and the old one is not wanted.
        checked(unsafe { c::sigprocmask(BLOCK, &raw const all, std::ptr::null_mut()) })?;
        // SAFETY: the set lives through the call; the result is a new descriptor that nothing else owns.
        let raw = checked(unsafe { c::signalfd(-1, &raw const set, c::NONBLOCKING | c::CLOSE_ON_EXEC) })?;
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }.into()))
    }

    /// The number of a signal that has come; those of one kind may have become one.
    pub(crate) fn next(&self) -> Option<i32> {
        let mut record = [0; RECORD];
        let read = (&self.0).read(&mut record).ok()?;
        let number = record.first_chunk().filter(|_| read == RECORD)?;
        Some(i32::from_ne_bytes(*number))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
