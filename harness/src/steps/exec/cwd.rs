//! CWD: a command runs where it was told to.

use herm_protocol::{
    ByteString,
    exec::{Command, Outcome, RunParams, Stream},
};

use super::stdin::expect_content;
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{composed::unknown, general::new_mark},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a directory named {text}", |scene, arguments| {
            Box::pin(async move { make_directory(scene, &arguments.text(0)?).await })
        })
        .given("a command left a mark in its working directory", |scene, _| {
            Box::pin(leave_mark(scene))
        })
        .when("a command {words} its working directory", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "leaves a mark in" => leave_mark(scene).await,
                    "prints" => print_directory(scene, None).await,
                    "in a directory that a link leads to prints" => print_behind_link(scene, false).await,
                    "in the directory above one that a link leads to prints" => {
                        print_behind_link(scene, true).await
                    }
                    "in a directory whose name is not valid UTF-8 prints" => {
                        let directory = make_named(scene, b"a\xff\xfeb").await?;
                        print_directory(scene, Some(directory)).await
                    }
                    "in a directory whose name has 255 bytes prints" => {
                        let directory = make_named(scene, &[b'n'; 255]).await?;
                        print_directory(scene, Some(directory)).await
                    }
                    "in a directory whose path has more than 3000 bytes prints" => {
                        let directory = make_named(scene, &[[b'p'; 200]; 15].join(&b'/')).await?;
                        print_directory(scene, Some(directory)).await
                    }
                    words if let Some(how) = words.strip_prefix("in this directory, spelt ") => {
                        let directory = spelt(scene, how.strip_suffix(", prints").unwrap_or(how))?;
                        print_directory(scene, Some(directory)).await
                    }
                    "in this directory prints" => {
                        let directory = scene.notes.directory.clone();
                        print_directory(scene, directory).await
                    }
                    other => Err(unknown(other, "done with a directory")),
                }
            })
        })
        .then("the next command finds the mark in its own", |scene, _| {
            Box::pin(find_mark(scene))
        })
        .when(
            "a command in the relative directory {text} prints its working directory",
            |scene, arguments| {
                Box::pin(async move {
                    let text = arguments.text(0)?;
                    let directory = scene.notes.name.clone().unwrap_or(text);
                    print_directory(scene, Some(directory.into())).await
                })
            },
        )
        .given("a command has changed its directory to the root", |scene, _| {
            Box::pin(async {
                scene.workdir().await?;
                scene.prepare("cd /").await.map(|_| ())
            })
        })
        .then("PWD is this directory, or not set", |scene, _| {
            Box::pin(async { true_variable(scene) })
        });
}

/// A program lists its variables, with a shell in between only where there is no other way.
pub(crate) async fn list_variables(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Argv(vec!["env".into()]));
    let capabilities = scene.initialized().await?.capabilities;
    if !capabilities.iter().any(|name| name == "argv") {
        params.command = Command::Shell("exec env".into());
    }
    params.cwd = scene.notes.directory.clone();
    scene.run(&params).await
}

/// The directory that was printed is the one in these words.
pub(crate) async fn printed(scene: &mut Scene, which: &str) -> StepResult {
    let directory = match which {
        "this directory" => scene.notes.directory.clone().unwrap_or_default(),
        "the root directory" => "/".into(),
        "the directory that commands start in" => scene.workdir().await?,
        other => return Err(unknown(other, "a directory")),
    };
    expect_directory(scene, &directory)
}

async fn make_directory(scene: &mut Scene, name: &str) -> StepResult {
    make_named(scene, name.as_bytes()).await.map(|_| ())
}

/// Makes the directory in question, and gives its path.
pub(super) async fn make_named(scene: &mut Scene, name: &[u8]) -> Result<ByteString, Failure> {
    // A name of its own above it, so that the name in question can be used again.
    let above = scene.new_path("in").await?;
    let relative = above
        .as_bytes()
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default()
        .to_vec();
    let path = ByteString::from([above.as_bytes(), b"/", name].concat());
    scene
        .prepare(format!("mkdir -p {}", shell::word(path.as_bytes())))
        .await?;
    let relative = [&relative[..], b"/", name].concat();
    scene.notes.name = Some(String::from_utf8_lossy(&relative).into_owned());
    scene.notes.directory = Some(path.clone());
    Ok(path)
}

/// The path of the directory in question, as it may be written, too.
fn spelt(scene: &Scene, how: &str) -> Result<ByteString, Failure> {
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let path = directory.as_bytes();
    Ok(ByteString::from(match how {
        "with a slash at its end" => [path, b"/"].concat(),
        "with slashes at its end" => [path, b"///"].concat(),
        // Two at the very beginning may mean something else.
        "with two slashes between its parts" => {
            let parts: Vec<_> = path.split(|byte| *byte == b'/').skip(1).collect();
            [b"/", parts.join(&b"//"[..]).as_slice()].concat()
        }
        "with a dot at its end" => [path, b"/."].concat(),
        "with a way there and back" => {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            [path, b"/../", name].concat()
        }
        other => return Err(unknown(other, "a way to write a directory")),
    }))
}

/// Runs in the directory that a link leads to, or from there in the one above: not above the link, where that lies.
async fn print_behind_link(scene: &mut Scene, above: bool) -> StepResult {
    let directory = make_named(scene, b"behind").await?;
    let mut link = scene.new_path("link").await?;
    let (target, path) = (shell::word(directory.as_bytes()), shell::word(link.as_bytes()));
    scene.prepare(format!("ln -s {target} {path}")).await?;
    if above {
        link = [link.as_bytes(), b"/.."].concat().into();
        let directory = directory.as_bytes().strip_suffix(b"/behind");
        scene.notes.directory = directory.map(ByteString::from);
    }
    print_directory(scene, Some(link)).await
}

/// Removes the directory that commands start in; only an empty one, for it may be somebody's.
pub(crate) async fn remove_first(scene: &mut Scene) -> StepResult {
    let params = scene.command("rmdir -- \"$(pwd -P)\"").await?;
    scene.run(&params).await?;
    match &scene.result()?.outcome {
        Outcome::Exited { code: 0 } => Ok(()),
        other => Err(Failure::inconclusive(format!(
            "the directory that commands start in could not be removed: {other}"
        ))),
    }
}

/// Runs a command in a directory that is not there, whatever comes of it.
pub(crate) async fn run_nowhere(scene: &mut Scene) -> StepResult {
    scene.workdir().await?;
    let path = scene.new_path("nowhere").await?;
    let mut params = scene.command("true").await?;
    params.cwd = Some(path);
    scene.run(&params).await
}

async fn leave_mark(scene: &mut Scene) -> StepResult {
    let name = scene.token();
    let params = scene.command(format!(": > {name}")).await?;
    scene.run(&params).await?;
    scene.notes.name = Some(name);
    super::super::general::expect_outcome(scene, &Outcome::Exited { code: 0 })
}

async fn find_mark(scene: &mut Scene) -> StepResult {
    let name = scene.notes.name.clone().unwrap_or_default();
    let seen = scene
        .observe(format!(
            "if [ -e {name} ]; then echo there; else pwd; ls | head -5; fi"
        ))
        .await?;
    if seen == b"there\n" {
        return Ok(());
    }
    Err(Failure::failed(
        "the file that the command before has made",
        format!(
            "not there; directory and files: {:?}",
            String::from_utf8_lossy(&seen)
        ),
    ))
}

async fn print_directory(scene: &mut Scene, directory: Option<ByteString>) -> StepResult {
    let mut params = scene.command("pwd -P; printf .").await?;
    params.cwd = directory;
    scene.run(&params).await
}

fn expect_directory(scene: &Scene, directory: &ByteString) -> StepResult {
    let outcome = &scene.result()?.outcome;
    if !matches!(outcome, Outcome::Exited { code: 0 }) {
        return Err(Failure::failed("the command to run", outcome.to_string()));
    }
    let expected = [directory.as_bytes(), b"\n."].concat();
    expect_content(&expected, &scene.record()?.bytes(Stream::Stdout))
}

pub(crate) async fn run_in(scene: &mut Scene, what: &str) -> StepResult {
    let (what, kind) = what.split_once(", as ").unwrap_or((what, "a command"));
    let mark = new_mark(scene).await?;
    let mut path = scene.new_path("nowhere").await?;
    match what {
        "a directory that does not exist" => {}
        "the directory above one that does not exist" => path = [path.as_bytes(), b"/.."].concat().into(),
        "a directory that has been removed since" => {
            let word = shell::word(path.as_bytes());
            scene.prepare(format!("mkdir {word}")).await?;
            let mut params = scene.command("true").await?;
            params.cwd = Some(path.clone());
            scene.run(&params).await?;
            super::super::general::expect_outcome(scene, &Outcome::Exited { code: 0 })
                .map_err(Failure::while_preparing)?;
            scene.prepare(format!("rmdir {word}")).await?;
        }
        "what is a file" => {
            scene
                .prepare(format!(": > {}", shell::word(path.as_bytes())))
                .await?;
        }
        other => return Err(Failure::suite(format!("{other:?} is no place"))),
    }
    let mut params = match kind {
        "a program" => {
            let sandbox = scene.sandbox().await?.id;
            let words = ["sh".into(), "-c".into(), ByteString::from(mark)];
            scene.command_in(&sandbox, Command::Argv(words.to_vec()))
        }
        "a command of a session" => RunParams {
            session: Some(scene.token()),
            ..scene.command(mark).await?
        },
        _ => scene.command(mark).await?,
    };
    params.cwd = Some(path);
    scene.run(&params).await
}

fn true_variable(scene: &Scene) -> StepResult {
    scene.result()?;
    let listed = scene.record()?.bytes(Stream::Stdout);
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let told = listed
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"PWD="));
    match told {
        Some(told) if told != directory.as_bytes() => expect_content(directory.as_bytes(), told),
        None if listed.is_empty() => Err(Failure::failed("a list of variables", "nothing")),
        _ => Ok(()),
    }
}

/// Lists a directory in which a command has run before it was removed and made again, with another file in it.
pub(crate) async fn use_again(scene: &mut Scene) -> StepResult {
    let path = scene.new_path("again").await?;
    let word = shell::word(path.as_bytes());
    scene.prepare(format!("mkdir {word}; : > {word}/old")).await?;
    let mut params = scene.command("ls").await?;
    params.cwd = Some(path);
    scene.run(&params).await?;
    scene.result().map_err(Failure::while_preparing)?;
    scene
        .prepare(format!("rm -r {word}; mkdir {word}; : > {word}/new"))
        .await?;
    let again = scene.command("ls").await?;
    params.exec = again.exec;
    scene.run(&params).await
}
