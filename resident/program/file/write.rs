//! Writing a whole file, all at once.

use std::{
    fs::{self, Metadata, Permissions},
    io::{self, Read},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use super::{
    failure::{failure, is_a_directory, not_regular},
    temporary::Temporary,
};
use crate::{
    system::{errno, may_write},
    wire::{FileAnswer, FileErrorKind, FileFailure},
};

/// The mode of a new file, before the process's mask: that of a file that a command makes.
const NEW_FILE_MODE: u32 = 0o666;

/// How many links in a row are followed, as many as the kernel follows.
const MOST_LINKS: usize = 40;

const BUFFER: usize = 256 * 1024;

/// Makes `length` bytes of `input` the content of the file. Readers see the old content or the new, never a part; a failed
/// write changes nothing and leaves nothing, and so does input that ends too early. Missing parents are made, the mode of a
/// file that is there is kept, and a link stays a link to a file with the new content.
pub(super) fn write(path: &Path, length: u64, input: impl Read) -> Result<FileAnswer, FileFailure> {
    let failed = |error: io::Error| failure("write", path, &error);
    let target = follow(path).map_err(failed)?;
    let old = match fs::symlink_metadata(&target) {
        Ok(metadata) => Some(replaceable(path, &target, metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let ends_as_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let (Some(parent), false) = (target.parent(), ends_as_directory) else {
        return Err(is_a_directory("write", path));
    };
    if old.is_none() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut temporary = Temporary::make(parent, NEW_FILE_MODE).map_err(failed)?;
    copy(input, &mut temporary, length).map_err(|stopped| match stopped {
        Stopped::NotWritten(error) => failed(error),
        Stopped::NotRead(why) => cut_off(path, &why),
    })?;
    if let Some(old) = &old {
        keep_owner_and_mode(&temporary, old).map_err(failed)?;
    }
    temporary.name(&target).map_err(failed)?;
    Ok(FileAnswer::Done)
}

fn replaceable(path: &Path, target: &Path, metadata: Metadata) -> Result<Metadata, FileFailure> {
    if metadata.is_dir() {
        return Err(is_a_directory("write", path));
    }
    if !metadata.is_file() {
        return Err(not_regular(path));
    }
    // A rename asks only the directory; the file's own mode has a say here as it has in a plain write.
    may_write(target).map_err(|error| failure("write", path, &error))?;
    Ok(metadata)
}

/// Why not all of the content is there.
enum Stopped {
    NotRead(String),
    NotWritten(io::Error),
}

fn copy(mut input: impl Read, temporary: &mut Temporary, length: u64) -> Result<(), Stopped> {
    let mut left = length;
    let mut buffer = vec![0; BUFFER.min(usize::try_from(length).unwrap_or(BUFFER))];
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = match input.read(buffer.get_mut(..most).unwrap_or_default()) {
            Ok(0) => {
                let had = length - left;
                return Err(Stopped::NotRead(format!(
                    "standard input ended after {had} of {length} bytes"
                )));
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Stopped::NotRead(format!(
                    "standard input cannot be read: {error}"
                )));
            }
        };
        let read = buffer.get(..count).unwrap_or_default();
        io::Write::write_all(&mut temporary.file, read).map_err(Stopped::NotWritten)?;
        left -= count as u64;
    }
    Ok(())
}

fn cut_off(path: &Path, why: &str) -> FileFailure {
    let shown = path.to_string_lossy();
    FileFailure {
        kind: FileErrorKind::Internal,
        message: format!("failed to write {shown}: {why}; the file is as it was"),
        resource: shown.into_owned(),
        fix: Some("write it again".into()),
    }
}

fn keep_owner_and_mode(temporary: &Temporary, old: &Metadata) -> io::Result<()> {
    let new = temporary.file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away; anybody else becomes the owner of what they write.
        let _ = fchown(&temporary.file, Some(old.uid()), Some(old.gid()));
    }
    temporary
        .file
        .set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// The path at the end of a chain of links, whether or not something is there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
                ) =>
            {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(errno::ELOOP))
}
