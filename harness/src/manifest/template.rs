//! Commands with placeholders. A command is a list of words from beginning to end: no shell reads it, so nothing that is
//! filled in can become code.

use std::{collections::BTreeMap, ffi::OsString, fmt};

use herm_protocol::ByteString;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

/// What placeholders stand for.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// One value a name. A name that is not here has no value, and what depends on it is left out.
    pub one: BTreeMap<&'static str, ByteString>,
    /// Lists of words, each of which becomes a word of its own.
    pub many: BTreeMap<&'static str, Vec<ByteString>>,
    /// Lists of records, for `each`.
    pub records: BTreeMap<&'static str, Vec<BTreeMap<&'static str, ByteString>>>,
}

/// A command with placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Template(Vec<Word>);

/// One element of a command.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(untagged)]
enum Word {
    /// A word; `{name}` stands for a value.
    Plain(String),
    /// Words that are there only when a value is: `{ when = "cwd", words = ["--workdir", "{cwd}"] }`.
    When {
        /// The value.
        when: String,
        /// The words.
        words: Vec<String>,
    },
    /// Words that are there only when a value is not: `{ unless = "cwd", words = ["--workdir", "/work"] }`.
    Unless {
        /// The value.
        unless: String,
        /// The words.
        words: Vec<String>,
    },
    /// Words that are there once a record: `{ each = "env", words = ["--env", "{name}={value}"] }`.
    Each {
        /// The records.
        each: String,
        /// The words.
        words: Vec<String>,
    },
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Word;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a word, or one of when, unless and each with words: { when = \"…\", words = […] }",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Word, E> {
                Ok(Word::Plain(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Word, A::Error> {
                let (mut when, mut unless, mut each, mut words) = (None, None, None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "when" => when = Some(map.next_value()?),
                        "unless" => unless = Some(map.next_value()?),
                        "each" => each = Some(map.next_value()?),
                        "words" => words = Some(map.next_value()?),
                        other => {
                            return Err(de::Error::unknown_field(
                                other,
                                &["when", "unless", "each", "words"],
                            ));
                        }
                    }
                }
                let words = words.ok_or_else(|| de::Error::missing_field("words"))?;
                match (when, unless, each) {
                    (Some(when), None, None) => Ok(Word::When { when, words }),
                    (None, Some(unless), None) => Ok(Word::Unless { unless, words }),
                    (None, None, Some(each)) => Ok(Word::Each { each, words }),
                    _ => Err(de::Error::custom(
                        "exactly one of when, unless and each is needed",
                    )),
                }
            }
        }
        deserializer.deserialize_any(Words)
    }
}

impl Template {
    /// The command with its placeholders filled in.
    #[must_use]
    pub fn fill(&self, values: &Values) -> Vec<OsString> {
        let mut filled = Vec::new();
        for word in &self.0 {
            match word {
                Word::Plain(text) => match list_name(text).and_then(|name| values.many.get(name)) {
                    Some(list) => filled.extend(list.iter().map(ByteString::to_os_string)),
                    None => filled.push(fill(text, &values.one, &BTreeMap::new())),
                },
                Word::When { when, words } if values.one.contains_key(when.as_str()) => {
                    filled.extend(words.iter().map(|text| fill(text, &values.one, &BTreeMap::new())));
                }
                Word::Unless { unless, words } if !values.one.contains_key(unless.as_str()) => {
                    filled.extend(words.iter().map(|text| fill(text, &values.one, &BTreeMap::new())));
                }
                Word::When { .. } | Word::Unless { .. } => {}
                Word::Each { each, words } => {
                    for record in values.records.get(each.as_str()).into_iter().flatten() {
                        filled.extend(words.iter().map(|text| fill(text, &values.one, record)));
                    }
                }
            }
        }
        filled
    }

    /// Checks that every placeholder is one of `known`, and every `each` one of `records` with its fields.
    ///
    /// # Errors
    /// The first that is not, and what there is.
    pub fn check(&self, known: &[&str], records: &[(&str, &[&str])]) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("is an empty command".into());
        }
        let unknown = |name: &str, known: &[&str]| {
            let hint = crate::near_miss::hint(name, known.iter().copied());
            format!(
                "names {{{name}}}, which there is not{hint}; there is {}",
                known.join(", ")
            )
        };
        for word in &self.0 {
            let (words, fields): (&[String], &[&str]) = match word {
                Word::Plain(text) => (std::slice::from_ref(text), &[]),
                Word::When { when, words } | Word::Unless { unless: when, words } => {
                    if !known.contains(&when.as_str()) {
                        return Err(unknown(when, known));
                    }
                    (words, &[])
                }
                Word::Each { each, words } => {
                    let Some((_, fields)) = records.iter().find(|(name, _)| name == each) else {
                        let known: Vec<_> = records.iter().map(|(name, _)| *name).collect();
                        return Err(unknown(each, &known));
                    };
                    (words, fields)
                }
            };
            let known: Vec<_> = known.iter().chain(fields).copied().collect();
            for name in words.iter().flat_map(|text| names(text)) {
                if !known.contains(&name) {
                    return Err(unknown(name, &known));
                }
            }
        }
        Ok(())
    }

    /// Whether a placeholder is used anywhere.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.0.iter().any(|word| match word {
            Word::Plain(text) => names(text).any(|used| used == name),
            Word::When { words, .. } | Word::Unless { words, .. } => {
                words.iter().flat_map(|text| names(text)).any(|used| used == name)
            }
            Word::Each { each, words } => {
                each == name || words.iter().flat_map(|text| names(text)).any(|used| used == name)
            }
        })
    }
}

/// The name of a word that is nothing but a placeholder.
fn list_name(text: &str) -> Option<&str> {
    text.strip_prefix('{')?
        .strip_suffix('}')
        .filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The names between braces. Braces around anything else are taken as they are.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| is_name(name))
}

fn fill(
    text: &str,
    one: &BTreeMap<&'static str, ByteString>,
    record: &BTreeMap<&'static str, ByteString>,
) -> OsString {
    let mut filled = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.extend_from_slice(before.as_bytes());
        if let Some((name, after)) = after.split_once('}').filter(|(name, _)| is_name(name)) {
            if let Some(value) = record.get(name).or_else(|| one.get(name)) {
                filled.extend_from_slice(value.as_bytes());
            }
            rest = after;
        } else {
            filled.push(b'{');
            rest = after;
        }
    }
    filled.extend_from_slice(rest.as_bytes());
    ByteString::from(filled).to_os_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        run: Template,
    }

    fn template(text: &str) -> Template {
        toml::from_str::<File>(&format!("run = {text}")).unwrap().run
    }

    fn values() -> Values {
        let record =
            |name: &str, value: &str| BTreeMap::from([("name", name.into()), ("value", value.into())]);
        Values {
            one: BTreeMap::from([("sandbox", "s 1".into()), ("cwd", "/a b".into())]),
            many: BTreeMap::from([("command", vec!["sh".into(), "-c".into(), "echo {cwd} $x".into()])]),
            records: BTreeMap::from([("env", vec![record("A", "1 2"), record("B", "{sandbox}")])]),
        }
    }

    #[test]
    fn what_is_filled_in_stays_one_word_and_is_not_filled_in_again() {
        let template = template(
            r#"["tool", { when = "cwd", words = ["-w", "{cwd}"] }, { unless = "cwd", words = ["-w", "/"] }, { when = "user", words = ["-u", "{user}"] },
               { each = "env", words = ["-e", "{name}={value}"] }, "in-{sandbox}", "{}", "{ x }", "{command}"]"#,
        );
        let expected = [
            "tool",
            "-w",
            "/a b",
            "-e",
            "A=1 2",
            "-e",
            "B={sandbox}",
            "in-s 1",
            "{}",
            "{ x }",
            "sh",
            "-c",
            "echo {cwd} $x",
        ];
        assert_eq!(template.fill(&values()), expected);
    }

    #[test]
    fn a_placeholder_that_there_is_not_is_told_with_what_there_is() {
        let known = ["sandbox", "cwd"];
        let records: [(&str, &[&str]); 1] = [("env", &["name", "value"])];
        for (text, problem) in [
            (
                r#"["tool", "{sandbx}"]"#,
                "names {sandbx}, which there is not (did you mean `sandbox`?)",
            ),
            (r#"[{ when = "user", words = [] }]"#, "names {user}"),
            (r#"[{ each = "vars", words = [] }]"#, "names {vars}"),
            (r#"[{ each = "env", words = ["{key}"] }]"#, "names {key}"),
            ("[]", "empty"),
        ] {
            let error = template(text).check(&known, &records).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        template(r#"["tool", "{sandbox}", { each = "env", words = ["{name}{cwd}"] }]"#)
            .check(&known, &records)
            .unwrap();
    }

    #[test]
    fn an_element_of_no_kind_is_refused() {
        for text in [
            "[1]",
            r#"[{ words = ["x"] }]"#,
            r#"[{ when = "a", each = "b", words = [] }]"#,
            r#"[{ wen = "a" }]"#,
        ] {
            assert!(
                toml::from_str::<File>(&format!("run = {text}")).is_err(),
                "{text}"
            );
        }
    }
}
