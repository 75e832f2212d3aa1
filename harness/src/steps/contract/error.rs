//! ERROR: an error names the thing and the way out.

use herm_protocol::{
    ByteString,
    exec::{Command, RunParams},
    file::ReadParams,
    job::JobWaitParams,
    method::{self, Method as _},
    sandbox::{SandboxRef, Variable},
};

use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
    steps::{composed::unknown, general::new_mark},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "{words} is asked of a sandbox that never existed",
            |scene, arguments| Box::pin(async move { ask_nobody(scene, arguments.words(0)?).await }),
        )
        .then("the error {words}", |scene, arguments| {
            Box::pin(async move { the_error(scene, arguments.words(0)?) })
        })
        .then("the error names {text}", |scene, arguments| {
            Box::pin(async move { names(scene, &arguments.text(0)?) })
        })
        .when(
            "a command is requested without its {words}",
            |scene, arguments| Box::pin(async move { leave_out(scene, arguments.words(0)?).await }),
        );
}

fn the_error(scene: &Scene, what: &str) -> StepResult {
    let name = match what {
        "names the sandbox" | "names the image" => scene.notes.name.clone().unwrap_or_default(),
        "names the file" => {
            let file = scene.notes.file.clone().unwrap_or_default();
            file.to_string_lossy().into_owned()
        }
        "says what the caller can do" => return says_a_way_out(scene),
        other => return Err(unknown(other, "said by an error")),
    };
    names(scene, &name)
}

fn says_a_way_out(scene: &Scene) -> StepResult {
    let error = scene.refusal()?;
    match error.data.fix.as_deref().map(str::trim) {
        Some(fix) if !fix.is_empty() => Ok(()),
        _ => Err(Failure::failed("a next step in `data.fix`", error.to_string())),
    }
}

/// Runs an argument list without a single argument.
pub(crate) async fn run_no_words(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let params = scene.command_in(&sandbox, Command::Argv(Vec::new()));
    scene.run(&params).await
}

/// Requests a command with a deadline that lies before its beginning.
pub(crate) async fn run_with_negative_deadline(scene: &mut Scene) -> StepResult {
    let mark = new_mark(scene).await?;
    let params = scene.command(mark).await?;
    call_changed(scene, &params, |params| params["timeout_ms"] = (-1).into()).await
}

/// The error of one that was asked for before is none of this one, and asking again changes nothing: two are asked for, the
/// second with a name full of signs and twice, and its second error is looked at.
async fn ask_nobody(scene: &mut Scene, what: &str) -> StepResult {
    let full_of_signs = format!("{}'\"\\ \u{fc}\n{}", scene.token(), "long ".repeat(40));
    for sandbox in [scene.token(), full_of_signs.clone(), full_of_signs] {
        ask_for(scene, what, &sandbox).await?;
        scene.notes.name = Some(sandbox);
    }
    Ok(())
}

async fn ask_for(scene: &mut Scene, what: &str, sandbox: &str) -> StepResult {
    let patience = scene.patience();
    let client = scene.client().await?;
    match what {
        "a command" => {
            let params = scene.command_in(sandbox, Command::Shell("true".into()));
            scene.run(&params).await
        }
        "what is in a file" => {
            let params = ReadParams {
                sandbox: sandbox.to_owned(),
                path: "/etc/passwd".into(),
                offset: 0,
                length: None,
            };
            let answer = client.call::<method::ReadFile>(&params, patience).await;
            scene.answer(answer).map(|_| ())
        }
        "how a job goes on" => {
            let params = JobWaitParams {
                sandbox: sandbox.to_owned(),
                job: "1".into(),
                within_ms: Some(0),
            };
            let answer = client.call::<method::WaitJob>(&params, patience).await;
            scene.answer(answer).map(|_| ())
        }
        "its state" => {
            let params = SandboxRef {
                sandbox: sandbox.to_owned(),
            };
            let answer = client.call::<method::Inspect>(&params, patience).await;
            scene.answer(answer).map(|_| ())
        }
        other => Err(Failure::suite(format!("{other:?} is nothing to ask for"))),
    }
}

fn names(scene: &Scene, name: &str) -> StepResult {
    let error = scene.refusal()?;
    let resource = error.data.resource.as_deref().unwrap_or_default();
    if error.message.contains(name) || resource.contains(name) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{name:?} in the message or in `data.resource`"),
        format!("{error}; resource {resource:?}"),
    ))
}

async fn leave_out(scene: &mut Scene, part: &str) -> StepResult {
    let params = scene.command("true").await?;
    let part = part.to_owned();
    call_changed(scene, &params, |params| {
        params.as_object_mut().map(|params| params.remove(&part));
    })
    .await
}

/// Sends a request that the types would not allow.
async fn call_changed(
    scene: &mut Scene,
    params: &RunParams,
    change: impl FnOnce(&mut serde_json::Value),
) -> StepResult {
    let mut params = serde_json::to_value(params).map_err(|error| Failure::suite(error.to_string()))?;
    change(&mut params);
    let patience = scene.patience();
    let answer = scene
        .client()
        .await?
        .call_raw(method::Run::NAME, &params, patience)
        .await;
    scene.answer(answer).map(|_| ())
}

pub(crate) async fn run_with_nul(scene: &mut Scene, part: &str) -> StepResult {
    let mark = new_mark(scene).await?;
    let mut params = scene.command(mark.as_str()).await?;
    match part {
        "its text" => params.command = Command::Shell(format!("{mark}\0; true").into()),
        "an argument" => {
            let argv = ["sh", "-c", &mark, "a\0b"].map(ByteString::from);
            params.command = Command::Argv(argv.into());
        }
        "a variable" => params.env = vec![Variable::new("PROBE_NUL", "a\0b")],
        "its directory" => params.cwd = Some("/\0tmp".into()),
        other => return Err(Failure::suite(format!("{other:?} is no part of a command"))),
    }
    scene.run(&params).await
}
