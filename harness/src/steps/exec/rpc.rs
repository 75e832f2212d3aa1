//! RPC: code in the sandbox calls tools of its caller.

use std::{sync::Arc, time::Duration};

use herm_protocol::{
    exec::{Outcome, RunParams, Stream},
    rpc::{PROGRAM_VARIABLE, Rpc, exit},
};

use crate::{
    scene::{
        Failure, Scene, shell,
        tools::{FAIL, FAILS, MEET, NEVER, REPEAT, TALK, TURN, TURN_LATE, TURN_SLOWLY, Toolbox},
    },
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        exec::otherwise,
        general::{all_bytes, expect_outcome, show},
    },
};

/// A tool that no command is allowed.
const FORBIDDEN: &str = "forbidden";

/// Tools that no command is allowed, and that are called much like [`TURN`], which is.
const LIKE: [&str; 2] = ["turning", "TURN"];

/// The bound of a command that may not say much.
const FEW_BYTES: u64 = 1000;

/// Exports what an adapter tells a command of the way to its tools, as far as it is known.
const SET_THE_WAY: &str = "export HERM_RPC=/herm-nowhere HERM_RPC_SOCKET=/herm-nowhere HERM_RPC_TOKEN=none";

/// How long a worker that was left behind has to notice that its command has ended, and to call.
const SOON: Duration = Duration::from_secs(10);

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command calls {words}", |scene, arguments| {
            Box::pin(async move { call(scene, arguments.words(0)?).await })
        })
        .then("the tool was {words}", |scene, arguments| {
            Box::pin(async move {
                let times = match arguments.words(0)? {
                    "not called" => 0,
                    "called once" => 1,
                    "called twice" => 2,
                    other => return Err(unknown(other, "done with a tool")),
                };
                called(scene, times).await
            })
        })
        .then("the code that called was {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "refused" => refused(scene, None),
                    "denied" => refused(scene, Some(exit::DENIED)),
                    "told that nobody can be asked" => refused(scene, Some(exit::UNAVAILABLE)),
                    other => Err(unknown(other, "done with code")),
                }
            })
        });
}

/// Text that calls a tool with what stands before it in a pipe.
fn call_of(tool: &str) -> String {
    format!("\"${PROGRAM_VARIABLE}\" call {tool}")
}

/// Text that calls a tool and tells the code that the call ended with.
fn call_and_tell() -> String {
    format!("{} </dev/null >/dev/null; echo $?", call_of(TURN))
}

async fn call(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(bytes) = what
        .strip_prefix("a tool with ")
        .and_then(|rest| rest.strip_suffix(" bytes"))
        .and_then(|bytes| bytes.parse().ok())
    {
        return call_with(scene, shell::numbered(bytes), shell::numbered_bytes(bytes)).await;
    }
    if let Some(bytes) = what
        .strip_prefix("a tool that repeats ")
        .and_then(|rest| rest.strip_suffix(" bytes"))
        .and_then(|bytes| bytes.parse().ok())
    {
        return repeat(scene, bytes).await;
    }
    let rpc = Rpc::allowing([TALK, TURN, TURN_SLOWLY, TURN_LATE, MEET, FAIL, NEVER]);
    let few = Rpc {
        max_bytes: Some(FEW_BYTES),
        ..rpc.clone()
    };
    let nothing = |tool| format!("{} </dev/null", call_of(tool));
    match what {
        "a tool with empty lines" => {
            call_with(scene, r"printf '\n\none\n\n'".to_owned(), b"\n\none\n\n".to_vec()).await
        }
        "a tool with every byte value" => call_with(scene, shell::print(&all_bytes()), all_bytes()).await,
        "a tool that takes its time" => {
            run(scene, rpc, format!("printf 321 | {}", call_of(TURN_SLOWLY))).await
        }
        "a tool that takes longer than others would wait" => {
            run(scene, rpc, format!("printf 321 | {}", call_of(TURN_LATE))).await
        }
        "a tool whose name begins as an allowed one's" => run(scene, rpc, nothing(LIKE[0])).await,
        "a tool whose name is an allowed one's in capital letters" => run(scene, rpc, nothing(LIKE[1])).await,
        "a tool that fails" => run(scene, rpc, nothing(FAIL)).await,
        "a tool that fails, and looks for its words among the errors" => {
            let text = format!("{} 2>&1 >/dev/null | grep -c '{FAILS}'", nothing(FAIL));
            run(scene, rpc, text).await
        }
        "a tool that was not allowed" => run(scene, rpc, nothing(FORBIDDEN)).await,
        "a tool three times, and may twice" => {
            let text = format!("for i in 1 2 3; do {}; echo $?; done", nothing(TURN));
            let max_calls = Some(2);
            run(scene, Rpc { max_calls, ..rpc }, text).await
        }
        "a tool three times at once, and may twice" => {
            let call = nothing(TURN);
            let file = shell::word(scene.new_path("codes").await?.as_bytes());
            let text = format!("for i in 1 2 3; do ({call}; echo $? >> {file}) & done; wait; sort {file}");
            let max_calls = Some(2);
            run(scene, Rpc { max_calls, ..rpc }, text).await
        }
        "a tool as a program" => {
            let params = scene.command(format!("printf 321 | {}", call_of(TURN))).await?;
            let params = otherwise::run_as(scene, params, "a program").await?;
            run_params(scene, rpc, params, None).await
        }
        "a tool with just as much as it may say" => {
            let most = usize::try_from(FEW_BYTES).unwrap_or_default();
            let mut bytes = shell::numbered_bytes(most);
            bytes.reverse();
            scene.notes.content = Some(bytes);
            let text = format!("{} | {}", shell::numbered(most), call_of(TURN));
            run(scene, few, text).await
        }
        "a tool with more than it may say" => {
            let text = format!("{} | {}", shell::numbered(2000), call_of(TURN));
            run(scene, few, text).await
        }
        "a tool that says more than it may" => run(scene, few, nothing(TALK)).await,
        "a tool that never answers, for a second" => {
            scene.notes.number = Some(1000);
            let params = scene.command(nothing(NEVER)).await?;
            run_params(scene, rpc, params, Some(1000)).await
        }
        "two tools at the same time" => {
            let path = scene.new_path("reply").await?;
            let file = shell::word(path.as_bytes());
            let meet = call_of(MEET);
            let text = format!(
                "printf one | {meet} > {file}1 & printf two | {meet} > {file}2 & wait; cat {file}1 {file}2"
            );
            run(scene, rpc, text).await
        }
        "a tool with what a command was given that has ended" => call_with_spent(scene, rpc).await,
        "a tool in a session whose last command was allowed to" => call_after_another(scene, rpc).await,
        "a tool with what another command was given" => call_with_borrowed(scene, rpc).await,
        "a tool from a worker that it has left behind" => call_from_left_behind(scene, rpc).await,
        other => call_of_session(scene, other, rpc).await,
    }
}

/// Calls a tool in a session, after what these words say of it.
async fn call_of_session(scene: &mut Scene, what: &str, rpc: Rpc) -> StepResult {
    match what {
        "a tool in a session" => call_in_session(scene, rpc, None).await,
        "a tool in a session that has called one before" => {
            let before = (Some(rpc.clone()), format!("printf 321 | {}", call_of(TURN)));
            call_in_session(scene, rpc, Some(before)).await
        }
        "a tool in a session that has called as often as it might" => {
            let once = Rpc {
                max_calls: Some(1),
                ..rpc
            };
            let before = (Some(once.clone()), format!("printf 321 | {}", call_of(TURN)));
            call_in_session(scene, once, Some(before)).await
        }
        "a tool in a session that has set the way to tools before" => {
            let before = (None, SET_THE_WAY.to_owned());
            call_in_session(scene, rpc, Some(before)).await
        }
        other => Err(unknown(other, "called")),
    }
}

/// Calls a tool with what text prints, and expects it back in the other order.
async fn call_with(scene: &mut Scene, text: String, mut bytes: Vec<u8>) -> StepResult {
    bytes.reverse();
    scene.notes.content = Some(bytes);
    let text = format!("{text} | {}", call_of(TURN));
    run(scene, Rpc::allowing([TURN]), text).await
}

/// Has bytes repeated, and looks in the sandbox whether they are the same: too many to be printed as well.
async fn repeat(scene: &mut Scene, bytes: usize) -> StepResult {
    let file = shell::word(scene.new_path("arguments").await?.as_bytes());
    let text = format!(
        "awk 'BEGIN {{ for (i = 0; i < {}; i++) printf \"%1024d\", i }}' > {file}; {} < {file} | cksum > {file}.sum; \
         cksum < {file} | cmp - {file}.sum; same=$?; rm {file}; exit $same",
        bytes / 1024,
        call_of(REPEAT)
    );
    run(scene, Rpc::allowing([REPEAT]), text).await
}

async fn run(scene: &mut Scene, rpc: Rpc, text: String) -> StepResult {
    let params = scene.command(text).await?;
    run_params(scene, rpc, params, None).await
}

async fn run_params(scene: &mut Scene, rpc: Rpc, params: RunParams, timeout_ms: Option<u64>) -> StepResult {
    let params = RunParams {
        rpc: Some(rpc),
        timeout_ms,
        ..params
    };
    // A gigabit a second at the worst, and a loaded machine.
    let patience = scene.patience() * 4;
    let tools = Toolbox::new();
    scene.notes.tools = Some(tools.clone());
    let client = scene.client().await?;
    let exec = client.run_with_tools(&params, tools)?;
    scene.notes.name = Some(params.exec);
    scene.last = None;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// A command calls a tool that takes longer than most who ask would wait, and is answered.
pub(crate) async fn call_late(scene: &mut Scene) -> StepResult {
    let text = format!("printf 321 | {}", call_of(TURN_LATE));
    run(scene, Rpc::allowing([TURN_LATE]), text).await?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    if seen == b"123" {
        return Ok(());
    }
    Err(Failure::failed("the tool's answer", show(&seen)))
}

/// A command that keeps a beat calls a tool again and again until its deadline.
pub(super) async fn call_until(scene: &mut Scene, deadline_ms: u64) -> StepResult {
    let action = format!("{} </dev/null >/dev/null", call_of(TURN));
    let text = super::busy::beside_beat(scene, &action).await?;
    let params = scene.command(text).await?;
    scene.notes.number = Some(deadline_ms);
    run_params(scene, Rpc::allowing([TURN]), params, Some(deadline_ms)).await
}

/// One command is given tools and waits; another, which is given none, takes all of its variables and calls.
async fn call_with_borrowed(scene: &mut Scene, rpc: Rpc) -> StepResult {
    let path = scene.new_path("given").await?;
    let file = shell::word(path.as_bytes());
    let text = format!("export -p > {file}.new; mv {file}.new {file}; exec sleep 30");
    let params = RunParams {
        rpc: Some(rpc),
        ..scene.command(text).await?
    };
    let tools = Toolbox::new();
    scene.notes.tools = Some(tools.clone());
    scene.notes.name = Some(params.exec.clone());
    let client = scene.client().await?;
    let exec = client.run_with_tools(&params, tools)?;
    scene.running.push(exec);
    let wait = format!("i=0; until [ -e {file} ]; do i=$((i+1)); [ $i -lt 200 ] || exit 1; sleep 0.05; done");
    scene.prepare(wait).await?;
    let text = format!(". {file} 2>/dev/null; {}", call_and_tell());
    let seen = scene.observe(text).await?;
    scene.notes.content = Some(seen);
    Ok(())
}

/// A command that has ended has left its variables in a file; another, which is given tools of its own, calls with them.
async fn call_with_spent(scene: &mut Scene, rpc: Rpc) -> StepResult {
    let file = shell::word(scene.new_path("given").await?.as_bytes());
    run(scene, rpc.clone(), format!("export -p > {file}")).await?;
    expect_outcome(scene, &Outcome::Exited { code: 0 }).map_err(Failure::while_preparing)?;
    run(scene, rpc, format!(". {file} 2>/dev/null; {}", call_and_tell())).await?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

/// Calls a tool in a session, after another command of it where there is one, with the tools that it is given.
async fn call_in_session(scene: &mut Scene, rpc: Rpc, before: Option<(Option<Rpc>, String)>) -> StepResult {
    let session = Some(scene.token());
    if let Some((rpc, text)) = before {
        let params = RunParams {
            session: session.clone(),
            ..scene.command(text).await?
        };
        match rpc {
            Some(rpc) => run_params(scene, rpc, params, None).await?,
            None => scene.run(&params).await?,
        }
        expect_outcome(scene, &Outcome::Exited { code: 0 }).map_err(Failure::while_preparing)?;
    }
    let params = scene.command(format!("printf 321 | {}", call_of(TURN))).await?;
    run_params(scene, rpc, RunParams { session, ..params }, None).await
}

/// One command of a session is given tools and calls none; the next is given none and calls.
async fn call_after_another(scene: &mut Scene, rpc: Rpc) -> StepResult {
    let session = Some(scene.token());
    let first = scene.command("true").await?;
    let first = RunParams {
        session: session.clone(),
        ..first
    };
    run_params(scene, rpc, first, None).await?;
    let params = RunParams {
        session,
        ..scene.command(call_and_tell()).await?
    };
    scene.notes.name = Some(params.exec.clone());
    scene.run(&params).await?;
    scene.result()?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

/// A command ends and leaves a worker, which calls when it is told that the command was answered.
async fn call_from_left_behind(scene: &mut Scene, rpc: Rpc) -> StepResult {
    let path = scene.new_path("worker").await?;
    let file = shell::word(path.as_bytes());
    let text = format!(
        "(until [ -e {file}.go ]; do sleep 0.05; done; \
         {{ {}; }} > {file}.new; \
         mv {file}.new {file}) </dev/null >/dev/null 2>&1 &",
        call_and_tell()
    );
    run(scene, rpc, text).await?;
    scene.result()?;
    let most = scene.scaled(SOON).as_millis() / 50;
    let text = format!(
        ": > {file}.go; i=0; until [ -e {file} ]; do i=$((i+1)); [ $i -lt {most} ] || exit 0; sleep 0.05; done; \
         cat {file}"
    );
    let seen = scene.observe(text).await?;
    scene.notes.content = Some(seen);
    Ok(())
}

/// The call ended with a code of its own, this one where there is one.
fn refused(scene: &Scene, expected: Option<i32>) -> StepResult {
    let seen = scene.notes.content.clone().unwrap_or_default();
    let code = std::str::from_utf8(&seen)
        .ok()
        .and_then(|seen| seen.strip_suffix('\n')?.parse::<i32>().ok());
    if code.is_some_and(|code| expected.map_or(code != exit::REPLIED, |expected| code == expected)) {
        return Ok(());
    }
    Err(Failure::failed(
        match expected {
            None => "the call to be refused where it was made".into(),
            Some(code) => format!("the call to be refused where it was made, with code {code}"),
        },
        match code {
            Some(exit::REPLIED) => "it was answered".into(),
            Some(code) => format!("it was refused with code {code}"),
            None if seen.is_empty() => "it was neither answered nor refused".into(),
            None => seen.escape_ascii().to_string(),
        },
    ))
}

/// How often the harness was asked, also for what it had not allowed.
async fn called(scene: &mut Scene, times: usize) -> StepResult {
    let tools = scene.notes.tools.as_ref().map(Arc::clone);
    let tools = tools.ok_or_else(|| Failure::suite("no command was given tools"))?;
    let exec = scene.notes.name.clone().unwrap_or_default();
    let mut called = tools.called();
    let uninvited = scene.client().await?.uninvited();
    called.extend(
        uninvited
            .into_iter()
            .filter(|call| call.exec == exec)
            .map(|call| format!("{} (which was not allowed)", call.tool)),
    );
    if called.len() == times {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{times} calls of tools of the caller"),
        if called.is_empty() {
            "none".into()
        } else {
            called.join(", ")
        },
    ))
}
