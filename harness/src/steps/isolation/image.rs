//! IMAGE: a sandbox needs little of its image.

use std::collections::BTreeSet;

use herm_protocol::{
    ByteString,
    exec::Command,
    method,
    sandbox::{Empty, SandboxSpec},
};
use serde_json::json;

use super::way;
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::show,
};

/// An image that nobody has, and that is to be had where nobody answers: a registry that is asked by a name could be waited for.
const NO_IMAGE: &str = "localhost:1/herm-no-such-image";

/// What a command says that tells that it runs.
const RUNNING: &str = "running\n";

/// The condition under which sandboxes are made from an image without a shell.
const NO_SHELL: &str = "image.no_shell";

/// Processes that lose their parent and end by themselves, and how many of all processes are dead and were not waited for.
const ORPHANS: &str = "i=0; while [ $i -lt 5 ]; do (sh -c 'sleep 0.2; exit 3' &); i=$((i+1)); done; sleep 1.5
n=0; for stat in /proc/[0-9]*/stat; do read -r all <\"$stat\" || continue; case \"${all##*)}\" in \" Z \"*) n=$((n+1)) ;; esac; done 2>/dev/null; echo $n";

/// The condition that makes a world as the words have it.
pub(crate) fn condition(words: &str) -> Option<&'static str> {
    Some(match words {
        "whose image has nothing but BusyBox" => "image.no_bash",
        "whose image has no directory for temporary files" => "image.no_tmp",
        "whose temporary files cannot be run" => "image.noexec_tmp",
        "whose image has a search path with nothing on it" => "image.bare_path",
        "whose image has an ordinary user, and a home that cannot be written to" => "image.unwritable_home",
        "whose image has an entry point of its own" => "image.entry_point",
        "whose image has no shell" => NO_SHELL,
        _ => return None,
    })
}

/// Opens a sandbox in the world that the scenario is about: that it can be opened there is what is asked.
async fn open_there(scene: &mut Scene) -> StepResult {
    scene.open(SandboxSpec::default()).await?;
    Ok(())
}

/// A command tells that it runs.
pub(super) async fn tell_running(scene: &mut Scene, how: &str) -> StepResult {
    open_there(scene).await?;
    let told = way::run(scene, how, "echo running").await?;
    scene.notes.content = Some(told);
    Ok(())
}

/// A program does that no shell has started, and that is none itself.
pub(crate) async fn tell_running_by_program(scene: &mut Scene) -> StepResult {
    open_there(scene).await?;
    let sandbox = scene.sandbox().await?.id;
    let words = ["echo", RUNNING.trim_end()].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    scene.run(&params).await
}

pub(super) fn told_so(scene: &Scene) -> StepResult {
    let told = scene.notes.content.clone().unwrap_or_default();
    if told == RUNNING.as_bytes() {
        return Ok(());
    }
    Err(Failure::failed(show(RUNNING.as_bytes()), show(&told)))
}

/// A command makes orphans, and counts the dead.
pub(super) async fn make_orphans(scene: &mut Scene) -> StepResult {
    open_there(scene).await?;
    let params = scene.command(ORPHANS).await?;
    scene.run(&params).await
}

pub(super) fn left_with_none(scene: &Scene) -> StepResult {
    let told = way::printed(scene)?;
    match String::from_utf8_lossy(&told).trim() {
        "0" => Ok(()),
        _ => Err(Failure::failed(
            "no process that is dead and was not waited for",
            show(&told),
        )),
    }
}

/// Opens a sandbox of an image that the subject has for this, and that it names.
pub(crate) async fn open_without_shell(scene: &mut Scene) -> StepResult {
    let offered = scene.conditions().await?;
    let image = offered
        .into_iter()
        .find(|condition| condition.name == NO_SHELL)
        .and_then(|condition| condition.names);
    let Some(image) = image else {
        return Err(Failure::inconclusive(format!(
            "the subject names no image without a shell; to have this tested, offer the condition {NO_SHELL} and tell the image's name in its `names`"
        ))
        .of_kind("condition"));
    };
    let spec = SandboxSpec {
        image: Some(image),
        ..SandboxSpec::default()
    };
    scene.open(spec).await?;
    Ok(())
}

/// Opens a sandbox of an image that does not exist, and notes what there was before.
pub(crate) async fn open_unknown(scene: &mut Scene) -> StepResult {
    let before = things(scene).await?;
    scene.notes.name = Some(NO_IMAGE.into());
    let spec = SandboxSpec {
        image: Some(NO_IMAGE.into()),
        ..SandboxSpec::default()
    };
    let opened = scene.open(spec).await;
    scene.answer(opened)?;
    scene.notes.value = Some(json!(before));
    Ok(())
}

/// The sandboxes that are listed, and what the subject's ledger names, as far as it has these.
async fn things(scene: &mut Scene) -> Result<BTreeSet<String>, Failure> {
    let mut things = BTreeSet::new();
    let patience = scene.patience();
    let client = scene.client().await?;
    if scene.declares("list").await? {
        let listed = client.call::<method::List>(&Empty {}, patience).await?;
        things.extend(
            listed
                .sandboxes
                .into_iter()
                .map(|info| format!("the sandbox {}", info.sandbox)),
        );
    }
    if scene.declares("ledger").await? {
        let ledger = client.call::<method::TakeLedger>(&Empty {}, patience).await?;
        things.extend(
            ledger
                .items
                .into_iter()
                .map(|item| format!("the {} {}", item.kind, item.id)),
        );
    }
    Ok(things)
}

pub(super) async fn nothing_more(scene: &mut Scene) -> StepResult {
    let before: BTreeSet<String> =
        serde_json::from_value(scene.notes.value.clone().unwrap_or_default()).unwrap_or_default();
    let after = things(scene).await?;
    let new: Vec<_> = after.difference(&before).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(
        "nothing that was not there before",
        new.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_is_made_by_a_condition_of_the_catalogue() {
        let catalogue = crate::catalogue::Catalogue::embedded().unwrap();
        let text = include_str!("../../../features/isolation/image.feature");
        let worlds: BTreeSet<_> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Given a world "))
            .map(|words| condition(words).unwrap_or_else(|| panic!("{words}")))
            .collect();
        assert_eq!(worlds.len(), 7);
        for name in worlds {
            assert!(catalogue.conditions.contains_key(name), "{name}");
        }
    }
}
