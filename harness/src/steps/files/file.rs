//! FILE: a file holds what was written, byte for byte.

use std::{collections::BTreeSet, time::Duration};

use herm_protocol::{
    ByteString, ErrorKind,
    client::CallError,
    exec::{Outcome, Stream},
    file::{FileContent, ReadParams, WriteParams},
    hexadecimal, method,
    sandbox::Empty,
};

use super::{change, large, place, tree};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        general::{difference, show},
    },
};

/// How often a file is replaced while it is read.
const REWRITES: u32 = 60;

/// The two sizes that it has in turn.
const SMALL: usize = 30_000;
const LARGE: usize = 60_000;

/// More than fits where there is next to no room.
const MORE_THAN_FITS: usize = 4 << 20;

pub(super) fn register(steps: &mut StepList) {
    register_writing(steps);
    register_reading(steps);
    steps
        .given("the file has the permissions {int}", |scene, arguments| {
            Box::pin(async move {
                let path = word_of_file(scene)?;
                scene
                    .prepare(format!("chmod {} {path}", arguments.words(0)?))
                    .await
                    .map(|_| ())
            })
        })
        .then("the file {words}", |scene, arguments| {
            Box::pin(async move {
                let what = arguments.words(0)?;
                if let Some(mode) = what.strip_prefix("still has the permissions ") {
                    return expect_mode(scene, mode).await;
                }
                match what {
                    "has the permissions of one that a command makes" => place::as_a_file(scene).await,
                    "lies in directories as a command makes them" => place::in_usual_directories(scene).await,
                    "is where it was moved to, and nowhere else" => change::is_moved(scene).await,
                    "is told as what it is" => change::is_described(scene).await,
                    "is found where the link leads to, and the link is one" => {
                        place::behind_link(scene).await
                    }
                    other => Err(unknown(other, "seen of a file")),
                }
            })
        })
        .then("the command has seen only whole files", |scene, _| {
            Box::pin(async { only_whole(scene) })
        });
}

fn register_writing(steps: &mut StepList) {
    steps
        .when("a file is {words}", |scene, arguments| {
            Box::pin(async move {
                let what = arguments.words(0)?;
                match what.strip_prefix("written ") {
                    Some(how) => write_in_words(scene, how).await,
                    None => change::act(scene, what).await,
                }
            })
        })
        .given("a file that was written {words}", |scene, arguments| {
            Box::pin(async move {
                let how = arguments.words(0)?;
                if how == "and read" {
                    write_new(scene, b"first text".to_vec()).await?;
                    let path = file_of(scene)?;
                    return read(scene, path, 0, None).await.map(|_| ());
                }
                let bytes = number_in(how, "with ", " bytes").ok_or_else(|| unknown(how, "written"))?;
                write_new(scene, numbers(bytes)).await
            })
        })
        .when("it is written again {words}", |scene, arguments| {
            Box::pin(async move {
                let how = arguments.words(0)?;
                if how == "and again while a command reads it" {
                    return rewrite(scene).await;
                }
                let bytes = number_in(how, "with ", " bytes").ok_or_else(|| unknown(how, "written"))?;
                let path = file_of(scene)?;
                write(scene, path, b"y".repeat(bytes)).await
            })
        })
        .when("more than fits is written to {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "it" => {}
                    "a new file" => {
                        let path = scene.new_path("file").await?;
                        (scene.notes.file, scene.notes.content) = (Some(path), None);
                    }
                    other => return Err(Failure::suite(format!("{other:?} is no file"))),
                }
                let path = file_of(scene)?;
                let answer = call_write(scene, path, b"z".repeat(MORE_THAN_FITS)).await?;
                scene.answer(answer).map(|_| ())
            })
        })
        .when("a command changes the file to other text", |scene, _| {
            Box::pin(async {
                let path = word_of_file(scene)?;
                scene.prepare(format!("echo 'other text' > {path}")).await?;
                scene.notes.content = Some(b"other text\n".to_vec());
                Ok(())
            })
        })
        .when("a file named {text} is written", |scene, arguments| {
            Box::pin(async move {
                let above = scene.new_path("names").await?;
                scene
                    .prepare(format!("mkdir {}", shell::word(above.as_bytes())))
                    .await?;
                let path = [above.as_bytes(), b"/", arguments.text(0)?.as_bytes()].concat();
                write(scene, path.into(), b"content\n".to_vec()).await
            })
        });
}

fn register_reading(steps: &mut StepList) {
    steps
        .then("reading it gives {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "what was written there" => large::read_far_behind(scene).await,
                    _ => read_back(scene).await,
                }
            })
        })
        .then(
            "a command that prints the file prints the same bytes",
            |scene, _| {
                Box::pin(async {
                    let seen = printed_by_command(scene).await?;
                    expect_content(scene, &seen)
                })
            },
        )
        .when("a file that is not there is {words}", |scene, arguments| {
            Box::pin(async move { change::ask_for_absent(scene, arguments.words(0)?).await })
        })
        .when("a link to {words} is moved", |scene, arguments| {
            Box::pin(async move { change::move_link(scene, arguments.words(0)?).await })
        })
        .when("a directory {words}", |scene, arguments| {
            Box::pin(async move { use_directory(scene, arguments.words(0)?).await })
        })
        .when("{int} bytes from {int} on are read", |scene, arguments| {
            Box::pin(async move {
                let path = file_of(scene)?;
                let content = read(scene, path, arguments.int(1)?, Some(arguments.int(0)?)).await?;
                scene.notes.value = serde_json::to_value(content).ok();
                Ok(())
            })
        })
        .then(
            "these are the bytes from {int} up to {int}",
            |scene, arguments| {
                Box::pin(async move {
                    let whole = scene.notes.content.clone().unwrap_or_default();
                    let (from, to) = (
                        arguments.int::<usize>(0)?.min(whole.len()),
                        arguments.int::<usize>(1)?.min(whole.len()),
                    );
                    let seen = content_read(scene)?.data;
                    compare(&whole[from..to], seen.as_bytes())
                })
            },
        )
        .then(
            "the size of the whole is told as {int} bytes",
            |scene, arguments| {
                Box::pin(async move {
                    let (expected, seen) = (arguments.int::<u64>(0)?, content_read(scene)?.size);
                    if seen == expected {
                        Ok(())
                    } else {
                        Err(Failure::failed(format!("a size of {expected}"), seen.to_string()))
                    }
                })
            },
        );
}

/// Does to a new directory what the words say.
async fn use_directory(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(kind) = what
        .strip_prefix("that ")
        .and_then(|rest| rest.strip_suffix(" is removed with all that is in it"))
    {
        return tree::remove(scene, kind).await;
    }
    if let Some(files) = what
        .strip_prefix("with ")
        .and_then(|rest| rest.strip_suffix(" in it is listed"))
    {
        if files == "files of up to 5 GiB" {
            return large::list(scene).await;
        }
        return tree::list(scene, files).await;
    }
    match what {
        "with something in it is where a file is moved to" => {
            return change::move_onto_directory(scene).await;
        }
        "is made where a file is" => return change::make_over_file(scene).await,
        "that is not empty is removed by itself" => return change::remove_full(scene).await,
        "is moved into itself" => return change::move_into_itself(scene).await,
        "is moved with all that is in it, and back" => return change::move_there_and_back(scene).await,
        "is made again when there is something in it" => return change::make_twice(scene).await,
        _ => {}
    }
    let path = scene.new_path("directory").await?;
    scene
        .prepare(format!("mkdir {}", shell::word(path.as_bytes())))
        .await?;
    match what {
        "is read as a file" => try_read(scene, path).await,
        "is written as a file" => {
            let answer = call_write(scene, path, b"content".to_vec()).await?;
            scene.answer(answer).map(|_| ())
        }
        other => Err(unknown(other, "done to a directory")),
    }
}

/// Writes a file in the way of these words.
async fn write_in_words(scene: &mut Scene, how: &str) -> StepResult {
    if let Some(place) = how.strip_prefix("by a command, behind ") {
        return large::write_far_behind(scene, place).await;
    }
    match how {
        "to where a directory is" => change::write_over_directory(scene).await,
        "behind a mark of its byte order" => {
            let path = scene.new_path("marked").await?;
            write(scene, path, "\u{feff}behind a mark\n".as_bytes().to_vec()).await
        }
        "into a directory that is missing" => {
            let path = [scene.new_path("missing").await?.as_bytes(), b"/deeper/file"].concat();
            write(scene, path.into(), b"content\n".to_vec()).await
        }
        "through a link" | "through a link that leads to nothing yet" | "through a link to another link" => {
            let path = place::link_to_file(scene, how).await?;
            write(scene, path, b"through the link\n".to_vec()).await
        }
        "above the directory that a link leads to" => {
            let (path, file) = place::above_linked_directory(scene).await?;
            write(scene, path, b"above the directory\n".to_vec()).await?;
            scene.notes.file = Some(file);
            Ok(())
        }
        "under a name of 255 bytes" => {
            let above = scene.new_path("long").await?;
            let word = shell::word(above.as_bytes());
            scene.prepare(format!("mkdir {word}")).await?;
            let path = [above.as_bytes(), b"/", &[b'n'; 255]].concat();
            write(scene, path.into(), b"long\n".to_vec()).await
        }
        "under a path of more than 3000 bytes" => {
            let above = scene.new_path("long").await?;
            let path = [above.as_bytes(), b"/", &[[b'p'; 200]; 15].join(&b'/')].concat();
            let word = shell::word(&path);
            scene.prepare(format!("mkdir -p {word}")).await?;
            write(
                scene,
                [path, b"/file".to_vec()].concat().into(),
                b"deep\n".to_vec(),
            )
            .await
        }
        impossible if let Some(path) = impossible.strip_prefix("under a path that cannot be: ") => {
            super::relative::write_impossible(scene, path).await
        }
        "by a relative path" => {
            let name = scene.token();
            scene.notes.name = Some(name.clone());
            write(scene, name.into(), b"relative\n".to_vec()).await
        }
        other => {
            let content = other
                .strip_prefix("with ")
                .ok_or_else(|| unknown(other, "a way to write"))?;
            write_new(scene, content_of(content)?).await
        }
    }
}

fn content_of(what: &str) -> Result<Vec<u8>, Failure> {
    Ok(match what {
        "nothing" => Vec::new(),
        "text without a newline" => "two lines,\nthe last without an end: grün".into(),
        "every byte value" => (0..=255).collect(),
        "blank lines only" => b"\n\n\r\n \n".to_vec(),
        "a megabyte" => numbers(1 << 20),
        bytes if let Some(bytes) = number_in(bytes, "", " bytes") => numbers(bytes),
        other => return Err(Failure::suite(format!("{other:?} is no content"))),
    })
}

/// Bytes in which every place can be told from its neighbours, and many lie within a letter.
fn numbers(bytes: usize) -> Vec<u8> {
    let lines = (0..bytes.div_ceil(8)).map(|line| format!("{:04}\u{20ac}\n", line % 10_000));
    let mut content = lines.collect::<String>().into_bytes();
    content.truncate(bytes);
    content
}

pub(super) fn file_of(scene: &Scene) -> Result<ByteString, Failure> {
    scene
        .notes
        .file
        .clone()
        .ok_or_else(|| Failure::suite("no file was written"))
}

pub(super) fn word_of_file(scene: &Scene) -> Result<String, Failure> {
    Ok(shell::word(file_of(scene)?.as_bytes()))
}

async fn write_new(scene: &mut Scene, content: Vec<u8>) -> StepResult {
    let path = scene.new_path("file").await?;
    write(scene, path, content).await
}

async fn write(scene: &mut Scene, path: ByteString, content: Vec<u8>) -> StepResult {
    scene.notes.file = Some(path.clone());
    scene.notes.content = Some(content.clone());
    let answer = call_write(scene, path, content).await?;
    match scene.answer(answer)? {
        Some(_) => Ok(()),
        None => Err(scene.refusal()?.clone().into()),
    }
}

pub(super) async fn call_write(
    scene: &mut Scene,
    path: ByteString,
    content: Vec<u8>,
) -> Result<Result<Empty, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = WriteParams {
        sandbox,
        path,
        data: content.into(),
    };
    Ok(scene
        .client()
        .await?
        .call::<method::WriteFile>(&params, patience)
        .await)
}

async fn call_read(
    scene: &mut Scene,
    path: ByteString,
    offset: u64,
    length: Option<u64>,
) -> Result<Result<FileContent, CallError>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = ReadParams {
        sandbox,
        path,
        offset,
        length,
    };
    Ok(scene
        .client()
        .await?
        .call::<method::ReadFile>(&params, patience)
        .await)
}

pub(super) async fn read(
    scene: &mut Scene,
    path: ByteString,
    offset: u64,
    length: Option<u64>,
) -> Result<FileContent, Failure> {
    let answer = call_read(scene, path, offset, length).await?;
    match scene.answer(answer)? {
        Some(content) => Ok(content),
        None => Err(scene.refusal()?.clone().into()),
    }
}

/// Reads what may be refused.
pub(super) async fn try_read(scene: &mut Scene, path: ByteString) -> StepResult {
    let answer = call_read(scene, path, 0, None).await?;
    scene.answer(answer).map(|_| ())
}

/// The file has the content that it should have, or is not there where it should have none.
async fn read_back(scene: &mut Scene) -> StepResult {
    let path = file_of(scene)?;
    if scene.notes.content.is_none() {
        try_read(scene, path).await?;
        let error = scene.refusal()?;
        return match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(Failure::failed("a refusal of kind not_found", error.to_string())),
        };
    }
    let seen = read(scene, path, 0, None).await?;
    expect_content(scene, seen.data.as_bytes())
}

fn content_read(scene: &Scene) -> Result<FileContent, Failure> {
    let value = scene.notes.value.clone().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| Failure::suite("no file was read"))
}

pub(super) fn expect_content(scene: &Scene, seen: &[u8]) -> StepResult {
    compare(&scene.notes.content.clone().unwrap_or_default(), seen)
}

pub(super) fn compare(expected: &[u8], seen: &[u8]) -> StepResult {
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        show(expected),
        format!("{}{}", show(seen), difference(expected, seen)),
    ))
}

/// A command prints it by its name alone.
pub(crate) async fn find_relative(scene: &mut Scene) -> StepResult {
    let name = scene.notes.name.clone().unwrap_or_default();
    let seen = scene.observe(format!("cat {name}")).await?;
    expect_content(scene, &seen)
}

/// The name in its directory, seen from inside in ASCII.
pub(crate) async fn find_name(scene: &mut Scene) -> StepResult {
    let path = file_of(scene)?.into_bytes();
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    let (above, name) = (&path[..slash], &path[slash + 1..]);
    let text = format!(
        "cd {} && for name in * .[!.]*; do [ -e \"./$name\" ] && printf %s \"$name\" | od -An -v -tx1; done; :",
        shell::word(above)
    );
    let seen = scene.observe(text).await?;
    let digits: String = String::from_utf8_lossy(&seen).split_whitespace().collect();
    let expected = hexadecimal(name);
    if digits == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("one file, named in hexadecimal {expected}"),
        format!("{digits:?}"),
    ))
}

/// The letter that stands for a permission in a list: of the owner, the group and others, to read, write and run. A run of all
/// three says whether the user or the group goes with the file, or whether others' names in a directory are safe.
fn letter(bits: u32, at: usize) -> char {
    let (set, special) = (bits & (1 << (8 - at)) != 0, bits & (0o4000 >> (at / 3)) != 0);
    match (at % 3, set, special) {
        (2, true, true) if at == 8 => 't',
        (2, false, true) if at == 8 => 'T',
        (2, true, true) => 's',
        (2, false, true) => 'S',
        (_, false, _) => '-',
        (which, true, _) => ['r', 'w', 'x'][which],
    }
}

async fn expect_mode(scene: &mut Scene, expected: &str) -> StepResult {
    let path = word_of_file(scene)?;
    let seen = scene.observe(format!("ls -ld {path}")).await?;
    let seen: String = String::from_utf8_lossy(&seen).chars().take(10).collect();
    let bits = u32::from_str_radix(expected, 8).map_err(|_| Failure::suite("no such permissions"))?;
    let letters: String = (0..9).map(|at| letter(bits, at)).collect();
    if seen == format!("-{letters}") {
        return Ok(());
    }
    Err(Failure::failed(format!("-{letters}"), seen))
}

/// A reader that tells the sizes it sees, while the file is replaced by one of another size and back.
async fn rewrite(scene: &mut Scene) -> StepResult {
    let path = word_of_file(scene)?;
    let file = file_of(scene)?;
    let enough = scene.new_path("enough").await?;
    let text = format!(
        "echo reading; i=0; while [ ! -e {} ] && [ $i -lt 5000 ]; do cksum < {path}; i=$((i+1)); done",
        shell::word(enough.as_bytes())
    );
    let params = scene.command(text).await?;
    let mut exec = scene.start(&params).await?;
    let patience = scene.patience();
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    for round in 0..REWRITES {
        rewrite_once(
            scene,
            file.clone(),
            if round % 2 == 0 {
                b"y".repeat(LARGE)
            } else {
                numbers(SMALL)
            },
        )
        .await?;
        let _ = exec.wait_until(Duration::from_millis(1), |_| false).await;
    }
    rewrite_once(scene, enough, Vec::new()).await?;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

async fn rewrite_once(scene: &mut Scene, path: ByteString, content: Vec<u8>) -> StepResult {
    let answer = call_write(scene, path, content).await?;
    match scene.answer(answer)? {
        Some(_) => Ok(()),
        None => Err(scene.refusal()?.clone().into()),
    }
}

fn only_whole(scene: &Scene) -> StepResult {
    if !matches!(scene.result()?.outcome, Outcome::Exited { code: 0 }) {
        return Err(Failure::inconclusive("the reader did not end by itself"));
    }
    let seen = scene.record()?.bytes(Stream::Stdout);
    let seen = String::from_utf8_lossy(&seen);
    // A line is a checksum and a size: there are two contents, and so at most two lines that differ.
    let lines: BTreeSet<&str> = seen.lines().skip(1).map(str::trim).collect();
    let whole = |line: &&str| {
        line.split(' ')
            .nth(1)
            .is_some_and(|size| [SMALL, LARGE].iter().any(|whole| whole.to_string() == size))
    };
    if lines.len() <= 2 && lines.iter().all(whole) {
        return Ok(());
    }
    let torn: Vec<_> = lines.into_iter().take(5).collect();
    Err(Failure::failed(
        format!("only the two contents, of {SMALL} and {LARGE} bytes"),
        format!("{torn:?}"),
    ))
}

/// A command prints a file that the system makes up when it is read: how long it is nobody tells.
pub(super) async fn print_made_up(scene: &mut Scene) -> StepResult {
    scene.notes.file = Some("/proc/version".into());
    scene.notes.content = Some(printed_by_command(scene).await?);
    Ok(())
}

/// The bytes of the scenario's file as a command prints them, in digits, so that no transport can damage them.
async fn printed_by_command(scene: &mut Scene) -> Result<Vec<u8>, Failure> {
    let path = word_of_file(scene)?;
    let digits = scene.observe(format!("od -An -v -tx1 {path}")).await?;
    let digits: String = String::from_utf8_lossy(&digits).split_whitespace().collect();
    let bytes =
        (0..digits.len() / 2).filter_map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok());
    Ok(bytes.collect())
}
