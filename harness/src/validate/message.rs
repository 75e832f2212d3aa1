//! Reads an adapter's lines with what was asked in mind.

use std::{collections::HashMap, fmt};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    schema::{Found, Part, Schema, unknown_field},
    value::describe,
};
use crate::near_miss::hint;

/// Requests whose method is remembered; of older ones the answer came long ago.
const REMEMBERED: usize = 100_000;

/// One thing that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// Where in the message: `result.stdout.bytes`.
    pub path: String,
    /// The keyword of the schema, or of JSON-RPC, that is broken.
    pub rule: String,
    /// What was expected there, in words.
    pub expected: String,
    /// What is there, in words.
    pub seen: String,
    /// What the field is for, as the schema says.
    pub about: Option<String>,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            rule,
            expected,
            seen,
            ..
        } = self;
        write!(f, "{path}: expected {expected}, seen {seen} (rule: {rule})")
    }
}

/// A field that the protocol does not know: allowed, and maybe misspelt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Where in the message.
    pub path: String,
    /// Its name.
    pub field: String,
    /// The known field that may have been meant.
    pub meant: Option<String>,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not known", self.path)?;
        match &self.meant {
            Some(meant) => write!(f, "; did you mean {meant}?"),
            None => f.write_str(" and will be ignored"),
        }
    }
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Not JSON, or no object: noise.
    Noise,
    /// An answer, to the request of this number where it can be told.
    Answer {
        /// The request's number, read leniently, and as it is when there was no such request; `None` for `null`, for
        /// what is no number (an id may be text, too), and where there is none.
        id: Option<u64>,
        /// What was answered; the error object when it is an error.
        result: Result<Value, Value>,
    },
    /// A notification, or a question of the adapter.
    Call {
        /// Its name.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// An object that is no message.
    Nothing,
}

/// What was read of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// What it is.
    pub content: Content,
    /// What it is called in a message to people: `the answer to exec.run`.
    pub name: String,
    /// What does not fit.
    pub breaches: Vec<Breach>,
    /// What is allowed, and maybe not meant.
    pub advice: Vec<Advice>,
}

/// What was asked, and which part of its schema answers it.
#[derive(Debug)]
struct Asked {
    method: String,
    answer: Part,
}

/// Reads the lines of one connection.
#[derive(Debug, Default)]
pub struct MessageReader {
    /// By the id as it stands in JSON: a number and a text of its digits are two.
    asked: HashMap<String, Asked>,
}

impl MessageReader {
    /// Takes a line of the harness, to know what its answer answers.
    pub fn sent(&mut self, line: &[u8]) {
        let Ok(Value::Object(message)) = serde_json::from_slice(line) else {
            return;
        };
        if let (Some(id), Some(method)) = (
            message.get("id").filter(|id| !id.is_null()).map(Value::to_string),
            message.get("method").and_then(Value::as_str),
        ) {
            if self.asked.len() >= REMEMBERED {
                self.asked.clear();
            }
            let detached = message
                .get("params")
                .is_some_and(|params| params["detach"] == true);
            let asked = Asked {
                method: method.to_owned(),
                answer: if detached {
                    Part::AnswerWhenDetached
                } else {
                    Part::Answer
                },
            };
            self.asked.insert(id, asked);
        }
    }

    /// Reads a line of the adapter.
    #[must_use]
    pub fn received(&self, line: &[u8]) -> Read {
        let value: Result<Value, _> = serde_json::from_slice(line);
        let Ok(Value::Object(message)) = value else {
            let seen = match &value {
                Ok(other) => describe(other),
                Err(error) => format!("what is not JSON ({error})"),
            };
            return Read {
                content: Content::Noise,
                name: "a line on standard output".into(),
                breaches: vec![own("", "JSON", "one JSON object a line, and nothing else", seen)],
                advice: Vec::new(),
            };
        };
        let mut found = Found::default();
        if let Some(breach) = version_breach(&message) {
            found.breaches.push(breach);
        }
        let (content, name) = match message.get("method") {
            Some(method) => call(&message, method, &mut found),
            None => self.answer(&message, &mut found),
        };
        Read {
            content,
            name,
            breaches: found.breaches,
            advice: found.advice,
        }
    }

    fn answer(&self, message: &Map<String, Value>, found: &mut Found) -> (Content, String) {
        let (result, error) = (message.get("result"), message.get("error"));
        if result.is_none() && error.is_none() {
            found.breaches.push(own(
                "",
                "JSON-RPC",
                "\"method\" (a notification), or \"id\" with \"result\" or \"error\" (an answer)",
                "neither".into(),
            ));
            return (Content::Nothing, "a message".into());
        }
        let id = self.id(message, error.is_some(), found);
        let asked = id.as_ref().and_then(|id| self.asked.get(&id.to_string()));
        let name = match asked {
            Some(asked) => format!("the answer to {}", asked.method),
            None => "an answer".into(),
        };
        if result.is_some() && error.is_some() {
            let expected = "only one of \"result\" and \"error\"";
            found.breaches.push(own("", "JSON-RPC", expected, "both".into()));
        }
        note_unknown(message, &["jsonrpc", "id", "result", "error"], found);
        let schema = Schema::published();
        let result = match (result, error) {
            (_, Some(error)) => {
                schema.check_error(error, "error", found);
                Err(error.clone())
            }
            (result, None) => {
                let result = result.cloned().unwrap_or_default();
                if let Some(asked) = asked {
                    schema.check(&asked.method, asked.answer, &result, "result", found);
                }
                Ok(result)
            }
        };
        let id = id.as_ref().and_then(Value::as_u64);
        (Content::Answer { id, result }, name)
    }

    /// The request's id. A number that was answered as a string is told, and taken for what was meant.
    fn id(&self, message: &Map<String, Value>, is_error: bool, found: &mut Found) -> Option<Value> {
        match message.get("id") {
            None => {
                let expected = "the id of the request that is answered";
                found
                    .breaches
                    .push(own("id", "JSON-RPC", expected, "nothing".into()));
                None
            }
            Some(Value::Null) if is_error => None,
            Some(id) if self.asked.contains_key(&id.to_string()) => Some(id.clone()),
            Some(id) => {
                let read: Option<u64> = match id {
                    Value::String(text) => text.trim().parse().ok(),
                    Value::Number(number) => number.as_f64().and_then(whole),
                    _ => None,
                };
                let expected = match read.filter(|id| self.asked.contains_key(&id.to_string())) {
                    Some(meant) => format!("the number {meant}, just as the request had it"),
                    None => "the id of a request that was sent".into(),
                };
                found
                    .breaches
                    .push(own("id", "JSON-RPC", &expected, describe(id)));
                read.map(Value::from)
            }
        }
    }
}

/// The number, if it is a whole one.
fn whole(number: f64) -> Option<u64> {
    format!("{number}").parse().ok()
}

fn call(message: &Map<String, Value>, method: &Value, found: &mut Found) -> (Content, String) {
    let Some(method) = method.as_str() else {
        found
            .breaches
            .push(own("method", "JSON-RPC", "a string", describe(method)));
        return (Content::Nothing, "a message".into());
    };
    let schema = Schema::published();
    let is_question = schema.questions().any(|name| name == method);
    let known: Vec<&str> = if is_question {
        vec![method]
    } else {
        schema.notifications().collect()
    };
    if let Some(breach) = id_breach(message, is_question) {
        found.breaches.push(breach);
    }
    note_unknown(message, &["jsonrpc", "id", "method", "params"], found);
    let params = message
        .get("params")
        .cloned()
        .unwrap_or_else(|| Value::Object(Map::new()));
    if known.contains(&method) {
        schema.check(method, Part::Params, &params, "params", found);
    } else {
        let meant = hint(method, known.iter().copied());
        found.advice.push(Advice {
            path: format!("the method {method:?}"),
            field: method.to_owned(),
            meant: (!meant.is_empty())
                .then(|| {
                    known
                        .iter()
                        .find(|name| meant.contains(**name))
                        .map(|name| (*name).to_owned())
                })
                .flatten(),
        });
    }
    let content = Content::Call {
        method: method.to_owned(),
        params,
    };
    (content, method.to_owned())
}

/// Whether a message has an id that has to have one, and none where it has nothing to ask.
fn id_breach(message: &Map<String, Value>, is_question: bool) -> Option<Breach> {
    match (message.get("id"), is_question) {
        (Some(_), false) => {
            let expected = "a notification, which has no \"id\": only rpc.call and rpc.read ask";
            Some(own("id", "JSON-RPC", expected, "a request".into()))
        }
        (Some(Value::String(_) | Value::Number(_)), true) | (None, false) => None,
        (id, true) => {
            let seen = id.map_or_else(|| "nothing".into(), describe);
            Some(own(
                "id",
                "JSON-RPC",
                "a number or a string, to be answered by",
                seen,
            ))
        }
    }
}

fn version_breach(message: &Map<String, Value>) -> Option<Breach> {
    match message.get("jsonrpc") {
        Some(Value::String(version)) if version == "2.0" => None,
        Some(other) => Some(own("jsonrpc", "JSON-RPC", "the string \"2.0\"", describe(other))),
        None => {
            let near = hint("jsonrpc", message.keys().map(String::as_str));
            let seen = format!("nothing{near}");
            Some(own("jsonrpc", "JSON-RPC", "the string \"2.0\"", seen))
        }
    }
}

fn note_unknown(message: &Map<String, Value>, known: &[&str], found: &mut Found) {
    for name in message.keys().filter(|name| !known.contains(&name.as_str())) {
        found
            .advice
            .push(unknown_field(name.clone(), name, known.iter().copied()));
    }
}

fn own(path: &str, rule: &str, expected: &str, seen: String) -> Breach {
    Breach {
        path: path.to_owned(),
        rule: rule.to_owned(),
        expected: expected.to_owned(),
        seen,
        about: None,
    }
}
