//! One JSON message a line, with a bound on its length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// What reading one line gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line without its newline. A last line without a newline counts.
    Text(Vec<u8>),
    /// A line longer than the bound; it was read to its end and dropped.
    TooLong {
        /// How long it was, in bytes.
        bytes: usize,
    },
    /// The other side closed the stream.
    End,
}

/// Reads the next line, holding at most `max` bytes of it.
///
/// # Errors
/// Whatever reading fails with.
pub async fn read_line(reader: &mut (impl AsyncBufRead + Unpin), max: usize) -> io::Result<Line> {
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
            match read_line(&mut reader, max).await.unwrap() {
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
    async fn a_last_line_over_the_bound_is_told() {
        assert_eq!(lines(b"12345", 4).await, [Line::TooLong { bytes: 5 }]);
    }
}
