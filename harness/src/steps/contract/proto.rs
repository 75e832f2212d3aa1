//! PROTO: both sides understand each other, now and later.

use std::{sync::Arc, time::Duration};

use herm_protocol::{
    ByteString,
    client::{CallError, ExecRecord, Fault, Stopped},
    exec::{Command, Outcome, RunParams, Stream},
    hexadecimal,
    initialize::InitializeParams,
    message::Message,
    method::{self, Method as _},
};

use serde_json::Value;

use super::spelling;
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        exec::{otherwise, room},
        general::{difference, show},
    },
};

/// An argument that no encoding of text has.
const NOT_TEXT: &[u8] = b"caf\xe9-\xff\xfe-\xc3\x28";

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a client that only speaks {text} introduces itself",
            |scene, arguments| Box::pin(async move { introduce(scene, arguments.text(0)?).await }),
        )
        .then("the answer names the version {text}", |scene, arguments| {
            Box::pin(async move { names_version(scene, &arguments.text(0)?) })
        })
        .when(
            "a command is run by a request with a field from the future",
            |scene, _| Box::pin(future_field(scene)),
        )
        .when("{words} is sent", |scene, arguments| {
            Box::pin(async move { send_bad_line(scene, arguments.words(0)?).await })
        })
        .when("a command runs for a long time", |scene, _| {
            Box::pin(start_long(scene))
        })
        .then("another command is answered meanwhile", |scene, _| {
            Box::pin(answered_meanwhile(scene))
        })
        .then("it has received exactly these bytes", |scene, _| {
            Box::pin(async { received_bytes(scene) })
        })
        .when(
            "a command prints {int} bytes {words} to a caller with room for {int}",
            |scene, arguments| {
                Box::pin(async move {
                    let (bytes, room) = (arguments.int(0)?, arguments.int(2)?);
                    print_to_little_room(scene, bytes, arguments.words(1)?, room).await
                })
            },
        )
        .then(
            "exactly {int} bytes arrive until there is room",
            |scene, arguments| Box::pin(async move { arrive_until_room(scene, arguments.int(0)?).await }),
        )
        .then(
            "all {int} bytes have arrived when there is room",
            |scene, arguments| Box::pin(async move { arrive_with_room(scene, arguments.int(0)?).await }),
        )
        .when("the caller goes away", |scene, _| Box::pin(go_away(scene)))
        .then("the backend has ended by itself", |scene, _| {
            Box::pin(async { ended_by_itself(scene) })
        });
}

/// Starts a command that runs for a while, and waits until it says that it does.
async fn start_long(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let params = scene.command("echo running; sleep 20").await?;
    let mut exec = scene.start(&params).await?;
    match exec
        .wait_until(patience, |record| !record.pieces.is_empty())
        .await
    {
        Err(Fault::Hung { within, .. }) => {
            let expected = format!("the output of a running command within {} s", within.as_secs());
            return Err(Failure::failed(
                expected,
                "none; the command itself runs for 20 s",
            ));
        }
        other => other?,
    }
    scene.running.push(exec);
    Ok(())
}

async fn introduce(scene: &mut Scene, version: String) -> StepResult {
    let workshop = scene.workshop()?;
    let patience = scene.patience();
    let (client, conversation) = workshop.start()?;
    scene.strangers.push(conversation);
    let params = InitializeParams {
        protocol: vec![version],
        ..workshop.introduction()
    };
    let answer = client.call::<method::Initialize>(&params, patience).await;
    client.stop(Duration::from_secs(2)).await;
    scene.answer(answer).map(|_| ())
}

fn names_version(scene: &Scene, version: &str) -> StepResult {
    let error = scene.refusal()?;
    if error.data.supported.iter().any(|supported| supported == version) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{version:?} among the versions in `data.supported`"),
        format!("{:?}", error.data.supported),
    ))
}

async fn future_field(scene: &mut Scene) -> StepResult {
    let params = scene.command("true").await?;
    let mut params = serde_json::to_value(&params).map_err(|error| Failure::suite(error.to_string()))?;
    params["x_from_the_future"] = serde_json::json!({"depth": [1, {"more": null}]});
    let exec = params["exec"].as_str().unwrap_or_default().to_owned();
    let patience = scene.patience();
    let answer = scene
        .client()
        .await?
        .call_raw(method::Run::NAME, &params, patience)
        .await;
    let Some(answer) = scene.answer(answer)? else {
        return Ok(());
    };
    let result =
        serde_json::from_value(answer).map_err(|error| Failure::failed("a result", error.to_string()))?;
    scene.keep(ExecRecord {
        exec,
        answer: Some(Ok(result)),
        ..Default::default()
    });
    Ok(())
}

async fn send_bad_line(scene: &mut Scene, what: &str) -> StepResult {
    let line: &[u8] = match what {
        "a message longer than the declared limit" => return send_long_line(scene).await,
        "a request with a long number for its id" => {
            return ask_as(scene, 9_007_199_254_740_993_u64.into()).await;
        }
        "a request with a negative number for its id" => return ask_as(scene, (-77).into()).await,
        "a request with zero for its id" => return ask_as(scene, 0.into()).await,
        "a request with a word for its id" => return ask_as(scene, "07".into()).await,
        "a request with an empty word for its id" => return ask_as(scene, "".into()).await,
        "a request with a word for its id, and one with that number" => return ask_as_both(scene).await,
        spelling if let Some(spelling) = spelling.strip_prefix("a request that ") => {
            return spelling::run(scene, spelling).await;
        }
        "half a message" => b"{\"jsonrpc\":\"2.0\",\"id\":77,\"meth\n",
        "a word" => b"hello\n",
        "a list" => b"[1, 2]\n",
        "bytes that are text in no encoding" => b"\xff\xfe\x00\x80\n",
        other => return Err(Failure::suite(format!("{other:?} is no line"))),
    };
    scene.client().await?.send_line(line.to_vec());
    Ok(())
}

/// Runs a command by a request with just these parameters.
pub(super) async fn run_as_written(scene: &mut Scene, params: RunParams, wire: &Value) -> StepResult {
    let patience = scene.patience();
    let client = scene.client().await?;
    let exec = client.run_spelt(&params, |line| respell(line, wire));
    let record = exec.map_err(Failure::from)?.wait(patience).await;
    let record = record.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// The line of a request with other parameters.
fn respell(line: Vec<u8>, params: &Value) -> Vec<u8> {
    let Ok(mut request) = serde_json::from_slice::<Value>(&line) else {
        return line;
    };
    request["params"] = params.clone();
    let mut line = request.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Runs a command by a request with this id; an answer counts only under the very same.
async fn ask_as(scene: &mut Scene, id: Value) -> StepResult {
    let (params, wire) = request_for(scene, "true").await?;
    let patience = scene.patience();
    let client = scene.client().await?;
    let answer = client.call_as(&id, method::Run::NAME, &wire, patience).await;
    keep_answer_to(scene, params, &id, answer)
}

/// Runs a command under a word, while one runs under the number that looks like it and is asked for before.
async fn ask_as_both(scene: &mut Scene) -> StepResult {
    let (number, word) = (Value::from(u32::MAX), Value::from(u32::MAX.to_string()));
    let (_, slow) = request_for(scene, "sleep 1; exit 3").await?;
    let (params, quick) = request_for(scene, "true").await?;
    let patience = scene.patience();
    let client = scene.client().await?;
    let (slow, quick) = tokio::join!(
        client.call_as(&number, method::Run::NAME, &slow, patience),
        client.call_as(&word, method::Run::NAME, &quick, patience),
    );
    keep_answer_to(scene, params.clone(), &number, slow)?;
    let seen = scene.result()?.outcome.clone();
    if seen != (Outcome::Exited { code: 3 }) {
        let expected = format!("the command that was asked for under {number} to exit with code 3");
        return Err(Failure::failed(expected, seen.to_string()));
    }
    keep_answer_to(scene, params, &word, quick)
}

async fn request_for(scene: &mut Scene, text: &str) -> Result<(RunParams, Value), Failure> {
    let params = scene.command(text).await?;
    let wire = serde_json::to_value(&params).map_err(|error| Failure::suite(error.to_string()))?;
    Ok((params, wire))
}

/// An answer counts only under the very id of its request.
fn keep_answer_to(
    scene: &mut Scene,
    params: RunParams,
    id: &Value,
    answer: Result<Value, CallError>,
) -> StepResult {
    let told =
        match answer {
            Err(CallError::Fault(Fault::AnsweredUnasked { id: other })) => {
                let expected = format!("an answer with the id {id}");
                return Err(Failure::failed(
                    expected,
                    format!("an answer with the id {other}"),
                ));
            }
            Err(CallError::Fault(fault)) => return Err(scene.broken(fault)),
            Err(CallError::Refused(error)) => Err(error),
            Ok(result) => Ok(serde_json::from_value(result)
                .map_err(|error| Failure::failed("a result", error.to_string()))?),
        };
    scene.keep(ExecRecord {
        exec: params.exec,
        answer: Some(told),
        ..Default::default()
    });
    Ok(())
}

async fn send_long_line(scene: &mut Scene) -> StepResult {
    let stated = scene.initialized().await?.limits.max_message_bytes;
    let limit = stated
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(herm_protocol::DEFAULT_MAX_MESSAGE_BYTES);
    if limit > 1 << 28 {
        return Err(Failure::inconclusive(format!(
            "the declared limit of {limit} bytes is too large to go over"
        )));
    }
    let params = serde_json::json!({"padding": "x".repeat(limit)});
    scene
        .client()
        .await?
        .send_line(Message::notification("future.note", &params).to_line());
    Ok(())
}

pub(crate) async fn answered_unaddressed(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    match scene.client().await?.next_unaddressed(patience).await {
        Ok(_) => Ok(()),
        Err(Fault::Hung { .. }) => Err(Failure::failed(
            "an error answer with the id null",
            "no answer came",
        )),
        // That the adapter must live through this is what is tested.
        Err(fault) => Err(Failure::failed("the conversation to go on", fault.to_string())),
    }
}

async fn answered_meanwhile(scene: &mut Scene) -> StepResult {
    let params = scene.command("echo meanwhile").await?;
    let within = scene.scaled(Duration::from_secs(5));
    scene.run_within(&params, within).await?;
    scene.result()?;
    let Some(first) = scene.running.first() else {
        return Err(Failure::suite("no command runs"));
    };
    match &first.record().answer {
        None => Ok(()),
        Some(_) => Err(Failure::inconclusive("the first command had ended already")),
    }
}

pub(crate) async fn run_with_bytes(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let argv = ["printf", "%s"]
        .map(ByteString::from)
        .into_iter()
        .chain([ByteString::from(NOT_TEXT)])
        .collect();
    let params = scene.command_in(&sandbox, Command::Argv(argv));
    scene.run(&params).await?;
    // Seen from inside, in ASCII, so that a transport that damages output cannot damage the proof.
    let argv = ["sh", "-c", "printf %s \"$1\" | od -An -v -tx1", "sh"].map(ByteString::from);
    let argv = argv.into_iter().chain([ByteString::from(NOT_TEXT)]).collect();
    let params = scene.command_in(&sandbox, Command::Argv(argv));
    scene.notes.content = Some(NOT_TEXT.to_vec());
    scene.run(&params).await
}

fn received_bytes(scene: &Scene) -> StepResult {
    scene.result()?;
    let digits: String = String::from_utf8_lossy(&scene.record()?.bytes(Stream::Stdout))
        .split_whitespace()
        .collect();
    let expected = hexadecimal(&scene.notes.content.clone().unwrap_or_default());
    if digits == expected {
        return Ok(());
    }
    Err(Failure::failed(format!("the bytes {expected}"), digits))
}

async fn print_to_little_room(scene: &mut Scene, bytes: usize, how: &str, room: u64) -> StepResult {
    if let Some(given) = how.strip_prefix("with room given ") {
        return room::print_with_room_given(scene, bytes, given, room).await;
    }
    let (redirection, how) = match how {
        "as output" => ("", None),
        "as errors" => (" >&2", None),
        other => match other.strip_prefix("as output of ") {
            Some(how) => ("", Some(how)),
            None => return Err(unknown(other, "a way to print")),
        },
    };
    let mut params = scene
        .command(format!("{}{redirection}", shell::numbered(bytes)))
        .await?;
    if let Some(how) = how {
        params = otherwise::run_as(scene, params, how).await?;
    }
    params.window = Some(room);
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    scene.running.push(exec);
    Ok(())
}

/// The bytes of both streams; only one of them was written to, whichever it arrives on.
fn of_both(record: &ExecRecord) -> Vec<u8> {
    [record.bytes(Stream::Stdout), record.bytes(Stream::Stderr)].concat()
}

async fn arrive_until_room(scene: &mut Scene, room: usize) -> StepResult {
    let patience = scene.patience();
    let pause = scene.scaled(Duration::from_millis(300));
    let client = scene.client().await?;
    let Some(exec) = scene.running.last_mut() else {
        return Err(Failure::suite("no command runs"));
    };
    let arrived = |record: &ExecRecord| of_both(record).len();
    let waited = exec.wait_until(patience, |record| arrived(record) >= room).await;
    let seen = match waited {
        Ok(()) => {
            let _ = exec.wait_until(pause, |record| arrived(record) > room).await;
            arrived(exec.record())
        }
        Err(Fault::Hung { .. }) => arrived(exec.record()),
        Err(fault) => {
            return Err(Failure::failed(
                format!("no more than {room} bytes"),
                fault.to_string(),
            ));
        }
    };
    if let Some(fault) = client.fault() {
        return Err(Failure::failed(
            format!("no more than {room} bytes"),
            fault.to_string(),
        ));
    }
    if seen == room {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{room} bytes, as many as there is room for"),
        format!("{seen} bytes"),
    ))
}

async fn arrive_with_room(scene: &mut Scene, bytes: usize) -> StepResult {
    // As much room once more is room for just as much.
    let room = scene
        .running
        .last()
        .map_or(0, |exec| of_both(exec.record()).len());
    if 3 * room <= bytes {
        let client = scene.client().await?;
        if let Some(exec) = scene.running.last() {
            client.grant(&exec.record().exec.clone(), room as u64);
        }
        arrive_until_room(scene, 2 * room).await?;
    }
    let patience = scene.patience();
    let client = scene.client().await?;
    let Some(mut exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    client.grant(&exec.record().exec.clone(), 2 * bytes as u64);
    exec.wait_until(patience, |_| false).await?;
    let seen = of_both(exec.record());
    let expected = scene.notes.content.clone().unwrap_or_default();
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        show(&expected),
        format!("{}{}", show(&seen), difference(&expected, &seen)),
    ))
}

async fn go_away(scene: &mut Scene) -> StepResult {
    let grace = scene.scaled(Duration::from_secs(5));
    let client: Arc<_> = scene.client().await?;
    if let Some(beat) = &mut scene.beat {
        beat.reachable = false;
    }
    scene.running.clear();
    let stopped = client.stop(grace).await;
    scene.notes.value = Some(match stopped {
        Some(Stopped::AtEndOfInput(_)) => "by itself".into(),
        Some(Stopped::WhenAsked) => {
            format!("only when it was asked to, {} ms later", grace.as_millis()).into()
        }
        Some(Stopped::WhenKilled) => "only when it was killed".into(),
        None => return Err(Failure::suite("there is no adapter process")),
    });
    Ok(())
}

fn ended_by_itself(scene: &Scene) -> StepResult {
    match scene.notes.value.as_ref().and_then(serde_json::Value::as_str) {
        Some("by itself") => Ok(()),
        Some(other) => Err(Failure::failed(
            "the adapter to end when its input ends",
            format!("it ended {other}"),
        )),
        None => Err(Failure::suite("the caller is still there")),
    }
}
