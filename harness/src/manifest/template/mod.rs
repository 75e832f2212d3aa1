//! Commands with placeholders. A command is a list of words from beginning to end: no shell reads it, so nothing that is
//! filled in can become code.

mod check;
mod placeholder;
mod word;

use std::{collections::BTreeMap, ffi::OsString};

use herm_protocol::ByteString;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use check::Known;
use word::Word;

/// What placeholders stand for.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// One value a name. A name that is not here has no value, and what depends on it is left out.
    pub one: BTreeMap<&'static str, ByteString>,
    /// Lists of words, each of which becomes a word of its own.
    pub many: BTreeMap<&'static str, Vec<ByteString>>,
    /// Lists of records, for `each`.
    pub records: BTreeMap<&'static str, Vec<BTreeMap<&'static str, ByteString>>>,
    /// Variables, for `{$NAME}`.
    pub variables: BTreeMap<String, ByteString>,
}

impl Values {
    fn value(&self, name: &str) -> Option<&ByteString> {
        match name.strip_prefix('$') {
            Some(variable) => self.variables.get(variable),
            None => self.one.get(name),
        }
    }
}

/// A command: the program and its arguments, a list of words. No shell reads it; `{name}` stands for a value, which stays
/// one word whatever is in it, and `{$NAME}` for a variable that `environment` names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Template(#[schemars(with = "Vec<Word>")] Vec<Spanned<Word>>);

/// A text with placeholders: `{name}` stands for a value, `{$NAME}` for a variable that `environment` names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Text(String);

impl Template {
    /// The command with its placeholders filled in.
    #[must_use]
    pub fn fill(&self, values: &Values) -> Vec<OsString> {
        let fill = |text: &String| placeholder::fill(text, |name| values.value(name));
        let mut filled = Vec::new();
        for word in self.0.iter().map(Spanned::get_ref) {
            match word {
                Word::Plain(text) => match placeholder::alone(text).and_then(|name| values.many.get(name)) {
                    Some(list) => filled.extend(list.iter().map(ByteString::to_os_string)),
                    None => filled.push(fill(text)),
                },
                Word::When { when, words } if values.value(when).is_some() => {
                    filled.extend(words.iter().map(fill));
                }
                Word::Unless { unless, words } if values.value(unless).is_none() => {
                    filled.extend(words.iter().map(fill));
                }
                Word::When { .. } | Word::Unless { .. } => {}
                Word::Each { each, words } => {
                    for record in values.records.get(each.as_str()).into_iter().flatten() {
                        let value = |name: &str| record.get(name).or_else(|| values.value(name));
                        filled.extend(words.iter().map(|text| placeholder::fill(text, value)));
                    }
                }
            }
        }
        filled
    }
}

impl Text {
    /// The text with its placeholders filled in.
    #[must_use]
    pub fn fill(&self, values: &Values) -> OsString {
        placeholder::fill(&self.0, |name| values.value(name))
    }
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
            ..Values::default()
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
    fn a_variable_is_filled_in_where_it_is_set() {
        let template = template(
            r#"["tool", { when = "$HOST", words = ["{$HOST}:{$PORT_2}"] }, { unless = "$USER", words = ["nobody"] }, "{$}", "{$1}"]"#,
        );
        let values = Values {
            variables: BTreeMap::from([("HOST".into(), "h {cwd}".into())]),
            ..values()
        };
        assert_eq!(
            template.fill(&values),
            ["tool", "h {cwd}:", "nobody", "{$}", "{$1}"]
        );
    }

    #[test]
    fn a_placeholder_that_there_is_not_is_told_with_what_there_is() {
        let known = Known {
            one: vec!["sandbox", "cwd"],
            records: vec![("env", &["name", "value"])],
            ..Known::default()
        };
        for (text, problem) in [
            (
                r#"["tool", "{sandbx}"]"#,
                "names {sandbx}, which there is not here (did you mean `sandbox`?); there is {sandbox}, {cwd}",
            ),
            (r#"["x", { when = "user", words = [] }]"#, "names {user}"),
            (r#"["x", { each = "envs", words = [] }]"#, "did you mean `env`?"),
            (r#"["x", { each = "env", words = ["{key}"] }]"#, "names {key}"),
            ("[]", "empty"),
        ] {
            let (_, error) = template(text).check(&known).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        template(r#"["tool", "{sandbox}", "{{.Names}}", "{}", { each = "env", words = ["{name}{cwd}"] }]"#)
            .check(&known)
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
