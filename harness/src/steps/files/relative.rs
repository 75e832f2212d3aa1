//! FILE: paths that are relative, and such as cannot be.

use herm_protocol::{
    ByteString,
    client::CallError,
    file::{ChmodParams, MoveParams, PathParams, ReadParams, RemoveParams, WriteParams},
    method,
    sandbox::Empty,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::unknown,
        general::{new_mark, show},
    },
};

/// What the file holds that is used.
const CONTENT: &str = "relative";

/// Does something with a file, or with the directory that it is in, by a path from where commands start; what a command finds
/// afterwards is noted.
pub(super) async fn use_file(scene: &mut Scene, how: &str) -> StepResult {
    let directory = scene.token();
    let word = shell::word(directory.as_bytes());
    scene.workdir().await?;
    scene
        .prepare(format!(
            "mkdir {word} && printf {CONTENT} > {word}/file && chmod 0640 {word}/file"
        ))
        .await?;
    let path = ByteString::from(format!("./{directory}/file"));
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let client = scene.client().await?;
    let (mut mode, mut names, mut seen) = ("-rw-r-----", "file\n", String::new());
    let answer: Result<(), CallError> = match how {
        "read" => {
            let params = ReadParams {
                sandbox,
                path,
                offset: 0,
                length: None,
            };
            let read = client.call::<method::ReadFile>(&params, patience).await;
            read.map(|read| seen = String::from_utf8_lossy(read.data.as_bytes()).into_owned())
        }
        "described" => {
            let params = PathParams { sandbox, path };
            let told = client.call::<method::StatFile>(&params, patience).await;
            told.map(|told| seen = format!("{} {:o}", told.name.to_string_lossy(), told.mode))
        }
        "listed" => {
            let path = directory.as_str().into();
            let params = PathParams { sandbox, path };
            let listed = client.call::<method::ListDirectory>(&params, patience).await;
            listed.map(|listed| {
                let names: Vec<_> = listed
                    .entries
                    .iter()
                    .map(|entry| entry.name.to_string_lossy())
                    .collect();
                seen = names.join(" ");
            })
        }
        "moved" => {
            names = "new\n";
            let to = format!("{directory}/new").as_str().into();
            let params = MoveParams {
                sandbox,
                from: path,
                to,
            };
            client
                .call::<method::MoveFile>(&params, patience)
                .await
                .map(nothing)
        }
        "removed" => {
            names = "";
            let params = RemoveParams {
                sandbox,
                path,
                recursive: false,
            };
            client
                .call::<method::RemoveFile>(&params, patience)
                .await
                .map(nothing)
        }
        "given other permissions" => {
            mode = "-rwx------";
            let params = ChmodParams {
                sandbox,
                path,
                mode: 0o700,
            };
            client
                .call::<method::ChangeMode>(&params, patience)
                .await
                .map(nothing)
        }
        "joined by a directory" => {
            names = "beside\nfile\n";
            let path = format!("{directory}/beside").as_str().into();
            let params = PathParams { sandbox, path };
            client
                .call::<method::MakeDirectory>(&params, patience)
                .await
                .map(nothing)
        }
        other => return Err(unknown(other, "done to a file")),
    };
    if scene.answer(answer)?.is_none() {
        return Err(scene.refusal()?.clone().into());
    }
    let told = match how {
        "read" => CONTENT,
        "described" => "file 640",
        "listed" => "file",
        _ => "",
    };
    if seen != told {
        return Err(Failure::failed(format!("{told:?}"), format!("{seen:?}")));
    }
    let modes = if names.is_empty() {
        String::new()
    } else {
        format!("{mode}\n")
    };
    scene.notes.name = Some(directory);
    scene.notes.content = Some(format!("{names}{modes}").into_bytes());
    Ok(())
}

fn nothing(_: Empty) {}

/// The names that a command finds, and the permissions of the file among them.
pub(crate) async fn find(scene: &mut Scene) -> StepResult {
    let directory = scene.notes.name.clone().unwrap_or_default();
    let expected = scene.notes.content.clone().unwrap_or_default();
    let text = format!(
        "cd {}; ls; for name in file new; do if [ -e $name ]; then ls -l $name | cut -c 1-10; fi; done",
        shell::word(directory.as_bytes())
    );
    let seen = scene.observe(text).await?;
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(show(&expected), show(&seen)))
}

/// Writes a file under a path that cannot be; what stands before that in it would be a mark.
pub(super) async fn write_impossible(scene: &mut Scene, what: &str) -> StepResult {
    new_mark(scene).await?;
    let mark = scene.notes.mark.clone().unwrap_or_default().into_bytes();
    let path = match what {
        "a path with a NUL byte in it" => [mark, b"\0and more".to_vec()].concat(),
        "no path" => Vec::new(),
        other => return Err(unknown(other, "where a file is written")),
    };
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = WriteParams {
        sandbox,
        path: path.into(),
        data: CONTENT.into(),
    };
    let client = scene.client().await?;
    let answer = client.call::<method::WriteFile>(&params, patience).await;
    scene.answer(answer).map(|_| ())
}
