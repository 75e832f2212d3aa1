//! The file `.env`: variables that Hermes keeps beside its settings, some of them copies of settings.

use std::path::{Path, PathBuf};

use super::{Place, Problem, SETTINGS, file::read_bytes};

/// The file as it lies there. It holds secrets: nothing of it is shown but the variables of settings.
#[derive(Debug, Default)]
pub(super) struct Dotenv {
    pub(super) path: PathBuf,
    bytes: Vec<u8>,
}

impl Dotenv {
    /// Reads the file; one that is not there is empty.
    pub(super) fn read(path: &Path) -> Result<Self, Problem> {
        let bytes = read_bytes(path)?.unwrap_or_default();
        let name = path.display().to_string();
        check_encoding(&name, &bytes)?;
        check_lines(&name, &bytes)?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    /// The value of a variable and its line, counted from 1. The last one wins; an empty one counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<(String, usize)> {
        let lines = self.bytes.split(|byte| *byte == b'\n').enumerate();
        let mut found = lines.filter_map(|(index, line)| {
            let line = String::from_utf8_lossy(line);
            let (found, value) = assignment(&line)?;
            (found == name).then(|| (unquoted(value), index + 1))
        });
        let mut last = found.next()?;
        for later in found {
            last = later;
        }
        Some(last).filter(|(value, _)| !value.is_empty())
    }

    /// The file with every value of a variable replaced, or taken out; none when nothing changes. A variable that is not
    /// there is not added.
    pub(super) fn with(&self, name: &str, value: Option<&str>) -> Option<Vec<u8>> {
        let mut changed = Vec::with_capacity(self.bytes.len());
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            match (assignment(&text), value) {
                (Some((found, old)), Some(value)) if found == name && unquoted(old) != value => {
                    let end = if text.ends_with("\r\n") {
                        "\r\n"
                    } else if text.ends_with('\n') {
                        "\n"
                    } else {
                        ""
                    };
                    let start = text.find('=').map_or("", |equals| &text[..=equals]);
                    changed.extend_from_slice(format!("{start}{}{end}", quoted(value)).as_bytes());
                }
                (Some((found, _)), None) if found == name => {}
                _ => changed.extend_from_slice(line),
            }
        }
        (changed != self.bytes).then_some(changed)
    }
}

/// What some editors put before UTF-8.
const MARK: char = '\u{feff}';

/// A file that is not made of lines of text would be read as one that sets nothing. Values may have any encoding that leaves
/// ASCII as it is.
fn check_encoding(name: &str, bytes: &[u8]) -> Result<(), Problem> {
    let fix = "save it as UTF-8; it is left as it is";
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let place = Some(Place { line: 1, column: 1 });
        return Err(Problem::new(
            name,
            place,
            "the file is UTF-16, as its first bytes say",
            fix,
        ));
    }
    let forbidden = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    let Some(position) = bytes.iter().position(forbidden) else {
        return Ok(());
    };
    let before = String::from_utf8_lossy(bytes.get(..position).unwrap_or_default());
    let letter = bytes.get(position).copied().unwrap_or_default();
    let what = format!("the character U+{letter:04X} cannot stand in a file of variables");
    Err(Problem::new(
        name,
        Some(Place::of(&before, before.len())),
        what,
        fix,
    ))
}

/// A line that names the variable of a setting and does not set it was meant to.
fn check_lines(name: &str, bytes: &[u8]) -> Result<(), Problem> {
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(line);
        let Some(variable) = meant(&line) else { continue };
        let what = format!("this line names {variable}, and does not set it");
        let fix = format!("write it as {variable}=VALUE, or take it out");
        let place = Some(Place {
            line: index + 1,
            column: 1,
        });
        return Err(Problem::new(name, place, what, fix));
    }
    Ok(())
}

/// The variable of a setting that a line names before any value, without setting it.
fn meant(line: &str) -> Option<&'static str> {
    let variables = || SETTINGS.iter().filter_map(|setting| setting.variable);
    let trimmed = line.trim_start_matches(MARK).trim();
    if trimmed.starts_with('#') {
        return None;
    }
    let name = match assignment(line) {
        Some((name, _)) if variables().any(|variable| variable == name) => return None,
        Some((name, _)) => name,
        None => trimmed,
    };
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.find_map(|word| variables().find(|variable| variable.eq_ignore_ascii_case(word)))
}

/// Name and unread value of a line that sets a variable.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(MARK).trim();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    (!name.starts_with('#')).then_some((name, value.trim()))
}

/// What a value means: its quotes read, a comment behind it left out.
fn unquoted(value: &str) -> String {
    if let Some(inside) = value.strip_prefix('\'') {
        return until(inside, '\'', &['\'', '\\']);
    }
    if let Some(inside) = value.strip_prefix('"') {
        return until(inside, '"', &['"', '\\', '$', '`']);
    }
    let end = value.find(" #").unwrap_or(value.len());
    value.get(..end).unwrap_or_default().trim_end().to_owned()
}

fn until(text: &str, quote: char, escapable: &[char]) -> String {
    let mut value = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == quote {
            break;
        }
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') if quote == '"' => value.push('\n'),
            Some(next) if escapable.contains(&next) => value.push(next),
            Some(next) => value.extend(['\\', next]),
            None => value.push('\\'),
        }
    }
    value
}

fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@,+".contains(letter);
    if value.chars().all(plain) {
        value.to_owned()
    } else if !value.contains(['\'', '\\', '\n']) {
        format!("'{value}'")
    } else {
        let escaped = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("\"{escaped}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dotenv(text: &str) -> Dotenv {
        Dotenv {
            path: PathBuf::new(),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn values_are_read_with_their_quotes() {
        for (line, value) in [
            ("A=b", "b"),
            ("export A = b # why", "b"),
            ("A='b c'", "b c"),
            (r#"A="b \"c\" \\""#, r#"b "c" \"#),
            (r#"A="[\"/a:/b\"]""#, r#"["/a:/b"]"#),
            ("A=1\nA=2", "2"),
        ] {
            assert_eq!(dotenv(line).get("A").unwrap().0, value, "{line}");
        }
        for line in ["A=", "#A=b", "AA=b", "A", ""] {
            assert_eq!(dotenv(line).get("A"), None, "{line}");
        }
    }

    #[test]
    fn only_the_lines_of_the_variable_change() {
        let file = dotenv("# secrets\nKEY=x \r\nexport A=old # c\r\nB=1");
        let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
        assert_eq!(
            text(file.with("A", Some("a b"))),
            "# secrets\nKEY=x \r\nexport A='a b'\r\nB=1"
        );
        assert_eq!(
            text(file.with("B", Some("it's"))),
            "# secrets\nKEY=x \r\nexport A=old # c\r\nB=\"it's\""
        );
        assert_eq!(text(file.with("A", None)), "# secrets\nKEY=x \r\nB=1");
        assert_eq!(file.with("A", Some("old")), None);
        assert_eq!(file.with("C", Some("1")), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for value in ["a", "a b", "it's", r#"["a\"b"]"#, "a\\b'\"\n", "$HOME"] {
            let written = dotenv("A=old\n").with("A", Some(value)).unwrap();
            let again = Dotenv {
                path: PathBuf::new(),
                bytes: written,
            };
            assert_eq!(again.get("A").unwrap().0, value);
        }
    }
}
