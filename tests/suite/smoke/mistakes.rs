//! Each mistake of an adapter is told precisely, and nothing else is wrong with the walk.

use std::time::Instant;

use serde_json::Value;

use super::place_with;
use crate::support::BOUND;

/// The id in an answer.
const ID: &str = r#""id":'"$id"',"result""#;

#[test]
fn what_is_declared_wrongly_is_told_precisely() {
    tells(&[
        (
            r#""capabilities":[]"#,
            r#""capabilties":[]"#,
            "result.capabilties is not known; did you mean capabilities?",
        ),
        (
            r#""capabilities":[]"#,
            r#""capabilities":["stdinn"]"#,
            "\"stdinn\" is not known (did you mean `stdin`?)",
        ),
        (
            r#""streams":"apart""#,
            r#""streams":"aparte""#,
            "streams has no variant \"aparte\" (did you mean `apart`?)",
        ),
        (
            r#","streams":"apart""#,
            "",
            "result.choices lacks what your capabilities call for: streams (apart | merged)",
        ),
    ]);
}

#[test]
fn a_wrong_field_is_told_precisely() {
    tells(&[
        (
            r#""stdout":{"bytes":'"$2"'}"#,
            r#""stdout":{"bytes":"'"$2"'"}"#,
            "result.stdout.bytes is the string \"6\"; expected an integer",
        ),
        (
            "ran 0 6 0",
            "ran 0 5 0",
            "the answer says 5 bytes of stdout, but 6 arrived",
        ),
        (
            r#""type":"exited""#,
            r#""type":"exit""#,
            "result.outcome.type is the string \"exit\" (did you mean `exited`?)",
        ),
    ]);
}

#[test]
fn events_out_of_order_are_told_precisely() {
    tells(&[
        (
            "    note exec.started ''\n",
            "",
            "exec.started never came for smoke-1",
        ),
        (
            "    note exec.started ''\n",
            "    note exec.started ''; note exec.started ''\n",
            "exec.started came twice for smoke-1",
        ),
        (
            "exec.started ''",
            "exec.strated ''",
            "\"exec.strated\" is not known; did you mean exec.started?",
        ),
        (
            r#""stderr","offset":0"#,
            r#""stderr","offset":4"#,
            "a piece of stderr of smoke-3 says offset 4, but 0 bytes of stderr had come",
        ),
        (
            "ran 0 6 0 ;;",
            "ran 0 6 0; note exec.output ',\"stream\":\"stdout\",\"offset\":6,\"data\":\"x\"' ;;",
            "exec.output about smoke-1 came after its answer",
        ),
        (
            r#"'"$exec"'"#,
            "smoke",
            "is about \"smoke\", which is no command that was asked for",
        ),
    ]);
}

#[test]
fn a_wrong_envelope_is_told_precisely() {
    tells(&[
        (
            ID,
            r#""id":"'"$id"'","result""#,
            "id is the string \"4\"; expected the number 4",
        ),
        (ID, r#""result""#, "id is missing"),
        (
            r#"answer() { say '{"jsonrpc":"2.0","#,
            "answer() { say '{",
            "jsonrpc is missing; expected the string \"2.0\"",
        ),
        (
            "ran 0 6 0 ;;",
            "ran 0 6 0; ran 0 6 0 ;;",
            "exec.run (id 4) was answered a second time",
        ),
        (
            "ran 0 6 0 ;;",
            "echo hello; ran 0 6 0 ;;",
            "a line that is no message: \"hello\"",
        ),
    ]);
}

#[test]
fn a_wrong_refusal_or_end_is_told_precisely() {
    tells(&[
        (
            "begin; command & fi",
            "begin; command; fi",
            "was answered only when the command had ended",
        ),
        (
            r#"| *'"pty"'* "#,
            "",
            "not declared, and yet the command was run as if it were not there: pty (capability pty)",
        ),
        (
            "*smoke-nobody*) refuse -32000 sandbox_not_found",
            "*smoke-nobody*) refuse -32603 internal",
            "it was refused, but otherwise: \"no sandbox herm-smoke-nobody\" (code -32603, kind internal)",
        ),
        (
            "'no sandbox herm-smoke-nobody'",
            "'no such sandbox'",
            "the error \"no such sandbox\" (code -32000, kind sandbox_not_found) does not name the sandbox",
        ),
        (
            "    *) refuse -32601 unsupported ;;\n",
            "    *) answer '{}' ;;\n",
            "future.method does not exist, and was answered with a result",
        ),
        (
            "closed=true ;;",
            "closed=false ;;",
            "result.existed is true; expected false",
        ),
        (
            "done\nwait",
            "done\nwait\ntrap '' TERM; sleep 60",
            "ended only on SIGTERM",
        ),
        (
            "done\nwait",
            "done\nwait\nsetsid sleep 60 &",
            "it has left processes behind, which were ended: ",
        ),
    ]);
}

/// Each text of the adapter, replaced by another, is told with these words.
fn tells(mistakes: &[(&str, &str, &str)]) {
    for (old, new, told) in mistakes {
        let place = place_with(&[(old, new)]);
        let start = Instant::now();
        let seen = place.run("smoke --subject mine.toml --json", &[]);
        let code = seen.get_output().status.code();
        let report: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
        let texts = told_in(&report);
        assert!(texts.iter().any(|text| text.contains(told)), "{told}: {texts:#?}");
        // A field that is not known is allowed, so all may be right.
        let advice_only = report["subjects"][0]["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .all(|exchange| exchange["problems"] == serde_json::json!([]));
        let expected = match &report["subjects"][0]["broken_off"] {
            Value::Null => i32::from(!advice_only),
            _ => 4,
        };
        assert_eq!(code, Some(expected), "{told}: {texts:#?}");
        assert!(start.elapsed() < BOUND);
        place.becomes_clean();
    }
}

/// Problems and advice.
fn told_in(report: &Value) -> Vec<String> {
    let exchanges = report["subjects"][0]["exchanges"].as_array().unwrap();
    exchanges
        .iter()
        .flat_map(|exchange| {
            let problems = exchange["problems"].as_array().unwrap().iter();
            let problems = problems.map(|problem| problem["what"].as_str().unwrap().to_owned());
            let advice = exchange["advice"].as_array().unwrap().iter();
            problems.chain(advice.map(|advice| advice.as_str().unwrap().to_owned()))
        })
        .collect()
}
