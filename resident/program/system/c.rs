//! The functions and structures of the C library and of Linux that the program needs and the standard library does not offer.
//!
//! Values are those of Linux on `x86_64` and `aarch64`, which agree but for the layout of `epoll_event`, the numbers of system
//! calls, and some flags of `open`.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};

/// One more than what is known of C structures that are only ever passed on: GNU's are the largest, with 336 bytes.
#[repr(C, align(16))]
pub(super) struct Opaque(pub(super) [u8; 512]);

/// A set of signals: GNU's takes 128 bytes, of which Linux uses the first 8.
#[repr(C, align(16))]
pub(super) struct SignalSet(pub(super) [u64; 16]);

#[derive(Clone, Copy)]
#[cfg_attr(target_arch = "x86_64", repr(C, packed))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C))]
pub(super) struct EpollEvent {
    pub(super) events: u32,
    pub(super) data: u64,
}

#[repr(C)]
pub(super) struct PollDescriptor {
    pub(super) descriptor: c_int,
    pub(super) events: i16,
    pub(super) returned: i16,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) pid: c_int,
    pub(super) uid: c_uint,
    pub(super) gid: c_uint,
}

/// The address of a Unix socket (unix(7)).
#[repr(C)]
pub(super) struct SocketAddress {
    pub(super) family: u16,
    pub(super) path: [u8; ADDRESS],
}

/// The longest path that a socket's address holds, with its NUL.
pub(super) const ADDRESS: usize = 108;

/// One piece of memory for `sendmsg` and `recvmsg`.
#[repr(C)]
pub(super) struct Piece {
    pub(super) start: *mut c_void,
    pub(super) length: usize,
}

/// What `sendmsg` and `recvmsg` are told, as the C libraries of 64-bit Linux lay it out.
#[repr(C)]
pub(super) struct MessageHeader {
    pub(super) name: *mut c_void,
    pub(super) name_length: c_uint,
    pub(super) pieces: *mut Piece,
    pub(super) piece_count: usize,
    pub(super) control: *mut c_void,
    pub(super) control_length: usize,
    pub(super) flags: c_int,
}

/// A control message that carries three descriptors.
#[repr(C)]
pub(super) struct ThreeDescriptors {
    pub(super) length: usize,
    pub(super) level: c_int,
    pub(super) kind: c_int,
    pub(super) descriptors: [c_int; 3],
    pub(super) padding: c_int,
}

unsafe extern "C" {
    pub(super) fn fork() -> c_int;
    pub(super) fn _exit(status: c_int) -> !;
    pub(super) fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub(super) fn kill(pid: c_int, signal: c_int) -> c_int;
    pub(super) fn prctl(option: c_int, ...) -> c_int;
    pub(super) fn setsid() -> c_int;
    pub(super) fn umask(mask: c_uint) -> c_uint;
    pub(super) fn geteuid() -> c_uint;
    pub(super) fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int;
    pub(super) fn syscall(number: c_long, ...) -> c_long;
    pub(super) fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
    pub(super) fn dup2(from: c_int, to: c_int) -> c_int;
    pub(super) fn fchdir(descriptor: c_int) -> c_int;
    pub(super) fn flock(descriptor: c_int, operation: c_int) -> c_int;
    pub(super) fn poll(descriptors: *mut PollDescriptor, count: c_ulong, timeout: c_int) -> c_int;

    pub(super) fn epoll_create1(flags: c_int) -> c_int;
    pub(super) fn epoll_ctl(
        epoll: c_int,
        operation: c_int,
        descriptor: c_int,
        event: *mut EpollEvent,
    ) -> c_int;
    pub(super) fn epoll_wait(epoll: c_int, events: *mut EpollEvent, most: c_int, timeout: c_int) -> c_int;

    pub(super) fn sigprocmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    pub(super) fn signalfd(descriptor: c_int, set: *const SignalSet, flags: c_int) -> c_int;

    pub(super) fn inotify_init1(flags: c_int) -> c_int;
    pub(super) fn inotify_add_watch(descriptor: c_int, path: *const c_char, mask: u32) -> c_int;

    pub(super) fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    pub(super) fn connect(descriptor: c_int, address: *const SocketAddress, length: c_uint) -> c_int;
    pub(super) fn sendmsg(descriptor: c_int, message: *const MessageHeader, flags: c_int) -> isize;
    pub(super) fn recvmsg(descriptor: c_int, message: *mut MessageHeader, flags: c_int) -> isize;
    pub(super) fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int;
    pub(super) fn getsockopt(
        descriptor: c_int,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        length: *mut c_uint,
    ) -> c_int;
    pub(super) fn setsockopt(
        descriptor: c_int,
        level: c_int,
        name: c_int,
        value: *const c_void,
        length: c_uint,
    ) -> c_int;

    pub(super) fn posix_spawn(
        pid: *mut c_int,
        path: *const c_char,
        actions: *const Opaque,
        attributes: *const Opaque,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
    pub(super) fn posix_spawn_file_actions_init(actions: *mut Opaque) -> c_int;
    pub(super) fn posix_spawn_file_actions_destroy(actions: *mut Opaque) -> c_int;
    pub(super) fn posix_spawn_file_actions_adddup2(actions: *mut Opaque, from: c_int, to: c_int) -> c_int;
    pub(super) fn posix_spawnattr_init(attributes: *mut Opaque) -> c_int;
    pub(super) fn posix_spawnattr_destroy(attributes: *mut Opaque) -> c_int;
    pub(super) fn posix_spawnattr_setflags(attributes: *mut Opaque, flags: i16) -> c_int;
    pub(super) fn posix_spawnattr_setsigmask(attributes: *mut Opaque, set: *const SignalSet) -> c_int;
    pub(super) fn posix_spawnattr_setsigdefault(attributes: *mut Opaque, set: *const SignalSet) -> c_int;
}

pub(super) const NONBLOCKING: c_int = 0o4000;
pub(super) const CLOSE_ON_EXEC: c_int = 0o2_000_000;

#[cfg(target_arch = "x86_64")]
pub(super) const SYSCALL_GETRANDOM: c_long = 318;
#[cfg(target_arch = "aarch64")]
pub(super) const SYSCALL_GETRANDOM: c_long = 278;
/// The same everywhere.
pub(super) const SYSCALL_CLOSE_RANGE: c_long = 436;
