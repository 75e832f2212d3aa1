//! Base64 with padding (RFC 4648, section 4), strict: one text for each sequence of bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..4 {
            if place <= group.len() {
                let [digit, ..] = (bits >> (18 - 6 * place) & 63).to_le_bytes();
                text.push(char::from(ALPHABET[usize::from(digit)]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// The bytes of a text; `None` when it is not the text of any.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | value(*digit)?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, whole @ ..] = bits.to_be_bytes();
        let (kept, dropped) = whole.split_at_checked(group.len() - 1)?;
        // The bits that padding leaves over must be zero.
        if dropped.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn the_examples_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn every_byte_returns_and_nothing_else_is_taken() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all).as_bytes()).unwrap(), all);
        for wrong in [
            "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zg==Zg==", "Zm9v\n",
        ] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
