//! The published schema, and a walk of it that explains.

use std::sync::OnceLock;

use herm_protocol::{ByteString, schema::PUBLISHED};
use serde_json::{Map, Value};

use super::{
    message::{Advice, Breach},
    value::{any_of, describe, is_of_type, type_name},
};
use crate::near_miss::{hint, near_miss};

/// What of a method a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The answer to a request.
    Answer,
    /// The answer to a command that was to go on as a job.
    AnswerWhenDetached,
    /// The parameters of a request or notification.
    Params,
}

/// The published schema of the protocol.
#[derive(Debug)]
pub struct Schema {
    document: Value,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) breaches: Vec<Breach>,
    pub(super) advice: Vec<Advice>,
}

/// A part of the schema, with what it is about.
#[derive(Clone, Copy)]
struct Rule<'a> {
    schema: &'a Value,
    about: Option<&'a str>,
}

impl Schema {
    /// The schema that this program was built with.
    pub fn published() -> &'static Self {
        static PUBLISHED_SCHEMA: OnceLock<Schema> = OnceLock::new();
        PUBLISHED_SCHEMA.get_or_init(|| Self {
            // A test reads this file; were it broken, every message would be told to be unknown.
            document: serde_json::from_str(PUBLISHED).unwrap_or_default(),
        })
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The names of the notifications that an adapter may send.
    pub fn notifications(&self) -> impl Iterator<Item = &str> {
        self.of_adapter("notification")
    }

    /// The names of the requests that an adapter may send.
    pub fn questions(&self) -> impl Iterator<Item = &str> {
        self.of_adapter("request")
    }

    fn of_adapter(&self, kind: &str) -> impl Iterator<Item = &str> {
        let messages = self.document["messages"].as_object();
        messages
            .into_iter()
            .flatten()
            .filter(move |(_, entry)| entry["kind"] == kind && entry["from"] == "adapter")
            .map(|(name, _)| name.as_str())
    }

    /// Checks a part of a method's message; `at` is its place in the message. A method that is not known has no rule.
    pub(super) fn check(&self, method: &str, part: Part, value: &Value, at: &str, found: &mut Found) {
        let key = match part {
            Part::Answer => "answer",
            Part::AnswerWhenDetached => "answerWhenDetached",
            Part::Params => "params",
        };
        if let Some(schema) = self.document["messages"][method].get(key) {
            self.walk(Rule { schema, about: None }, value, at, found);
        }
    }

    /// Checks an error object.
    pub(super) fn check_error(&self, value: &Value, at: &str, found: &mut Found) {
        let schema = &self.document["error"];
        self.walk(Rule { schema, about: None }, value, at, found);
    }

    fn walk(&self, rule: Rule<'_>, value: &Value, at: &str, found: &mut Found) {
        let described = rule.schema.get("description").and_then(Value::as_str);
        let rule = Rule {
            about: rule.about.or(described),
            ..rule
        };
        if let Some(schema) = self.referred(rule.schema) {
            return self.walk(Rule { schema, ..rule }, value, at, found);
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(Value::Array(variants)) = rule.schema.get(keyword) {
                return self.walk_variants(keyword, variants, rule, value, at, found);
            }
        }
        if let Some(kind) = rule.schema.get("type") {
            let names: Vec<&str> = match kind {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                other => other.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_of_type(value, name)) {
                let words: Vec<String> = names.iter().map(|name| type_name(name).to_owned()).collect();
                found
                    .breaches
                    .push(breach(rule, at, "type", &any_of(&words), value));
                return;
            }
        }
        if let Some(constant) = rule.schema.get("const").filter(|constant| *constant != value) {
            found
                .breaches
                .push(breach(rule, at, "const", &constant.to_string(), value));
        }
        check_bounds(rule, value, at, found);
        if rule.schema.get("contentEncoding").is_some() && !is_base64(value) {
            let expected = "base64 with the standard alphabet and padding";
            found
                .breaches
                .push(breach(rule, at, "contentEncoding", expected, value));
        }
        match value {
            Value::Object(fields) => self.walk_object(rule, fields, at, found),
            Value::Array(items) => {
                if let Some(schema) = rule.schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.walk(
                            Rule { schema, about: None },
                            item,
                            &format!("{at}[{index}]"),
                            found,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn walk_object(&self, rule: Rule<'_>, fields: &Map<String, Value>, at: &str, found: &mut Found) {
        let none = Map::new();
        let properties = rule
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let required = rule.schema.get("required").and_then(Value::as_array);
        let missing = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !fields.contains_key(*name));
        for name in missing {
            let schema = &properties[name];
            let misspelt = near_miss(name, fields.keys().map(String::as_str))
                .filter(|near| !properties.contains_key(*near))
                .map_or_else(
                    || "nothing".to_owned(),
                    |near| format!("nothing, but {near:?} is there"),
                );
            found.breaches.push(Breach {
                path: format!("{at}.{name}"),
                rule: "required".into(),
                expected: self.expectation(schema),
                seen: misspelt,
                about: schema["description"].as_str().map(str::to_owned),
            });
        }
        for (name, value) in fields {
            let place = format!("{at}.{name}");
            if let Some(schema) = properties.get(name) {
                self.walk(Rule { schema, about: None }, value, &place, found);
            } else if let Some(schema) = rule.schema.get("additionalProperties") {
                self.walk(Rule { schema, about: None }, value, &place, found);
            } else {
                found
                    .advice
                    .push(unknown_field(place, name, properties.keys().map(String::as_str)));
            }
        }
    }

    /// One of several variants fits, or the one that was meant is explained.
    fn walk_variants(
        &self,
        keyword: &str,
        variants: &[Value],
        rule: Rule<'_>,
        value: &Value,
        at: &str,
        found: &mut Found,
    ) {
        let tried = variants.iter().map(|schema| {
            let mut tried = Found::default();
            self.walk(
                Rule {
                    schema,
                    about: rule.about,
                },
                value,
                at,
                &mut tried,
            );
            tried
        });
        let tried: Vec<Found> = tried.collect();
        if let Some(fits) = tried.iter().position(|tried| tried.breaches.is_empty()) {
            found
                .advice
                .extend(tried.into_iter().nth(fits).unwrap_or_default().advice);
            return;
        }
        if let Some(breach) = tag_breach(variants, rule, value, at, keyword) {
            found.breaches.push(breach);
            return;
        }
        // Of the variants that were not meant, the type or the tag is wrong already.
        let meant = tried.into_iter().zip(variants).find(|(tried, schema)| {
            let schema = self.referred(schema).unwrap_or(schema);
            let right_kind = schema["type"].as_str().is_none_or(|kind| is_of_type(value, kind));
            right_kind
                && tried
                    .breaches
                    .iter()
                    .all(|breach| breach.rule != "const" && breach.path != at)
        });
        if let Some((tried, _)) = meant {
            found.breaches.extend(tried.breaches);
            return;
        }
        let words: Vec<String> = variants.iter().map(|schema| self.expectation(schema)).collect();
        found
            .breaches
            .push(breach(rule, at, keyword, &any_of(&words), value));
    }

    fn referred(&self, schema: &Value) -> Option<&Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.document["$defs"].get(name)
    }

    /// What a schema asks for, in words.
    fn expectation(&self, schema: &Value) -> String {
        let schema = self.referred(schema).unwrap_or(schema);
        if let Some(constant) = schema.get("const") {
            return constant.to_string();
        }
        let variants = schema.get("oneOf").or_else(|| schema.get("anyOf"));
        if let Some(Value::Array(variants)) = variants {
            let objects = variants
                .iter()
                .all(|variant| variant["type"] == "object" && variant["properties"].is_object());
            if objects {
                return "an object".into();
            }
            let words: Vec<String> = variants.iter().map(|variant| self.expectation(variant)).collect();
            return any_of(&words);
        }
        if schema["properties"].get("b64").is_some() {
            return "{\"b64\": \"…\"}".into();
        }
        match &schema["type"] {
            Value::Array(names) => {
                let words: Vec<String> = names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| type_name(name).to_owned())
                    .collect();
                any_of(&words)
            }
            other => type_name(other.as_str().unwrap_or_default()).to_owned(),
        }
    }
}

/// Variants are words, or objects that a field tells apart; the word is none of them.
fn tag_breach(variants: &[Value], rule: Rule<'_>, value: &Value, at: &str, keyword: &str) -> Option<Breach> {
    let words: Option<Vec<&str>> = variants.iter().map(|schema| schema["const"].as_str()).collect();
    if let Some(words) = words {
        return Some(one_of(rule, at, keyword, &words, value));
    }
    let (tag, _) = variants.first()?["properties"]
        .as_object()?
        .iter()
        .find(|(_, schema)| schema.get("const").is_some())?;
    let words: Option<Vec<&str>> = variants
        .iter()
        .map(|schema| schema["properties"][tag]["const"].as_str())
        .collect();
    let words = words?;
    if !value.is_object() {
        let expected = format!("an object whose {tag:?} is one of {}", words.join(", "));
        return Some(breach(rule, at, "type", &expected, value));
    }
    let said = value.get(tag);
    if said
        .and_then(Value::as_str)
        .is_some_and(|said| words.contains(&said))
    {
        return None;
    }
    let place = format!("{at}.{tag}");
    Some(match said {
        Some(said) => one_of(rule, &place, keyword, &words, said),
        None => Breach {
            path: place,
            rule: "required".into(),
            expected: format!("one of {}", words.join(", ")),
            seen: "nothing".into(),
            about: rule.about.map(str::to_owned),
        },
    })
}

fn check_bounds(rule: Rule<'_>, value: &Value, at: &str, found: &mut Found) {
    let Some(number) = value.as_f64() else { return };
    let bound = |name: &str| rule.schema.get(name).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        found
            .breaches
            .push(breach(rule, at, "minimum", &format!("{least} or more"), value));
    }
    if let Some(most) = bound("maximum").filter(|most| number > *most) {
        found
            .breaches
            .push(breach(rule, at, "maximum", &format!("{most} or less"), value));
    }
    let range = match rule.schema.get("format").and_then(Value::as_str) {
        Some("int32") => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        Some("uint32") => Some((0.0, f64::from(u32::MAX))),
        _ => None,
    };
    if let Some((least, most)) = range.filter(|(least, most)| number < *least || number > *most) {
        let expected = format!("{least} to {most}");
        found.breaches.push(breach(rule, at, "format", &expected, value));
    }
}

fn is_base64(value: &Value) -> bool {
    serde_json::from_value::<ByteString>(serde_json::json!({"b64": value})).is_ok()
}

fn breach(rule: Rule<'_>, at: &str, keyword: &str, expected: &str, value: &Value) -> Breach {
    Breach {
        path: at.to_owned(),
        rule: keyword.to_owned(),
        expected: expected.to_owned(),
        seen: describe(value),
        about: rule.about.map(str::to_owned),
    }
}

fn one_of(rule: Rule<'_>, at: &str, keyword: &str, words: &[&str], value: &Value) -> Breach {
    let hint = value
        .as_str()
        .map(|said| hint(said, words.iter().copied()))
        .unwrap_or_default();
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    Breach {
        path: at.to_owned(),
        rule: keyword.to_owned(),
        expected: any_of(&quoted),
        seen: format!("{}{hint}", describe(value)),
        about: rule.about.map(str::to_owned),
    }
}

pub(super) fn unknown_field<'a>(
    path: String,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Advice {
    Advice {
        meant: near_miss(name, known).map(str::to_owned),
        field: name.to_owned(),
        path,
    }
}
