//! The walk of the schema: what it says, and that it agrees with a checker for any schema.

use serde_json::{Value, json};

use super::{Content, MessageReader, Schema};

/// A reader that has asked for everything, `initialize` as 1 and so on in this order.
const ASKED: [&str; 8] = [
    "initialize",
    "preflight",
    "sandbox.open",
    "exec.run",
    "sandbox.close",
    "file.read",
    "file.list",
    "exec.stdin",
];

fn reader() -> MessageReader {
    let mut reader = MessageReader::default();
    for (index, method) in ASKED.into_iter().enumerate() {
        let line = json!({"jsonrpc": "2.0", "id": index + 1, "method": method, "params": {}});
        reader.sent(line.to_string().as_bytes());
    }
    reader
}

/// What is said of a message, breaches first.
fn said(message: &Value) -> Vec<String> {
    let read = reader().received(message.to_string().as_bytes());
    let breaches = read.breaches.iter().map(ToString::to_string);
    breaches
        .chain(read.advice.iter().map(ToString::to_string))
        .collect()
}

fn answer(id: u64, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn run_result() -> Value {
    json!({
        "outcome": {"type": "exited", "code": 0},
        "stdout": {"bytes": 6}, "stderr": {"bytes": 0, "sha256": null},
        "gaps": [{"stream": "stdout", "from": 1, "to": 2}],
        "duration_ms": 3, "notices": ["a"],
    })
}

/// A right message of every kind.
fn right() -> Vec<Value> {
    let note = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    vec![
        answer(
            1,
            &json!({
                "protocol": "herm/1", "name": "mine", "version": "1", "homepage": null, "backend": "local",
                "capabilities": ["argv"], "choices": {"shell": "bash"}, "limits": {"max_message_bytes": 5}, "parallelism": 2,
                "emulated": false,
            }),
        ),
        answer(2, &json!({"problems": [{"what": "a", "fix": "b"}]})),
        answer(
            3,
            &json!({"sandbox": "s", "state": "created", "exec_mode": "native", "cwd": {"b64": "/w=="}, "notices": []}),
        ),
        answer(4, &run_result()),
        answer(
            4,
            &json!({
                "outcome": {"type": "setup_failed", "kind": "cwd_not_found", "message": "no"},
                "stdout": {"bytes": 0}, "stderr": {"bytes": 0}, "duration_ms": 0,
            }),
        ),
        answer(5, &json!({"existed": true})),
        answer(6, &json!({"data": "text", "size": 4})),
        answer(
            7,
            &json!({"entries": [{"name": "a", "kind": "file", "size": 1, "mode": 420}]}),
        ),
        answer(8, &json!({"open": true})),
        json!({"jsonrpc": "2.0", "id": 4, "error": {"code": -32000, "message": "no", "data": {"kind": "sandbox_not_found", "fix": null}}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}),
        note("exec.started", json!({"exec": "e"})),
        note(
            "exec.output",
            json!({"exec": "e", "stream": "stderr", "offset": 0, "data": {"b64": ""}}),
        ),
        note("sandbox.progress", json!({"message": "pulling"})),
    ]
}

#[test]
fn nothing_is_said_of_what_is_right() {
    for message in right() {
        assert_eq!(said(&message), [""; 0], "{message}");
    }
}

#[test]
fn the_answer_to_a_command_that_goes_on_as_a_job_names_the_job() {
    let mut reader = reader();
    let request = json!({"jsonrpc": "2.0", "id": 30, "method": "exec.run", "params": {"detach": true}});
    reader.sent(request.to_string().as_bytes());
    let breaches = |result: Value| {
        reader
            .received(answer(30, &result).to_string().as_bytes())
            .breaches
    };
    assert_eq!(breaches(json!({"job": "1"})), []);
    assert_eq!(breaches(run_result())[0].path, "result.job");
}

#[test]
fn each_mistake_is_told_with_its_path_what_was_expected_and_what_is_there() {
    let with = |path: &str, value: Value| {
        let mut result = run_result();
        *result.pointer_mut(path).unwrap() = value;
        said(&answer(4, &result))
    };
    for (seen, told) in [
        (
            with("/stdout/bytes", json!("6")),
            "result.stdout.bytes: expected an integer, seen the string \"6\" (rule: type)",
        ),
        (
            with("/stdout/bytes", json!(-1)),
            "result.stdout.bytes: expected 0 or more, seen the number -1 (rule: minimum)",
        ),
        (
            with("/stdout", json!(6)),
            "result.stdout: expected an object, seen the number 6 (rule: type)",
        ),
        (
            with("/duration_ms", json!(1.5)),
            "result.duration_ms: expected an integer, seen the number 1.5 (rule: type)",
        ),
        (
            with("/outcome", json!("exited")),
            "result.outcome: expected an object whose \"type\" is one of exited, signaled, timed_out, cancelled, sandbox_lost, \
             transport_lost, setup_failed, seen the string \"exited\" (rule: type)",
        ),
        (
            with("/outcome", json!({"type": "exited"})),
            "result.outcome.code: expected an integer, seen nothing (rule: required)",
        ),
        (
            with("/outcome", json!({"type": "exited", "code": "0"})),
            "result.outcome.code: expected an integer, seen the string \"0\" (rule: type)",
        ),
        (
            with("/outcome/code", json!(5_000_000_000_u64)),
            "result.outcome.code: expected -2147483648 to 2147483647, seen the number 5000000000 (rule: format)",
        ),
        (
            with("/gaps/0/stream", json!("stdour")),
            "result.gaps[0].stream: expected \"stdout\" or \"stderr\", seen the string \"stdour\" (did you mean `stdout`?) (rule: oneOf)",
        ),
    ] {
        assert_eq!(seen, [told]);
    }
}

#[test]
fn a_misspelt_field_is_advice_and_names_what_was_meant() {
    let introduced = |more: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocol":"herm/1","name":"mine","version":"1",{more}}}}}"#
        );
        said(&serde_json::from_str(&text).unwrap())
    };
    assert_eq!(
        introduced(r#""capabilties":[]"#),
        ["result.capabilties is not known; did you mean capabilities?"]
    );
    assert_eq!(
        introduced(r#""x_future":[]"#),
        ["result.x_future is not known and will be ignored"]
    );
    let opened = said(&answer(
        3,
        &json!({"sandbox": "s", "stat": "created", "exec_mode": "native"}),
    ));
    assert_eq!(
        opened,
        [
            "result.state: expected \"created\", \"attached\" or \"recreated\", seen nothing, but \"stat\" is there (rule: required)",
            "result.stat is not known; did you mean state?"
        ]
    );
    let note = json!({"jsonrpc": "2.0", "method": "exec.strated", "params": {"exec": "e"}});
    assert_eq!(
        said(&note),
        ["the method \"exec.strated\" is not known; did you mean exec.started?"]
    );
}

#[test]
fn an_envelope_is_understood_as_far_as_it_can_be_and_what_is_wrong_with_it_told() {
    let reader = reader();
    let read = |line: &str| {
        let read = reader.received(line.as_bytes());
        let breaches: Vec<_> = read.breaches.iter().map(ToString::to_string).collect();
        (read.content, breaches)
    };
    let closed = || Content::Answer {
        id: Some(5),
        result: Ok(json!({"existed": true})),
    };
    let wrong_id = "id: expected the number 5, just as the request had it, seen";
    for (line, told) in [
        (
            r#"{"id":5,"result":{"existed":true}}"#,
            "jsonrpc: expected the string \"2.0\", seen nothing (rule: JSON-RPC)".to_owned(),
        ),
        (
            r#"{"jsonrpc":2.0,"id":5,"result":{"existed":true}}"#,
            "jsonrpc: expected the string \"2.0\", seen the number 2.0 (rule: JSON-RPC)".to_owned(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"5","result":{"existed":true}}"#,
            format!("{wrong_id} the string \"5\" (rule: JSON-RPC)"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":5.0,"result":{"existed":true}}"#,
            format!("{wrong_id} the number 5.0 (rule: JSON-RPC)"),
        ),
    ] {
        assert_eq!(read(line), (closed(), vec![told]), "{line}");
    }
    let mut reader = super::MessageReader::default();
    reader.sent(br#"{"jsonrpc":"2.0","id":"07","method":"sandbox.close","params":{}}"#);
    for (answered, right) in [("\"07\"", true), ("7", false), ("\"7\"", false)] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{answered},"result":{{"existed":true}}}}"#);
        let breaches = reader.received(line.as_bytes()).breaches;
        assert_eq!(breaches.is_empty(), right, "{answered}: {breaches:?}");
    }
    for noise in ["Welcome!", "[1]", "7", "", "{\"jsonrpc\":"] {
        let (content, breaches) = read(noise);
        assert_eq!((content, breaches.len()), (Content::Noise, 1), "{noise}");
    }
    for (line, told) in [
        (r#"{"jsonrpc":"2.0"}"#, "seen neither"),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":{"existed":true},"error":{"code":1,"message":""}}"#,
            "seen both",
        ),
        (
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            "the id of a request that was sent",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            "the id of a request that was sent",
        ),
        (
            r#"{"jsonrpc":"2.0","result":{}}"#,
            "the id of the request that is answered",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"exec.started","params":{"exec":"e"}}"#,
            "which has no \"id\"",
        ),
        (r#"{"jsonrpc":"2.0","method":5}"#, "method: expected a string"),
    ] {
        let (_, breaches) = read(line);
        assert!(
            breaches.iter().any(|breach| breach.contains(told)),
            "{line}: {breaches:?}"
        );
    }
}

/// Keywords that the walk knows; those that only describe are among them.
const KEYWORDS: [&str; 15] = [
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "contentEncoding",
    "default",
    "description",
    "format",
    "items",
    "maximum",
    "minimum",
    "oneOf",
    "properties",
    "required",
    "type",
];

#[test]
fn the_schema_has_no_keyword_that_the_walk_does_not_know() {
    fn look(schema: &Value) {
        let Value::Object(schema) = schema else { return };
        for (keyword, inner) in schema {
            assert!(KEYWORDS.contains(&keyword.as_str()), "{keyword}");
            match (keyword.as_str(), inner) {
                ("properties", Value::Object(fields)) => fields.values().for_each(look),
                ("oneOf" | "anyOf", Value::Array(variants)) => variants.iter().for_each(look),
                ("items" | "additionalProperties", schema) => look(schema),
                ("format", format) => assert!(
                    ["int32", "int64", "uint16", "uint32", "uint64"].contains(&format.as_str().unwrap()),
                    "{format}"
                ),
                _ => {}
            }
        }
    }
    let definitions = Schema::published().document()["$defs"].as_object().unwrap();
    assert!(definitions.len() > 40);
    definitions.values().for_each(look);
}

/// Every value that differs from `value` in one place.
fn variations(value: &Value) -> Vec<Value> {
    let others = [
        json!(null),
        json!(true),
        json!(-3),
        json!(1.5),
        json!("word"),
        json!([]),
        json!({}),
        json!([1]),
        json!({"type": "exited"}),
        json!({"b64": "YQ=="}),
    ];
    let mut all = others.to_vec();
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let mut without = fields.clone();
                without.remove(name);
                all.push(without.into());
                for other in variations(inner) {
                    let mut with = fields.clone();
                    with.insert(name.clone(), other);
                    all.push(with.into());
                }
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                for other in variations(inner) {
                    let mut with = items.clone();
                    with[index] = other;
                    all.push(with.into());
                }
            }
        }
        _ => {}
    }
    all
}

/// A document of its own for a part of the published one.
fn whole(part: &Value) -> Value {
    let mut schema = part.clone();
    schema["$defs"] = Schema::published().document()["$defs"].clone();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema
}

#[test]
fn the_walk_agrees_with_a_checker_for_any_schema() {
    let document = Schema::published().document();
    let reader = reader();
    let mut judged = [0, 0];
    for message in right() {
        let (part, place) = match (message.get("method"), message.get("error")) {
            (Some(method), _) => (
                &document["messages"][method.as_str().unwrap()]["params"],
                "params",
            ),
            (None, Some(_)) => (&document["error"], "error"),
            (None, None) => {
                let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
                (&document["messages"][ASKED[id - 1]]["answer"], "result")
            }
        };
        let checker = jsonschema::validator_for(&whole(part)).unwrap();
        for value in variations(&message[place]) {
            let mut varied = message.clone();
            varied[place] = value.clone();
            let read = reader.received(varied.to_string().as_bytes());
            let walk = read.breaches.iter().all(|breach| {
                // What the checker takes for remarks: encodings, and how wide a number may be.
                ["contentEncoding", "format"].contains(&breach.rule.as_str())
            });
            assert_eq!(walk, checker.is_valid(&value), "{varied}: {:?}", read.breaches);
            judged[usize::from(walk)] += 1;
        }
    }
    // Enough of both, or this proves nothing.
    assert!(judged[0] > 500 && judged[1] > 50, "{judged:?}");
}
