//! One JSON message a line, with a bound on its length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// What reading one line gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line without its newline. A last line without a newline counts.
    Text(Vec<u8>),
    /// A line longer than the bound; what was read of it was dropped.
    TooLong {
        /// How many bytes of it were read.
        bytes: usize,
    },
    /// The other side closed the stream.
    End,
}

/// What to do with a line over the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Read it to its end, so that the next line can be read.
    Skip,
    /// Give up at once: the stream is not read any further.
    Stop,
}

/// Reads the next line, holding at most `max` bytes of it.
///
/// # Errors
/// Whatever reading fails with.
pub async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    max: usize,
    overflow: Overflow,
) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut length = 0_usize;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(match length {
                0 => Line::End,
                bytes if bytes > max => Line::TooLong { bytes },
                _ => Line::Text(line),
            });
        }
        let newline = chunk.iter().position(|byte| *byte == b'\n');
        let part = newline.unwrap_or(chunk.len());
        length += part;
        if length <= max {
            line.extend_from_slice(&chunk[..part]);
        } else if overflow == Overflow::Stop {
            return Ok(Line::TooLong { bytes: length });
        } else {
            line = Vec::new();
        }
        let consumed = part + usize::from(newline.is_some());
        reader.consume(consumed);
        if newline.is_some() {
            return Ok(if length > max {
                Line::TooLong { bytes: length }
            } else {
                Line::Text(line)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], max: usize) -> Vec<Line> {
        let mut reader = tokio::io::BufReader::with_capacity(3, input);
        let mut lines = Vec::new();
        loop {
            match read_line(&mut reader, max, Overflow::Skip).await.unwrap() {
                Line::End => return lines,
                line => lines.push(line),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_cut_at_newlines_whatever_the_chunks() {
        let got = lines(b"one\n\nthree!!\nlast", 100).await;
        let expected = ["one", "", "three!!", "last"].map(|text| Line::Text(text.into()));
        assert_eq!(got, expected);
    }

    #[tokio::test]
    async fn a_line_over_the_bound_is_dropped_and_the_next_one_is_whole() {
        assert_eq!(
            lines(b"12345678\n1234\n", 4).await,
            [Line::TooLong { bytes: 8 }, Line::Text(b"1234".to_vec())]
        );
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up_at_the_bound() {
        let mut reader = tokio::io::BufReader::with_capacity(3, tokio::io::repeat(b'x'));
        assert_eq!(
            read_line(&mut reader, 4, Overflow::Stop).await.unwrap(),
            Line::TooLong { bytes: 6 }
        );
    }

    #[tokio::test]
    async fn a_last_line_over_the_bound_is_told() {
        assert_eq!(lines(b"12345", 4).await, [Line::TooLong { bytes: 5 }]);
    }
}
