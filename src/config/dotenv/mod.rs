//! The file `.env`: variables that Hermes keeps beside its settings, some of them copies of settings. It is read as
//! python-dotenv reads it; where that would silently leave out what somebody meant, it is refused.

mod check;

pub(super) use check::MISNAMED;
mod reference;
mod statement;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use self::{reference::Part, statement::Statement};
use super::{Problem, file::read_bytes};

/// The file as it lies there. It holds secrets: nothing of it is shown but the variables of settings.
#[derive(Debug, Default)]
pub(super) struct Dotenv {
    pub(super) path: PathBuf,
    text: Text,
    statements: Vec<Statement>,
    values: Vec<(Option<String>, Option<String>)>,
}

impl Dotenv {
    /// Reads the file; one that is not there is empty. `${NAME}` is looked for above it in the file, and then among the
    /// variables of the process.
    pub(super) fn read(path: &Path, environment: &BTreeMap<String, String>) -> Result<Self, Problem> {
        let bytes = read_bytes(path)?.unwrap_or_default();
        Self::of(path.to_owned(), &bytes, |name| environment.get(name).cloned())
    }

    fn of(path: PathBuf, bytes: &[u8], process: impl Fn(&str) -> Option<String>) -> Result<Self, Problem> {
        let name = path.display().to_string();
        check::encoding(&name, bytes)?;
        let text = Text::of(bytes);
        let statements = statement::statements(&text.text);
        check::statements(&name, &text.text, &statements)?;
        let (values, unset) = resolved(&statements, &process);
        check::references(&name, &statements, &unset)?;
        Ok(Self {
            path,
            text,
            statements,
            values,
        })
    }

    /// The value of a variable and its line, counted from 1. The last one wins; an empty one counts as not set.
    pub(super) fn get(&self, name: &str) -> Option<(String, usize)> {
        let mut all = self.values.iter().zip(&self.statements).rev();
        let ((_, value), statement) = all.find(|((key, _), _)| key.as_deref() == Some(name))?;
        let value = value.clone().filter(|value| !value.is_empty())?;
        Some((value, statement.line))
    }

    /// The file with every value of a variable replaced, or taken out; none when nothing changes. A variable that is not
    /// there is not added.
    pub(super) fn with(&self, name: &str, value: Option<&str>) -> Option<Vec<u8>> {
        // What is put in for a reference cannot be kept from it by any quotes.
        let value = value.filter(|value| !value.contains("${"));
        let (mut changed, mut copied) = (Vec::new(), 0);
        for (statement, (key, old)) in self.statements.iter().zip(&self.values) {
            let replaced = match (old, value) {
                _ if key.as_deref() != Some(name) => continue,
                (Some(old), Some(value)) if old == value => continue,
                (None, Some(_)) => continue,
                (Some(_), Some(value)) => (&statement.assigned, quoted(value)),
                (_, None) => (&statement.lines, String::new()),
            };
            let (range, with) = replaced;
            changed.extend(self.text.bytes(copied..range.start));
            changed.extend(with.into_bytes());
            copied = range.end;
        }
        if copied == 0 {
            return None;
        }
        changed.extend(self.text.bytes(copied..self.text.text.len()));
        Some(changed)
    }
}

/// The letters of a file. What is no UTF-8 is read as Latin-1, as Hermes reads it.
#[derive(Debug, Default)]
struct Text {
    text: String,
    latin: bool,
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self {
                text: text.to_owned(),
                latin: false,
            },
            Err(_) => Self {
                text: bytes.iter().copied().map(char::from).collect(),
                latin: true,
            },
        }
    }

    /// A part of the text as it stands in the file.
    fn bytes(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        let part = self.text.get(range).unwrap_or_default();
        if self.latin {
            let letters = part.chars().map(u32::from);
            letters.filter_map(|letter| u8::try_from(letter).ok()).collect()
        } else {
            part.as_bytes().to_vec()
        }
    }
}

/// Names and values of the statements with every reference put in, and the references of each that lead to nothing.
#[expect(
    clippy::type_complexity,
    reason = "two columns of a table, one row a statement"
)]
fn resolved(
    statements: &[Statement],
    process: &impl Fn(&str) -> Option<String>,
) -> (Vec<(Option<String>, Option<String>)>, Vec<Vec<String>>) {
    let mut above: BTreeMap<String, Option<String>> = BTreeMap::new();
    let (mut values, mut unset) = (Vec::new(), Vec::new());
    for statement in statements {
        let mut missing = Vec::new();
        let value = statement.value.as_ref().map(|value| {
            let mut text = String::new();
            for part in reference::parts(value) {
                match part {
                    Part::Text(part) => text.push_str(part),
                    Part::Variable(name, default) => {
                        let known = above.get(name).cloned();
                        let known = known.or_else(|| process(name).map(Some));
                        if known.is_none() && default.is_none() {
                            missing.push(name.to_owned());
                        }
                        let known = known.map(Option::unwrap_or_default);
                        text.push_str(known.as_deref().or(default).unwrap_or_default());
                    }
                }
            }
            text
        });
        if let Some(key) = &statement.key {
            above.insert(key.clone(), value.clone());
        }
        values.push((statement.key.clone(), value));
        unset.push(missing);
    }
    (values, unset)
}

fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@,+".contains(letter);
    if value.chars().all(plain) {
        value.to_owned()
    } else if !value.contains(['\'', '\\', '\n', '\r']) {
        format!("'{value}'")
    } else {
        let escaped = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        format!("\"{escaped}\"")
    }
}
