//! Sockets, the watch on a directory, and random numbers.

use std::{
    ffi::{CString, c_int},
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, net::UnixStream},
    },
    path::Path,
};

use super::{c, checked};

const UNIX: c_int = 1;
const STREAM: c_int = 1;
const MESSAGES: c_int = 5;
const SOCKET: c_int = 1;
const PEER_CREDENTIALS: c_int = 17;
const SEND_BUFFER: c_int = 7;
const CREATED: u32 = 0x100;
const MOVED_HERE: u32 = 0x80;

/// The length of a structure as the system wants it.
fn length_of<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(0)
}

/// Two ends of a connection that keeps messages apart, neither of which waits.
pub(crate) fn message_pair() -> io::Result<[File; 2]> {
    let mut pair = [0; 2];
    let kind = MESSAGES | c::NONBLOCKING | c::CLOSE_ON_EXEC;
    // SAFETY: there is room for two numbers.
    checked(unsafe { c::socketpair(UNIX, kind, 0, pair.as_mut_ptr()) })?;
    // SAFETY: the system has made both, and nothing else owns them.
    Ok(pair.map(|raw| File::from(unsafe { OwnedFd::from_raw_fd(raw) })))
}

/// Connects to a Unix socket without waiting for anything.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    let mut address = c::SocketAddress {
        family: 1,
        path: [0; c::ADDRESS],
    };
    if bytes.len() >= c::ADDRESS {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    address.path[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: no memory is touched; the result is a new descriptor that nothing else owns.
    let raw = checked(unsafe { c::socket(UNIX, STREAM | c::NONBLOCKING | c::CLOSE_ON_EXEC, 0) })?;
    // SAFETY: as above.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(raw) });
    let length = length_of::<c::SocketAddress>();
    // SAFETY: the address lives through the call and has the length that is said.
    checked(unsafe { c::connect(raw, &raw const address, length) })?;
    Ok(socket)
}

/// The user of the process at the other end of a Unix socket, as the system knows it.
pub(crate) fn peer_user(socket: impl AsFd) -> io::Result<u32> {
    peer(socket).map(|credentials| credentials.uid)
}

/// The process at the other end of a Unix socket when it connected, as the system knows it.
pub(crate) fn peer_process(socket: impl AsFd) -> io::Result<i32> {
    peer(socket).map(|credentials| credentials.pid)
}

fn peer(socket: impl AsFd) -> io::Result<c::Credentials> {
    let mut credentials = c::Credentials::default();
    let mut length = length_of::<c::Credentials>();
    let value = (&raw mut credentials).cast();
    // SAFETY: the value has the length that is said.
    checked(unsafe {
        c::getsockopt(
            socket.as_fd().as_raw_fd(),
            SOCKET,
            PEER_CREDENTIALS,
            value,
            &raw mut length,
        )
    })?;
    Ok(credentials)
}

/// Lets more bytes be under way on a socket; where that is refused it stays as it is.
pub(crate) fn large_buffer(socket: impl AsFd, bytes: c_int) {
    let value = (&raw const bytes).cast();
    let length = length_of::<c_int>();
    // SAFETY: the value has the length that is said.
    let _ = unsafe { c::setsockopt(socket.as_fd().as_raw_fd(), SOCKET, SEND_BUFFER, value, length) };
}

/// A descriptor that can be read when something has appeared in a directory.
pub(crate) fn directory_watch(directory: &Path) -> io::Result<File> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: no memory is touched; the result is a new descriptor that nothing else owns.
    let raw = checked(unsafe { c::inotify_init1(c::NONBLOCKING | c::CLOSE_ON_EXEC) })?;
    // SAFETY: as above.
    let watch = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
    // SAFETY: the path ends with a NUL and is only read.
    checked(unsafe { c::inotify_add_watch(watch.as_raw_fd(), path.as_ptr(), CREATED | MOVED_HERE) })?;
    Ok(watch)
}

/// Random bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        let rest = &mut bytes[filled..];
        // SAFETY: the rest of the array has the length that is said.
        let result = unsafe { c::syscall(c::SYSCALL_GETRANDOM, rest.as_mut_ptr(), rest.len(), 0) };
        if let Ok(count) = usize::try_from(result) {
            filled += count;
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(bytes)
}
