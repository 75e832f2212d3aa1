//! The messages of the guide are messages of the protocol.

use std::collections::BTreeSet;

use herm_harness::validate::{Content, MessageReader};
use serde_json::Value;

use super::{file, page};

#[test]
fn every_message_fits_the_published_schema() {
    let page = page("adapter/messages.md");
    let mut reader = MessageReader::default();
    let mut methods = BTreeSet::new();
    let mut count = 0;
    for block in page.blocks().iter().filter(|block| block.language == "json") {
        for line in block.text.lines() {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            count += 1;
            if let Some(method) = value["method"].as_str() {
                methods.insert(method.to_owned());
            }
            let is_call = value["method"].is_string();
            if is_call && (!value["id"].is_null() || value["method"] == "exec.credit") {
                assert_eq!(request_problem(&value), None, "{line}");
                reader.sent(line.as_bytes());
                continue;
            }
            let read = reader.received(line.as_bytes());
            assert_eq!((read.breaches, read.advice), (vec![], vec![]), "{line}");
            let answers = matches!(read.content, Content::Answer { id: Some(_), .. });
            assert!(answers || is_call, "{line} answers no request above it");
        }
    }
    assert!(count > 50, "{count} messages");
    let known = herm_protocol::method::METHODS
        .iter()
        .map(|name| (*name).to_owned());
    let left: Vec<_> = known.filter(|name| !methods.contains(name)).collect();
    assert_eq!(left, [""; 0], "methods that messages.md does not show");
}

/// What is wrong with a request: judged by `jsonschema`, with the same published schema. That ignores fields that it does
/// not know; a page of ours has none.
fn request_problem(request: &Value) -> Option<String> {
    let document: Value = serde_json::from_str(&file("harness/protocol/schema/herm-1.json")).unwrap();
    let method = request["method"].as_str().unwrap();
    let mut schema = document["messages"][method]["params"].clone();
    assert!(schema.is_object(), "{method} is not in the schema");
    schema["$defs"] = document["$defs"].clone();
    let definition = schema["$ref"].as_str().unwrap().trim_start_matches("#/$defs/");
    let fields = &document["$defs"][definition]["properties"];
    for field in request["params"].as_object().unwrap().keys() {
        if fields[field].is_null() {
            return Some(format!("{method} has no field {field}"));
        }
    }
    let error = jsonschema::validate(&schema, &request["params"]).err()?;
    Some(error.to_string())
}
