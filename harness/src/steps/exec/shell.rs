//! SHELL: the shell reads a command's text as it was written.

use herm_protocol::{ByteString, exec::Capture};

use super::{
    args, otherwise,
    shell_text::{LINES, Text, named},
    stdin::expect_content,
};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::composed::number_in,
};

pub(super) fn register(steps: &mut StepList) {
    steps.when("a command whose text {words} is run", |scene, arguments| {
        Box::pin(async move { run_text(scene, arguments.words(0)?).await })
    });
}

async fn run_text(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(size) = number_in(what, "has ", " KiB") {
        return run_long(scene, size).await;
    }
    let behind = what.strip_prefix("has ");
    if let Some(long) = behind.filter(|behind| behind.contains(" KiB behind what ")) {
        return otherwise::run_long(scene, long).await;
    }
    if let Some(kind) = what.strip_prefix("holds ") {
        let (text, output) = args::text_that_holds(kind)?;
        return run(scene, text, output).await;
    }
    if what == "writes a file by a here-document" {
        let path = scene.new_path("lines").await?;
        let word = shell::word(path.as_bytes());
        let text = format!("cat > {word} <<'END OF LINES'\n{LINES}END OF LINES\n");
        scene.notes.file = Some(path);
        return run(scene, text, Vec::new()).await;
    }
    let Text { script, output, .. } = named(what)?;
    run(scene, *script, output.as_bytes().to_vec()).await
}

async fn run(scene: &mut Scene, text: impl Into<ByteString>, output: Vec<u8>) -> StepResult {
    let params = scene.command(text).await?;
    scene.notes.content = Some(output);
    scene.run(&params).await
}

/// Text of just that size that prints numbered lines. Only their digest is asked for: how much output arrives is another
/// requirement.
async fn run_long(scene: &mut Scene, kibibytes: usize) -> StepResult {
    const AROUND: [&str; 2] = ["cat <<'END'\n", "END\n"];
    let lines = shell::numbered_bytes(kibibytes * 1024 - AROUND.concat().len());
    let text = [AROUND[0].as_bytes(), &lines, AROUND[1].as_bytes()].concat();
    let mut params = scene.command(text).await?;
    params.capture = Some(Capture {
        head: 0,
        tail: 0,
        digest: true,
    });
    scene.notes.content = Some(lines);
    scene.run(&params).await
}

/// The file holds just what was written between the words of the here-document.
pub(crate) async fn find_lines(scene: &mut Scene) -> StepResult {
    let path = scene.notes.file.clone();
    let path = path.ok_or_else(|| Failure::suite("no file was written"))?;
    let seen = scene
        .observe(format!("cat {}", shell::word(path.as_bytes())))
        .await?;
    expect_content(LINES.as_bytes(), &seen)
}
