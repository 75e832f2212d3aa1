//! LEAK: nothing is left, and nothing of others is touched.

use std::time::Duration;

use herm_protocol::{
    ByteString,
    exec::{Command, Outcome, RunParams, Stdin, Stream},
    file::WriteParams,
    method,
    sandbox::{SandboxSpec, Variable},
};
use rustix::process::Signal;

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{composed::unknown, exec::Expected, general::show},
};

/// Milliseconds of a deadline that is meant to pass.
const SHORT: u64 = 300;

/// Characters of text that no argument can hold, where the backend takes a message of that size.
const LONG: usize = 140_000;

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a backend that has been used before", |scene, _| {
            Box::pin(async {
                scene.begin_stay().await?;
                // What a backend makes once, when it is first needed, is no leak.
                live(scene).await.map_err(Failure::while_preparing)?;
                scene.note_what_there_is().await
            })
        })
        .given("a backend in a run of its own", |scene, _| {
            Box::pin(scene.begin_stay())
        })
        .given(
            "another caller in a run of its own, whose command keeps a beat",
            |scene, _| Box::pin(scene.bring_neighbour()),
        )
        .given("strangers that are called as the sandbox is", |scene, _| {
            Box::pin(scene.bring_strangers())
        })
        .when("a sandbox is used in every way and destroyed", |scene, _| {
            Box::pin(live(scene))
        })
        .when("sandboxes are opened that cannot be", |scene, _| {
            Box::pin(open_in_vain(scene))
        })
        .when("{int} commands {words} have ended", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(1)? {
                    "in every way" => run_in_every_way(scene, arguments.int(0)?).await,
                    kind => run_many(scene, arguments.int(0)?, kind).await,
                }
            })
        })
        .then("the ledger tells of it", |scene, _| Box::pin(scene.newly_owned()))
        .then("nothing is left of {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "it" | "them" => scene.nothing_new().await,
                    "the backend" => scene.nothing_left(false).await,
                    "the backend, at the latest when another has taken its place" => {
                        scene.nothing_left(true).await
                    }
                    other => Err(unknown(other, "left")),
                }
            })
        })
        .then("what belongs to others is untouched", |scene, _| {
            Box::pin(scene.others_are_untouched())
        });
}

/// Ends the backend itself, and neither its guard nor what it has started.
pub(crate) async fn end_backend(scene: &mut Scene, how: &str) -> StepResult {
    let signal = match how {
        "is interrupted" => Signal::INT,
        "is terminated" => Signal::TERM,
        "is killed" => Signal::KILL,
        other => return Err(unknown(other, "done by a backend")),
    };
    scene.signal_adapter(signal).await
}

/// A whole life of a sandbox: everything that may leave something behind.
async fn live(scene: &mut Scene) -> StepResult {
    let id = scene.prepare_sandbox(SandboxSpec::default()).await?.id;
    for kind in 0..KINDS {
        run_one(scene, kind).await?;
    }
    if scene.declares("files").await? {
        let path = scene.new_path("file").await?;
        let params = WriteParams {
            sandbox: id.clone(),
            path,
            data: "content".into(),
        };
        let patience = scene.patience();
        let client = scene.client().await?;
        client.call::<method::WriteFile>(&params, patience).await?;
    }
    // Whoever is still there when the sandbox goes.
    scene.observe("sleep 20 </dev/null >/dev/null 2>&1 &").await?;
    destroy(scene, &id).await
}

async fn destroy(scene: &mut Scene, id: &str) -> StepResult {
    scene.destroy(id).await?;
    scene.own.retain(|sandbox| sandbox.id != id);
    Ok(())
}

/// Kinds of commands that end by themselves or by a deadline.
const KINDS: u32 = 6;

/// Runs a command of one kind to its end. How it comes out is what other requirements are about; that commands run at all
/// is not taken for granted, or nothing would be left of anything.
async fn run_one(scene: &mut Scene, kind: u32) -> StepResult {
    let mut params = scene.command("echo done").await?;
    match kind % KINDS {
        0 => {
            scene.run(&params).await?;
            let seen = scene.record()?.bytes(Stream::Stdout);
            return if seen == b"done\n" {
                Ok(())
            } else {
                Err(Failure::inconclusive(format!(
                    "a command printed {}",
                    show(&seen)
                )))
            };
        }
        1 => params.command = Command::Shell("echo failed >&2; exit 3".into()),
        2 if scene.declares("stdin").await? => {
            params.command = Command::Shell("wc -c".into());
            params.stdin = Stdin::Bytes {
                data: shell::numbered_bytes(80_000).into(),
            };
        }
        3 if scene.declares("timeout").await? => {
            params.command = Command::Shell("sleep 5".into());
            params.timeout_ms = Some(SHORT);
        }
        // Text that is too long for an argument has to go another way.
        4 => {
            let stated = scene.initialized().await?.limits.max_message_bytes;
            let most = stated.map_or(LONG, |most| usize::try_from(most / 2).unwrap_or(LONG));
            params.command = Command::Shell(format!("true {}", "x".repeat(LONG.min(most))).into());
        }
        // Its input has no end, and it does not wait for one.
        5 if scene.declares("stdin_stream").await? => params.stdin = Stdin::Stream,
        _ => {}
    }
    scene.run(&params).await
}

/// Opens sandboxes in ways that cannot work; one that is opened all the same is destroyed.
async fn open_in_vain(scene: &mut Scene) -> StepResult {
    let nowhere = format!("/herm-nowhere/{}", scene.token());
    let nameless = SandboxSpec {
        env: vec![Variable::new("", "value")],
        ..SandboxSpec::default()
    };
    let misplaced = SandboxSpec {
        cwd: Some(nowhere.as_str().into()),
        ..SandboxSpec::default()
    };
    let mut refused = 0;
    for spec in [nameless, misplaced] {
        let opened = scene.open(spec).await;
        match scene.answer(opened)? {
            None => refused += 1,
            Some(opened) => destroy(scene, &opened.sandbox).await?,
        }
    }
    if refused == 0 {
        return Err(Failure::inconclusive("every sandbox could be opened"));
    }
    Ok(())
}

/// Runs so many commands in turns in every way that is offered, also such as are ended early.
async fn run_in_every_way(scene: &mut Scene, count: u32) -> StepResult {
    scene.notes.content = Some(scene.observe("ls -A").await?);
    let sandbox = scene.sandbox().await?.id;
    let plain = scene.command("true").await?;
    let long = format!("cat > /dev/null <<'END'\n{}\nEND\n", "x".repeat(200 * 1024));
    let mut all = vec![plain.clone(), scene.command(long).await?];
    if scene.declares("sessions").await? {
        for text in ["export PROBE_LEFT=1; f() { :; }; cd .", "sh -c 'exit 3'"] {
            let session = Some("leaves nothing".to_owned());
            let command = scene.command(text).await?;
            all.push(RunParams { session, ..command });
        }
    }
    if scene.declares("stdin").await? {
        let stdin = Stdin::Bytes { data: "input".into() };
        let command = scene.command("cat").await?;
        all.push(RunParams { stdin, ..command });
    }
    if scene.declares("timeout").await? {
        let timeout_ms = Some(300);
        let command = scene.command("sleep 20").await?;
        all.push(RunParams {
            timeout_ms,
            ..command
        });
    }
    if scene.declares("argv").await? {
        all.push(scene.command_in(&sandbox, Command::Argv(vec!["true".into()])));
    }
    if scene.declares("cwd").await? {
        let cwd = Some("/herm-no-such-directory".into());
        let command = scene.command("true").await?;
        all.push(RunParams { cwd, ..command });
    }
    for params in all.iter().cycle().take(usize::try_from(count).unwrap_or(0)) {
        let exec = scene.command("true").await?.exec;
        let params = RunParams {
            exec,
            ..params.clone()
        };
        scene.run(&params).await?;
    }
    Ok(())
}

/// Runs commands one after the other. What a first round leaves is no leak; what the others add is.
async fn run_many(scene: &mut Scene, count: u32, which: &str) -> StepResult {
    scene.sandbox().await?;
    match which {
        "of every kind" => {
            for kind in 0..KINDS {
                run_one(scene, kind).await.map_err(Failure::while_preparing)?;
            }
            scene.note_what_there_is().await?;
            for kind in 0..count {
                run_one(scene, kind).await?;
            }
        }
        "that print their own number one after the other" => run_in_turn(scene, count).await?,
        "that cannot be run" => {
            scene.note_what_there_is().await?;
            for kind in 0..count {
                run_in_vain(scene, kind).await?;
            }
        }
        "that are cancelled" => {
            cancel_one(scene).await.map_err(Failure::while_preparing)?;
            scene.note_what_there_is().await?;
            for _ in 0..count {
                cancel_one(scene).await?;
            }
        }
        other => return Err(unknown(other, "run")),
    }
    Ok(())
}

/// Cancels a command that has begun.
async fn cancel_one(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let params = scene.command("echo begun; sleep 20").await?;
    let mut exec = scene.start(&params).await?;
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    exec.cancel(patience).await?;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// Runs so many commands, which print their numbers, in one sandbox; on subjects that are far away there are fewer.
async fn run_in_turn(scene: &mut Scene, count: u32) -> StepResult {
    let second = u32::try_from(scene.scaled(Duration::from_secs(1)).as_secs()).unwrap_or(1);
    for number in 0..(count / (second * second).max(1)).max(1) {
        let params = scene.command(format!("echo {number}")).await?;
        scene.run(&params).await?;
        scene.notes.records.push(scene.record()?.clone());
        scene.notes.expected.push(Expected::output(format!("{number}\n")));
        if let Some(limit) = &scene.step_limit {
            limit.begin_anew();
        }
    }
    Ok(())
}

/// Runs a command that cannot be run, in a way that the backend offers.
async fn run_in_vain(scene: &mut Scene, kind: u32) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let mut ways = Vec::new();
    if scene.declares("cwd").await? {
        let cwd = Some(ByteString::from("/herm-nowhere/at-all"));
        let params = scene.command("echo never").await?;
        ways.push(RunParams { cwd, ..params });
    }
    if scene.declares("argv").await? {
        let argv = vec![ByteString::from("herm-no-such-program")];
        ways.push(scene.command_in(&sandbox, Command::Argv(argv)));
    }
    if ways.is_empty() {
        ways.push(scene.command("\0").await?);
    }
    let params = ways.swap_remove(kind as usize % ways.len());
    scene.run_within(&params, Duration::from_secs(20)).await?;
    let ran = scene
        .record()?
        .result()
        .is_some_and(|result| result.outcome == Outcome::Exited { code: 0 });
    if ran {
        return Err(Failure::inconclusive("a command that cannot be run was run"));
    }
    Ok(())
}

/// What lies in the directory that commands start in is nobody's but the caller's, who has put nothing there.
pub(crate) async fn nothing_where_commands_start(scene: &mut Scene) -> StepResult {
    let before = scene.notes.content.clone().unwrap_or_default();
    let seen = scene.observe("ls -A").await?;
    if seen == before {
        return Ok(());
    }
    let expected = format!("what was there before: {}", show(&before));
    Err(Failure::failed(expected, show(&seen)))
}
