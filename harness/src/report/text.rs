//! Text from outside, made fit to be shown: nothing in it can move a cursor, hide, or flood.

use std::fmt::Write as _;

/// Whether a character is not shown as itself: control characters, what XML cannot carry, and format characters that
/// hide or reorder text (bidirectional controls, zero-width characters, tags).
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text on one line, every hidden character as an escape (`\x1b`, `\n`, `\u{202e}`). A backslash stays one, so the
/// result is for reading, not for parsing.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                let code = u32::from(hidden);
                let escape = if code < 0x80 {
                    format!("\\x{code:02x}")
                } else {
                    format!("\\u{{{code:x}}}")
                };
                shown.push_str(&escape);
            }
            plain => shown.push(plain),
        }
    }
    shown
}

/// The middle of what is longer than `limit` characters is left out, and how much is told.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let (head, tail) = (limit.div_ceil(2), limit / 2);
    let mut short: String = text.chars().take(head).collect();
    let _ = write!(short, " [... {} characters left out ...] ", length - head - tail);
    short.extend(text.chars().skip(length - tail));
    short
}

/// The lines of the text, each visible and no longer than `width`, at most `limit` of them; the middle of what is more is
/// left out, and how much is told.
pub(crate) fn block(text: &str, width: usize, limit: usize) -> Vec<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let total = body.split('\n').count();
    let show = |line: &str| shorten(&visible(line), width);
    if total <= limit {
        return body.split('\n').map(show).collect();
    }
    let (head, tail) = (limit.div_ceil(2), limit / 2);
    let mut lines: Vec<String> = body.split('\n').take(head).map(show).collect();
    lines.push(format!("[... {} lines left out ...]", total - head - tail));
    lines.extend(body.split('\n').skip(total - tail).map(show));
    lines
}

/// Breaks a visible text at spaces, so that lines fit `width` characters; a longer word (a link) stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Words as they are typed into a shell.
pub(crate) fn quoted(words: &[String]) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./+,=:@".contains(character);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Milliseconds for people: `87 ms`, `2.31 s`, `3 min 04 s`.
pub(crate) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{:02} s", milliseconds / 1_000, milliseconds % 1_000 / 10),
        _ => format!(
            "{} min {:02} s",
            milliseconds / 60_000,
            milliseconds % 60_000 / 1_000
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_as_escapes() {
        assert_eq!(
            visible("a\x1b[31mb\r\n\t\0\x7f"),
            "a\\x1b[31mb\\r\\n\\t\\x00\\x7f"
        );
        assert_eq!(
            visible("\u{9b}2J\u{202e}x\u{feff}\u{ffff}"),
            "\\u{9b}2J\\u{202e}x\\u{feff}\\u{ffff}"
        );
        assert_eq!(visible("naïve 漢字 \\n"), "naïve 漢字 \\n");
    }

    #[test]
    fn what_is_long_loses_its_middle_and_tells_how_much() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefgh", 5), "abc [... 3 characters left out ...] gh");
        assert_eq!(shorten("äöüß", 2), "ä [... 2 characters left out ...] ß");
    }

    #[test]
    fn a_block_has_a_bounded_number_of_bounded_lines() {
        assert_eq!(block("a\nb\n", 80, 4), ["a", "b"]);
        assert_eq!(
            block("1\n2\n3\n4\n5\n6", 80, 3),
            ["1", "2", "[... 3 lines left out ...]", "6"]
        );
        assert_eq!(block("", 80, 3), [""]);
    }

    #[test]
    fn a_long_word_is_not_broken() {
        assert_eq!(
            wrap("see  the link https://example.org/long", 12),
            ["see the link", "https://example.org/long"]
        );
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(87), "87 ms");
        assert_eq!(duration(2_319), "2.31 s");
        assert_eq!(duration(184_000), "3 min 04 s");
    }
}
