//! FILE: where a file lies, and who may read it there.

use herm_protocol::ByteString;

use super::file::{expect_content, file_of, word_of_file};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
};

/// The kind and the permissions of files, as they are listed, a line each.
async fn listed(scene: &mut Scene, text: String) -> Result<Vec<String>, Failure> {
    let seen = scene.observe(text).await?;
    let lines = String::from_utf8_lossy(&seen);
    // What follows the ten letters tells of access lists and labels.
    Ok(lines
        .lines()
        .map(|line| line.chars().take(10).collect())
        .collect())
}

/// A file that was written anew has the permissions of one that a command makes beside it.
pub(super) async fn as_a_file(scene: &mut Scene) -> StepResult {
    let (written, made) = (word_of_file(scene)?, scene.new_path("made").await?);
    let made = shell::word(made.as_bytes());
    let seen = listed(
        scene,
        format!(": > {made}; ls -ld -- {made} {written}; rm -- {made}"),
    )
    .await?;
    same(&seen, "a file")
}

/// The directories that were missing have the permissions of one that a command makes beside them.
pub(super) async fn in_usual_directories(scene: &mut Scene) -> StepResult {
    let path = file_of(scene)?.into_bytes();
    let above = |path: &[u8]| {
        let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
        path[..slash].to_vec()
    };
    let lower = above(&path);
    let (upper, lower) = (shell::word(&above(&lower)), shell::word(&lower));
    let made = scene.new_path("made").await?;
    let made = shell::word(made.as_bytes());
    for written in [upper, lower] {
        let text = format!("mkdir -- {made}; ls -ld -- {made} {written}; rmdir -- {made}");
        same(&listed(scene, text).await?, "a directory")?;
    }
    Ok(())
}

/// `ls` sorts by name, so either of two equal lines may be the first.
fn same(seen: &[String], what: &str) -> StepResult {
    match seen {
        [one, other] if one == other => Ok(()),
        [one, other] => Err(Failure::failed(
            format!("{what} that was written to have the permissions of one that a command makes"),
            format!("{one} and {other}"),
        )),
        _ => Err(Failure::failed(
            format!("{what} that was written beside one that a command makes"),
            seen.join(", "),
        )),
    }
}

/// A file, and a link in another directory that leads to it; the path of the link.
pub(super) async fn link_to_file(scene: &mut Scene, how: &str) -> Result<ByteString, Failure> {
    let target = scene.new_path("target").await?;
    let directory = scene.new_path("links").await?;
    let link = ByteString::from([directory.as_bytes(), b"/link"].concat());
    let (target, link_word) = (shell::word(target.as_bytes()), shell::word(link.as_bytes()));
    let make = match how {
        "through a link that leads to nothing yet" => format!("ln -s {target} {link_word}"),
        "through a link to another link" => {
            format!("echo old > {target}; ln -s {target} next; ln -s next {link_word}")
        }
        _ => format!("echo old > {target}; ln -s {target} {link_word}"),
    };
    let word = shell::word(directory.as_bytes());
    let text = format!("mkdir -- {word} && cd {word} && {{ {make}; }}");
    scene.prepare(text).await?;
    scene.notes.name = Some(target);
    Ok(link)
}

/// A link that leads to a directory elsewhere: the path from it to a file above that directory, and the file's own path.
pub(super) async fn above_linked_directory(scene: &mut Scene) -> Result<(ByteString, ByteString), Failure> {
    let above = scene.new_path("above").await?;
    let link = scene.new_path("link").await?;
    let (directory, link_word) = (shell::word(above.as_bytes()), shell::word(link.as_bytes()));
    scene
        .prepare(format!(
            "mkdir -p {directory}/below; ln -s {directory}/below {link_word}"
        ))
        .await?;
    let path = [link.as_bytes(), b"/../file"].concat();
    let file = [above.as_bytes(), b"/file"].concat();
    Ok((path.into(), file.into()))
}

/// The link is still a link, and what it leads to is what was written.
pub(super) async fn behind_link(scene: &mut Scene) -> StepResult {
    let link = word_of_file(scene)?;
    let target = scene.notes.name.clone().unwrap_or_default();
    let text = format!("if [ -h {link} ]; then cat -- {target}; else echo the link is gone; fi");
    let seen = scene.observe(text).await?;
    expect_content(scene, &seen)
}
