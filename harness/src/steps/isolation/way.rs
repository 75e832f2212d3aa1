//! The ways in which a command can come to run.

use std::time::Duration;

use herm_protocol::{
    ByteString,
    exec::{Command, Outcome, RunParams, Stream},
    job::{JobOutputParams, JobWaitParams},
    method,
};

use crate::{
    scene::{Failure, Scene},
    steps::composed::unknown,
};

/// How long a job may take to end that only tells something, before scaling.
const SOON: Duration = Duration::from_secs(10);

/// How many commands come before the one that comes after many.
const MANY: usize = 20;

/// A user that every Linux system has.
const ANOTHER: &str = "nobody";

/// Runs text in the way that the words say, and gives what it has printed.
pub(super) async fn run(scene: &mut Scene, way: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let params = scene.command(text).await?;
    let params = match way {
        "as a job" => return run_as_job(scene, params).await,
        "" | "by a shell" => params,
        "after many others" => {
            for _ in 0..MANY {
                scene.prepare("true").await?;
            }
            params
        }
        "without a shell" => RunParams {
            command: Command::Argv(["sh", "-c", text].map(ByteString::from).to_vec()),
            ..params
        },
        "in a session" => RunParams {
            session: Some(scene.token()),
            ..params
        },
        "as another user" => RunParams {
            user: Some(ANOTHER.into()),
            ..params
        },
        other => return Err(unknown(other, "a way to run a command")),
    };
    scene.run(&params).await?;
    printed(scene)
}

/// What a command has printed that has to have worked.
pub(super) fn printed(scene: &Scene) -> Result<Vec<u8>, Failure> {
    match &scene.result()?.outcome {
        Outcome::Exited { code: 0 } => Ok(scene.record()?.bytes(Stream::Stdout)),
        other => Err(Failure::failed("a plain command to work", other.to_string())),
    }
}

async fn run_as_job(scene: &mut Scene, mut params: RunParams) -> Result<Vec<u8>, Failure> {
    params.detach = true;
    params.window = None;
    let (patience, within) = (scene.patience(), scene.scaled(SOON));
    let client = scene.client().await?;
    let job = client.call::<method::RunDetached>(&params, patience).await?.job;
    let wait = JobWaitParams {
        sandbox: params.sandbox.clone(),
        job: job.clone(),
        within_ms: u64::try_from(within.as_millis()).ok(),
    };
    let ended = client.call::<method::WaitJob>(&wait, within + patience).await?;
    if ended.outcome != Some(Outcome::Exited { code: 0 }) {
        let seen = ended
            .outcome
            .map_or_else(|| "it still runs".to_owned(), |outcome| outcome.to_string());
        return Err(Failure::failed("a plain job to work", seen));
    }
    let output = JobOutputParams {
        sandbox: params.sandbox,
        job,
        stream: Stream::Stdout,
        from: 0,
        max: None,
    };
    let output = client.call::<method::ReadJob>(&output, patience).await?;
    Ok(output.data.into_bytes())
}
