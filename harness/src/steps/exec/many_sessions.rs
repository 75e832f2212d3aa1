//! SESSION: many sessions in one sandbox.

use std::time::{Duration, Instant};

use super::session::{KEPT, carried, carries_variables, carry_something, look_at, name, prepare};
use crate::{
    scene::{Scene, shell},
    step::StepResult,
};

/// How long sessions are begun for, if there were enough of them.
const MANY_FOR: Duration = Duration::from_millis(800);

/// So many sessions are enough where a command takes long to start.
const MANY: usize = 20;

/// What one of many sessions has of its own: its variable, and the last part of its directory.
fn of_one(number: usize) -> String {
    format!("number {number}")
}

/// Begins so many sessions, each with a directory and a value of its own; fewer where a command takes long to start. Their
/// names are noted, the first one's first.
pub(super) async fn begin(scene: &mut Scene, many: usize) -> StepResult {
    carry_something(scene).await?;
    let first = name(scene);
    let kept = scene.notes.directory.clone().unwrap_or_default();
    let kept = shell::word(kept.as_bytes());
    let until = Instant::now() + MANY_FOR;
    scene.notes.sessions = vec![first.clone()];
    for number in 1..many {
        if number >= MANY && Instant::now() > until {
            break;
        }
        let session = scene.token();
        scene.notes.sessions.push(session.clone());
        scene.notes.session = Some(session);
        let own = of_one(number);
        let text = format!("mkdir {kept}/'{own}' && cd {kept}/'{own}' && export {KEPT}='{own}'");
        prepare(scene, text).await?;
    }
    scene.notes.session = Some(first);
    Ok(())
}

/// Looks at every one of many sessions, the oldest first.
pub(super) async fn observe_each(scene: &mut Scene) -> StepResult {
    let variables = carries_variables(scene).await?;
    let kept = scene.notes.directory.clone().unwrap_or_default();
    for (number, session) in scene.notes.sessions.clone().into_iter().enumerate() {
        let expected = if number == 0 {
            carried(scene).await?
        } else {
            let own = of_one(number);
            let value = if variables { own.as_str() } else { "none" };
            [
                value.as_bytes(),
                b"\n",
                kept.as_bytes(),
                b"/",
                own.as_bytes(),
                b"\n",
            ]
            .concat()
        };
        look_at(scene, Some(session), &expected).await?;
    }
    Ok(())
}
