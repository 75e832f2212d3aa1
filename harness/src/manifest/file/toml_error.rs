//! Reads TOML, and tells what is wrong with it in words that help.

use serde::de::DeserializeOwned;

use super::Wrong;
use crate::near_miss::hint;

/// Reads TOML; `conditions` are the names that are known, for a better message.
pub(in crate::manifest) fn parse_toml<T: DeserializeOwned>(
    text: &str,
    conditions: &[&str],
) -> Result<T, Wrong> {
    if let Err(error) = toml::from_str::<toml::Table>(text) {
        let offset = error.span().map_or(0, |span| span.start);
        return Err(Wrong::new(
            offset,
            no_toml(error.message(), rest_of(text, offset)),
        ));
    }
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = &text[..text.floor_char_boundary(offset)];
        Wrong::new(
            offset,
            explained(error.message(), before, rest_of(text, offset), conditions),
        )
    })
}

/// What stands from an offset to the end of its line.
fn rest_of(text: &str, offset: usize) -> &str {
    text[text.floor_char_boundary(offset)..]
        .lines()
        .next()
        .unwrap_or_default()
}

/// The word that a text begins with.
fn first_word(text: &str) -> &str {
    let is_part = |character: char| character.is_alphanumeric() || "_-".contains(character);
    let text = text.trim_start_matches(['[', '"']);
    text.split(|character| !is_part(character))
        .next()
        .unwrap_or_default()
}

/// A slip of the syntax.
fn no_toml(message: &str, here: &str) -> String {
    if message == "duplicate key" {
        return format!("`{}` is there twice", first_word(here));
    }
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let message = lines.fold(first.to_owned(), |all, line| format!("{all}; {line}"));
    format!("this is no TOML: {message}")
}

/// A value that does not fit. `before` is what stands before the place, `here` what stands there.
fn explained(message: &str, before: &str, here: &str, conditions: &[&str]) -> String {
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split('`').next());
    let Some(key) = unknown else {
        return wrong_type(message, here).unwrap_or_else(|| message.to_owned());
    };
    if key == "shim" {
        return "shim is not there yet: a manifest cannot have herm put something of its own into a sandbox; leave it out, and declare only what the tool does by itself".into();
    }
    let is_split = |name: &&&str| {
        let parts = name.rsplit_once('.');
        parts.is_some_and(|(first, last)| last == key && before.ends_with(&format!("{first}.")))
    };
    if let Some(condition) = conditions.iter().find(is_split) {
        return format!("a name with a dot in it is written in quotes: [conditions.\"{condition}\"]");
    }
    let known = message.split('`').skip(3).step_by(2);
    format!("{message}{}", hint(key, known))
}

/// A message about a type, in TOML's words instead of the program's.
fn wrong_type(message: &str, here: &str) -> Option<String> {
    let (seen, expected) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?
        .split_once(", expected ")?;
    if here.starts_with("[[") {
        let name = first_word(here);
        return Some(format!(
            "[[{name}]] is one of several, but there can be only one; write [{name}]"
        ));
    }
    if here.starts_with('[') && seen == "map" && expected == "a sequence" {
        let name = first_word(here);
        return Some(format!(
            "[{name}] is the only one, but there can be several; write [[{name}]]"
        ));
    }
    let seen = match seen {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => match other
            .strip_prefix("integer `")
            .and_then(|rest| rest.strip_suffix('`'))
        {
            Some(number) => format!("the number {number}"),
            None => other.replace("string ", "text "),
        },
    };
    let expected = match expected {
        "a sequence" => "a list, [\"…\", \"…\"],",
        "a map" => "a table, { … = … },",
        "a string" => "text in quotes",
        "u32" | "u64" => "a whole number, not negative and not too large,",
        other if other.starts_with("struct ") => "a table, { … = … },",
        other => other,
    };
    Some(format!("this is {seen}, but {expected} is expected here"))
}
