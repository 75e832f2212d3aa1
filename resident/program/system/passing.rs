//! Handing descriptors to another process, with a message.

use std::{
    ffi::c_int,
    fs::File,
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    ptr,
};

use super::c;

const SOCKET: c_int = 1;
const RIGHTS: c_int = 1;
const CLOSE_ON_EXEC: c_int = 0x4000_0000;
const NO_SIGNAL: c_int = 0x4000;

/// The length that the control message says of itself: without its padding.
const LENGTH: usize = size_of::<c::ThreeDescriptors>() - size_of::<c_int>();

fn no_descriptors() -> c::ThreeDescriptors {
    c::ThreeDescriptors {
        length: LENGTH,
        level: SOCKET,
        kind: RIGHTS,
        descriptors: [-1; 3],
        padding: 0,
    }
}

fn header(piece: &mut c::Piece, control: &mut c::ThreeDescriptors) -> c::MessageHeader {
    c::MessageHeader {
        name: ptr::null_mut(),
        name_length: 0,
        pieces: piece,
        piece_count: 1,
        control: ptr::from_mut(control).cast(),
        control_length: size_of::<c::ThreeDescriptors>(),
        flags: 0,
    }
}

/// Sends a message with copies of three descriptors, as a whole or not at all.
pub(crate) fn send_with_descriptors(
    socket: &File,
    message: &[u8],
    descriptors: &[OwnedFd; 3],
) -> io::Result<()> {
    let mut control = no_descriptors();
    for (raw, descriptor) in control.descriptors.iter_mut().zip(descriptors) {
        *raw = descriptor.as_raw_fd();
    }
    let mut piece = c::Piece {
        start: message.as_ptr().cast_mut().cast(),
        length: message.len(),
    };
    let header = header(&mut piece, &mut control);
    // SAFETY: the message is only read; it, the piece and the control message live through the call with those lengths.
    let sent = unsafe { c::sendmsg(socket.as_raw_fd(), &raw const header, NO_SIGNAL) };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Receives such a message into the buffer; `None` when it does not come with three descriptors. The end of the connection
/// is an error.
pub(crate) fn receive_with_descriptors(
    socket: &File,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, [OwnedFd; 3])>> {
    let mut control = no_descriptors();
    let mut piece = c::Piece {
        start: buffer.as_mut_ptr().cast(),
        length: buffer.len(),
    };
    let mut header = header(&mut piece, &mut control);
    // SAFETY: the buffer, the piece and the control message live through the call with those lengths.
    let received = unsafe { c::recvmsg(socket.as_raw_fd(), &raw mut header, CLOSE_ON_EXEC) };
    let length = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let whole = header.control_length >= LENGTH && control.length == LENGTH && control.kind == RIGHTS;
    if !whole || control.descriptors.contains(&-1) {
        return Ok(None);
    }
    // SAFETY: the system has just made these for this process, and nothing else owns them.
    let descriptors = control
        .descriptors
        .map(|raw| unsafe { OwnedFd::from_raw_fd(raw) });
    Ok(Some((length, descriptors)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn descriptors_arrive_with_their_message() {
        let [left, right] = crate::system::message_pair().unwrap();
        let (mut read, write) = io::pipe().unwrap();
        let three = [
            write.try_clone().unwrap().into(),
            write.try_clone().unwrap().into(),
            write.into(),
        ];
        send_with_descriptors(&left, b"take these", &three).unwrap();
        drop(three);
        let mut buffer = [0; 100];
        let (length, received) = receive_with_descriptors(&right, &mut buffer).unwrap().unwrap();
        assert_eq!(&buffer[..length], b"take these");
        for descriptor in received {
            File::from(descriptor).write_all(b"x").unwrap();
        }
        let mut all = Vec::new();
        read.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"xxx");
        (&left).write_all(b"alone").unwrap();
        assert!(receive_with_descriptors(&right, &mut buffer).unwrap().is_none());
    }
}
