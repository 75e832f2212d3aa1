//! What a command is given, when it is detached.

use herm_protocol::{
    exec::{Command, Stdin},
    sandbox::Variable,
};

use super::begin;
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::unknown,
};

/// A variable of the job's.
const VARIABLE: (&str, &str) = ("PROBE_GIVEN", " its  \"value\"\n$HOME");

/// Arguments that tell themselves apart from what a shell would make of them.
const ARGUMENTS: [&str; 4] = ["two  words", "", "$HOME", "it's"];

/// Bytes of input: more than a pipe holds, so that somebody has to stay and feed the job.
const INPUT: usize = 200_000;

/// Starts a job that tells what it was given, and notes what that is.
pub(super) async fn start(scene: &mut Scene, what: &str) -> StepResult {
    let mut params = begin::detached(scene, String::new()).await?;
    let (text, expected) = match what {
        "the variable that it was given" => {
            params.env = vec![Variable::new(VARIABLE.0, VARIABLE.1)];
            (format!("printf %s \"${}\"", VARIABLE.0), VARIABLE.1.into())
        }
        "the directory that it was given" => {
            let directory = scene.new_path("directory").await?;
            scene
                .prepare(format!("mkdir -- {}", shell::word(directory.as_bytes())))
                .await?;
            params.cwd = Some(directory.clone());
            ("pwd -P".to_owned(), [directory.as_bytes(), b"\n"].concat())
        }
        "the input that it was given" => {
            let data = shell::numbered_bytes(INPUT);
            params.stdin = Stdin::Bytes {
                data: data.clone().into(),
            };
            ("cat".to_owned(), data)
        }
        "the arguments that it was given" => {
            let words = ["sh", "-c", "printf '<%s>' \"$@\"", "sh"];
            let list = words.iter().chain(&ARGUMENTS).map(|word| (*word).into());
            params.command = Command::Argv(list.collect());
            let expected = format!("<{}>", ARGUMENTS.join("><"));
            return begin(scene, params, expected.into_bytes()).await;
        }
        other => return Err(unknown(other, "given to a job")),
    };
    params.command = Command::Shell(text.into());
    begin(scene, params, expected).await
}

async fn begin(scene: &mut Scene, params: herm_protocol::exec::RunParams, expected: Vec<u8>) -> StepResult {
    let job: Result<String, Failure> = begin::begin(scene, &params).await;
    scene.notes.name = Some(job?);
    scene.notes.content = Some(expected);
    Ok(())
}
