//! FILE: directories with all that is in them.

use std::{collections::BTreeSet, time::Duration};

use herm_protocol::{
    ByteString,
    file::{DirectoryListing, FileKind, PathParams, RemoveParams},
    method,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::{number_in, unknown},
        general::show,
    },
};

/// How long it may take to make or to list many files: a file system that is busy makes some hundred in a second.
const MANY: Duration = Duration::from_mins(1);

/// Makes what the kinds of entries are told apart by, with names whose order is that of their bytes and of nothing else.
const OF_EVERY_KIND: &str = r#"echo hidden > .hidden; echo upper > Z; echo lower > a; mkdir directory; ln -s a link
ln -s nowhere dangling; echo dash > -; mkfifo pipe; echo two > "$(printf 'two\nlines')"; echo dots > ..dots; echo bytes > "$(printf 'a\377')"; echo last > "$(printf '\303\251')""#;

/// A link to the directory beside it is removed in its place.
const IS_A_LINK: &str = r#"ln -s other "$name""#;

/// A directory is removed that has links to the directory and to the file beside it, at any depth.
const HOLDS_LINKS: &str =
    r#"mkdir -p "$name/deep"; ln -s ../other "$name/link"; ln -s ../../other/kept "$name/deep/link""#;

/// Lists a new directory with these files in it; what should be told is what a command sees.
pub(super) async fn list(scene: &mut Scene, files: &str) -> StepResult {
    let path = scene.new_path("listed").await?;
    let word = shell::word(path.as_bytes());
    let make = match number_in::<u32>(files, "", " files") {
        Some(count) => format!("i=0; while [ $i -lt {count} ]; do : > \"file $i\"; i=$((i+1)); done"),
        None if files == "something of every kind" => OF_EVERY_KIND.into(),
        None if files == "nothing" => ":".into(),
        None => return Err(unknown(files, "in a directory")),
    };
    let deadline = scene.scaled(MANY);
    scene
        .prepare_within(format!("mkdir {word} && cd {word} && {{ {make}\n}}"), deadline)
        .await?;
    let sandbox = scene.sandbox().await?.id;
    let client = scene.client().await?;
    let params = PathParams {
        sandbox,
        path: path.clone(),
    };
    let answer = client.call::<method::ListDirectory>(&params, deadline).await;
    let Some(listing) = scene.answer(answer)? else {
        return Err(scene.refusal()?.clone().into());
    };
    scene.notes.file = Some(path);
    scene.notes.value = serde_json::to_value(listing).ok();
    Ok(())
}

/// Lists what may be no directory.
pub(super) async fn try_list(scene: &mut Scene, path: ByteString) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    scene.notes.file = Some(path.clone());
    let params = PathParams { sandbox, path };
    let client = scene.client().await?;
    let answer = client.call::<method::ListDirectory>(&params, patience).await;
    scene.answer(answer).map(|_| ())
}

/// The letter by which a command tells a kind.
const fn letter(kind: FileKind) -> u8 {
    match kind {
        FileKind::File => b'-',
        FileKind::Directory => b'd',
        FileKind::Symlink => b'l',
        FileKind::Other => b'o',
    }
}

/// Everything that a command finds in the directory was told once, as what it is, in the order of its bytes.
pub(crate) async fn all_listed(scene: &mut Scene) -> StepResult {
    let value = scene.notes.value.clone().unwrap_or_default();
    let listing: DirectoryListing =
        serde_json::from_value(value).map_err(|_| Failure::suite("no directory was listed"))?;
    let path = scene.notes.file.clone().unwrap_or_default();
    // A name has no slash and no NUL in it: a line of letters and names, each closed by a slash.
    let text = format!(
        "cd {} && for name in * .[!.]* ..?*; do if [ -h \"./$name\" ]; then k=l; elif [ -d \"./$name\" ]; then k=d; \
         elif [ -f \"./$name\" ]; then k=-; elif [ -e \"./$name\" ]; then k=o; else continue; fi; \
         printf '%s%s/' $k \"$name\"; done",
        shell::word(path.as_bytes())
    );
    let patience = scene.scaled(MANY);
    let seen = scene.observe_within(text, patience).await?;
    let mut expected: Vec<(&[u8], u8)> = seen
        .split(|byte| *byte == b'/')
        .filter_map(|entry| entry.split_first())
        .map(|(kind, name)| (name, *kind))
        .collect();
    expected.sort_unstable();
    let told: Vec<(&[u8], u8)> = listing
        .entries
        .iter()
        .map(|entry| (entry.name.as_bytes(), letter(entry.kind)))
        .collect();
    if told == expected {
        return Ok(());
    }
    Err(parted(&expected, &told))
}

/// What differs first between two lists of names with their kinds.
fn parted(expected: &[(&[u8], u8)], told: &[(&[u8], u8)]) -> Failure {
    let in_words = |entry: Option<&(&[u8], u8)>| match entry {
        Some((name, kind)) => format!("{} of kind {:?}", show(name), char::from(*kind)),
        None => "nothing more".to_owned(),
    };
    let at = expected
        .iter()
        .zip(told)
        .take_while(|(one, other)| one == other)
        .count();
    let names: BTreeSet<_> = told.iter().map(|(name, _)| name).collect();
    let missing = expected.iter().filter(|(name, _)| !names.contains(name)).count();
    Failure::failed(
        format!(
            "{} names, as number {} {}",
            expected.len(),
            at + 1,
            in_words(expected.get(at))
        ),
        format!(
            "{} names, {missing} of which are missing, as number {} {}",
            told.len(),
            at + 1,
            in_words(told.get(at))
        ),
    )
}

/// Removes a directory of this kind, beside another one that must stay.
pub(super) async fn remove(scene: &mut Scene, kind: &str) -> StepResult {
    let make = match kind {
        "is a link to another one" => IS_A_LINK,
        "holds links to another one" => HOLDS_LINKS,
        other => return Err(unknown(other, "a directory")),
    };
    let above = scene.new_path("trees").await?;
    let word = shell::word(above.as_bytes());
    let text = format!(
        "mkdir -p {word}/other/deep && cd {word} && echo kept > other/kept && echo kept > other/deep/kept && name=removed && {make}"
    );
    scene.prepare(text).await?;
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = RemoveParams {
        sandbox,
        path: ByteString::from([above.as_bytes(), b"/removed"].concat()),
        recursive: true,
    };
    scene.notes.file = Some(above);
    let client = scene.client().await?;
    let answer = client.call::<method::RemoveFile>(&params, patience).await;
    match scene.answer(answer)? {
        Some(_) => Ok(()),
        None => Err(scene.refusal()?.clone().into()),
    }
}

/// What was removed is gone, and the other one is as it was, with nothing more in it.
pub(crate) async fn other_untouched(scene: &mut Scene) -> StepResult {
    let above = scene.notes.file.clone().unwrap_or_default();
    let text = format!(
        "cd {} && find other removed 2>/dev/null | sort; cat other/kept other/deep/kept",
        shell::word(above.as_bytes())
    );
    let seen = scene.observe(text).await?;
    let expected = "other\nother/deep\nother/deep/kept\nother/kept\nkept\nkept\n";
    if seen == expected.as_bytes() {
        return Ok(());
    }
    Err(Failure::failed(
        format!("just these, with what was in them: {expected:?}"),
        show(&seen),
    ))
}
