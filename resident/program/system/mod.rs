//! What the program asks of the system beyond the standard library. All `unsafe` of the program is in this module, behind
//! functions that are safe to call.

mod c;
mod descriptor;
mod epoll;
mod passing;
mod process;
mod signal;
mod socket;
mod spawn;

use std::io;

pub(crate) use descriptor::{
    change_directory_to, close_all_but, enlarge_pipe, has_lost_other_end, lock, poll, replace,
    set_nonblocking,
};
pub(crate) use epoll::{Epoll, Interest, Ready};
pub(crate) use passing::{receive_with_descriptors, send_with_descriptors};
pub(crate) use process::{
    Forked, Reaped, Status, effective_user, exit_now, fork, may_execute, may_write, new_session, reap,
    send_signal, set_dumpable, set_name, set_umask, subreaper,
};
pub(crate) use signal::{Signals, number};
pub(crate) use socket::{
    connect, directory_watch, large_buffer, message_pair, peer_process, peer_user, random,
};
pub(crate) use spawn::spawn;

/// Flags of `open` that the standard library does not name. Two of them are not the same everywhere.
pub(crate) mod open {
    pub(crate) const NONBLOCKING: i32 = super::c::NONBLOCKING;
    pub(crate) const PATH_ONLY: i32 = 0o10_000_000;
    pub(crate) const NO_WAIT: i32 = 0o4_000;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const DIRECTORY: i32 = 0o200_000;
    #[cfg(target_arch = "x86_64")]
    pub(crate) const NO_FOLLOW: i32 = 0o400_000;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const DIRECTORY: i32 = 0o40_000;
    #[cfg(target_arch = "aarch64")]
    pub(crate) const NO_FOLLOW: i32 = 0o100_000;
}

/// Error numbers of Linux that decide something here.
pub(crate) mod errno {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const E2BIG: i32 = 7;
    pub(crate) const ENOEXEC: i32 = 8;
    pub(crate) const EAGAIN: i32 = 11;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EACCES: i32 = 13;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const ENOTDIR: i32 = 20;
    pub(crate) const EISDIR: i32 = 21;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ENFILE: i32 = 23;
    pub(crate) const EMFILE: i32 = 24;
    pub(crate) const ETXTBSY: i32 = 26;
    pub(crate) const EFBIG: i32 = 27;
    pub(crate) const ENOSPC: i32 = 28;
    pub(crate) const EROFS: i32 = 30;
    pub(crate) const ENAMETOOLONG: i32 = 36;
    pub(crate) const ENOTEMPTY: i32 = 39;
    pub(crate) const ELOOP: i32 = 40;
    pub(crate) const EDQUOT: i32 = 122;
}

/// The result of a C function that says -1 when it has failed.
fn checked(result: std::ffi::c_int) -> io::Result<std::ffi::c_int> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
