//! Connecting to Unix sockets by name, without waiting, without following links, and however long their path is.

use std::{
    fs::OpenOptions,
    os::{
        fd::AsRawFd as _,
        unix::{
            fs::{FileTypeExt as _, OpenOptionsExt as _},
            net::UnixStream,
        },
    },
    path::Path,
};

use crate::system::{
    self,
    open::{NO_FOLLOW, PATH_ONLY},
};

/// Connects to the socket of that name; `None` when it is no socket, or nobody listens there.
pub(crate) fn connect(path: &Path) -> Option<UnixStream> {
    // What is looked at and what is connected to are the same, and never what a link leads to.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(PATH_ONLY | NO_FOLLOW)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    let exact = format!("/proc/self/fd/{}", file.as_raw_fd());
    // Without /proc, the name has to do.
    system::connect(exact.as_ref())
        .or_else(|_| system::connect(path))
        .ok()
}
