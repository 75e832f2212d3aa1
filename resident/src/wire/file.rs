//! What `file OP PATH` prints: the answer to one operation on the files of a sandbox.
//!
//! An answer is the whole standard output of the program. Its exit code says besides whether it is a result (0) or an
//! error ([`FILE_FAILED`]); with any other code there is none.

use super::bytes::{DecodeError, Reader, Writer};

/// The exit code of a program that prints [`FileAnswer::Failed`]: an error of input or output (sysexits(3)).
pub const FILE_FAILED: u8 = 74;

/// The most bytes of a file's content in one answer.
pub const MAX_FILE_DATA: usize = 16 * 1024 * 1024;

/// The longest answer, in bytes: a file's content and room for what is around it.
pub const MAX_FILE_ANSWER: usize = MAX_FILE_DATA + 64 * 1024;

/// The most bytes that the entries of a listing take in a message to a caller, told by [`FileInfo::cost`].
pub const MAX_LISTING: usize = 16 * 1024 * 1024;

/// The longest name, in bytes: that of a path (`PATH_MAX`), which a thing without a name of its own is called by.
const NAME: usize = 4096;

/// The longest text of an error, in bytes. It may name two paths, in each of which every byte may be replaced by three.
const TEXT: usize = 32 * 1024;

/// The most permission bits: octal 7777.
const MODE: u32 = 0o7777;

/// The answer to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAnswer {
    /// It is done.
    Done,
    /// What was read.
    Content {
        /// The size of the whole file, in bytes.
        size: u64,
        /// The bytes, at most [`MAX_FILE_DATA`].
        data: Vec<u8>,
    },
    /// What a path names.
    Info(FileInfo),
    /// What is in a directory, in the order of the bytes of the names, each of which is there once.
    Listing(Vec<FileInfo>),
    /// It is not done.
    Failed(FileFailure),
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The last part of the path.
    pub name: Vec<u8>,
    /// What it is; links are not followed.
    pub kind: FileKind,
    /// Its size, in bytes.
    pub size: u64,
    /// Permission bits, at most octal 7777.
    pub mode: u32,
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    /// A regular file.
    File = 1,
    /// A directory.
    Directory = 2,
    /// A symbolic link.
    Symlink = 3,
    /// Anything else.
    Other = 4,
}

/// Why an operation is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFailure {
    /// The kind.
    pub kind: FileErrorKind,
    /// The path that it is about, for people: invalid UTF-8 is replaced.
    pub resource: String,
    /// For people: what failed, and why.
    pub message: String,
    /// What can be done about it.
    pub fix: Option<String>,
}

/// Kinds of errors of files, with the meaning that they have in the protocol of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileErrorKind {
    /// It is not there.
    NotFound = 1,
    /// The system refused access.
    PermissionDenied = 2,
    /// It is a directory, and a file is needed.
    IsADirectory = 3,
    /// It, or a part of its path, is a file, and a directory is needed.
    NotADirectory = 4,
    /// Something is there already.
    AlreadyExists = 5,
    /// No space, or no descriptors, or more than an answer holds.
    LimitExceeded = 6,
    /// It cannot be done with such a path, or such a thing.
    InvalidArgument = 7,
    /// It cannot be done here.
    Unsupported = 8,
    /// Anything else.
    Internal = 9,
}

impl FileKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::File, Self::Directory, Self::Symlink, Self::Other];
}

impl FileErrorKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::NotFound,
        Self::PermissionDenied,
        Self::IsADirectory,
        Self::NotADirectory,
        Self::AlreadyExists,
        Self::LimitExceeded,
        Self::InvalidArgument,
        Self::Unsupported,
        Self::Internal,
    ];
}

impl FileAnswer {
    /// The answer in bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w;
        match self {
            Self::Done => w = Writer::tagged(1),
            Self::Content { size, data } => {
                w = Writer(content_start(*size, data.len()));
                w.fixed(data);
            }
            Self::Info(info) => {
                w = Writer::tagged(3);
                info.write(&mut w);
            }
            Self::Listing(entries) => {
                w = Writer::tagged(4);
                w.list(entries, |writer, entry| entry.write(writer));
            }
            Self::Failed(failure) => {
                w = Writer::tagged(5);
                failure.write(&mut w);
            }
        }
        w.0
    }

    /// The answer that bytes stand for.
    ///
    /// # Errors
    /// When they are none. No bytes make it panic, or allocate more than a few times their number.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let r = &mut Reader::new(bytes);
        let answer = match r.u8()? {
            1 => Self::Done,
            2 => Self::Content {
                size: r.u64()?,
                data: r.bytes(MAX_FILE_DATA)?,
            },
            3 => Self::Info(FileInfo::read(r)?),
            4 => Self::Listing(r.list(FileInfo::SHORTEST, FileInfo::read)?),
            5 => Self::Failed(FileFailure::read(r)?),
            other => return Err(DecodeError::Unknown(other)),
        };
        r.end()?;
        Ok(answer)
    }
}

/// The beginning of [`FileAnswer::Content`], which so many bytes follow: for a sender that does not want to copy them.
#[must_use]
pub fn content_start(size: u64, length: usize) -> Vec<u8> {
    let mut w = Writer::tagged(2);
    w.u64(size).count(length);
    w.0
}

impl FileInfo {
    /// The fewest bytes that one takes.
    const SHORTEST: usize = 4 + 1 + 8 + 4;

    /// The most bytes that an entry of that name takes in a message to a caller, where each byte of it may need six.
    #[must_use]
    pub fn cost(name: &[u8]) -> usize {
        name.len() * 6 + 128
    }

    fn write(&self, w: &mut Writer) {
        w.bytes(&self.name)
            .u8(self.kind as u8)
            .u64(self.size)
            .u32(self.mode);
    }

    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        let name = r.bytes(NAME)?;
        let number = r.u8()?;
        let kind = FileKind::ALL.into_iter().find(|kind| *kind as u8 == number);
        let info = Self {
            name,
            kind: kind.ok_or(DecodeError::Unknown(number))?,
            size: r.u64()?,
            mode: r.u32()?,
        };
        if info.mode > MODE {
            return Err(DecodeError::TooLong);
        }
        Ok(info)
    }
}

impl FileFailure {
    fn write(&self, w: &mut Writer) {
        w.u8(self.kind as u8).text(&self.resource).text(&self.message);
        w.option(self.fix.as_ref(), |writer, fix| {
            writer.text(fix);
        });
    }

    fn read(r: &mut Reader) -> Result<Self, DecodeError> {
        let number = r.u8()?;
        let kind = FileErrorKind::ALL.into_iter().find(|kind| *kind as u8 == number);
        Ok(Self {
            kind: kind.ok_or(DecodeError::Unknown(number))?,
            resource: r.text(TEXT)?,
            message: r.text(TEXT)?,
            fix: r.option(|reader| reader.text(TEXT))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &[u8], kind: FileKind) -> FileInfo {
        FileInfo {
            name: name.to_vec(),
            kind,
            size: u64::MAX,
            mode: MODE,
        }
    }

    fn failure(kind: FileErrorKind, fix: Option<&str>) -> FileAnswer {
        FileAnswer::Failed(FileFailure {
            kind,
            resource: "/f".into(),
            message: "failed to read /f".into(),
            fix: fix.map(Into::into),
        })
    }

    fn every_answer() -> Vec<FileAnswer> {
        let listing = FileKind::ALL.map(|kind| info(b"a\n\xff", kind)).to_vec();
        let mut all = vec![
            FileAnswer::Done,
            FileAnswer::Content {
                size: 7,
                data: (0..=255).collect(),
            },
            FileAnswer::Content {
                size: 0,
                data: Vec::new(),
            },
            FileAnswer::Info(info(b"", FileKind::Other)),
            FileAnswer::Listing(Vec::new()),
            FileAnswer::Listing(listing),
        ];
        all.extend(FileErrorKind::ALL.map(|kind| failure(kind, Some("fix it"))));
        all.push(failure(FileErrorKind::Internal, None));
        all
    }

    #[test]
    fn every_answer_returns_as_it_was_and_cut_or_longer_it_is_none() {
        for answer in every_answer() {
            let mut bytes = answer.encode();
            assert!(bytes.len() <= MAX_FILE_ANSWER);
            for end in 0..bytes.len() {
                assert!(
                    FileAnswer::decode(&bytes[..end]).is_err(),
                    "{answer:?} cut at {end}"
                );
            }
            assert_eq!(FileAnswer::decode(&bytes), Ok(answer));
            bytes.push(0);
            assert_eq!(FileAnswer::decode(&bytes), Err(DecodeError::Trailing));
        }
    }

    /// What is decoded from damaged bytes is an answer again, or an error, and never a panic.
    #[test]
    fn damaged_bytes_do_no_harm() {
        for answer in every_answer() {
            let bytes = answer.encode();
            for place in 0..bytes.len().min(64) {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[place] = value;
                    if let Ok(decoded) = FileAnswer::decode(&damaged) {
                        assert_eq!(decoded.encode(), damaged);
                    }
                }
            }
        }
    }

    #[test]
    fn what_goes_beyond_its_bounds_is_no_answer() {
        let mut many = FileAnswer::Listing(Vec::new()).encode();
        many.splice(1.., u32::MAX.to_le_bytes());
        assert_eq!(FileAnswer::decode(&many), Err(DecodeError::Truncated));
        let mut long = content_start(0, MAX_FILE_DATA + 1);
        long.resize(long.len() + MAX_FILE_DATA + 1, 0);
        assert_eq!(FileAnswer::decode(&long), Err(DecodeError::TooLong));
        let mut odd = info(b"f", FileKind::File);
        odd.mode = MODE + 1;
        let odd = FileAnswer::Info(odd).encode();
        assert_eq!(FileAnswer::decode(&odd), Err(DecodeError::TooLong));
        let longest = info(&[b'n'; NAME + 1], FileKind::File);
        let longest = FileAnswer::Info(longest).encode();
        assert_eq!(FileAnswer::decode(&longest), Err(DecodeError::TooLong));
    }

    /// The bytes themselves are the format: another version of the program may stand in a sandbox.
    #[test]
    fn answers_are_these_bytes() {
        let content = FileAnswer::Content {
            size: 0x0102,
            data: b"hi".to_vec(),
        };
        assert_eq!(content.encode(), b"\x02\x02\x01\0\0\0\0\0\0\x02\0\0\0hi");
        let listing = FileAnswer::Listing(vec![FileInfo {
            size: 3,
            mode: 0o644,
            ..info(b"n", FileKind::File)
        }]);
        assert_eq!(
            listing.encode(),
            b"\x04\x01\0\0\0\x01\0\0\0n\x01\x03\0\0\0\0\0\0\0\xa4\x01\0\0"
        );
        let failed = failure(FileErrorKind::NotFound, Some("x"));
        let expected = b"\x05\x01\x02\0\0\0/f\x11\0\0\0failed to read /f\x01\x01\0\0\0x";
        assert_eq!(failed.encode(), expected);
    }
}
