//! Reading a file or a part of it.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use herm_protocol::{ByteString, DEFAULT_MAX_MESSAGE_BYTES, Error, ErrorKind, file::FileContent};
use rustix::fs::OFlags;

use super::{
    error::{is_a_directory, not_regular},
    file_error,
};

/// The longest content in one answer, in bytes as they go over the wire; the rest of the message needs little.
pub(super) const LONGEST: usize = DEFAULT_MAX_MESSAGE_BYTES - 16 * 1024;

/// Reads from `offset` on, to the end or `length` bytes. Links are followed.
///
/// # Errors
/// `limit_exceeded` when the bytes do not fit one message; a device or pipe, which could block, is an invalid argument.
pub fn read(path: &Path, offset: u64, length: Option<u64>) -> Result<FileContent, Error> {
    let failed = |error: &io::Error| file_error("read", path, error);
    let (mut file, metadata) = open(path)?;
    match file.seek(SeekFrom::Start(offset)) {
        Ok(_) => {}
        // Farther than any file of this system can reach, and so beyond the end of this one.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput && offset >= metadata.len() => {
            return Ok(FileContent {
                data: ByteString::default(),
                size: metadata.len(),
            });
        }
        Err(error) => return Err(failed(&error)),
    }
    let wanted = length.unwrap_or(u64::MAX);
    let mut data = Vec::new();
    // One byte more tells whether there is too much; files of the kernel do not know their own size.
    file.take(wanted.min(LONGEST as u64 + 1))
        .read_to_end(&mut data)
        .map_err(|error| failed(&error))?;
    if length_on_the_wire(&data) > LONGEST {
        return Err(too_long(path, metadata.len()));
    }
    let size = metadata.len().max(if data.is_empty() {
        0
    } else {
        offset + data.len() as u64
    });
    Ok(FileContent {
        data: data.into(),
        size,
    })
}

fn open(path: &Path) -> Result<(File, Metadata), Error> {
    let failed = |error: io::Error| file_error("read", path, &error);
    // Looked at first, as opening a device can do things; without blocking, as a pipe may have taken its place since.
    let regular = |metadata: &Metadata| match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(is_a_directory("read", path)),
        _ => Err(not_regular(path)),
    };
    regular(&path.metadata().map_err(failed)?)?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(&metadata)?;
    Ok((file, metadata))
}

/// The error about what does not fit one message, of a file of that size in bytes.
pub(super) fn too_long(path: &Path, size: u64) -> Error {
    let shown = path.to_string_lossy();
    let message = format!(
        "what was asked of {shown} ({size} bytes) does not fit one message of {DEFAULT_MAX_MESSAGE_BYTES} bytes"
    );
    Error::new(ErrorKind::LimitExceeded, shown.clone(), message)
        .with_fix("read it in parts, with offset and length")
}

/// How long the bytes are as JSON: text with its escapes, anything else in base64.
pub(super) fn length_on_the_wire(data: &[u8]) -> usize {
    if std::str::from_utf8(data).is_err() {
        return data.len().div_ceil(3) * 4;
    }
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    data.iter().map(escaped).sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use herm_protocol::{ByteString, ErrorKind};

    use super::*;

    #[test]
    fn the_length_on_the_wire_is_that_of_the_json() {
        let every_byte: Vec<u8> = (0..=255).collect();
        for data in [
            &b""[..],
            b"plain",
            "na\u{ef}ve \"q\" \\ \n\t\r\u{8}\u{c}\0\u{1f}\u{7f}".as_bytes(),
            &every_byte,
        ] {
            let json = serde_json::to_string(&ByteString::from(data)).unwrap();
            let frame = if std::str::from_utf8(data).is_ok() {
                "\"\""
            } else {
                "{\"b64\":\"\"}"
            };
            assert_eq!(length_on_the_wire(data) + frame.len(), json.len(), "{json}");
        }
    }

    #[test]
    fn parts_and_what_lies_past_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, b"0123456789").unwrap();
        for (offset, length, expected) in [
            (0, None, "0123456789"),
            (3, Some(4), "3456"),
            (8, Some(9), "89"),
            (10, None, ""),
            (99, Some(1), ""),
            (2, Some(0), ""),
        ] {
            let content = read(&path, offset, length).unwrap();
            assert_eq!((content.data, content.size), (expected.into(), 10));
        }
    }

    #[test]
    fn what_does_not_fit_one_message_is_refused_with_the_way_out_and_can_be_read_in_parts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, vec![0xff; 13 * 1024 * 1024]).unwrap();
        let error = read(&path, 0, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.data.fix.unwrap().contains("offset and length"));
        let part = read(&path, 12 * 1024 * 1024, Some(10 * 1024 * 1024)).unwrap();
        assert_eq!((part.data.len(), part.size), (1024 * 1024, 13 * 1024 * 1024));
        // Text that grows sixfold on the wire.
        fs::write(&path, vec![1; 3 * 1024 * 1024]).unwrap();
        assert_eq!(read(&path, 0, None).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn a_pipe_or_device_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        for path in [&pipe, Path::new("/dev/zero")] {
            assert_eq!(
                read(path, 0, None).unwrap_err().kind(),
                ErrorKind::InvalidArgument
            );
        }
        assert_eq!(
            read(directory.path(), 0, None).unwrap_err().kind(),
            ErrorKind::IsADirectory
        );
    }

    #[test]
    fn a_file_of_the_kernel_is_read_though_its_size_says_nothing() {
        let content = read(Path::new("/proc/self/stat"), 0, None).unwrap();
        assert!(!content.data.is_empty());
        assert_eq!(content.size, content.data.len() as u64);
    }
}
