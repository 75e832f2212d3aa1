//! Waiting for many descriptors at once.

use std::{
    ffi::c_int,
    io,
    os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd},
    time::Duration,
};

use super::{c, checked, descriptor::milliseconds};

const ADD: c_int = 1;
const DELETE: c_int = 2;
const MODIFY: c_int = 3;
const READ: u32 = 0x1;
const WRITE: u32 = 0x4;
const ERROR: u32 = 0x8;
const HANG_UP: u32 = 0x10;

/// How many events are taken at a time.
const BATCH: c_int = 64;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

impl Interest {
    pub(crate) const READ: Self = Self {
        read: true,
        write: false,
    };

    fn bits(self) -> u32 {
        (if self.read { READ } else { 0 }) | (if self.write { WRITE } else { 0 })
    }
}

/// What has come. A lost other end counts as both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// What the descriptor was added with.
    pub(crate) token: u64,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// A set of descriptors. Each must be removed before it is closed: a fork may hold it open a little longer, and then
/// the system would go on telling of it.
#[derive(Debug)]
pub(crate) struct Epoll(OwnedFd);

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no memory is touched, and the result is a new descriptor that nothing else owns.
        let raw = checked(unsafe { c::epoll_create1(c::CLOSE_ON_EXEC) })?;
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    pub(crate) fn add(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(ADD, descriptor, token, interest.bits())
    }

    pub(crate) fn modify(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(MODIFY, descriptor, token, interest.bits())
    }

    /// Removes a descriptor; that it was not in the set is no error.
    pub(crate) fn remove(&self, descriptor: impl AsFd) {
        let _ = self.control(DELETE, descriptor, 0, 0);
    }

    fn control(&self, operation: c_int, descriptor: impl AsFd, token: u64, events: u32) -> io::Result<()> {
        let mut event = c::EpollEvent { events, data: token };
        let raw = descriptor.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open, and the event lives through the call.
        checked(unsafe { c::epoll_ctl(self.0.as_raw_fd(), operation, raw, &raw mut event) }).map(drop)
    }

    /// Waits until something has come or the time is over.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Vec<Ready>> {
        let mut events = [c::EpollEvent { events: 0, data: 0 }; BATCH as usize];
        let timeout = milliseconds(limit);
        // SAFETY: the array has as many elements as is said.
        let result =
            checked(unsafe { c::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), BATCH, timeout) });
        let count = match result {
            Ok(count) => usize::try_from(count).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        let come = events.into_iter().take(count).map(|event| {
            let (bits, token) = (event.events, event.data);
            let lost = bits & (ERROR | HANG_UP) != 0;
            Ready {
                token,
                read: bits & READ != 0 || lost,
                write: bits & WRITE != 0 || lost,
            }
        });
        Ok(come.collect())
    }
}
