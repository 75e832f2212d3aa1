//! Fields of a message: written, and read back with every length checked before anything is allocated.

use std::fmt;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// They end within a field.
    Truncated,
    /// A field is longer than it may be.
    TooLong,
    /// More bytes follow the last field.
    Trailing,
    /// No message, or no variant of a field, has this number.
    Unknown(u8),
    /// What must be UTF-8 is not.
    NotText,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the message ends within a field"),
            Self::TooLong => f.write_str("a field of the message is longer than it may be"),
            Self::Trailing => f.write_str("bytes follow the last field of the message"),
            Self::Unknown(number) => write!(
                f,
                "the message has a variant {number} that this version does not know"
            ),
            Self::NotText => f.write_str("a text in the message is not UTF-8"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Writes fields. Numbers are little-endian; bytes come with their length before them.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn tagged(tag: u8) -> Self {
        Self(vec![tag])
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(super) fn flag(&mut self, value: bool) -> &mut Self {
        self.u8(value.into())
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.fixed(&value.to_le_bytes())
    }

    /// Bytes whose number both sides know.
    pub(super) fn fixed(&mut self, value: &[u8]) -> &mut Self {
        self.0.extend_from_slice(value);
        self
    }

    /// A count, or the length of bytes. What does not fit cannot be read back, and is refused by the frame before.
    pub(super) fn count(&mut self, value: usize) -> &mut Self {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX))
    }

    pub(super) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.count(value.len()).fixed(value)
    }

    pub(super) fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.count(items.len());
        for item in items {
            write(self, item);
        }
        self
    }

    pub(super) fn option<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) -> &mut Self {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }
}

/// Reads fields.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next bytes, of that number.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::Unknown(other)),
        }
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.fixed().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.fixed().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.fixed().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.u32()?).map_err(|_| DecodeError::TooLong)
    }

    /// Bytes, at most `limit` of them. Nothing is allocated before they are known to be there.
    pub(super) fn bytes(&mut self, limit: usize) -> Result<Vec<u8>, DecodeError> {
        let length = self.count()?;
        if length > limit {
            return Err(DecodeError::TooLong);
        }
        self.take(length).map(<[u8]>::to_vec)
    }

    /// UTF-8, at most `limit` bytes of it.
    pub(super) fn text(&mut self, limit: usize) -> Result<String, DecodeError> {
        String::from_utf8(self.bytes(limit)?).map_err(|_| DecodeError::NotText)
    }

    /// Items, each of which takes at least `least` bytes, so that their number cannot be a lie.
    pub(super) fn list<T>(
        &mut self,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.count()?;
        if count > self.0.len() / least.max(1) {
            return Err(DecodeError::Truncated);
        }
        (0..count).map(|_| read(self)).collect()
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.flag()? {
            read(self).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Whether the message ends here.
    pub(super) fn end(&self) -> Result<(), DecodeError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Trailing)
        }
    }
}
