//! Values as YAML on one line, so that every reader takes them for what they are.
//!
//! Hermes reads YAML 1.1, where `off` is a flag, `22:22` a number and `1e3` a text. What could be taken for something else
//! stands in quotes.

use super::Value;

/// Words that one version of YAML or the other takes for something else than text.
const WORDS: [&str; 13] = [
    "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf", "infinity", "none",
];

/// The value as YAML on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Nothing => "null".into(),
        Value::Text(text) => scalar(text),
        Value::Integer(integer) => integer.to_string(),
        // A number without a dot would be an integer.
        Value::Number(number) => format!("{number:?}"),
        Value::Flag(flag) => flag.to_string(),
        Value::List(list) => {
            let items: Vec<_> = list.iter().map(|item| scalar(item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<_> = map
                .iter()
                .map(|(name, value)| format!("{}: {}", scalar(name), scalar(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().all(|letter| letter == ' ' || is_printable(letter)) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        let mut quoted = String::from("\"");
        for letter in text.chars() {
            match letter {
                '"' | '\\' => quoted.extend(['\\', letter]),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                letter if letter == ' ' || is_printable(letter) => quoted.push(letter),
                letter => quoted.extend(format!("\\U{:08X}", u32::from(letter)).chars()),
            }
        }
        quoted + "\""
    }
}

/// Whether the text is safe without quotes: it begins as a word or an absolute path does, and has nothing in it that
/// means something in YAML.
fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/' || first == '_');
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || "_-./@:+~".contains(letter);
    begins
        && text.chars().all(harmless)
        && !text.ends_with(':')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether a letter may stand in a text in single quotes: anything visible that neither breaks a line nor hides.
fn is_printable(letter: char) -> bool {
    !(letter.is_control()
        || letter.is_whitespace()
        || matches!(letter, '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_something_else_stands_in_quotes() {
        for plain in [
            "docker",
            "/a:/b",
            "nikolaik/python-nodejs:python3.11-nodejs20",
            "A_b",
        ] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in [
            "",
            "off",
            "Yes",
            "~",
            "22:22",
            "1",
            "1e3",
            "0x1F",
            ".inf",
            "a b",
            "a: b",
            "a #b",
            "[a",
            "-a",
            "ü",
            "a:",
            "${A}",
            "2024-01-01",
            "=",
            "<<",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
        ] {
            assert_eq!(scalar(quoted), format!("'{quoted}'"));
        }
        assert_eq!(scalar("it's"), "'it''s'");
        assert_eq!(scalar("a\n\"b\u{7}"), r#""a\n\"b\U00000007""#);
    }
}
