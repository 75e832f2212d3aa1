//! The page of the guide says what the table of settings says.

use std::{fs, path::Path};

use herm::config::{Kind, SETTINGS, Setting, Value};

use crate::support::Home;

/// The row of a setting, as the page has it.
fn row(setting: &Setting) -> String {
    let variable = match (setting.key, setting.variable) {
        (Some(_), Some(variable)) => format!("`{variable}`"),
        _ => "–".into(),
    };
    let takes = match setting.kind {
        Kind::Text => "text".into(),
        Kind::Choice(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::Integer { .. } | Kind::Number { .. } | Kind::Flag => setting.expected(),
        Kind::List(_) => "a list".into(),
        Kind::Map => "values by name".into(),
    };
    let default = match setting.default() {
        Value::Text(text) if text.is_empty() => "empty".into(),
        Value::Text(text) => format!("`{text}`"),
        Value::Nothing => "unset".into(),
        value => format!("`{}`", value.to_json()),
    };
    let readers: Vec<_> = setting.readers.iter().map(|reader| reader.name()).collect();
    let readers = match readers.len() {
        0 => "Hermes only".into(),
        7 => "every backend".into(),
        _ => readers.join(", "),
    };
    let (name, about) = (setting.name(), setting.about);
    format!("| `{name}` | {variable} | {takes} | {default} | {readers} | {about} |")
}

#[test]
fn the_page_has_a_row_for_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/config/README.md");
    let page = fs::read_to_string(path).unwrap();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for setting in SETTINGS {
        let row = row(setting);
        assert!(
            rows.contains(&row.as_str()),
            "docs/config/README.md lacks this row:\n{row}"
        );
    }
    assert_eq!(rows.len(), SETTINGS.len(), "a row of the page is no setting");
}

#[test]
fn completions_know_what_can_be_done() {
    for shell in ["bash", "zsh", "fish"] {
        let seen = Home::none().herm(&["completions", shell]).success();
        let script = String::from_utf8(seen.get_output().stdout.clone()).unwrap();
        for word in ["config", "unset", "check"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
