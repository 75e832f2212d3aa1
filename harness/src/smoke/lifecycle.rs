//! Opening and closing, and the end.

use std::{path::Path, time::Duration};

use herm_protocol::{ByteString, client::Stopped};
use serde_json::json;

use super::{
    complaint::Complaint,
    refusal::{describe_error, result_message},
    walk::{ANSWER, Walk},
};
use crate::watch;

/// How long a sandbox may take to open.
const OPEN: Duration = Duration::from_mins(1);

/// How long it may take to close.
const CLOSE: Duration = Duration::from_secs(30);

/// How long an adapter may take to end when its input has ended.
const END: Duration = Duration::from_secs(5);

pub(super) async fn open(walk: &mut Walk<'_>) {
    let id = walk.talk.next_id();
    let opened = json!({"sandbox": "sandbox-1", "state": "created", "exec_mode": "native", "cwd": "/work"});
    walk.expect(
        "an answer with the id of the sandbox, which runs commands from now on",
        [result_message(id, &opened)],
    );
    let within = if walk.was_silent() { ANSWER } else { OPEN };
    match walk.call("sandbox.open", &json!({"spec": {}}), within).await {
        None => {}
        Some(Err(error)) => walk.complain(Complaint::new(
            "refused",
            format!("sandbox.open was refused: {}", describe_error(&error)),
            "make a place to run commands in, remember it under an id of your choice, and answer with that id",
        )),
        Some(Ok(answer)) => {
            walk.sandbox = answer["sandbox"].as_str().map(str::to_owned);
            let cwd = serde_json::from_value::<ByteString>(answer["cwd"].clone());
            walk.workdir = cwd.ok().map(|cwd| cwd.to_string_lossy().into_owned());
            if let Some(id) = walk.sandbox.clone() {
                walk.note(format!("{id:?}, {}", answer["state"].as_str().unwrap_or("?")));
            }
        }
    }
}

pub(super) async fn close(walk: &mut Walk<'_>) {
    close_once(
        walk,
        true,
        "end what runs in it, remove what you made for it, forget its id, and answer {\"existed\":true}",
    )
    .await;
}

pub(super) async fn close_again(walk: &mut Walk<'_>) {
    close_once(
        walk,
        false,
        "when there is no such sandbox, answer {\"existed\":false}, and not with an error: whoever closes wants it gone",
    )
    .await;
}

async fn close_once(walk: &mut Walk<'_>, existed: bool, to_do: &str) {
    let id = walk.talk.next_id();
    walk.expect(
        format!("an answer with \"existed\":{existed}"),
        [result_message(id, &json!({"existed": existed}))],
    );
    let sandbox = walk.sandbox.clone().unwrap_or_default();
    let params = json!({"sandbox": sandbox, "how": "destroy"});
    match walk.call("sandbox.close", &params, CLOSE).await {
        None => {}
        Some(Err(error)) => {
            let what = format!("sandbox.close was refused: {}", describe_error(&error));
            walk.complain(Complaint::new("refused", what, to_do).of_its_own());
        }
        Some(Ok(answer)) => {
            if let Some(said) = answer["existed"].as_bool().filter(|said| *said != existed) {
                let what = format!("result.existed is {said}; expected {existed}");
                walk.complain(
                    Complaint::new("existed", what, to_do)
                        .at("result.existed")
                        .of_its_own(),
                );
            }
        }
    }
}

pub(super) async fn end(walk: &mut Walk<'_>, scratch: &Path) {
    let guard = walk.talk.process_id();
    let grace = walk.scaled(END);
    walk.expect(
        format!("the adapter ends by itself within {} s", grace.as_secs()),
        [],
    );
    let to_do = "when reading a line gives end of file: end every command, remove what you made, and exit";
    match walk.talk.end(grace).await {
        Some(Stopped::AtEndOfInput(status)) => {
            walk.note(format!("it ended with {status}"));
            if !status.success() {
                walk.advise(format!(
                    "the adapter ended with {status}; 0 is usual when all went well"
                ));
            }
        }
        Some(Stopped::WhenAsked) => {
            let what = format!(
                "it was still there {} s after the end of its input, and ended only on SIGTERM",
                grace.as_secs()
            );
            walk.complain(Complaint::new("does_not_end", what, to_do));
        }
        Some(Stopped::WhenKilled) => {
            let what = format!(
                "it was still there {} s after the end of its input, and had to be killed",
                grace.as_secs()
            );
            walk.complain(Complaint::new("does_not_end", what, to_do));
        }
        None => {}
    }
    let left = left_behind(scratch, guard).await;
    if !left.is_empty() {
        let what = format!(
            "it has left processes behind, which were ended: {}",
            left.join("; ")
        );
        walk.complain(Complaint::new("left_behind", what, to_do));
    }
}

/// What the guard around the adapter had to end.
async fn left_behind(scratch: &Path, guard: Option<u32>) -> Vec<String> {
    let scratch = scratch.to_owned();
    let read = tokio::task::spawn_blocking(move || watch::left_behind(&scratch, guard?)).await;
    read.ok().flatten().unwrap_or_default()
}
