//! A setting: its name, its type, and what it takes.

use std::collections::BTreeMap;

use serde_yaml::Value as Yaml;

use super::{BackendName, Item, Value, item::is_variable, near_miss::hint};

/// What is told in place of what may be a secret.
const HIDDEN: &str = "something else";

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number within these bounds.
    Integer {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// A number within these bounds.
    Number {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// True or false.
    Flag,
    /// A list of texts.
    List(Item),
    /// Texts by the name of a variable.
    Map,
}

/// The default of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fallback {
    Nothing,
    Text(&'static str),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Empty,
}

/// One setting; a row of [`super::SETTINGS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name in the file, such as `terminal.timeout`; none for what only a variable sets.
    pub key: Option<&'static str>,
    /// The variable that sets it where the file does not.
    pub variable: Option<&'static str>,
    /// Its type.
    pub kind: Kind,
    pub(super) default: Fallback,
    /// The backends that read it. None: only Hermes itself does, and `herm` keeps its hands off it.
    pub readers: &'static [BackendName],
    /// What it does, in one line.
    pub about: &'static str,
}

/// Why a value does not fit: what was found, and the next step.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) what: String,
    pub(super) fix: String,
}

impl Setting {
    /// The name that it goes by: its key, else its variable.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.key.or(self.variable).unwrap_or_default()
    }

    /// Whether its values may be secrets, and are shown masked.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.kind == Kind::Map
    }

    /// Its value when nobody sets it.
    #[must_use]
    pub fn default(&self) -> Value {
        match self.default {
            Fallback::Nothing => Value::Nothing,
            Fallback::Text(text) => Value::Text(text.into()),
            Fallback::Integer(integer) => Value::Integer(integer),
            Fallback::Number(number) => Value::Number(number),
            Fallback::Flag(flag) => Value::Flag(flag),
            Fallback::Empty if self.kind == Kind::Map => Value::Map(BTreeMap::new()),
            Fallback::Empty => Value::List(Vec::new()),
        }
    }

    /// What it takes, for people.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Text => "text".into(),
            Kind::Choice(words) => format!("one of: {}", words.join(", ")),
            Kind::Integer { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Number { least, most } => format!("a number from {least} to {most}"),
            Kind::Flag => "true or false".into(),
            Kind::List(Item::Text) => "a list of texts, such as [\"a\", \"b\"]".into(),
            Kind::List(Item::Variable | Item::PassedVariable) => {
                "a list of names of variables, such as [\"LANG\"]".into()
            }
            Kind::List(Item::Mount) => "a list of mounts, such as [\"/host:/sandbox:ro\"]".into(),
            Kind::Map => "values by the name of a variable, such as {\"LANG\": \"C\"}".into(),
        }
    }

    /// The value that a text means: that of a variable, of an argument, or in quotes in the file. Lists and maps are JSON.
    pub(super) fn read_text(&self, text: &str) -> Result<Value, Misfit> {
        let trimmed = text.trim();
        let value = match self.kind {
            Kind::Text => Some(Value::Text(text.into())),
            Kind::Choice(words) => return self.choice(words, trimmed),
            Kind::Integer { .. } => trimmed.parse().ok().map(Value::Integer),
            Kind::Number { .. } => trimmed.parse().ok().map(Value::Number),
            Kind::Flag => flag(trimmed).map(Value::Flag),
            Kind::List(_) | Kind::Map => {
                let json = serde_json::from_str::<serde_json::Value>(trimmed).ok();
                let yaml = json.and_then(|json| serde_yaml::to_value(json).ok());
                return match yaml.filter(|yaml| yaml.is_sequence() || yaml.is_mapping()) {
                    Some(yaml) => self.read_yaml(&yaml),
                    None => Err(self.misfit(text)),
                };
            }
        };
        self.bounded(value.ok_or_else(|| self.misfit(text))?)
    }

    /// The value that a node of the file means.
    pub(super) fn read_yaml(&self, yaml: &Yaml) -> Result<Value, Misfit> {
        if let Yaml::String(text) = yaml {
            return self.read_text(text);
        }
        let value = match (self.kind, yaml) {
            (Kind::Integer { .. }, Yaml::Number(number)) => number.as_i64().map(Value::Integer),
            (Kind::Number { .. }, Yaml::Number(number)) => number.as_f64().map(Value::Number),
            (Kind::Flag, Yaml::Bool(flag)) => Some(Value::Flag(*flag)),
            (Kind::List(item), Yaml::Sequence(items)) => return self.list(item, items),
            (Kind::Map, Yaml::Mapping(entries)) => return self.map(entries),
            (Kind::Text, Yaml::Number(_) | Yaml::Bool(_)) => {
                let shown = shown(yaml);
                return Err(Misfit {
                    what: format!("{} is {shown}, which is no text", self.name()),
                    fix: format!("write it in quotes: '{}'", shown.trim_matches('`')),
                });
            }
            _ => None,
        };
        self.bounded(value.ok_or_else(|| self.misfit_yaml(yaml))?)
    }

    fn choice(&self, words: &'static [&'static str], text: &str) -> Result<Value, Misfit> {
        if words.contains(&text) {
            return Ok(Value::Text(text.into()));
        }
        Err(Misfit {
            what: format!(
                "{} is {text:?}{}; it is {}",
                self.name(),
                hint(text, words.iter().copied()),
                self.expected()
            ),
            fix: "set it to one of these".into(),
        })
    }

    fn bounded(&self, value: Value) -> Result<Value, Misfit> {
        let fits = match (self.kind, &value) {
            (Kind::Integer { least, most }, Value::Integer(integer)) => (least..=most).contains(integer),
            (Kind::Number { least, most }, Value::Number(number)) => (least..=most).contains(number),
            _ => true,
        };
        if fits {
            Ok(value)
        } else {
            Err(self.misfit(&value.to_string()))
        }
    }

    fn list(&self, item: Item, items: &[Yaml]) -> Result<Value, Misfit> {
        let mut list = Vec::with_capacity(items.len());
        for yaml in items {
            let Yaml::String(text) = yaml else {
                return Err(self.misfit_yaml(yaml));
            };
            item.check(text).map_err(|(what, fix)| Misfit {
                what: format!("{} names {:?}, {what}", self.name(), without_value(text)),
                fix,
            })?;
            list.push(text.clone());
        }
        Ok(Value::List(list))
    }

    fn map(&self, entries: &serde_yaml::Mapping) -> Result<Value, Misfit> {
        let mut map = BTreeMap::new();
        for (name, value) in entries {
            let Yaml::String(name) = name else {
                return Err(self.misfit_yaml(name));
            };
            if !is_variable(name) {
                return Err(Misfit {
                    what: format!("{} has {name:?}, which is no name of a variable", self.name()),
                    fix: "use letters, digits and _, no digit first".into(),
                });
            }
            // What is wrong is told without the value: it may be a secret.
            let value = match value {
                Yaml::String(text) => text.clone(),
                Yaml::Bool(flag) => flag.to_string(),
                Yaml::Number(number) if !number.is_f64() => number.to_string(),
                _ => {
                    return Err(Misfit {
                        what: format!("the value of {name} in {} is no text", self.name()),
                        fix: "write it in quotes".into(),
                    });
                }
            };
            map.insert(name.clone(), value);
        }
        Ok(Value::Map(map))
    }

    fn misfit_yaml(&self, yaml: &Yaml) -> Misfit {
        let shown = if self.is_secret() {
            HIDDEN.into()
        } else {
            shown(yaml)
        };
        self.misfit_shown(&shown)
    }

    pub(super) fn misfit(&self, text: &str) -> Misfit {
        let shown = if self.is_secret() {
            HIDDEN.into()
        } else {
            format!("{text:?}")
        };
        self.misfit_shown(&shown)
    }

    fn misfit_shown(&self, shown: &str) -> Misfit {
        Misfit {
            what: format!("{} takes {}, and this is {shown}", self.name(), self.expected()),
            fix: "correct it, or take it out".into(),
        }
    }
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A node of the file in few words.
fn shown(yaml: &Yaml) -> String {
    match yaml {
        Yaml::Null => "empty".into(),
        Yaml::Bool(flag) => format!("`{flag}`"),
        Yaml::Number(number) => format!("`{number}`"),
        Yaml::String(text) => format!("{text:?}"),
        Yaml::Sequence(_) => "a list".into(),
        Yaml::Mapping(_) => "a mapping".into(),
        Yaml::Tagged(tagged) => format!("something tagged {}", tagged.tag),
    }
}

/// A text without what stands behind a sign of assignment, which may be a secret.
fn without_value(text: &str) -> &str {
    text.split(['=', ':']).next().unwrap_or_default()
}
