//! What a setting is set to.

use std::{collections::BTreeMap, fmt};

use serde_yaml::Value as Yaml;

/// Stands for what must not be shown.
const MASK: &str = "***";

/// A value of the type that its setting asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is set.
    Nothing,
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// Texts in order.
    List(Vec<String>),
    /// Texts by name.
    Map(BTreeMap<String, String>),
}

impl Value {
    /// The same with everything that may be a secret masked; names stay.
    #[must_use]
    pub fn masked(&self) -> Self {
        match self {
            Self::Map(map) => Self::Map(map.keys().map(|name| (name.clone(), MASK.to_owned())).collect()),
            Self::List(list) => Self::List(list.iter().map(|_| MASK.to_owned()).collect()),
            Self::Text(text) if !text.is_empty() => Self::Text(MASK.to_owned()),
            other => other.clone(),
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Nothing => serde_json::Value::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Integer(integer) => (*integer).into(),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::List(list) => list.clone().into(),
            Self::Map(map) => map
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str()))
                .collect(),
        }
    }

    /// As text for a variable: JSON for lists and maps.
    #[must_use]
    pub fn to_variable(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::List(_) | Self::Map(_) => self.to_json().to_string(),
            scalar => scalar.to_string(),
        }
    }

    /// As it is read from YAML again.
    pub(super) fn to_yaml(&self) -> Yaml {
        match self {
            Self::Nothing => Yaml::Null,
            Self::Text(text) => text.as_str().into(),
            Self::Integer(integer) => (*integer).into(),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::List(list) => list.iter().map(String::as_str).collect(),
            Self::Map(map) => {
                let entries = map
                    .iter()
                    .map(|(name, value)| (name.as_str().into(), value.as_str().into()));
                Yaml::Mapping(entries.collect())
            }
        }
    }
}

/// As a person reads it: text bare, lists and maps as YAML on lines of their own.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("null"),
            Self::Text(text) => f.write_str(text),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(_) | Self::Map(_) => {
                let text = serde_yaml::to_string(&self.to_yaml()).map_err(|_| fmt::Error)?;
                f.write_str(text.trim_end())
            }
        }
    }
}
