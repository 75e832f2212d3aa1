//! ENC: characters arrive whole, and bytes as they are.

use crate::{
    scene::{Failure, Scene, shell},
    steps::composed::unknown,
};

/// Characters of one, two, three and four bytes.
const CHARACTERS: &str = "aé€😀";

/// Borders of the blocks that programs read and send in.
const BORDERS: &[usize] = &[4096, 8192, 16_384, 32_768, 65_536];

/// Text for a shell that writes what the words say, which becomes the content that is expected.
pub(crate) fn text_that_writes(scene: &mut Scene, words: &str) -> Result<String, Failure> {
    let (what, as_an_error) = match words.strip_suffix(", as an error") {
        Some(what) => (what, true),
        None => (words, false),
    };
    let (text, content) = match what {
        "characters of one to four bytes, byte by byte" => byte_by_byte(CHARACTERS.as_bytes()),
        "characters across the borders of blocks" => across_borders(&["é", "€", "😀"].map(str::as_bytes)),
        "bytes that are not UTF-8 across the borders of blocks" => {
            across_borders(&[&b"\xff\xfe"[..], b"\xe2\x82", b"\xf0\x9f\x98"])
        }
        other => {
            let bytes = bytes_of(other)?;
            (shell::print(bytes), bytes.to_vec())
        }
    };
    scene.notes.content = Some(content);
    Ok(if as_an_error {
        format!("{{ {text}; }} >&2")
    } else {
        text
    })
}

/// What is printed at once.
fn bytes_of(what: &str) -> Result<&'static [u8], Failure> {
    Ok(match what {
        "text in Latin-1" => b"gr\xfcn, stra\xdfe: na\xefve\n",
        "text in Shift JIS" => b"\x93\xfa\x96{\x8c\xea \x83\\\n",
        "text in UTF-16 with its byte order" => b"\xff\xfea\0\xfc\0\xac \x3d\xd8\0\xde\n\0",
        "half a character at its end" => b"half: \xf0\x9f\x98",
        // An overlong slash, half of a pair of surrogates, what lies beyond the last character, bytes that go on with nothing.
        "what only looks like UTF-8" => {
            b"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \x80 \xe2\x82( \xf8\x88\x80\x80\x80\n"
        }
        "letters and accents apart" => "e\u{301} \u{e9} a\u{30a}\n".as_bytes(),
        "words with NUL bytes between them" => b"one\0two\0\0three\0",
        "colours and movements of a cursor" => {
            b"\x1b[1;31mred\x1b[0m \x1b[2K\x1b[10;5H\x1b]0;title\x07 \x1bM\x1b(B\n"
        }
        "a line that is written three times over" => b"10%\r50%\r100%\rdone\n",
        "bells, backspaces and deletes" => b"a\x08b\x7f\x07\x0c\x0b\x0e\x0f\x1a\x04\x05\n",
        "ends of lines of other systems" => {
            "one\r\ntwo\rthree\u{85}four\u{2028}five\u{2029}six\u{1c}seven\u{1e}eight\u{b}nine\u{c}\n".as_bytes()
        }
        "text behind a mark of its byte order" => b"\xef\xbb\xbftext\n",
        "lines that look like messages" => {
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
              {\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"data\":\"x\"}}\n\
              {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"no\"}}\n"
        }
        "lines that look like marks" => {
            b"__EXIT_CODE__=7\n__CWD__/tmp__CWD__\nexit code: 1\n===END===\n[Process completed]\nContent-Length: 3\n\nEOF\n"
        }
        other => return Err(unknown(other, "written")),
    })
}

/// A moment between two bytes, in which a reader takes the first one.
fn byte_by_byte(bytes: &[u8]) -> (String, Vec<u8>) {
    let each = bytes.iter().map(|byte| shell::print(&[*byte]));
    (each.collect::<Vec<_>>().join("; sleep 0.05; "), bytes.to_vec())
}

/// Before each border stands all but the last byte of something, in turns, and its last byte behind the border.
fn across_borders(things: &[&[u8]]) -> (String, Vec<u8>) {
    let mut content = Vec::new();
    let mut commands = Vec::new();
    for (border, thing) in BORDERS.iter().zip(things.iter().cycle()) {
        let fill = border + 1 - thing.len() - content.len();
        content.extend(std::iter::repeat_n(b'x', fill));
        content.extend_from_slice(thing);
        commands.push(format!(
            "awk 'BEGIN {{ for (i = 0; i < {fill}; i++) printf \"x\" }}'; {}",
            shell::print(thing)
        ));
    }
    (commands.join("; "), content)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn sh(text: &str) -> Vec<u8> {
        Command::new("sh").args(["-c", text]).output().unwrap().stdout
    }

    #[test]
    fn each_border_lies_within_a_character() {
        let (text, content) = across_borders(&["é", "€", "😀"].map(str::as_bytes));
        assert_eq!(sh(&text), content);
        let content = String::from_utf8(content).unwrap();
        for border in BORDERS {
            assert!(!content.is_char_boundary(*border), "{border}");
        }
    }

    #[test]
    fn bytes_come_one_after_the_other() {
        let (text, content) = byte_by_byte("é".as_bytes());
        assert_eq!((sh(&text), text.matches("sleep").count()), (content, 1));
    }
}
