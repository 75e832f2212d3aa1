//! Many jobs of one sandbox.

use std::time::Duration;

use herm_protocol::{
    exec::{Outcome, Stream},
    job::{JobInfo, JobListParams, JobOutputParams},
    method,
};
use tokio::time::{Instant, sleep};

use super::{SOON, begin};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::{composed::unknown, general::show},
};

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Starts jobs, each with a code of its own.
pub(super) async fn start(scene: &mut Scene, count: u32, what: &str) -> StepResult {
    for number in 0..count {
        let text = match what {
            "end at once, without a word" | "are started one after the other" => format!("exit {number}"),
            "run at the same time, each with words and a code of its own" => {
                // So that they meet.
                format!("echo job {number} of many; sleep 0.5; exit {number}")
            }
            other => return Err(unknown(other, "done by jobs")),
        };
        let params = begin::detached(scene, text).await?;
        let job = begin::begin(scene, &params).await?;
        scene.notes.jobs.push(job);
    }
    scene.notes.value = Some(what.into());
    Ok(())
}

pub(super) async fn listed(scene: &mut Scene) -> Result<Vec<JobInfo>, Failure> {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let client = scene.client().await?;
    let list = client
        .call::<method::ListJobs>(&JobListParams { sandbox }, patience)
        .await?;
    Ok(list.jobs)
}

/// The list has the jobs in the order in which they were started.
pub(super) async fn oldest_first(scene: &mut Scene) -> StepResult {
    let started = scene.notes.jobs.clone();
    let listed = listed(scene).await?.into_iter().map(|info| info.job);
    let listed: Vec<String> = listed.filter(|job| started.contains(job)).collect();
    if listed == started {
        return Ok(());
    }
    Err(Failure::failed(
        format!("as they were started: {}", started.join(", ")),
        listed.join(", "),
    ))
}

/// Each job is told once in the list, with its own code, and has written what it has written.
pub(in crate::steps::exec) async fn each_as_it_ended(scene: &mut Scene) -> StepResult {
    let jobs = scene.notes.jobs.clone();
    let until = Instant::now() + scene.scaled(SOON);
    let all = loop {
        let listed = listed(scene).await?;
        let all: Vec<JobInfo> = listed
            .into_iter()
            .filter(|info| jobs.contains(&info.job))
            .collect();
        let running = all.iter().filter(|info| info.outcome.is_none()).count();
        if running == 0 || Instant::now() > until {
            break all;
        }
        sleep(LOOK_AGAIN).await;
    };
    let quiet = scene.notes.value == Some("end at once, without a word".into());
    for (number, job) in jobs.iter().enumerate() {
        let mut found = all.iter().filter(|info| info.job == *job);
        let info = match (found.next(), found.next()) {
            (Some(info), None) => info,
            (None, _) => {
                return Err(Failure::failed(
                    format!("all {} jobs in the list", jobs.len()),
                    format!("number {} is not there; {} are", number + 1, all.len()),
                ));
            }
            _ => {
                return Err(Failure::failed(
                    "each job once in the list",
                    format!("{job} twice"),
                ));
            }
        };
        let code = i32::try_from(number).unwrap_or_default();
        if info.outcome != Some(Outcome::Exited { code }) {
            let seen = info
                .outcome
                .as_ref()
                .map_or_else(|| "that it runs".to_owned(), ToString::to_string);
            return Err(Failure::failed(
                format!("job {job} to be told as exited with {code}"),
                seen,
            ));
        }
        let expected = if quiet {
            String::new()
        } else {
            format!("job {number} of many\n")
        };
        wrote(scene, job, expected.as_bytes()).await?;
    }
    Ok(())
}

async fn wrote(scene: &mut Scene, job: &str, expected: &[u8]) -> StepResult {
    let params = JobOutputParams {
        sandbox: scene.sandbox().await?.id,
        job: job.to_owned(),
        stream: Stream::Stdout,
        from: 0,
        max: None,
    };
    let patience = scene.patience();
    let client = scene.client().await?;
    let output = client.call::<method::ReadJob>(&params, patience).await?;
    if output.data.as_bytes() == expected {
        return Ok(());
    }
    Err(Failure::failed(
        format!("job {job} to have written {}", show(expected)),
        show(output.data.as_bytes()),
    ))
}
