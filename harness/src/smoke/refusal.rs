//! What has to be refused, and how.

use serde_json::{Value, json};

use super::{
    complaint::Complaint,
    walk::{ANSWER, Walk, run_params},
};

/// An id that no sandbox has.
pub(super) const NOBODY: &str = "herm-smoke-nobody";

/// A right answer.
pub(super) fn result_message(id: u64, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A right refusal.
pub(super) fn error_message(id: u64, code: i64, message: &str, kind: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": {"kind": kind}}})
}

/// The code of an error object.
pub(super) fn code_of(error: &Value) -> Option<i64> {
    error["code"].as_i64()
}

/// An error object in words.
pub(super) fn describe_error(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("(no message)");
    let code = error["code"].to_string();
    match error["data"]["kind"].as_str() {
        Some(kind) => format!("{message:?} (code {code}, kind {kind})"),
        None => format!("{message:?} (code {code})"),
    }
}

pub(super) async fn sandbox_not_found(walk: &mut Walk<'_>) {
    refused_as_not_found(walk, NOBODY.to_owned(), "was never opened").await;
}

pub(super) async fn closed(walk: &mut Walk<'_>) {
    let sandbox = walk.sandbox.clone().unwrap_or_default();
    refused_as_not_found(walk, sandbox, "is closed").await;
}

async fn refused_as_not_found(walk: &mut Walk<'_>, sandbox: String, why: &str) {
    let message = format!("sandbox {sandbox} does not exist or is closed");
    walk.expect(
        "an error whose data.kind is sandbox_not_found, with a message that names the sandbox",
        [error_message(
            walk.talk.next_id(),
            -32000,
            &message,
            "sandbox_not_found",
        )],
    );
    let exec = walk.new_exec();
    let params = run_params(&sandbox, &exec, &json!({}));
    let to_do =
        "look up params.sandbox before anything else, and answer with the error below when it is not there";
    match walk.call("exec.run", &params, ANSWER).await {
        Some(Ok(_)) => walk.complain(
            Complaint::new(
                "not_refused",
                format!("a command in the sandbox {sandbox:?}, which {why}, was carried out"),
                to_do,
            )
            .of_its_own(),
        ),
        Some(Err(error)) if error["data"]["kind"] != "sandbox_not_found" => {
            walk.complain(
                Complaint::new(
                    "refused_otherwise",
                    format!("it was refused, but otherwise: {}", describe_error(&error)),
                    "put \"data\":{\"kind\":\"sandbox_not_found\"} into the error, so that a caller knows to open a new one",
                )
                .at("error.data.kind"),
            );
        }
        Some(Err(error)) if !names(&error, &sandbox) => walk.complain(
            Complaint::new(
                "unnamed",
                format!("the error {} does not name the sandbox", describe_error(&error)),
                "put the id of the sandbox into error.message, or into error.data.resource",
            )
            .at("error.message"),
        ),
        _ => {}
    }
}

/// Whether an error says what it is about.
fn names(error: &Value, resource: &str) -> bool {
    [&error["message"], &error["data"]["resource"]]
        .into_iter()
        .filter_map(Value::as_str)
        .any(|text| text.contains(resource))
}

pub(super) async fn unknown_method(walk: &mut Walk<'_>) {
    let method = "future.method";
    let message = format!("{method} is not supported");
    walk.expect(
        "the error -32601",
        [error_message(
            walk.talk.next_id(),
            -32601,
            &message,
            "unsupported",
        )],
    );
    match walk.call(method, &json!({}), ANSWER).await {
        Some(Ok(_)) => walk.complain(Complaint::new(
            "not_refused",
            format!("{method} does not exist, and was answered with a result"),
            "answer every method that you do not know with the error -32601",
        )),
        Some(Err(error)) if code_of(&error) != Some(-32601) => walk.complain(
            Complaint::new(
                "refused_otherwise",
                format!("it was refused, but otherwise: {}", describe_error(&error)),
                "send error.code as -32601 for every method that you do not know",
            )
            .at("error.code"),
        ),
        _ => {}
    }
}

/// Options of a command, each with its capability.
fn options() -> [(&'static str, &'static str, Value); 9] {
    [
        ("timeout", "timeout_ms", json!(5000)),
        ("env", "env", json!([{"name": "HERM_SMOKE", "value": "x"}])),
        ("cwd", "cwd", json!("/")),
        ("stdin", "stdin", json!({"mode": "bytes", "data": "x"})),
        ("user", "user", json!("nobody")),
        ("pty", "pty", json!({"rows": 24, "columns": 80})),
        ("jobs", "detach", json!(true)),
        ("sessions", "session", json!("herm-smoke")),
        ("rpc", "rpc", json!({"allow": ["tool"]})),
    ]
}

pub(super) async fn undeclared(walk: &mut Walk<'_>) {
    let sandbox = walk.sandbox.clone().unwrap_or_default();
    let wanted: Vec<_> = options()
        .into_iter()
        .filter(|(capability, ..)| !walk.declares(capability))
        .collect();
    if wanted.is_empty() {
        walk.expect("nothing: every option is declared", []);
        return;
    }
    let fields: Vec<&str> = wanted.iter().map(|(_, field, _)| *field).collect();
    let first = format!("{} is not supported", fields[0]);
    walk.expect(
        format!(
            "for each the error -32601, and nothing runs: {}",
            fields.join(", ")
        ),
        [error_message(walk.talk.next_id(), -32601, &first, "unsupported")],
    );
    walk.note(format!("refused: {}", fields.join(", ")));
    let (mut taken, mut otherwise) = (Vec::new(), Vec::new());
    for (capability, field, value) in wanted {
        let exec = walk.new_exec();
        let params = run_params(&sandbox, &exec, &json!({field: value}));
        match walk.call("exec.run", &params, ANSWER).await {
            Some(Ok(_)) => taken.push(format!("{field} (capability {capability})")),
            Some(Err(error)) if code_of(&error) != Some(-32601) => {
                otherwise.push(format!("{field}: {}", describe_error(&error)));
            }
            Some(Err(_)) => {}
            None => break,
        }
    }
    if !taken.is_empty() {
        walk.complain(Complaint::new(
            "not_refused",
            format!(
                "not declared, and yet the command was run as if it were not there: {}",
                taken.join(", ")
            ),
            "before you run anything, answer with the error below when params has a field that you do not offer; or offer \
             it, and declare its capability",
        ));
    }
    if !otherwise.is_empty() {
        walk.complain(
            Complaint::new(
                "refused_otherwise",
                format!("refused, but otherwise: {}", otherwise.join("; ")),
                "send error.code as -32601 for an option that you do not offer",
            )
            .at("error.code"),
        );
    }
}
