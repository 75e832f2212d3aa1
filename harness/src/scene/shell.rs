//! Text for a POSIX shell, made of ASCII only: what a check needs is made inside the sandbox, so that a transport that
//! damages bytes the same way in both directions cannot hide.

use std::fmt::Write as _;

/// Any bytes as one word of a shell. A newline at the very end is lost when there are bytes beyond ASCII, too.
#[must_use]
pub fn word(bytes: &[u8]) -> String {
    if bytes
        .iter()
        .all(|byte| (0x20..0x7f).contains(byte) || *byte == b'\n')
    {
        return format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', r"'\''"));
    }
    format!("\"$({})\"", print(bytes))
}

/// A command that prints these bytes.
#[must_use]
pub fn print(bytes: &[u8]) -> String {
    format!("printf '{}'", octal(bytes))
}

/// A format of `printf` for these bytes.
fn octal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 4), |mut text, byte| {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'.' | b'_' | b'/' => {
                    text.push(char::from(*byte));
                }
                _ => {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            text
        })
}

/// The numbered lines that `numbered` prints: eight bytes each, but for the last, which may be cut.
#[must_use]
pub fn numbered_bytes(bytes: usize) -> Vec<u8> {
    let mut lines: Vec<u8> = (0..bytes.div_ceil(8))
        .flat_map(|line| format!("{line:07}\n").into_bytes())
        .collect();
    lines.truncate(bytes);
    lines
}

/// A command that prints numbered lines of eight bytes each, so that any loss, repetition or exchange shows.
#[must_use]
pub fn numbered(bytes: usize) -> String {
    let (lines, rest) = (bytes / 8, bytes % 8);
    let cut = match rest {
        0 => String::new(),
        rest => format!("; printf \"%s\", substr(sprintf(\"%07d\", i), 1, {rest})"),
    };
    format!("awk 'BEGIN {{ for (i = 0; i < {lines}; i++) printf \"%07d\\n\", i{cut} }}'")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn sh(text: &str) -> Vec<u8> {
        Command::new("sh").args(["-c", text]).output().unwrap().stdout
    }

    #[test]
    fn a_real_shell_reads_words_as_they_were_meant() {
        for bytes in [
            &b"it's \"quoted\""[..],
            b"$HOME `id`",
            b"two\nlines",
            b"-rf",
            b"~",
            b"gr\xc3\xbcn",
            b"\xff-\xfe",
            b"",
        ] {
            assert_eq!(sh(&format!("printf %s {}", word(bytes))), bytes);
        }
    }

    #[test]
    fn a_real_shell_prints_every_byte_as_it_was_meant() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(sh(&print(&all)), all);
        assert!(print(&all).is_ascii());
        assert_eq!(sh(&print(b"-n x\n")), b"-n x\n");
        for bytes in [80_000, 7, 999, 1001] {
            assert_eq!(sh(&numbered(bytes)), numbered_bytes(bytes));
        }
    }
}
