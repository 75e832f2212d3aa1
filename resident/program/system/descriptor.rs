//! File descriptors.

use std::{
    ffi::c_int,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, RawFd},
    time::Duration,
};

use super::{c, checked};

const GET_FLAGS: c_int = 3;
const SET_FLAGS: c_int = 4;
const SET_PIPE_SIZE: c_int = 1031;
const LOCK_EXCLUSIVE_NOW: c_int = 2 | 4;
const READABLE: i16 = 1;
const ERROR: i16 = 8;

/// Lets reads and writes fail instead of wait.
pub(crate) fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let raw = descriptor.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open, and the commands touch no memory of ours.
    let flags = checked(unsafe { c::fcntl(raw, GET_FLAGS) })?;
    // SAFETY: as above.
    checked(unsafe { c::fcntl(raw, SET_FLAGS, flags | c::NONBLOCKING) }).map(drop)
}

/// Lets a pipe hold that many bytes; where that is refused it stays as it is.
pub(crate) fn enlarge_pipe(descriptor: impl AsFd, bytes: c_int) {
    // SAFETY: the descriptor is open, and the command touches no memory of ours.
    let _ = unsafe { c::fcntl(descriptor.as_fd().as_raw_fd(), SET_PIPE_SIZE, bytes) };
}

/// Makes one of the standard descriptors mean what another does.
pub(crate) fn replace(standard: RawFd, by: BorrowedFd) -> io::Result<()> {
    debug_assert!(
        (0..=2).contains(&standard),
        "nothing of the program owns the standard descriptors"
    );
    // SAFETY: nothing owns the standard descriptors, so nothing is closed behind an owner's back.
    checked(unsafe { c::dup2(by.as_raw_fd(), standard) }).map(drop)
}

/// Makes an open directory the one that relative paths begin at.
pub(crate) fn change_directory_to(directory: BorrowedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and no memory is touched.
    checked(unsafe { c::fchdir(directory.as_raw_fd()) }).map(drop)
}

/// Takes the lock of an open file for this process and its forks; `false` when another has it.
pub(crate) fn lock(file: BorrowedFd) -> io::Result<bool> {
    // SAFETY: the descriptor is open, and no memory is touched.
    match checked(unsafe { c::flock(file.as_raw_fd(), LOCK_EXCLUSIVE_NOW) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Closes every descriptor but the standard ones and those to keep. Only for a process that was just forked and will
/// leave by [`super::exit_now`]: the owners of what is closed must never run.
pub(crate) fn close_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut first = 3;
    for kept in keep.iter().copied() {
        if kept > first {
            close_range(first, kept - 1);
        }
        first = first.max(kept + 1);
    }
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: no memory is touched; that owners are left with closed descriptors is the caller's promise.
    let result = unsafe { c::syscall(c::SYSCALL_CLOSE_RANGE, first, last, 0) };
    if result == 0 {
        return;
    }
    // Before Linux 5.9 each must be closed by itself.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<RawFd> = open
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers
        .into_iter()
        .filter(|number| (first..=last).contains(number))
    {
        // SAFETY: as above; the descriptor that listed the directory is closed by now, and closing it again is harmless.
        drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) });
    }
}

/// Waits until one of the descriptors can be read or has lost its other end, or the time is over; says which can. A
/// descriptor that is `None` is left out.
pub(crate) fn poll<const N: usize>(
    descriptors: [Option<BorrowedFd>; N],
    limit: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|descriptor| c::PollDescriptor {
        descriptor: descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd()),
        events: READABLE,
        returned: 0,
    });
    let timeout = milliseconds(limit);
    // SAFETY: the array has as many elements as is said.
    let result = checked(unsafe { c::poll(polled.as_mut_ptr(), N as _, timeout) });
    match result {
        Ok(_) => Ok(polled.map(|polled| polled.returned != 0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(error) => Err(error),
    }
}

/// Whether nobody is at the other end of a pipe.
pub(crate) fn has_lost_other_end(pipe: impl AsFd) -> bool {
    let mut polled = c::PollDescriptor {
        descriptor: pipe.as_fd().as_raw_fd(),
        events: 0,
        returned: 0,
    };
    // SAFETY: there is one element.
    let result = unsafe { c::poll(&raw mut polled, 1, 0) };
    result == 1 && polled.returned & ERROR != 0
}

/// A time to wait in whole milliseconds, never shorter; -1 waits for ever.
pub(super) fn milliseconds(limit: Option<Duration>) -> c_int {
    limit.map_or(-1, |limit| {
        c_int::try_from(limit.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
    })
}
