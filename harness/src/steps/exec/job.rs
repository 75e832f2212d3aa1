//! JOB: work that outlives its command.

use crate::{scene::shell, step::StepList, steps::lifecycle::leave_beat};

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a command prints {text} and leaves a worker that holds its output",
            |scene, arguments| {
                Box::pin(async move {
                    let text = format!("sleep 6 & {}", shell::print(arguments.text(0)?.as_bytes()));
                    let params = scene.command(text).await?;
                    scene.run(&params).await
                })
            },
        )
        .when("a command leaves a beat behind", |scene, _| {
            Box::pin(leave_beat(scene))
        });
}
