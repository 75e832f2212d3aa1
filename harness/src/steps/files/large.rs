//! FILE: files whose sizes and places 32 bits do not hold. They are next to empty: what was never written has no blocks.

use herm_protocol::{
    ByteString,
    file::{DirectoryListing, PathParams},
    method,
};

use super::file::{compare, file_of, read, word_of_file};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::{number_in, unknown},
};

/// Sizes around what numbers of 31 and of 32 bits hold.
const SIZES: &[u64] = &[
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 5,
    5 << 30,
];

/// What stands at the end of a large file.
const END: &str = "the end";

/// Shell text that makes a file that has nothing but this at this place.
fn sparse(word: &str, end: &str, place: u64) -> String {
    format!("printf %s '{end}' | dd of={word} bs=1 seek={place}")
}

/// Lists a new directory of large files, and asks for each by itself; what was told is noted, and the files are removed.
pub(super) async fn list(scene: &mut Scene) -> StepResult {
    let path = scene.new_path("large").await?;
    let word = shell::word(path.as_bytes());
    let make = SIZES
        .iter()
        .map(|size| format!(" && {}", sparse(&format!("of-{size}"), "x", size - 1)));
    let text = format!("mkdir {word} && cd {word}{}", make.collect::<String>());
    scene.prepare(text).await?;
    let sandbox = scene.sandbox().await?.id;
    let (client, patience) = (scene.client().await?, scene.patience());
    let whole = PathParams {
        sandbox: sandbox.clone(),
        path: path.clone(),
    };
    let told = client.call::<method::ListDirectory>(&whole, patience).await;
    let Some(DirectoryListing { entries: mut told }) = scene.answer(told)? else {
        return Err(scene.refusal()?.clone().into());
    };
    for size in SIZES {
        let one = PathParams {
            path: ByteString::from([path.as_bytes(), format!("/of-{size}").as_bytes()].concat()),
            ..whole.clone()
        };
        let info = client.call::<method::StatFile>(&one, patience).await;
        match scene.answer(info)? {
            Some(info) => told.push(info),
            None => return Err(scene.refusal()?.clone().into()),
        }
    }
    remove(scene, &path).await?;
    scene.notes.value = serde_json::to_value(DirectoryListing { entries: told }).ok();
    Ok(())
}

/// Removes what would be large for whoever copies it; by a command, as not everybody removes otherwise.
async fn remove(scene: &mut Scene, path: &ByteString) -> StepResult {
    let text = format!("rm -r -- {}", shell::word(path.as_bytes()));
    scene.observe(text).await.map(|_| ())
}

/// Each file was told with its size twice: in the list, and by itself.
pub(crate) fn each_with_its_size(scene: &Scene) -> StepResult {
    let value = scene.notes.value.clone().unwrap_or_default();
    let told: DirectoryListing =
        serde_json::from_value(value).map_err(|_| Failure::suite("no directory was listed"))?;
    for size in SIZES {
        let name = format!("of-{size}");
        let sizes: Vec<u64> = told
            .entries
            .iter()
            .filter(|entry| entry.name.as_bytes() == name.as_bytes())
            .map(|entry| entry.size)
            .collect();
        if sizes != [*size; 2] {
            return Err(Failure::failed(
                format!("a size of {size} bytes, in the list and of the file by itself"),
                format!("{sizes:?}"),
            ));
        }
    }
    Ok(())
}

/// A command writes a few bytes so far behind the beginning of a new file: `4 GiB`.
pub(super) async fn write_far_behind(scene: &mut Scene, place: &str) -> StepResult {
    let gibibytes: u64 = number_in(place, "", " GiB").ok_or_else(|| unknown(place, "a place in a file"))?;
    let place = gibibytes << 30;
    let path = scene.new_path("large").await?;
    scene.notes.file = Some(path);
    scene.notes.number = Some(place);
    let word = word_of_file(scene)?;
    scene.prepare(sparse(&word, END, place)).await.map(|_| ())
}

/// What was written there is read by its place; the size of the whole is told, too. The file is removed.
pub(super) async fn read_far_behind(scene: &mut Scene) -> StepResult {
    let place = scene
        .notes
        .number
        .ok_or_else(|| Failure::suite("no file was written"))?;
    let path = file_of(scene)?;
    let content = read(scene, path.clone(), place, Some(1 << 10)).await?;
    remove(scene, &path).await?;
    compare(END.as_bytes(), content.data.as_bytes())?;
    let size = place + END.len() as u64;
    if content.size == size {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a size of {size} bytes"),
        format!("{} bytes", content.size),
    ))
}
