//! RACE: what happens at the same time stays apart.

use std::time::Duration;

use futures::future::{join, join_all};
use herm_protocol::{
    ErrorKind,
    client::{CallError, Client, Fault},
    exec::{CancelParams, Command, Outcome, RunParams},
    method::{self, Method as _},
    sandbox::{CloseHow, CloseParams, OpenParams, Opened, SandboxSpec, Variable},
};

use tokio::time::Instant;

use super::together::{Expected, await_all};
use crate::{
    scene::{Failure, Sandbox, Scene},
    step::{StepList, StepResult},
    steps::{composed::unknown, general::new_mark},
};

/// The variable that each of several sandboxes has with a value of its own.
const OWN_NUMBER: &str = "PROBE_NUMBER";

/// The file that each sandbox has under the same name.
const FILE: &str = "mine";

/// How long answers may take when a sandbox is closed.
const AFTER_CLOSE: Duration = Duration::from_secs(5);

/// How long many commands may take to begin.
const BEGIN: Duration = Duration::from_secs(8);

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "{int} sandboxes are opened at the same time",
            |scene, arguments| Box::pin(async move { open_together(scene, arguments.int(0)?).await }),
        )
        .when(
            "two callers open a sandbox each, and one closes its own",
            |scene, _| Box::pin(two_callers(scene)),
        )
        .when(
            "the sandbox is closed while {int} commands are asked for",
            |scene, arguments| Box::pin(async move { close_meanwhile(scene, arguments.int(0)?).await }),
        )
        .when("{int} commands run for a long time", |scene, arguments| {
            Box::pin(async move { start_many(scene, arguments.int(0)?).await })
        });
}

/// Starts so many commands, or as many as leave room for one more where the backend states how many there can be, and
/// gives them time to begin: on a busy machine that is no moment. One that has not begun by then is nobody's business here.
async fn start_many(scene: &mut Scene, count: u32) -> StepResult {
    let stated = scene.initialized().await?.limits.max_commands;
    let count = stated.map_or(count, |most| count.min(most.saturating_sub(1)));
    if count == 0 {
        return Err(Failure::inconclusive("no two commands can run at the same time"));
    }
    for _ in 0..count {
        let params = scene.command("echo running; sleep 20").await?;
        let exec = scene.start(&params).await?;
        scene.running.push(exec);
    }
    let until = Instant::now() + scene.scaled(BEGIN);
    for exec in &mut scene.running {
        let left = until.saturating_duration_since(Instant::now());
        match exec.wait_until(left, |record| !record.pieces.is_empty()).await {
            Err(Fault::Hung { .. }) => break,
            other => other?,
        }
    }
    Ok(())
}

async fn opened(client: &Client, spec: SandboxSpec, deadline: Duration) -> Result<Opened, CallError> {
    let params = OpenParams {
        spec,
        ..OpenParams::default()
    };
    client.call::<method::Open>(&params, deadline).await
}

/// What a sandbox is asked to be that is opened together with others: a variable of its own, where that can be had.
fn numbered(number: usize, has_variables: bool) -> SandboxSpec {
    let variable = Variable::new(OWN_NUMBER, number.to_string());
    SandboxSpec {
        env: has_variables.then_some(variable).into_iter().collect(),
        ..SandboxSpec::default()
    }
}

/// Opens sandboxes at the same time; in each a command leaves its number under the same name, and another one reads it when
/// all have done so.
async fn open_together(scene: &mut Scene, count: usize) -> StepResult {
    let deadline = scene.scaled(Duration::from_mins(1));
    let client = scene.client().await?;
    let has_variables = scene.declares("env").await?;
    let answers =
        join_all((0..count).map(|number| opened(&client, numbered(number, has_variables), deadline))).await;
    for answer in answers {
        scene.own.push(Sandbox::new(answer?));
    }
    let ids: Vec<String> = scene.own.iter().map(|sandbox| sandbox.id.clone()).collect();
    for text in [
        |number: usize| format!("ls -A; echo {number} > {FILE}"),
        |number| format!("cat {FILE}; echo \"${{{OWN_NUMBER}-{number}}}\""),
    ] {
        let mut execs = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let params = scene.command_in(id, Command::Shell(text(number).into()));
            execs.push(scene.start(&params).await?);
        }
        let patience = scene.patience();
        let before = std::mem::take(&mut scene.notes.records);
        await_all(scene, execs, patience).await?;
        scene.notes.records.splice(0..0, before);
    }
    let empty = (0..count).map(|_| Expected::output(""));
    let numbers = (0..count).map(|number| Expected::output(format!("{number}\n{number}\n")));
    scene.notes.expected = empty.chain(numbers).collect();
    Ok(())
}

/// The sandboxes of the scenario are closed at the same time, and each is gone.
pub(crate) async fn close_together(scene: &mut Scene) -> StepResult {
    let deadline = scene.scaled(Duration::from_secs(30));
    let client = scene.client().await?;
    let sandboxes = std::mem::take(&mut scene.own);
    let closings = sandboxes
        .iter()
        .map(|sandbox| close(&client, &sandbox.id, deadline));
    for existed in join_all(closings).await {
        if !existed? {
            return Err(Failure::failed(
                "each sandbox to be there until it is closed",
                "closing one of them told that nothing was there",
            ));
        }
    }
    for sandbox in sandboxes {
        let params = scene.command_in(&sandbox.id, Command::Shell("true".into()));
        scene.run(&params).await?;
        let error = scene.refusal()?;
        if error.kind() != ErrorKind::SandboxNotFound {
            return Err(Failure::failed(
                "a refusal of kind sandbox_not_found",
                error.to_string(),
            ));
        }
    }
    Ok(())
}

async fn close(client: &Client, sandbox: &str, deadline: Duration) -> Result<bool, CallError> {
    let params = CloseParams {
        sandbox: sandbox.into(),
        how: CloseHow::Destroy,
    };
    let closed = client.call::<method::Close>(&params, deadline).await;
    closed.map(|closed| closed.existed)
}

/// A second caller of the same run, with the same folder, opens a sandbox at the same time as the first; each has a file
/// of the same name in its own. The first closes its sandbox, and the second one's is as it was.
async fn two_callers(scene: &mut Scene) -> StepResult {
    let workshop = scene.workshop()?;
    let first = scene.client().await?;
    let second = workshop.employ().await?;
    let client = second.client.clone();
    let done = side_by_side(scene, [&first, &client]).await;
    workshop.give_back(second, true).await;
    done
}

async fn side_by_side(scene: &mut Scene, [first, second]: [&std::sync::Arc<Client>; 2]) -> StepResult {
    let deadline = scene.scaled(Duration::from_mins(1));
    let patience = scene.patience();
    let (mine, theirs) = join(
        opened(first, SandboxSpec::default(), deadline),
        opened(second, SandboxSpec::default(), deadline),
    )
    .await;
    let (mine, theirs) = (mine?.sandbox, theirs?.sandbox);
    let mut run = async |client: &std::sync::Arc<Client>, sandbox: &str, text: String, output: &str| {
        let params = RunParams::new(sandbox, scene.token(), Command::Shell(text.into()));
        let record = client.run(&params)?.wait(patience).await?;
        scene.notes.records.push(record);
        scene.notes.expected.push(Expected::output(output));
        StepResult::Ok(())
    };
    run(first, &mine, format!("ls -A; echo first > {FILE}"), "").await?;
    run(second, &theirs, format!("ls -A; echo second > {FILE}"), "").await?;
    run(first, &mine, format!("cat {FILE}"), "first\n").await?;
    run(second, &theirs, format!("cat {FILE}"), "second\n").await?;
    close(first, &mine, patience).await?;
    run(second, &theirs, format!("cat {FILE}"), "second\n").await?;
    close(second, &theirs, patience).await?;
    Ok(())
}

/// Closes the sandbox in question while commands run in it, and others are asked for.
async fn close_meanwhile(scene: &mut Scene, count: usize) -> StepResult {
    let within = scene.scaled(AFTER_CLOSE);
    let client = scene.client().await?;
    let id = scene.sandbox().await?.id;
    let mut execs = Vec::new();
    for number in 0..count {
        let text = if number % 2 == 0 {
            "echo begun; sleep 30"
        } else {
            "true"
        };
        let params = scene.command_in(&id, Command::Shell(text.into()));
        let mut exec = scene.start(&params).await?;
        if number == 0 {
            exec.wait_until(within, |record| !record.pieces.is_empty())
                .await?;
        }
        execs.push(exec);
    }
    let closing = close(&client, &id, within);
    let asking = async {
        for _ in 0..count {
            let params = scene.command_in(&id, Command::Shell("true".into()));
            execs.push(scene.start(&params).await?);
            tokio::task::yield_now().await;
        }
        await_all(scene, execs, within).await
    };
    let (closed, asked) = join(closing, asking).await;
    scene.own.retain(|sandbox| sandbox.id != id);
    closed?;
    asked
}

/// Each command that ran or was asked for while its sandbox was closed was answered as one or the other.
pub(super) fn answered_after_close(scene: &Scene) -> StepResult {
    for record in &scene.notes.records {
        let right = match &record.answer {
            Some(Ok(result)) => match result.outcome {
                Outcome::SandboxLost => true,
                // One that would have run on has not ended by itself.
                Outcome::Exited { code: 0 } => record.pieces.is_empty(),
                _ => false,
            },
            Some(Err(error)) => error.kind() == ErrorKind::SandboxNotFound,
            None => false,
        };
        if !right {
            return Err(Failure::failed(
                "each to be lost with its sandbox, to have ended before, or to be refused because the sandbox is not there",
                format!("{:?}", record.answer),
            ));
        }
    }
    Ok(())
}

/// Asks for a command under the name of one that runs. The refusal is of the second; the first is the last command.
pub(crate) async fn run_under_used_name(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let mark = new_mark(scene).await?;
    let mut second = scene.command(mark).await?;
    let first = scene.command("echo begun; sleep 2; echo ended").await?;
    let mut exec = scene.start(&first).await?;
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    second.exec.clone_from(&first.exec);
    let client = scene.client().await?;
    let answer = client.call::<method::Run>(&second, patience).await;
    scene.answer(answer)?;
    let refusal = scene.refusal.clone();
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    scene.refusal = refusal;
    Ok(())
}

/// Runs a command under the name of one that is over, for longer than what was meant for that one may still take.
pub(crate) async fn run_under_old_name(scene: &mut Scene, fate: &str) -> StepResult {
    const DEADLINE: Duration = Duration::from_secs(2);
    let mut first = scene.command("echo first; echo first >&2").await?;
    let mut lasts = Duration::ZERO;
    match fate {
        "has ended" => run_whole(scene, &first).await?,
        "was refused" => refuse(scene, &first).await?,
        "has ended long before its deadline" => {
            first.timeout_ms = Some(DEADLINE.as_millis().try_into().unwrap_or(u64::MAX));
            run_whole(scene, &first).await?;
            lasts = DEADLINE + Duration::from_secs(1);
        }
        "was cancelled when it had ended" => {
            run_whole(scene, &first).await?;
            let params = CancelParams {
                exec: first.exec.clone(),
            };
            let patience = scene.patience();
            let client = scene.client().await?;
            let late = client.call::<method::Cancel>(&params, patience).await;
            scene.answer(late).map_err(Failure::while_preparing)?;
        }
        other => return Err(unknown(other, "the fate of a command")),
    }
    let text = format!("sleep {}; echo second", lasts.as_secs());
    let mut second = scene.command(text).await?;
    second.exec.clone_from(&first.exec);
    scene.run(&second).await
}

async fn run_whole(scene: &mut Scene, params: &RunParams) -> StepResult {
    scene.run(params).await?;
    scene.result().map_err(Failure::while_preparing)?;
    Ok(())
}

/// Asks for a command by a request that no backend can take: without what is to be run.
async fn refuse(scene: &mut Scene, params: &RunParams) -> StepResult {
    let mut wire = serde_json::to_value(params).map_err(|error| Failure::suite(error.to_string()))?;
    if let Some(wire) = wire.as_object_mut() {
        wire.remove("command");
    }
    let patience = scene.patience();
    let client = scene.client().await?;
    let answer = client.call_raw(method::Run::NAME, &wire, patience).await;
    scene.answer(answer)?;
    scene.refusal().map_err(Failure::while_preparing)?;
    Ok(())
}
