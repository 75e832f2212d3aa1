//! What a command wrote to one stream, as far as it is held: the latest of it in memory, what came before in a file that is
//! written round and round.

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

/// Bytes in memory, from which on the older half goes to the file.
const MEMORY: usize = 256 * 1024;

/// How much more than its capacity a spool holds rather than lose it: what is left in a pipe when a command ends.
pub(super) const SLACK: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Spool {
    path: Option<PathBuf>,
    capacity: u64,
    /// Offset of the first byte held.
    from: u64,
    /// Offset after the last byte.
    end: u64,
    /// The latest bytes; those held before them are in the file.
    memory: VecDeque<u8>,
    file: Option<File>,
    /// Why there is no file, or no more of it.
    problem: Option<io::Error>,
    told: bool,
}

impl Spool {
    /// A spool of that many bytes; its file is made when it is needed.
    pub(super) fn new(path: Option<PathBuf>, capacity: u64) -> Self {
        // The capacity decides about a file's size, so that it must not overflow.
        let capacity = capacity.clamp(1, u64::MAX / 4);
        Self {
            path,
            capacity,
            from: 0,
            end: 0,
            memory: VecDeque::new(),
            file: None,
            problem: None,
            told: false,
        }
    }

    pub(super) fn from(&self) -> u64 {
        self.from
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What was in the way of the file, told once.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        let problem = self.problem.as_ref().filter(|_| !self.told)?;
        let place = self
            .path
            .as_ref()
            .map_or("a file".into(), |path| path.to_string_lossy());
        let notice = format!("failed to write output to {place}: {problem}; less of it is held");
        self.told = true;
        Some(notice)
    }

    /// How many bytes there is room for when everything from that offset on is to stay.
    pub(super) fn room(&self, floor: u64) -> u64 {
        self.capacity
            .saturating_sub(self.end - floor.clamp(self.from, self.end))
    }

    /// Adds bytes. What goes beyond the capacity pushes out the oldest; with `all` only what goes far beyond it.
    pub(super) fn append(&mut self, bytes: &[u8], all: bool) {
        self.memory.extend(bytes);
        self.end += bytes.len() as u64;
        let most = self.capacity + if all { SLACK } else { 0 };
        self.drop_before(self.end.saturating_sub(most));
        if self.memory.len() > MEMORY {
            self.spill(self.memory.len() - MEMORY / 2);
        }
    }

    /// Puts all but a little of what is in memory into the file: nobody has wanted it for a while.
    pub(super) fn settle(&mut self, small: usize) {
        if self.memory.len() > small {
            self.spill(self.memory.len());
        }
        self.memory.shrink_to_fit();
    }

    fn drop_before(&mut self, from: u64) {
        if from <= self.from {
            return;
        }
        self.from = from;
        let start = self.memory_start();
        if from > start {
            let dropped = usize::try_from(from - start).unwrap_or(usize::MAX);
            self.memory.drain(..dropped.min(self.memory.len()));
        }
    }

    fn memory_start(&self) -> u64 {
        self.end - self.memory.len() as u64
    }

    fn ring(&self) -> u64 {
        self.capacity + SLACK + MEMORY as u64
    }

    /// Moves the oldest bytes in memory to the file. Where that fails, the spool holds from now on what fits into memory.
    fn spill(&mut self, count: usize) {
        if self.problem.is_some() {
            return;
        }
        if let Err(error) = self.write_out(count) {
            self.problem = Some(error);
            self.capacity = self.capacity.min(2 * MEMORY as u64);
            return;
        }
        self.memory.drain(..count);
    }

    fn write_out(&mut self, count: usize) -> io::Result<()> {
        let (start, ring) = (self.memory_start(), self.ring());
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let path = self
                    .path
                    .as_ref()
                    .ok_or_else(|| io::Error::other("there is no directory for it"))?;
                none.insert(
                    OpenOptions::new()
                        .read(true)
                        .write(true)
                        .create_new(true)
                        .mode(0o600)
                        .open(path)?,
                )
            }
        };
        let mut offset = start;
        let (front, back) = self.memory.as_slices();
        let front = &front[..count.min(front.len())];
        let back = &back[..count - front.len()];
        for mut piece in [front, back] {
            while !piece.is_empty() {
                let (position, length) = stretch(offset, ring, piece.len());
                file.write_all_at(&piece[..length], position)?;
                piece = &piece[length..];
                offset += length as u64;
            }
        }
        Ok(())
    }

    /// Hands over at most `most` of the bytes from that offset on, in pieces. The offset must be held.
    pub(super) fn read(&self, offset: u64, most: usize, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let start = self.memory_start();
        let wanted = self.available(offset, most);
        let mut offset = offset;
        let end = offset + wanted as u64;
        if let Some(file) = self.file.as_ref().filter(|_| offset < start) {
            let mut buffer = vec![0; usize::try_from(end.min(start) - offset).unwrap_or(wanted)];
            let mut rest = buffer.as_mut_slice();
            let mut at = offset;
            while !rest.is_empty() {
                let (position, length) = stretch(at, self.ring(), rest.len());
                let (piece, after) = rest.split_at_mut(length);
                file.read_exact_at(piece, position)?;
                rest = after;
                at += length as u64;
            }
            take(&buffer);
            offset = at;
        }
        let skip = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
        let count = usize::try_from(end - offset).unwrap_or(0);
        let (front, back) = self.memory.as_slices();
        let from_front = front.get(skip..).unwrap_or_default();
        let from_front = &from_front[..count.min(from_front.len())];
        take(from_front);
        let from_back = back.get(skip.saturating_sub(front.len())..).unwrap_or_default();
        take(&from_back[..(count - from_front.len()).min(from_back.len())]);
        Ok(())
    }

    /// How many bytes there are from that offset on, at most `most`.
    pub(super) fn available(&self, offset: u64, most: usize) -> usize {
        usize::try_from(self.end.saturating_sub(offset))
            .unwrap_or(usize::MAX)
            .min(most)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let (Some(_), Some(path)) = (&self.file, &self.path) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Where an offset is in the file, and how many of the bytes there follow each other.
fn stretch(offset: u64, ring: u64, length: usize) -> (u64, usize) {
    let position = offset % ring;
    (
        position,
        length.min(usize::try_from(ring - position).unwrap_or(usize::MAX)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spool: &Spool, offset: u64, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        spool
            .read(offset, most, |piece| bytes.extend_from_slice(piece))
            .unwrap();
        bytes
    }

    fn pattern(from: u64, count: usize) -> Vec<u8> {
        (from..from + count as u64)
            .map(|offset| (offset * 7 % 251).to_le_bytes()[0])
            .collect()
    }

    #[test]
    fn every_held_byte_can_be_read_from_memory_and_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let capacity = 1_000_000;
        let mut spool = Spool::new(Some(path.clone()), capacity);
        let mut written = 0;
        for step in [1, 1000, 65_536, 262_144, 300_000, 7, 262_144]
            .into_iter()
            .cycle()
            .take(60)
        {
            spool.append(&pattern(written, step), false);
            written += step as u64;
            assert_eq!(spool.end(), written);
            assert!(spool.end() - spool.from() <= capacity);
            for offset in [spool.from(), spool.from() + 5000, written.saturating_sub(100)] {
                let offset = offset.clamp(spool.from(), written);
                let expected = pattern(offset, spool.available(offset, 100_000));
                assert!(read(&spool, offset, 100_000) == expected, "{offset} of {written}");
            }
        }
        assert!(path.exists());
        assert!(fs::metadata(&path).unwrap().len() < capacity + SLACK + 2 * MEMORY as u64);
        let held = read(&spool, spool.from(), usize::MAX);
        assert!(held == pattern(spool.from(), held.len()));
        spool.settle(0);
        assert!(held == read(&spool, spool.from(), usize::MAX));
        drop(spool);
        assert!(!path.exists());
    }

    #[test]
    fn without_a_file_less_is_held_and_nothing_is_wrong() {
        let mut spool = Spool::new(Some("/nonexistent/spool".into()), 64 << 20);
        let mut written = 0;
        for _ in 0..40 {
            spool.append(&pattern(written, 100_000), false);
            written += 100_000;
        }
        let held = read(&spool, spool.from(), usize::MAX);
        assert!((MEMORY..=2 * MEMORY).contains(&held.len()), "{}", held.len());
        assert!(held == pattern(spool.from(), held.len()));
        assert!(spool.take_problem().unwrap().contains("/nonexistent/spool"));
        assert_eq!(spool.take_problem(), None);
    }

    #[test]
    fn room_counts_from_what_must_stay() {
        let mut spool = Spool::new(None, 100);
        spool.append(&[0; 80], false);
        assert_eq!(spool.room(0), 20);
        assert_eq!(spool.room(70), 90);
        spool.append(&[0; 50], true);
        assert_eq!((spool.from(), spool.room(0)), (0, 0));
        spool.append(&[0; 1], false);
        assert_eq!(spool.from(), 31);
    }
}
