//! JSON values in words, for people.

use serde_json::Value;

use crate::report::shorten;

/// Characters of a value that are quoted.
const QUOTED: usize = 80;

/// The value with its type: `the string "5"`, `the number 7`, `null`, `a list`.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(bool) => format!("{bool}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => format!("the string {}", shorten(&value.to_string(), QUOTED)),
        Value::Array(_) => format!("a list: {}", shorten(&value.to_string(), QUOTED)),
        Value::Object(_) => format!("an object: {}", shorten(&value.to_string(), QUOTED)),
    }
}

/// A type of JSON Schema in words.
pub(super) fn type_name(name: &str) -> &'static str {
    match name {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "null",
        _ => "something else",
    }
}

/// Whether the value is of a type of JSON Schema. An integer has no fraction, not even a zero one: readers of many
/// languages take `5.0` for no integer.
pub(super) fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// A list for people: `a, b or c`.
pub(super) fn any_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
