//! Reading a file or a part of it.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use super::failure::{failure, is_a_directory, not_regular};
use crate::{
    system::open,
    wire::{FileAnswer, FileFailure, MAX_FILE_DATA},
};

/// Reads from `offset` on, to the end or `length` bytes, but no more than an answer holds. Links are followed.
pub(super) fn read(path: &Path, offset: u64, length: u64) -> Result<FileAnswer, FileFailure> {
    let failed = |error: &io::Error| failure("read", path, error);
    let (mut file, metadata) = open(path)?;
    match file.seek(SeekFrom::Start(offset)) {
        Ok(_) => {}
        // Farther than any file of this system can reach, and so beyond the end of this one.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput && offset >= metadata.len() => {
            return Ok(FileAnswer::Content {
                size: metadata.len(),
                data: Vec::new(),
            });
        }
        Err(error) => return Err(failed(&error)),
    }
    let mut data = Vec::new();
    file.take(length.min(MAX_FILE_DATA as u64))
        .read_to_end(&mut data)
        .map_err(|error| failed(&error))?;
    // Files of the kernel do not know their own size.
    let size = metadata.len().max(if data.is_empty() {
        0
    } else {
        offset + data.len() as u64
    });
    Ok(FileAnswer::Content { size, data })
}

fn open(path: &Path) -> Result<(File, Metadata), FileFailure> {
    let failed = |error: io::Error| failure("read", path, &error);
    // Looked at first, as opening a device can do things; without blocking, as a pipe may have taken its place since.
    let regular = |metadata: &Metadata| match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(is_a_directory("read", path)),
        _ => Err(not_regular(path)),
    };
    regular(&path.metadata().map_err(failed)?)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(open::NONBLOCKING)
        .open(path)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(&metadata)?;
    Ok((file, metadata))
}
