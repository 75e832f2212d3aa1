//! FILE: what is moved, removed, made, described, and who may do what with it.

use herm_protocol::{
    ByteString,
    client::CallError,
    file::{ChmodParams, FileInfo, FileKind, MoveParams, PathParams, RemoveParams},
    method,
    sandbox::Empty,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{composed::unknown, general::show},
};

/// What the file that is moved holds.
const CONTENT: &str = "moved";

/// A step that has to be carried out for the scenario to go on.
fn carried_out<T>(scene: &mut Scene, answer: Result<T, CallError>) -> StepResult {
    match scene.answer(answer)? {
        Some(_) => Ok(()),
        None => Err(scene.refusal()?.clone().into()),
    }
}

/// Does to a new file what the words say.
pub(super) async fn act(scene: &mut Scene, what: &str) -> StepResult {
    if what == "printed that does not tell its size" {
        return super::file::print_made_up(scene).await;
    }
    if let Some(how) = what.strip_suffix(" by a relative path") {
        return super::relative::use_file(scene, how).await;
    }
    if what == "listed as a directory" {
        let path = scene.new_path("file").await?;
        let word = shell::word(path.as_bytes());
        scene.prepare(format!("echo file > {word}")).await?;
        return super::tree::try_list(scene, path).await;
    }
    let above = scene.new_path("changed").await?;
    let word = shell::word(above.as_bytes());
    let at = |name: &str| ByteString::from([above.as_bytes(), b"/", name.as_bytes()].concat());
    let make = format!("mkdir {word} && cd {word} && printf %s {CONTENT} > old && chmod 0750 old");
    if let Some(mode) = what.strip_prefix("given the permissions ") {
        scene.prepare(make).await?;
        scene.notes.file = Some(at("old"));
        let mode = u32::from_str_radix(mode, 8).map_err(|_| unknown(mode, "permissions"))?;
        let answer = chmod(scene, at("old"), mode).await?;
        return carried_out(scene, answer);
    }
    let others = match what {
        "moved to a new name" | "moved onto itself" | "moved to its own name" => "",
        "moved over another one" => " && echo longer than the one that is moved > new",
        "described" => " && mkdir directory && ln -s old link && mkfifo pipe",
        other => return Err(unknown(other, "done to a file")),
    };
    scene.prepare(make + others).await?;
    scene.notes.file = Some(above.clone());
    if what == "described" {
        return Ok(());
    }
    let to = match what {
        "moved onto itself" => "./old",
        "moved to its own name" => "old",
        _ => "new",
    };
    scene.notes.name = Some(to.trim_start_matches("./").to_owned());
    let answer = relocate(scene, at("old"), at(to)).await?;
    carried_out(scene, answer)
}

/// Asks for a file that is not there.
pub(super) async fn ask_for_absent(scene: &mut Scene, how: &str) -> StepResult {
    if let Some(place) = how.strip_prefix("moved ") {
        return move_absent(scene, place).await;
    }
    let path = scene.new_path("absent").await?;
    scene.notes.file = Some(path.clone());
    match how {
        "read" => super::file::try_read(scene, path).await,
        "described" => {
            let answer = stat(scene, path).await?;
            scene.answer(answer).map(|_| ())
        }
        "removed" => {
            let answer = remove(scene, path).await?;
            scene.answer(answer).map(|_| ())
        }
        "moved" => {
            let to = scene.new_path("new").await?;
            let answer = relocate(scene, path, to).await?;
            scene.answer(answer).map(|_| ())
        }
        "listed" => super::tree::try_list(scene, path).await,
        "given other permissions" => {
            let answer = chmod(scene, path, 0o600).await?;
            scene.answer(answer).map(|_| ())
        }
        other => Err(unknown(other, "done to a file")),
    }
}

/// Moves a file that is not there to a place, after what is there has been looked at.
async fn move_absent(scene: &mut Scene, place: &str) -> StepResult {
    let above = full_directory(scene).await?;
    let to = match place {
        "to where a file is" => "other/kept",
        "to where an empty directory is" => "empty",
        "to where a link is" => "link",
        "to below a directory that is not there" => "missing/deeper/new",
        other => return Err(unknown(other, "a place to move a file to")),
    };
    look_at_all(scene).await?;
    let at = |name: &str| ByteString::from([above.as_bytes(), b"/", name.as_bytes()].concat());
    let answer = relocate(scene, at("absent"), at(to)).await?;
    scene.answer(answer).map(|_| ())
}

/// Writes a file to where a directory is, after what is there has been looked at.
pub(super) async fn write_over_directory(scene: &mut Scene) -> StepResult {
    let above = full_directory(scene).await?;
    look_at_all(scene).await?;
    let path = ByteString::from([above.as_bytes(), b"/empty"].concat());
    let answer = super::file::call_write(scene, path, CONTENT.as_bytes().to_vec()).await?;
    scene.answer(answer).map(|_| ())
}

/// Keeps in mind what there is: names, what they are, what files hold, and where links lead.
async fn look_at_all(scene: &mut Scene) -> StepResult {
    let word = shell::word(super::file::file_of(scene)?.as_bytes());
    scene
        .prepare(format!("cd {word} && mkdir empty && ln -s other/kept link"))
        .await?;
    scene.notes.content = Some(all(scene).await?);
    Ok(())
}

async fn all(scene: &mut Scene) -> Result<Vec<u8>, Failure> {
    let word = shell::word(super::file::file_of(scene)?.as_bytes());
    let text = format!(
        "cd {word} && find . -type d | sort && find . -type f | sort && find . -type l | sort; cat other/kept other/deep/kept; \
         readlink link"
    );
    scene.observe(text).await
}

/// Everything is as it was when it was looked at.
pub(in crate::steps) async fn nothing_changed(scene: &mut Scene) -> StepResult {
    let seen = all(scene).await?;
    let expected = scene.notes.content.clone().unwrap_or_default();
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!(
            "all as it was (directories, files, links, and what they hold): {}",
            show(&expected)
        ),
        show(&seen),
    ))
}

/// Moves a link beside a directory that has something in it.
pub(super) async fn move_link(scene: &mut Scene, to_what: &str) -> StepResult {
    let above = full_directory(scene).await?;
    let leads_to = match to_what {
        "a file" => "other/kept",
        "a directory" => "other",
        "nothing" => "nowhere",
        other => return Err(unknown(other, "something that a link leads to")),
    };
    let word = shell::word(above.as_bytes());
    scene
        .prepare(format!("cd {word} && ln -s {leads_to} link"))
        .await?;
    scene.notes.name = Some(leads_to.to_owned());
    let at = |name: &str| ByteString::from([above.as_bytes(), b"/", name.as_bytes()].concat());
    let answer = relocate(scene, at("link"), at("moved")).await?;
    carried_out(scene, answer)
}

/// The link leads where it led, under its new name only, and what is there is as it was.
pub(in crate::steps) async fn link_is_moved(scene: &mut Scene) -> StepResult {
    let leads_to = scene.notes.name.clone().unwrap_or_default();
    let word = shell::word(super::file::file_of(scene)?.as_bytes());
    let seen = scene
        .observe(format!("cd {word} && find . -type l && readlink moved"))
        .await?;
    let expected = format!("./moved\n{leads_to}\n");
    if seen != expected.as_bytes() {
        return Err(Failure::failed(
            format!("one link, and where it led: {expected:?}"),
            show(&seen),
        ));
    }
    super::tree::other_untouched(scene).await
}

/// Removes a directory that has something in it, and does not say that this may go with it.
pub(super) async fn remove_full(scene: &mut Scene) -> StepResult {
    let above = full_directory(scene).await?;
    let path = ByteString::from([above.as_bytes(), b"/other"].concat());
    let answer = remove(scene, path).await?;
    scene.answer(answer).map(|_| ())
}

/// Moves a directory to a place within itself.
pub(super) async fn move_into_itself(scene: &mut Scene) -> StepResult {
    let above = full_directory(scene).await?;
    let at = |name: &[u8]| ByteString::from([above.as_bytes(), name].concat());
    let answer = relocate(scene, at(b"/other"), at(b"/other/deep/other")).await?;
    scene.answer(answer).map(|_| ())
}

/// Moves a directory with all that is in it to a new name, and back.
pub(super) async fn move_there_and_back(scene: &mut Scene) -> StepResult {
    let above = full_directory(scene).await?;
    let at = |name: &str| ByteString::from([above.as_bytes(), name.as_bytes()].concat());
    for (from, to) in [("/other", "/moved"), ("/moved", "/other")] {
        let answer = relocate(scene, at(from), at(to)).await?;
        carried_out(scene, answer)?;
    }
    Ok(())
}

/// Makes a directory below one that is missing, and makes it again when there is a file in it.
pub(super) async fn make_twice(scene: &mut Scene) -> StepResult {
    let path = ByteString::from([scene.new_path("missing").await?.as_bytes(), b"/deeper"].concat());
    let answer = mkdir(scene, path.clone()).await?;
    carried_out(scene, answer)?;
    let mark = ByteString::from([path.as_bytes(), b"/mark"].concat());
    let word = shell::word(mark.as_bytes());
    scene.prepare(format!("echo made > {word}")).await?;
    scene.notes.file = Some(mark);
    scene.notes.content = Some(b"made\n".to_vec());
    let answer = mkdir(scene, path).await?;
    carried_out(scene, answer)
}

/// Makes a directory under the name that a file has.
pub(super) async fn make_over_file(scene: &mut Scene) -> StepResult {
    let path = scene.new_path("taken").await?;
    let word = shell::word(path.as_bytes());
    scene.prepare(format!("echo taken > {word}")).await?;
    scene.notes.file = Some(path.clone());
    scene.notes.content = Some(b"taken\n".to_vec());
    let answer = mkdir(scene, path).await?;
    scene.answer(answer).map(|_| ())
}

/// The file has its new name only, its bytes and its permissions.
pub(super) async fn is_moved(scene: &mut Scene) -> StepResult {
    let name = scene.notes.name.clone().unwrap_or_default();
    let text = format!(
        "cd {}; ls; cat {name}; ls -l {name} | cut -c 1-10",
        shell::word(super::file::file_of(scene)?.as_bytes())
    );
    let seen = scene.observe(text).await?;
    let expected = format!("{name}\n{CONTENT}-rwxr-x---\n");
    if seen == expected.as_bytes() {
        return Ok(());
    }
    Err(Failure::failed(
        format!("one file under the new name, with its bytes and permissions: {expected:?}"),
        show(&seen),
    ))
}

/// Each thing is told as what it is, and not as what it leads to.
pub(super) async fn is_described(scene: &mut Scene) -> StepResult {
    let above = super::file::file_of(scene)?;
    for (name, kind) in [
        ("old", FileKind::File),
        ("directory", FileKind::Directory),
        ("link", FileKind::Symlink),
        ("pipe", FileKind::Other),
    ] {
        let path = ByteString::from([above.as_bytes(), b"/", name.as_bytes()].concat());
        let answer = stat(scene, path).await?;
        let Some(told) = scene.answer(answer)? else {
            return Err(scene.refusal()?.clone().into());
        };
        let size = if kind == FileKind::File {
            CONTENT.len() as u64
        } else {
            told.size
        };
        let mode = if kind == FileKind::File { 0o750 } else { told.mode };
        let name = name.into();
        let expected = FileInfo {
            name,
            kind,
            size,
            mode,
        };
        if told != expected {
            return Err(Failure::failed(format!("{expected:?}"), format!("{told:?}")));
        }
    }
    Ok(())
}

async fn relocate(
    scene: &mut Scene,
    from: ByteString,
    to: ByteString,
) -> Result<Result<Empty, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = MoveParams { sandbox, from, to };
    let client = scene.client().await?;
    Ok(client.call::<method::MoveFile>(&params, patience).await)
}

async fn chmod(scene: &mut Scene, path: ByteString, mode: u32) -> Result<Result<Empty, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = ChmodParams { sandbox, path, mode };
    let client = scene.client().await?;
    Ok(client.call::<method::ChangeMode>(&params, patience).await)
}

async fn mkdir(scene: &mut Scene, path: ByteString) -> Result<Result<Empty, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = PathParams { sandbox, path };
    let client = scene.client().await?;
    Ok(client.call::<method::MakeDirectory>(&params, patience).await)
}

async fn stat(scene: &mut Scene, path: ByteString) -> Result<Result<FileInfo, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = PathParams { sandbox, path };
    let client = scene.client().await?;
    Ok(client.call::<method::StatFile>(&params, patience).await)
}

async fn remove(scene: &mut Scene, path: ByteString) -> Result<Result<Empty, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = RemoveParams {
        sandbox,
        path,
        recursive: false,
    };
    let client = scene.client().await?;
    Ok(client.call::<method::RemoveFile>(&params, patience).await)
}

/// Moves a file to where a directory is that has something in it.
pub(super) async fn move_onto_directory(scene: &mut Scene) -> StepResult {
    let above = full_directory(scene).await?;
    let word = shell::word(above.as_bytes());
    scene.prepare(format!("echo file > {word}/file")).await?;
    let at = |name: &[u8]| ByteString::from([above.as_bytes(), name].concat());
    let answer = relocate(scene, at(b"/file"), at(b"/other")).await?;
    scene.answer(answer).map(|_| ())
}

/// The path of a directory in which another one is with something in it.
async fn full_directory(scene: &mut Scene) -> Result<ByteString, Failure> {
    let above = scene.new_path("trees").await?;
    let word = shell::word(above.as_bytes());
    let text = format!(
        "mkdir -p {word}/other/deep && cd {word} && echo kept > other/kept && echo kept > other/deep/kept"
    );
    scene.prepare(text).await?;
    scene.notes.file = Some(above.clone());
    Ok(above)
}
