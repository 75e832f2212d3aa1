//! What is asked about jobs that are not there.

use herm_protocol::{
    Error, ErrorKind,
    exec::Stream,
    job::{JobOutputParams, JobRef, JobWaitParams},
    method,
};

use super::of_job;
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
};

/// Asks by an id that no job has.
pub(super) async fn ask_about_none(scene: &mut Scene, how: &str) -> StepResult {
    // In the form of an id of this backend's own, and yet of none that it has given.
    ask_about(scene, how, "987654321".into()).await
}

/// Asks by the id of the job that was forgotten.
pub(super) async fn ask_about_forgotten(scene: &mut Scene, how: &str) -> StepResult {
    let forgotten = scene.notes.forgotten.clone();
    let forgotten = forgotten.ok_or_else(|| Failure::suite("no job was forgotten"))?;
    ask_about(scene, how, forgotten).await
}

/// Asks by ids that only look like the job's, up to the first that is not refused as unknown.
pub(super) async fn ask_by_like_ids(scene: &mut Scene, how: &str) -> StepResult {
    let id = of_job(scene).await?.job;
    let turned = if id.chars().any(char::is_lowercase) {
        id.to_uppercase()
    } else {
        id.to_lowercase()
    };
    let like = [
        format!("0{id}"),
        format!("+{id}"),
        format!(" {id}"),
        format!("{id} "),
        turned,
    ];
    for other in like.into_iter().filter(|other| *other != id) {
        ask_about(scene, how, other).await?;
        let unknown = scene.refusal.as_ref().map(Error::kind) == Some(ErrorKind::JobNotFound);
        if !unknown {
            break;
        }
    }
    Ok(())
}

async fn ask_about(scene: &mut Scene, how: &str, job: String) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let client = scene.client().await?;
    let of = JobRef {
        sandbox: sandbox.clone(),
        job: job.clone(),
    };
    let answer = match how {
        "read" => {
            let params = JobOutputParams {
                sandbox,
                job,
                stream: Stream::Stdout,
                from: 0,
                max: None,
            };
            client
                .call::<method::ReadJob>(&params, patience)
                .await
                .map(|_| ())
        }
        "waited for" => {
            let params = JobWaitParams {
                sandbox,
                job,
                within_ms: Some(0),
            };
            client
                .call::<method::WaitJob>(&params, patience)
                .await
                .map(|_| ())
        }
        "killed" => client.call::<method::KillJob>(&of, patience).await.map(|_| ()),
        "forgotten" => client.call::<method::ForgetJob>(&of, patience).await.map(|_| ()),
        other => return Err(Failure::suite(format!("{other:?} is nothing to ask of a job"))),
    };
    scene.answer(answer).map(|_| ())
}
