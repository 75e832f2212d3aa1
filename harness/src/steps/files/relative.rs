//! FILE: paths that are relative, and such as cannot be.

use herm_protocol::{
    ByteString,
    client::CallError,
    file::{ChmodParams, MoveParams, PathParams, ReadParams, RemoveParams, WriteParams},
    method,
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
    let (mode, names) = match how {
        "read" | "described" | "listed" => {
            look_at(scene, how, &directory, path).await?;
            ("-rw-r-----", "file\n")
        }
        _ => change(scene, how, &directory, path).await?,
    };
    let modes = if names.is_empty() {
        String::new()
    } else {
        format!("{mode}\n")
    };
    scene.notes.name = Some(directory);
    scene.notes.content = Some(format!("{names}{modes}").into_bytes());
    Ok(())
}

/// What is told of the file, or of what is in its directory, is true.
async fn look_at(scene: &mut Scene, how: &str, directory: &str, path: ByteString) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let client = scene.client().await?;
    let (expected, seen): (&str, Result<String, CallError>) = match how {
        "read" => {
            let params = ReadParams {
                sandbox,
                path,
                offset: 0,
                length: None,
            };
            let read = client.call::<method::ReadFile>(&params, patience).await;
            (
                CONTENT,
                read.map(|read| String::from_utf8_lossy(read.data.as_bytes()).into_owned()),
            )
        }
        "described" => {
            let params = PathParams { sandbox, path };
            let told = client.call::<method::StatFile>(&params, patience).await;
            (
                "file 640",
                told.map(|told| format!("{} {:o}", told.name.to_string_lossy(), told.mode)),
            )
        }
        _ => {
            let path = directory.into();
            let params = PathParams { sandbox, path };
            let listed = client.call::<method::ListDirectory>(&params, patience).await;
            let names = listed.map(|listed| {
                let names = listed.entries.iter().map(|entry| entry.name.to_string_lossy());
                names.collect::<Vec<_>>().join(" ")
            });
            ("file", names)
        }
    };
    match scene.answer(seen)? {
        Some(seen) if seen == expected => Ok(()),
        Some(seen) => Err(Failure::failed(format!("{expected:?}"), format!("{seen:?}"))),
        None => Err(scene.refusal()?.clone().into()),
    }
}

/// Changes the file or its directory; gives the permissions of the file and the names that there should be then.
async fn change(
    scene: &mut Scene,
    how: &str,
    directory: &str,
    path: ByteString,
) -> Result<(&'static str, &'static str), Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let client = scene.client().await?;
    let beside = |name: &str| ByteString::from(format!("{directory}/{name}").as_str());
    let (there, answer) = match how {
        "moved" => {
            let params = MoveParams {
                sandbox,
                from: path,
                to: beside("new"),
            };
            let moved = client.call::<method::MoveFile>(&params, patience).await;
            (("-rw-r-----", "new\n"), moved)
        }
        "removed" => {
            let params = RemoveParams {
                sandbox,
                path,
                recursive: false,
            };
            let removed = client.call::<method::RemoveFile>(&params, patience).await;
            (("", ""), removed)
        }
        "given other permissions" => {
            let params = ChmodParams {
                sandbox,
                path,
                mode: 0o700,
            };
            let given = client.call::<method::ChangeMode>(&params, patience).await;
            (("-rwx------", "file\n"), given)
        }
        "joined by a directory" => {
            let path = beside("beside");
            let params = PathParams { sandbox, path };
            let made = client.call::<method::MakeDirectory>(&params, patience).await;
            (("-rw-r-----", "beside\nfile\n"), made)
        }
        other => return Err(unknown(other, "done to a file")),
    };
    match scene.answer(answer)? {
        Some(_) => Ok(there),
        None => Err(scene.refusal()?.clone().into()),
    }
}

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
