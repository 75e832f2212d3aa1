//! Placeholders in a word: `{name}` for a value, `{$NAME}` for a variable.

use std::ffi::OsString;

use herm_protocol::ByteString;

/// The name of a word that is nothing but a placeholder.
pub(super) fn alone(text: &str) -> Option<&str> {
    text.strip_prefix('{')?
        .strip_suffix('}')
        .filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    let (first, rest): (fn(u8) -> bool, &str) = match name.strip_prefix('$') {
        Some(variable) => (|byte| byte.is_ascii_alphabetic() || byte == b'_', variable),
        None => (|byte| byte.is_ascii_lowercase() || byte == b'_', name),
    };
    let variable = name.starts_with('$');
    rest.bytes().next().is_some_and(first)
        && rest
            .bytes()
            .all(|byte| first(byte) || variable && byte.is_ascii_digit())
}

/// The names between braces. Braces around anything else are taken as they are.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| is_name(name))
}

/// Something in a word that would stay as it is, but looks as if one of `known` was meant: `{Sandbox}`, `{ sandbox }`,
/// `{sandbox`. The word, and what was meant.
pub(super) fn slip<'a>(text: &str, known: &[&'a str]) -> Option<(String, &'a str)> {
    for rest in text.split('{').skip(1) {
        let (inside, closed) = rest
            .split_once('}')
            .map_or((rest, false), |(inside, _)| (inside, true));
        if closed && is_name(inside) {
            continue;
        }
        let meant = inside.trim().to_lowercase().replace('-', "_");
        if let Some(known) = known.iter().find(|known| **known == meant) {
            let end = if closed { "}" } else { "" };
            return Some((format!("{{{inside}{end}"), known));
        }
    }
    None
}

/// The text with its placeholders replaced; what has no value is replaced by nothing, and what is filled in is not looked
/// at again.
pub(super) fn fill<'a>(text: &str, value: impl Fn(&str) -> Option<&'a ByteString>) -> OsString {
    let mut filled = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.extend_from_slice(before.as_bytes());
        if let Some((name, after)) = after.split_once('}').filter(|(name, _)| is_name(name)) {
            filled.extend_from_slice(value(name).map_or(&[][..], ByteString::as_bytes));
            rest = after;
        } else {
            filled.push(b'{');
            rest = after;
        }
    }
    filled.extend_from_slice(rest.as_bytes());
    ByteString::from(filled).to_os_string()
}
