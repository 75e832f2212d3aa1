//! OPEN: a sandbox is ready when it is there.

use herm_protocol::{
    ByteString, ErrorKind,
    client::CallError,
    exec::{Command, Stream},
    method,
    sandbox::{Empty, OpenState, SandboxInfo, SandboxRef, SandboxSpec, SandboxState, Variable},
};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::general::{new_mark, show},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("two open sandboxes", |scene, _| {
            Box::pin(async {
                for _ in 0..2 {
                    scene.prepare_sandbox(SandboxSpec::default()).await?;
                }
                Ok(())
            })
        })
        .given(
            "a sandbox opened with the variable {text} set to {text}",
            |scene, arguments| {
                Box::pin(async move {
                    let (name, value) = (arguments.text(0)?, arguments.text(1)?);
                    scene.notes.content = Some(format!("{name}={value}").into_bytes());
                    let env = vec![Variable::new(name, value)];
                    let spec = SandboxSpec {
                        env,
                        ..SandboxSpec::default()
                    };
                    scene.prepare_sandbox(spec).await.map(|_| ())
                })
            },
        )
        .then("both are new, with different ids", |scene, _| {
            Box::pin(async { both_new(scene) })
        })
        .then(
            "a file in the first one's working directory is not in the second one's",
            |scene, _| Box::pin(apart(scene)),
        )
        .when("a sandbox is opened and a command is run at once", |scene, _| {
            Box::pin(async {
                let opened = scene.open(SandboxSpec::default()).await?;
                let params = scene.command_in(&opened.sandbox, Command::Shell("true".into()));
                scene.run(&params).await
            })
        })
        .then(
            "the directory that it told, if it told one, is where commands start",
            |scene, _| Box::pin(told_directory(scene)),
        )
        .then("no more sandboxes are listed than before", |scene, _| {
            Box::pin(as_many_as_before(scene))
        })
        .when("the sandbox is inspected", |scene, _| Box::pin(inspect(scene)));
}

fn both(scene: &Scene) -> Result<[&str; 2], Failure> {
    match scene.own.as_slice() {
        [first, second] => Ok([&first.id, &second.id]),
        other => Err(Failure::suite(format!(
            "{} sandboxes instead of two",
            other.len()
        ))),
    }
}

fn both_new(scene: &Scene) -> StepResult {
    let [first, second] = both(scene)?;
    if first == second {
        return Err(Failure::failed("two ids", format!("{first:?} twice")));
    }
    // Where one was destroyed before, it has had an id, too.
    let former = scene.notes.name.as_deref();
    if let Some(former) = former.filter(|former| [first, second].contains(former)) {
        return Err(Failure::failed(
            "the id of a sandbox that was destroyed to be that of no other",
            format!("{former:?} is given again"),
        ));
    }
    match scene
        .own
        .iter()
        .find(|sandbox| sandbox.opened.state != OpenState::Created)
    {
        None => Ok(()),
        Some(other) => Err(Failure::failed(
            "both to be created",
            format!("{} was {:?}", other.id, other.opened.state),
        )),
    }
}

async fn apart(scene: &mut Scene) -> StepResult {
    let [first, second] = both(scene)?.map(str::to_owned);
    let name = scene.token();
    let params = scene.command_in(&first, Command::Shell(format!(": > {name}").into()));
    scene.run(&params).await?;
    scene.result().map_err(Failure::while_preparing)?;
    let look = format!("if [ -e {name} ]; then echo there; else echo not there; fi");
    for (sandbox, expected, problem) in [
        (
            &first,
            "there\n",
            "the file is not in the directory of the sandbox that made it",
        ),
        (&second, "not there\n", "the file of the other sandbox is in it"),
    ] {
        let params = scene.command_in(sandbox, Command::Shell(look.as_str().into()));
        scene.run(&params).await?;
        scene.result()?;
        let seen = scene.record()?.bytes(Stream::Stdout);
        if seen != expected.as_bytes() {
            let seen = format!("{problem}: {}", show(&seen));
            return Err(Failure::failed("a working directory of its own", seen));
        }
    }
    Ok(())
}

/// The sandboxes that are listed.
pub(super) async fn listed(scene: &mut Scene) -> Result<Vec<SandboxInfo>, Failure> {
    let patience = scene.patience();
    Ok(scene
        .client()
        .await?
        .call::<method::List>(&Empty {}, patience)
        .await?
        .sandboxes)
}

async fn as_many_as_before(scene: &mut Scene) -> StepResult {
    // The failed opening is made once more between two looks, since the first look has to come before it.
    let before = listed(scene).await?.len();
    let spec = SandboxSpec {
        env: vec![Variable::new("", "value")],
        ..SandboxSpec::default()
    };
    let _ = scene.open(spec).await;
    let after = listed(scene).await?;
    if after.len() <= before {
        return Ok(());
    }
    let ids: Vec<_> = after.iter().map(|info| info.sandbox.as_str()).collect();
    Err(Failure::failed(
        format!("{before} sandboxes"),
        format!("{}: {ids:?}", after.len()),
    ))
}

pub(crate) async fn listed_as_running(scene: &mut Scene) -> StepResult {
    let id = scene.sandbox().await?.id;
    let listed = listed(scene).await?;
    match listed.iter().find(|info| info.sandbox == id) {
        Some(info) if info.state == SandboxState::Running => Ok(()),
        Some(info) => Err(Failure::failed("the state running", format!("{:?}", info.state))),
        None => Err(Failure::failed(
            format!("{id} in the list"),
            format!("{} others", listed.len()),
        )),
    }
}

pub(crate) async fn not_listed(scene: &mut Scene) -> StepResult {
    let id = scene.notes.name.clone().unwrap_or_default();
    match listed(scene).await?.iter().find(|info| info.sandbox == id) {
        None => Ok(()),
        Some(info) => Err(Failure::failed(
            format!("{id} not to be listed"),
            format!("it is, as {:?}", info.state),
        )),
    }
}

/// What is not there any more is told so, or as something else than running.
pub(crate) async fn not_described(scene: &mut Scene) -> StepResult {
    let sandbox = scene.notes.name.clone().unwrap_or_default();
    let patience = scene.patience();
    let client = scene.client().await?;
    let expected = format!("{sandbox} to be told as gone, or at least not as running");
    match client
        .call::<method::Inspect>(&SandboxRef { sandbox }, patience)
        .await
    {
        Err(CallError::Refused(error)) if error.kind() == ErrorKind::SandboxNotFound => Ok(()),
        Err(CallError::Refused(error)) => Err(Failure::failed(expected, error.to_string())),
        Err(CallError::Fault(fault)) => Err(scene.broken(fault)),
        Ok(info) if info.state == SandboxState::Running => {
            Err(Failure::failed(expected, "it is described as running"))
        }
        Ok(_) => Ok(()),
    }
}

async fn inspect(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let answer = scene
        .client()
        .await?
        .call::<method::Inspect>(&SandboxRef { sandbox }, patience)
        .await;
    if let Some(info) = scene.answer(answer)? {
        scene.notes.value = serde_json::to_value(info).ok();
    }
    Ok(())
}

pub(crate) async fn described_truly(scene: &mut Scene) -> StepResult {
    if let Some(refusal) = scene.refusal.clone() {
        return Err(refusal.into());
    }
    let value = scene.notes.value.clone().unwrap_or_default();
    let info: SandboxInfo =
        serde_json::from_value(value).map_err(|_| Failure::suite("nothing was inspected"))?;
    let id = scene.sandbox().await?.id;
    if info.sandbox != id {
        return Err(Failure::failed(format!("the id {id}"), info.sandbox));
    }
    if info.state != SandboxState::Running {
        return Err(Failure::failed("the state running", format!("{:?}", info.state)));
    }
    let Some(cwd) = info.cwd else {
        return Err(Failure::failed(
            "the directory that commands start in",
            "none is told",
        ));
    };
    let real = scene
        .observe(format!("cd {} && pwd -P", shell::word(cwd.as_bytes())))
        .await?;
    let start = scene.observe("pwd -P").await?;
    if real == start {
        return Ok(());
    }
    Err(Failure::failed(
        start.escape_ascii().to_string(),
        real.escape_ascii().to_string(),
    ))
}

/// Leaves a file in the first sandbox's working directory.
pub(super) async fn file_in_first(scene: &mut Scene) -> StepResult {
    let second = if scene.own.len() > 1 {
        scene.own.pop()
    } else {
        None
    };
    let text = new_mark(scene).await;
    let left = match text {
        Ok(text) => scene.prepare(text).await.map(|_| ()),
        Err(failure) => Err(failure),
    };
    scene.own.extend(second);
    left
}

async fn told_directory(scene: &mut Scene) -> StepResult {
    let Some(told) = scene.sandbox().await?.opened.cwd else {
        return Ok(());
    };
    let start = scene.observe("pwd -P").await?;
    let real = scene
        .observe(format!("cd {} && pwd -P", shell::word(told.as_bytes())))
        .await?;
    if real == start {
        return Ok(());
    }
    Err(Failure::failed(
        format!("commands to start in {told:?}"),
        start.escape_ascii().to_string(),
    ))
}

/// The variable that a sandbox is opened with where something other than a command prints it.
pub(crate) const OF_SANDBOX: &str = "PROBE_COLOUR";

/// A program prints the variable of its sandbox: a shell that the backend does not know as one.
pub(crate) async fn print_variable_by_program(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = ["sh", "-c", &format!("echo \"${OF_SANDBOX}\"")].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    scene.run(&params).await
}
