//! REUSE: what is found under a key is what was asked for, or its loss is told.

use herm_protocol::{
    ErrorKind,
    sandbox::{OpenState, ResourceLimits, SandboxSpec},
};

use super::{
    attach::{self, opened_in_words},
    reap,
};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{composed::unknown, isolation},
};

/// What the words ask of the sandbox of a key: nothing where they are none.
pub(super) fn asked(words: Option<&str>) -> Result<SandboxSpec, Failure> {
    let Some(words) = words else {
        return Ok(SandboxSpec::default());
    };
    if let Some(idle) = reap::idle_life(words) {
        return Ok(SandboxSpec {
            idle_ms: Some(idle),
            ..SandboxSpec::default()
        });
    }
    isolation::spec_of(words).ok_or_else(|| unknown(words, "asked of a sandbox"))
}

/// What was asked for last holds, and what of the former sandbox is not there any more was told when it was opened.
pub(crate) async fn as_asked_and_told(scene: &mut Scene) -> StepResult {
    scene.opened_at_all()?;
    if scene.notes.limits == ResourceLimits::default() {
        let seen = scene.observe("echo alive").await?;
        if seen != b"alive\n" {
            let seen = String::from_utf8_lossy(&seen).into_owned();
            return Err(Failure::failed(
                "a command to run in it",
                format!("it printed {seen:?}"),
            ));
        }
    } else {
        isolation::tell(scene, "its limits").await?;
        isolation::told_as_asked(scene)?;
    }
    let mut lost = Vec::new();
    if let Some(mark) = scene.notes.mark.clone() {
        let look = format!("if [ -e {} ]; then echo there; fi", shell::word(mark.as_bytes()));
        if scene.observe(look).await? != b"there\n" {
            lost.push("a file");
        }
    }
    if scene.beat.is_some() && scene.beat_goes_on().await.is_err() {
        lost.push("what ran in the background");
    }
    let opened = attach::opened_last(scene)?;
    // What is told each time tells of no loss.
    let usual = scene.own.first().map(|first| first.opened.notices.clone());
    let usual = usual.unwrap_or_default();
    let is_news = opened.notices.iter().any(|notice| !usual.contains(notice));
    let is_told = opened.state != OpenState::Attached || is_news;
    if lost.is_empty() || is_told {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a word on the loss of {}", lost.join(" and of ")),
        opened_in_words(opened),
    ))
}

/// Opens the key while each thing in turn is missing that the subject can do without: it is refused each time.
pub(super) async fn open_while_missing(scene: &mut Scene) -> StepResult {
    scene.dismiss_caller().await?;
    for (name, opened) in scene.open_key_without().await? {
        match opened {
            // That an answer came is enough: which one, other requirements say.
            Err(error) if error.kind() != ErrorKind::Internal => {}
            Err(error) => {
                let expected = format!("the opening to be refused with {name}");
                return Err(Failure::failed(expected, error.to_string()));
            }
            Ok(opened)
                if scene.own.iter().any(|own| own.id == opened.sandbox)
                    && opened.state == OpenState::Attached => {}
            Ok(opened) => {
                let expected =
                    format!("the opening to be refused, or the same sandbox to be found, with {name}");
                return Err(Failure::failed(expected, opened_in_words(&opened)));
            }
        }
    }
    Ok(())
}
