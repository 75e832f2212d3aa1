//! PREFLIGHT: what is missing is told, and nothing is done in its place.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    client::CallError,
    initialize::{Preflight, Problem},
    method,
    sandbox::Empty,
};
use serde_json::{Value, json};

use crate::{
    scene::{Failure, Scene, Without},
    step::{StepList, StepResult},
    steps::isolation,
};

/// How long an opening may take to be refused, before scaling.
const REFUSED_WITHIN: Duration = Duration::from_secs(5);

/// How often is asked again and again.
const TIMES: usize = 3;

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a world {words}", |scene, arguments| {
            Box::pin(async move {
                let condition = match arguments.words(0)? {
                    "with next to no room for files" => "disk.full",
                    "with little memory" => "memory.short",
                    "whose clock is about to jump ahead" => "clock.advance",
                    other => isolation::image_condition(other)
                        .ok_or_else(|| Failure::suite(format!("{other:?} is no condition")))?,
                };
                scene.bring_about(condition, None).await
            })
        })
        .then("it misses {words}", |scene, arguments| {
            Box::pin(async move { misses(scene, arguments.words(0)?) })
        })
        .then("what is missing {words}", |scene, arguments| {
            Box::pin(async move {
                let judge = match arguments.words(0)? {
                    "keeps nobody from asking" => introduces,
                    "is named among its problems" => named,
                    "comes with a step that mends it" => with_a_step,
                    "is why no sandbox opens" => refused,
                    "never sends a command to this machine instead" => not_here,
                    "leaves no sandbox on the list" => none_listed,
                    "is no hindrance once it is back" => back,
                    other => return Err(Failure::suite(format!("{other:?} is nothing that it does"))),
                };
                scene.notes.without.iter().try_for_each(|without| {
                    judge(scene, without).map_err(|failure| Failure {
                        seen: format!("{}: {}", without.condition.name, failure.seen),
                        ..failure
                    })
                })
            })
        });
}

/// Asks, and remembers the answers and what the backend has made before and after.
pub(crate) async fn ask(scene: &mut Scene, times: usize) -> StepResult {
    let before = made(scene).await?;
    let mut answers = Vec::new();
    for _ in 0..times {
        let patience = scene.patience();
        let client = scene.client().await?;
        let answer = client.call::<method::CheckPreflight>(&Empty {}, patience).await;
        match scene.answer(answer)? {
            Some(preflight) => answers.push(preflight),
            None => return Err(scene.refusal()?.clone().into()),
        }
    }
    let after = made(scene).await?;
    scene.notes.value = Some(json!({"answers": answers, "before": before, "after": after}));
    Ok(())
}

/// The same several times.
pub(crate) async fn ask_again_and_again(scene: &mut Scene) -> StepResult {
    ask(scene, TIMES).await
}

/// What there is of the backend, as far as it tells.
async fn made(scene: &mut Scene) -> Result<Value, Failure> {
    let patience = scene.patience();
    let capabilities = scene.initialized().await?.capabilities;
    let mut made = serde_json::Map::new();
    for (capability, call) in [("list", "sandbox.list"), ("ledger", "ledger.snapshot")] {
        if capabilities.iter().any(|known| known == capability) {
            let answer = scene.client().await?.call_raw(call, &json!({}), patience).await?;
            made.insert(call.into(), answer);
        }
    }
    Ok(made.into())
}

fn misses(scene: &Scene, what: &str) -> StepResult {
    let value = scene.notes.value.clone().unwrap_or_default();
    let answers: Vec<Preflight> = serde_json::from_value(value["answers"].clone())
        .map_err(|_| Failure::suite("the backend was not asked what it misses"))?;
    match what {
        "nothing" => match answers.iter().flat_map(|answer| &answer.problems).next() {
            None => Ok(()),
            Some(Problem { what, .. }) => Err(Failure::failed(
                "no problem where sandboxes are opened and run commands",
                format!("{what:?}"),
            )),
        },
        "the same each time" => {
            if answers.windows(2).all(|pair| pair[0] == pair[1]) {
                return Ok(());
            }
            Err(Failure::failed("one answer", value["answers"].to_string()))
        }
        "nothing that it had before" => {
            if value["before"] == value["after"] {
                return Ok(());
            }
            let seen = format!("{}, and {} before", value["after"], value["before"]);
            Err(Failure::failed("the same sandboxes and things as before", seen))
        }
        other => Err(Failure::suite(format!("{other:?} is nothing to miss"))),
    }
}

fn introduces(_: &Scene, without: &Without) -> StepResult {
    match &without.silent {
        None => Ok(()),
        Some(failure) => Err(Failure::failed(
            "an introduction, so that it can be asked what is missing",
            failure.seen.clone(),
        )),
    }
}

/// What it said is missing.
fn problems(without: &Without) -> Result<&[Problem], Failure> {
    talks(without)?;
    match &without.preflight {
        Some(Ok(preflight)) => Ok(&preflight.problems),
        Some(Err(error)) => Err(error.clone().into()),
        None => Err(Failure::inconclusive("the backend does not declare preflight")),
    }
}

/// One that does not introduce itself is told by a requirement of its own.
fn talks(without: &Without) -> StepResult {
    introduces_or(
        without,
        Failure::inconclusive("the backend does not introduce itself"),
    )
}

fn introduces_or(without: &Without, failure: Failure) -> StepResult {
    if without.silent.is_some() {
        Err(failure)
    } else {
        Ok(())
    }
}

fn named(_: &Scene, without: &Without) -> StepResult {
    let problems = problems(without)?;
    let name = without.condition.names.as_deref().unwrap_or_default();
    let says = |problem: &&Problem| !problem.what.trim().is_empty() && problem.what.contains(name);
    if problems.iter().any(|problem| says(&problem)) {
        return Ok(());
    }
    let seen: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
    Err(Failure::failed(
        format!("a problem that names {name:?}"),
        format!("{seen:?}"),
    ))
}

fn with_a_step(_: &Scene, without: &Without) -> StepResult {
    let problems = problems(without)?;
    match problems.iter().find(|problem| problem.fix.trim().is_empty()) {
        None if problems.is_empty() => Err(Failure::failed("a problem with its step", "no problem")),
        None => Ok(()),
        Some(problem) => Err(Failure::failed(
            "a next step in `fix`",
            format!("none, for {:?}", problem.what),
        )),
    }
}

fn refused(scene: &Scene, without: &Without) -> StepResult {
    talks(without)?;
    let expected = if without.condition.name == "credential.missing" {
        ErrorKind::CredentialMissing
    } else {
        ErrorKind::Unavailable
    };
    let name = without.condition.names.as_deref().unwrap_or_default();
    let limit = scene.scaled(REFUSED_WITHIN);
    for (opened, took) in &without.openings {
        let error = match opened {
            Ok(opened) => {
                let seen = format!("sandbox {:?} was opened", opened.sandbox);
                return Err(Failure::failed(format!("a refusal of kind {expected}"), seen));
            }
            Err(CallError::Refused(error)) => error,
            Err(CallError::Fault(fault)) => return Err(fault.clone().into()),
        };
        let resource = error.data.resource.as_deref().unwrap_or_default();
        let problem = if error.kind() != expected {
            format!("a refusal of kind {expected}")
        } else if !error.message.contains(name) && !resource.contains(name) {
            format!("{name:?} in the message or in `data.resource`")
        } else if error.data.fix.as_deref().is_none_or(|fix| fix.trim().is_empty()) {
            "a next step in `data.fix`".into()
        } else if *took > limit {
            format!("the refusal within {} ms", limit.as_millis())
        } else {
            continue;
        };
        let seen = format!("after {} ms: {error}", took.as_millis());
        return Err(Failure::failed(problem, seen));
    }
    Ok(())
}

fn not_here(_: &Scene, without: &Without) -> StepResult {
    talks(without)?;
    if without.ran_here {
        return Err(Failure::failed(
            "no command to run outside a sandbox",
            "its mark was on this machine",
        ));
    }
    Ok(())
}

fn none_listed(_: &Scene, without: &Without) -> StepResult {
    talks(without)?;
    match &without.listed {
        Some(Ok(listed)) => match listed.first() {
            None => Ok(()),
            Some(info) => Err(Failure::failed(
                "nothing on the list that was not there before",
                format!("{:?}, as {:?}", info.sandbox, info.state),
            )),
        },
        // Whoever cannot look does not know, and an empty list would say that it does.
        Some(Err(CallError::Refused(error))) if error.kind() == ErrorKind::Unavailable => Ok(()),
        Some(Err(error)) => Err(error.clone().into()),
        None => Err(Failure::inconclusive("the backend does not declare list")),
    }
}

fn back(_: &Scene, without: &Without) -> StepResult {
    without
        .back
        .clone()
        .unwrap_or_else(|| Err(Failure::suite("nothing was used when it was back")))
        .map_err(|failure| Failure {
            seen: format!("when it was back: {}", failure.seen),
            ..failure
        })
}
