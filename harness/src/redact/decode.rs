//! Views of a text: its bytes after one decoding, each with the place in the text that it comes from.
//!
//! A view decodes whatever in it looks encoded and keeps the rest, so that a secret is found wherever in a text it stands
//! and however much beside it is encoded too.

/// A decoded byte and the range of the original text that it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) byte: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A text, or what a decoding made of it.
pub(super) type View = Vec<Unit>;

/// The text itself.
pub(super) fn plain(text: &str) -> View {
    let units = text.bytes().enumerate();
    units
        .map(|(place, byte)| Unit {
            byte,
            start: place,
            end: place + 1,
        })
        .collect()
}

/// Backslash escapes undone, of JSON and of the usual debug output: `\n`, `\"`, `\/`, `\x1b`, `\u00e9` (also as
/// surrogates), `\u{e9}`. `None` when there are none.
pub(super) fn unescaped(view: &View) -> Option<View> {
    if !view.iter().any(|unit| unit.byte == b'\\') {
        return None;
    }
    let mut decoded = View::with_capacity(view.len());
    let mut place = 0;
    while place < view.len() {
        let (bytes, length) = escape(&view[place..]);
        let (start, end) = (view[place].start, view[place + length - 1].end);
        decoded.extend(bytes.into_iter().map(|byte| Unit { byte, start, end }));
        place += length;
    }
    Some(decoded)
}

/// The bytes that the first escape, or the first plain byte, stands for, and how many units it takes.
fn escape(view: &[Unit]) -> (Vec<u8>, usize) {
    let at = |place: usize| view.get(place).map(|unit| unit.byte);
    let same = (vec![view[0].byte], 1);
    let (b'\\', Some(letter)) = (view[0].byte, at(1)) else {
        return same;
    };
    let simple = |byte| (vec![byte], 2);
    match letter {
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'b' => simple(8),
        b'f' => simple(12),
        b'e' => simple(27),
        b'0' => simple(0),
        b'\\' | b'/' | b'"' | b'\'' => simple(letter),
        b'x' => match hex(view, 2, 2).and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => (vec![byte], 4),
            None => same,
        },
        b'u' => unicode(view).map_or(same, |(character, length)| {
            (character.to_string().into_bytes(), length)
        }),
        _ => same,
    }
}

fn unicode(view: &[Unit]) -> Option<(char, usize)> {
    if view.get(2)?.byte == b'{' {
        let digits = view[3..].iter().take(7).position(|unit| unit.byte == b'}')?;
        return Some((char::from_u32(hex(view, 3, digits)?)?, 4 + digits));
    }
    let first = hex(view, 2, 4)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let escaped = view.get(6)?.byte == b'\\' && view.get(7)?.byte == b'u';
    let second = hex(view, 8, 4).filter(|low| escaped && (0xdc00..0xe000).contains(low))?;
    let code = 0x1_0000 + (first.checked_sub(0xd800)? << 10) + (second - 0xdc00);
    Some((char::from_u32(code)?, 12))
}

fn hex(view: &[Unit], from: usize, digits: usize) -> Option<u32> {
    let units = view.get(from..from + digits).filter(|units| !units.is_empty())?;
    units.iter().try_fold(0, |value, unit| {
        Some(value * 16 + char::from(unit.byte).to_digit(16)?)
    })
}

/// Percent escapes undone, and with `plus` the space that forms write as `+`. `None` when there is none.
pub(super) fn percent_decoded(view: &View, plus: bool) -> Option<View> {
    if !view
        .iter()
        .any(|unit| unit.byte == b'%' || (plus && unit.byte == b'+'))
    {
        return None;
    }
    let mut decoded = View::with_capacity(view.len());
    let mut place = 0;
    while place < view.len() {
        let unit = view[place];
        let code = if unit.byte == b'%' {
            hex(view, place + 1, 2)
        } else {
            None
        };
        if let Some(byte) = code.and_then(|code| u8::try_from(code).ok()) {
            decoded.push(Unit {
                byte,
                start: unit.start,
                end: view[place + 2].end,
            });
            place += 3;
            continue;
        }
        let byte = if plus && unit.byte == b'+' {
            b' '
        } else {
            unit.byte
        };
        decoded.push(Unit { byte, ..unit });
        place += 1;
    }
    Some(decoded)
}

/// Every run of hexadecimal digits decoded, beginning with its digit `offset` (0 or 1). Runs may be cut by single spaces
/// or colons, as dumps write them.
pub(super) fn hex_decoded(view: &View, offset: usize) -> View {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
    };
    grouped(view, digit, |byte| matches!(byte, b' ' | b':'), offset, 4)
}

/// Every run of base64 decoded (standard or URL alphabet), beginning with its character `offset` (0 to 3), which covers
/// every alignment. Line breaks within a run are skipped.
pub(super) fn base64_decoded(view: &View, offset: usize) -> View {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    grouped(view, digit, |byte| matches!(byte, b'\r' | b'\n'), offset, 6)
}

/// Reads the digits of each run as one stream of `bits` bits each. Runs are kept apart by a unit that spans nothing and
/// that no secret can be matched across, since it is where the decoded bytes of a run end.
fn grouped(
    view: &View,
    digit: impl Fn(u8) -> Option<u8>,
    joins: impl Fn(u8) -> bool,
    offset: usize,
    bits: u32,
) -> View {
    let mut decoded = View::new();
    let mut run: Vec<(u8, Unit)> = Vec::new();
    for unit in view {
        if let Some(value) = digit(unit.byte) {
            run.push((value, *unit));
        } else if !joins(unit.byte) {
            drain(&mut decoded, &mut run, offset, bits);
        }
    }
    drain(&mut decoded, &mut run, offset, bits);
    decoded
}

fn drain(decoded: &mut View, run: &mut Vec<(u8, Unit)>, offset: usize, bits: u32) {
    let (mut pending, mut held) = (0_u32, 0_u32);
    let mut start = None;
    for (value, unit) in run.iter().skip(offset) {
        pending = (pending << bits) | u32::from(*value);
        held += bits;
        let first = *start.get_or_insert(unit.start);
        if held >= 8 {
            held -= 8;
            let byte = (pending >> held).to_be_bytes()[3];
            pending &= (1 << held) - 1;
            decoded.push(Unit {
                byte,
                start: first,
                end: unit.end,
            });
            start = (held > 0).then_some(unit.start);
        }
    }
    run.clear();
}
