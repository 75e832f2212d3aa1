//! ENV, CWD: which program a name means.

use herm_protocol::{
    ByteString,
    exec::{Command, RunParams},
    sandbox::Variable,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::unknown,
};

/// A program that is everywhere, and under whose name another one comes first on a command's own search path. Some shells
/// know such programs without looking, so that texts have to name another one.
const SHADOWED: &str = "tr";

/// What the right program says, and one of the same name that is not meant.
const RIGHT: &str = "this one";
const WRONG: &str = "another one";

/// Puts a program that prints a line at a path, whose directory need not be there.
async fn put(scene: &mut Scene, path: &[u8], script: &str) -> StepResult {
    let word = shell::word(path);
    let content = shell::print(format!("#!/bin/sh\n{script}\n").as_bytes());
    let text = format!("mkdir -p -- \"$(dirname -- {word})\" && {content} > {word} && chmod 0755 -- {word}");
    scene.prepare(text).await.map(|_| ())
}

/// A program that tells its search path is put into a directory of its own, which is the first of the command's search
/// path; and a command that names it.
async fn on_own_path(
    scene: &mut Scene,
    name: &str,
    command: impl FnOnce(&str) -> Command,
) -> Result<RunParams, Failure> {
    let directory = scene.new_path("tools").await?;
    let path = [directory.as_bytes(), b"/", name.as_bytes()].concat();
    put(scene, &path, &format!("printf '{RIGHT} %s' \"$PATH\"")).await?;
    let usual = scene.prepare("printf %s \"$PATH\"").await?;
    let search = [directory.as_bytes(), b":", &usual].concat();
    scene.notes.content = Some([RIGHT.as_bytes(), b" ", &search].concat());
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, command(name));
    params.env = vec![Variable::new("PATH", search)];
    Ok(params)
}

/// A command's text names a program that is on the command's own search path only.
pub(crate) async fn use_own_path(scene: &mut Scene) -> StepResult {
    let name = format!("tool-{}", scene.token());
    let params = on_own_path(scene, &name, |name| Command::Shell(name.into())).await?;
    scene.run(&params).await
}

/// A program is named that is on the command's own search path only.
pub(crate) async fn run_on_own_path(scene: &mut Scene) -> StepResult {
    let params = on_own_path(scene, SHADOWED, |name| Command::Argv(vec![name.into()])).await?;
    scene.run(&params).await
}

/// A program is named from the directory that its command is told to start in; where there is room for one, another
/// program lies under the same name where commands start otherwise.
pub(crate) async fn run_by_relative_path(scene: &mut Scene, place: &str) -> StepResult {
    let name = format!("tool-{}", scene.token());
    let relative = match place {
        "in this directory" => format!("./{name}"),
        "below this directory" => format!("below/{name}"),
        "above this directory" => format!("../{name}"),
        other => return Err(unknown(other, "a place of a program")),
    };
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let path = [directory.as_bytes(), b"/", relative.as_bytes()].concat();
    put(scene, &path, &format!("echo {RIGHT}")).await?;
    if !relative.starts_with("..") {
        let decoy = scene.path_of(relative.as_bytes()).await?;
        put(scene, decoy.as_bytes(), &format!("echo {WRONG}")).await?;
    }
    scene.notes.content = Some(format!("{RIGHT}\n").into_bytes());
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Argv(vec![ByteString::from(relative)]));
    params.cwd = Some(directory);
    scene.run(&params).await
}
