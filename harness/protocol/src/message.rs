//! JSON-RPC 2.0 envelopes.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Error;

/// A message as it arrived, sorted by what it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// To be repeated in the answer: a number or a string.
        id: Value,
        /// The method's name.
        method: String,
        /// Its parameters, an object.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// The method's name.
        method: String,
        /// Its parameters, an object.
        params: Value,
    },
    /// The answer to a request.
    Response {
        /// The request's id; `null` when the request could not be read.
        id: Value,
        /// What was asked for, or why not.
        result: Result<Value, Error>,
    },
}

/// Why a line is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not JSON at all.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but no JSON-RPC 2.0 message.
    #[error("not a JSON-RPC 2.0 message: {0}")]
    NotAMessage(String),
}

impl Message {
    /// Parses one line.
    ///
    /// # Errors
    /// [`MessageError`] when the line is no message.
    pub fn parse(line: &[u8]) -> Result<Self, MessageError> {
        let value: Value =
            serde_json::from_slice(line).map_err(|error| MessageError::NotJson(error.to_string()))?;
        let Value::Object(mut object) = value else {
            return Err(MessageError::NotAMessage("not an object".into()));
        };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(MessageError::NotAMessage("\"jsonrpc\" is not \"2.0\"".into()));
        }
        if object.contains_key("method") {
            Self::call(&mut object)
        } else {
            Self::answer(&mut object)
        }
    }

    fn call(object: &mut Map<String, Value>) -> Result<Self, MessageError> {
        let Some(Value::String(method)) = object.remove("method") else {
            return Err(MessageError::NotAMessage("\"method\" is not a string".into()));
        };
        let params = object.remove("params").unwrap_or_else(|| json!({}));
        if !params.is_object() {
            return Err(MessageError::NotAMessage("\"params\" is not an object".into()));
        }
        match object.remove("id") {
            None => Ok(Self::Notification { method, params }),
            Some(id @ (Value::String(_) | Value::Number(_))) => Ok(Self::Request { id, method, params }),
            Some(_) => Err(MessageError::NotAMessage(
                "\"id\" is neither a string nor a number".into(),
            )),
        }
    }

    fn answer(object: &mut Map<String, Value>) -> Result<Self, MessageError> {
        let Some(id) = object.remove("id") else {
            return Err(MessageError::NotAMessage("neither \"method\" nor \"id\"".into()));
        };
        let result = match (object.remove("result"), object.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(serde_json::from_value(error)
                .map_err(|error| MessageError::NotAMessage(format!("\"error\": {error}")))?),
            _ => {
                return Err(MessageError::NotAMessage(
                    "not exactly one of \"result\" and \"error\"".into(),
                ));
            }
        };
        Ok(Self::Response { id, result })
    }

    /// The message as one line, newline included.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let value = match self {
            Self::Request { id, method, params } => {
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            }
            Self::Notification { method, params } => {
                json!({"jsonrpc": "2.0", "method": method, "params": params})
            }
            Self::Response {
                id,
                result: Ok(result),
            } => {
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            Self::Response {
                id,
                result: Err(error),
            } => {
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        line
    }

    /// A request.
    ///
    /// # Panics
    /// Never: the protocol's own types always serialise.
    #[must_use]
    pub fn request(id: u64, method: &str, params: &impl Serialize) -> Self {
        Self::Request {
            id: id.into(),
            method: method.into(),
            params: to_value(params),
        }
    }

    /// A notification.
    ///
    /// # Panics
    /// Never: the protocol's own types always serialise.
    #[must_use]
    pub fn notification(method: &str, params: &impl Serialize) -> Self {
        Self::Notification {
            method: method.into(),
            params: to_value(params),
        }
    }
}

/// Serialises a protocol type, which cannot fail: none has a map with keys that are not strings.
pub(crate) fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_a_round_trip() {
        for message in [
            Message::request(7, "exec.run", &json!({"a": 1})),
            Message::notification("exec.output", &json!({})),
            Message::Response {
                id: json!("x"),
                result: Ok(json!(null)),
            },
            Message::Response {
                id: json!(null),
                result: Err(Error::unsupported("pty")),
            },
        ] {
            assert_eq!(Message::parse(&message.to_line()).unwrap(), message);
        }
    }

    #[test]
    fn what_is_no_message_says_why() {
        for (line, why) in [
            ("hello", "not JSON"),
            ("[]", "not an object"),
            ("{}", "jsonrpc"),
            (r#"{"jsonrpc":"2.0"}"#, "neither"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "exactly one"),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
                "exactly one",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, "\"error\""),
            (r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, "\"id\""),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#,
                "\"params\"",
            ),
            (r#"{"jsonrpc":"2.0","method":1}"#, "\"method\""),
        ] {
            let error = Message::parse(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
