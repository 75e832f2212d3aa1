//! One element of a command, as it stands in a manifest.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

/// One element of a command.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Word {
    /// A word; `{name}` stands for a value, and `{$NAME}` for a variable of `environment`.
    Plain(String),
    /// Words that are there only when a value is: `{ when = "cwd", words = ["--workdir", "{cwd}"] }`.
    When {
        /// The value's name: `cwd`, or `$NAME` for a variable.
        when: String,
        /// The words.
        words: Vec<String>,
    },
    /// Words that are there only when a value is not: `{ unless = "cwd", words = ["--workdir", "/work"] }`.
    Unless {
        /// The value's name: `cwd`, or `$NAME` for a variable.
        unless: String,
        /// The words.
        words: Vec<String>,
    },
    /// Words that are there once a record: `{ each = "env", words = ["--env", "{name}={value}"] }`.
    Each {
        /// The records: `env`, each of which has `{name}` and `{value}`; `mounts` and `read_only_mounts`, each with `{source}`
        /// and `{target}`.
        each: String,
        /// The words.
        words: Vec<String>,
    },
}

impl Word {
    /// Its words, however often they are there.
    pub(super) fn words(&self) -> &[String] {
        match self {
            Self::Plain(word) => std::slice::from_ref(word),
            Self::When { words, .. } | Self::Unless { words, .. } | Self::Each { words, .. } => words,
        }
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words)
    }
}

struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a word in quotes, or one of when, unless and each with words: { when = \"…\", words = […] }",
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
                "exactly one of when, unless and each is needed beside words",
            )),
        }
    }
}
