//! The standard streams of this process, as its parent left them.

use std::io;

use rustix::{
    fd::AsFd,
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
};

/// Makes reads and writes of the standard streams wait. A parent, or another user of the same terminal or pipe, may have
/// set them not to, and then every read of an empty pipe and every write into a full one would fail. A shell does the
/// same before it reads.
pub(super) fn make_blocking() {
    make_one_blocking(io::stdin());
    make_one_blocking(io::stdout());
    make_one_blocking(io::stderr());
}

fn make_one_blocking(stream: impl AsFd) {
    // A stream that is closed, or cannot be changed, is met again by whoever uses it.
    if let Ok(flags) = fcntl_getfl(&stream)
        && flags.contains(OFlags::NONBLOCK)
    {
        let _ = fcntl_setfl(&stream, flags - OFlags::NONBLOCK);
    }
}
