//! The JSON Schema of the protocol, generated from the types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema document as it is published, in the file `schema/herm-1.json` of this package.
pub const PUBLISHED: &str = include_str!("../schema/herm-1.json");

/// Who sends a message.
fn sender(name: &str) -> &'static str {
    let of_adapter = [
        "exec.started",
        "exec.output",
        "exec.alive",
        "rpc.call",
        "rpc.read",
        "sandbox.progress",
    ];
    if of_adapter.contains(&name) {
        "adapter"
    } else {
        "harness"
    }
}

/// The schema document: `$defs` holds every type; `messages` maps each method to its kind, its sender, the schemas of its parameters and,
/// for requests, its answer; `error` is the error object.
#[must_use]
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut messages = Map::new();
    crate::method::describe(
        |name, part, schema| {
            let entry = messages
                .entry(name)
                .or_insert_with(|| json!({"kind": "notification", "from": sender(name)}));
            if part == "answer" {
                entry["kind"] = "request".into();
            }
            entry[part] = schema.into();
        },
        &mut generator,
    );
    let error: Value = generator.subschema_for::<crate::Error>().into();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "herm/1",
        "description": "Messages between the herm harness and a sandbox backend, one JSON-RPC 2.0 message a line.",
        "messages": messages,
        "error": error,
        "errorCodes": {
            "-32700": "The line is not JSON; answered with the id null.",
            "-32600": "The JSON is no message; answered with the id null.",
            "-32601": "unsupported: an unknown method, or an option of a capability that was not declared.",
            "-32602": "invalid_argument",
            "-32603": "internal",
            "-32000": "Every other kind; data.kind tells them apart."
        },
        "$defs": generator.take_definitions(true),
    })
}

#[cfg(test)]
mod tests {
    /// `HERM_UPDATE_SCHEMA=1` writes the file instead of comparing.
    #[test]
    fn the_file_in_the_tree_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/herm-1.json");
        let generated = serde_json::to_string_pretty(&super::document()).unwrap() + "\n";
        if std::env::var_os("HERM_UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            stored == generated,
            "schema/herm-1.json is stale; run HERM_UPDATE_SCHEMA=1 cargo test -p herm-protocol"
        );
    }
}
