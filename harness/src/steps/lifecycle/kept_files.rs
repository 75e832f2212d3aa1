//! ATTACH: files that come back as they were.

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::general::{difference, show},
};

/// Makes files of several kinds where it runs.
const MAKE_FILES: &str = "printf '#!/bin/sh\\n' > run && chmod 755 run && : > secret && chmod 600 secret && : > locked && \
     chmod 444 locked && mkdir empty private && chmod 1777 empty && chmod 700 private && ln run again && ln -s run link && \
     ln -s nowhere dangling && ln -s .. up && touch -t 200102030405 run secret locked";

/// Tells modes, owners, sizes, times, and what is a link to what. The time of a link itself is its own affair.
const TELL_FILES: &str = "ls -lnd -- run secret locked again && ls -ld -- empty private | cut -c1-10 && \
     for name in link dangling up; do readlink $name || exit; done && [ run -ef again ] && echo 'run and again are one'";

/// A command leaves files of several kinds, and what is told of them is noted.
pub(crate) async fn leave(scene: &mut Scene) -> StepResult {
    let directory = scene.new_path("files").await?;
    let place = shell::word(directory.as_bytes());
    let text = format!("mkdir {place} && cd {place} && {MAKE_FILES} && {TELL_FILES}");
    scene.notes.content = Some(scene.prepare(text).await?);
    scene.notes.directory = Some(directory);
    Ok(())
}

/// What is told of the files is what was told when they were left.
pub(crate) async fn find(scene: &mut Scene) -> StepResult {
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let place = shell::word(directory.as_bytes());
    // What is lacking makes itself felt in what is told.
    let seen = scene
        .observe(format!("cd {place} && {{ {TELL_FILES}; }} 2>&1; true"))
        .await?;
    let expected = scene.notes.content.clone().unwrap_or_default();
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("files as they were left: {}", show(&expected)),
        format!("{}{}", show(&seen), difference(&expected, &seen)),
    ))
}
