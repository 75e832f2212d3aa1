//! CLOSE: what is closed is gone.

use std::{path::Path, time::Duration};

use herm_protocol::{
    ErrorKind,
    exec::{Command, Outcome},
    method::{self, Method as _},
    sandbox::{CloseHow, CloseParams, SandboxSpec},
};

use super::open::file_in_first;
use crate::{
    process_table,
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{composed::unknown, general::absent},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a file in {words}", |scene, arguments| {
            Box::pin(async move { file_in(scene, arguments.words(0)?).await })
        })
        .when("{words} is destroyed", |scene, arguments| {
            Box::pin(async move {
                let id = match arguments.words(0)? {
                    "the sandbox" => scene.sandbox().await?.id,
                    "the first sandbox" => scene
                        .own
                        .first()
                        .map(|sandbox| sandbox.id.clone())
                        .unwrap_or_default(),
                    "the sandbox, for four callers at once," => return destroy_together(scene, 4).await,
                    "the sandbox, without a word on how," => return destroy_without_a_word(scene).await,
                    "a sandbox that never existed" => scene.token(),
                    "another sandbox that was opened in that directory" => {
                        return destroy_one_in(scene).await;
                    }
                    other => return Err(Failure::suite(format!("{other:?} is no sandbox"))),
                };
                destroy(scene, id).await
            })
        })
        .then(
            "a command in it is refused because the sandbox is not there",
            |scene, _| Box::pin(runs_nothing(scene)),
        )
        .then("closing it again tells that nothing was there", |scene, _| {
            Box::pin(close_again(scene))
        })
        .then("the second one sees no such file", |scene, _| {
            Box::pin(async {
                let expected = "the files of the destroyed sandbox to be gone";
                absent(scene, expected, "the file is still there").await?;
                gone_from_here(scene).await
            })
        })
        .then("the {words} one still has the file", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    // The other one was destroyed.
                    "first" | "second" => still_has_file(scene).await,
                    other => Err(unknown(other, "a sandbox among two")),
                }
            })
        });
}

/// Shell text that makes a directory which is hard to remove, of the name that stands in the text before.
fn hard_to_remove(what: &str) -> Option<&'static str> {
    Some(match what {
        "a directory that may not be written" => {
            "mkdir -p \"$top/inner\" && : > \"$top/inner/file\" && chmod 555 \"$top/inner\" \"$top\""
        }
        "a directory that may not be entered" => {
            "mkdir -p \"$top/inner\" && : > \"$top/inner/file\" && chmod 0 \"$top/inner\" \"$top\""
        }
        "directories deeper than a path may be" => {
            "name=$(printf %0200d 0) && path=$name && for i in 1 2 3 4 5 6 7 8 9 10 11; do path=$path/$name; done \
             && mkdir \"$top\" && cd \"$top\" && mkdir -p \"$path\" \"b/$path\" && : > \"b/$path/file\" && mv b \"$path\""
        }
        "a directory with a name full of signs" => {
            "name=$(printf '%s/ -rf\\n*\"%%s \\377' \"$top\") && mkdir -p \"$name\" && : > \"$name/file\""
        }
        _ => return None,
    })
}

/// Leaves a file in a place of the first of two sandboxes, or where something of it leads to.
async fn file_in(scene: &mut Scene, place: &str) -> StepResult {
    if place == "the first one's working directory" {
        return file_in_first(scene).await;
    }
    if place == "a directory of the second one that a link in the first one's working directory leads to" {
        return file_behind_link(scene).await;
    }
    let make = place
        .strip_suffix(" in the first one's working directory")
        .and_then(hard_to_remove)
        .ok_or_else(|| unknown(place, "where a file is"))?;
    let second = scene.own.pop();
    let preparing = async {
        let top = scene.new_path("held").await?;
        let word = shell::word(top.as_bytes());
        scene.notes.mark = Some(top);
        scene.prepare(format!("top={word}; {make}")).await.map(|_| ())
    };
    let prepared = preparing.await;
    scene.own.extend(second);
    prepared
}

async fn file_behind_link(scene: &mut Scene) -> StepResult {
    let target = scene.new_path("target").await?;
    let word = shell::word(target.as_bytes());
    let mark = [target.as_bytes(), b"/file"].concat();
    scene.prepare(format!("mkdir {word} && : > {word}/file")).await?;
    scene.notes.mark = Some(mark.into());
    let second = scene.own.pop();
    let linked = scene
        .prepare(format!(
            "ln -s {word} link && mkdir deep && ln -s {word} deep/link"
        ))
        .await;
    scene.own.extend(second);
    linked.map(|_| ())
}

/// A command that has ended and left a worker that keeps a beat. Its streams are its own.
pub(crate) async fn leave_beat(scene: &mut Scene) -> StepResult {
    let text = scene.new_beat("").await?;
    scene
        .prepare(format!("{text} </dev/null >/dev/null 2>&1 &"))
        .await?;
    scene.await_beat().await.map_err(|failure| Failure {
        seen: format!(
            "{}; where everything ends with its command, the choice left_behind is end",
            failure.seen
        ),
        ..failure
    })
}

async fn destroy(scene: &mut Scene, id: String) -> StepResult {
    scene.notes.places = scene.places_of(&id).await?;
    let answer = scene.destroy(&id).await;
    scene.answer(answer)?.ok_or_else(|| {
        let seen = scene
            .refusal
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        Failure::failed("the sandbox to be closed", seen)
    })?;
    scene.own.retain(|sandbox| sandbox.id != id);
    if let Some(beat) = &mut scene.beat {
        beat.reachable = beat.reachable && beat.sandbox != id;
    }
    scene.notes.name = Some(id);
    Ok(())
}

/// Asks so many times at once for the sandbox to be destroyed: each is answered without an error, and one has found it there.
async fn destroy_together(scene: &mut Scene, times: usize) -> StepResult {
    let id = scene.sandbox().await?.id;
    scene.notes.places = scene.places_of(&id).await?;
    let params = CloseParams {
        sandbox: id.clone(),
        how: CloseHow::Destroy,
    };
    let patience = scene.patience();
    let client = scene.client().await?;
    let asked = (0..times).map(|_| client.call::<method::Close>(&params, patience));
    let mut found = 0;
    for answer in futures::future::join_all(asked).await {
        let Some(closed) = scene.answer(answer)? else {
            let expected = "each to be told that the sandbox is gone";
            return Err(Failure::failed(expected, scene.refusal()?.to_string()));
        };
        found += usize::from(closed.existed);
    }
    scene.own.retain(|sandbox| sandbox.id != id);
    scene.notes.name = Some(id);
    if found > 0 {
        return Ok(());
    }
    Err(Failure::failed(
        "one of them to have found the sandbox",
        "`existed: false` for each",
    ))
}

/// Closes the sandbox, and leaves it to the contract how.
async fn destroy_without_a_word(scene: &mut Scene) -> StepResult {
    let id = scene.sandbox().await?.id;
    scene.notes.places = scene.places_of(&id).await?;
    let patience = scene.patience();
    let params = serde_json::json!({"sandbox": id});
    let client = scene.client().await?;
    let answer = client.call_raw(method::Close::NAME, &params, patience).await;
    if scene.answer(answer)?.is_none() {
        return Err(scene.refusal()?.clone().into());
    }
    scene.own.retain(|sandbox| sandbox.id != id);
    scene.notes.name = Some(id);
    Ok(())
}

async fn runs_nothing(scene: &mut Scene) -> StepResult {
    let id = scene.notes.name.clone().unwrap_or_default();
    let params = scene.command_in(&id, Command::Shell("echo undead".into()));
    scene.run(&params).await?;
    let error = scene.refusal()?;
    if error.kind() != ErrorKind::SandboxNotFound {
        return Err(Failure::failed(
            "a refusal of kind sandbox_not_found",
            error.to_string(),
        ));
    }
    gone_from_here(scene).await
}

/// The places on this machine that the backend told of the sandbox are no more, and nothing runs in them.
async fn gone_from_here(scene: &mut Scene) -> StepResult {
    let places = scene.notes.places.clone();
    let left = tokio::task::spawn_blocking(move || places.iter().find_map(|place| left_in(place)));
    match left.await.map_err(|error| Failure::suite(error.to_string()))? {
        None => Ok(()),
        Some(left) => Err(Failure::failed(
            "nothing of the destroyed sandbox on this machine",
            left,
        )),
    }
}

/// What is left of a place: a process that works in it, or the place itself.
fn left_in(place: &Path) -> Option<String> {
    let working = process_table::working_in(place).into_iter().next();
    if let Some(process) = working {
        return Some(format!("{} works in {}", process.describe(), place.display()));
    }
    place
        .symlink_metadata()
        .is_ok()
        .then(|| format!("{} is still there", place.display()))
}

/// Opens a sandbox in the directory of the file, and destroys it. Where sandboxes do not share their files there may be no such
/// directory, and nothing to open.
async fn destroy_one_in(scene: &mut Scene) -> StepResult {
    let spec = SandboxSpec {
        cwd: Some(scene.workdir().await?),
        ..SandboxSpec::default()
    };
    let opened = scene.open(spec).await;
    match scene.answer(opened)? {
        Some(opened) => destroy(scene, opened.sandbox).await,
        None => Ok(()),
    }
}

async fn still_has_file(scene: &mut Scene) -> StepResult {
    let path = scene.notes.mark.clone().unwrap_or_default();
    let look = format!("if [ -e {} ]; then echo there; fi", shell::word(path.as_bytes()));
    if scene.observe(look).await? == b"there\n" {
        return Ok(());
    }
    Err(Failure::failed(
        format!(
            "the file {} to be there, which the destroyed sandbox had nothing to do with",
            path.to_string_lossy()
        ),
        "it is gone",
    ))
}

async fn close_again(scene: &mut Scene) -> StepResult {
    let id = scene.notes.name.clone().unwrap_or_default();
    match scene.destroy(&id).await {
        Ok(closed) if !closed.existed => Ok(()),
        Ok(_) => Err(Failure::failed("`existed: false`", "`existed: true`")),
        Err(error) => Err(Failure::failed("`existed: false`", error.to_string())),
    }
}

pub(crate) async fn answered_as_lost(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(Duration::from_secs(5));
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    match &scene.result()?.outcome {
        Outcome::SandboxLost => Ok(()),
        other => Err(Failure::failed("the outcome: sandbox lost", other.to_string())),
    }
}
