//! JOB: work that outlives its command.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    client::CallError,
    exec::{Outcome, Stream},
    job::{JobInfo, JobListParams, JobOutputParams, JobRef, JobWaitParams},
    method,
};
use tokio::time::Instant;

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::lifecycle::leave_beat,
};

/// What the job of a scenario prints.
const WORDS: &str = "one\ntwo\nthree\n";

/// How it ends.
const CODE: i32 = 7;

/// How long a call may take that starts a job.
const AT_ONCE: Duration = Duration::from_secs(3);

/// How long a job may take to end that ends by itself.
const SOON: Duration = Duration::from_secs(10);

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a command prints {text} and leaves a worker that holds its output",
            |scene, arguments| {
                Box::pin(async move {
                    let text = format!("sleep 6 & {}", shell::print(arguments.text(0)?.as_bytes()));
                    let params = scene.command(text).await?;
                    scene.run(&params).await
                })
            },
        )
        .when("a command leaves a beat behind", |scene, _| {
            Box::pin(leave_beat(scene))
        })
        .when("a job {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "lists its variables" => list_variables(scene).await,
                    what => start(scene, what).await,
                }
            })
        })
        .when("the job is {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "killed" => kill(scene).await,
                    "over" => over(scene).await,
                    "over and forgotten" => {
                        over(scene).await?;
                        forget(scene).await
                    }
                    other => Err(Failure::suite(format!("{other:?} is nothing that a job can be"))),
                }
            })
        })
        .then("the job {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "was started at once" => started_at_once(scene),
                    "is told as timed out" => told_as(scene, &Outcome::TimedOut).await,
                    "is told as cancelled" => told_as(scene, &Outcome::Cancelled).await,
                    "is told as exited with its code, also in the list" => {
                        told_as(scene, &Outcome::Exited { code: CODE }).await
                    }
                    "gives its output from every cursor" => read_from_every_cursor(scene).await,
                    "is not known any more" => forgotten(scene).await,
                    other => Err(Failure::suite(format!(
                        "{other:?} is nothing to be seen of a job"
                    ))),
                }
            })
        });
}

async fn start(scene: &mut Scene, what: &str) -> StepResult {
    let (text, timeout_ms) = match what {
        "keeps a beat" => (scene.new_beat("").await?, None),
        "keeps a beat, with a deadline of 1 second" => (scene.new_beat("").await?, Some(1000)),
        "lists its variables" => ("env".to_owned(), None),
        "prints three lines and exits with a code" => {
            (format!("{}; exit {CODE}", shell::print(WORDS.as_bytes())), None)
        }
        other => return Err(Failure::suite(format!("{other:?} is no job"))),
    };
    let mut params = scene.command(text).await?;
    params.timeout_ms = timeout_ms;
    params.detach = true;
    params.window = None;
    let client = scene.client().await?;
    let patience = scene.patience();
    let began = Instant::now();
    let started = client.call::<method::RunDetached>(&params, patience).await?;
    scene.notes.number = u64::try_from(began.elapsed().as_millis()).ok();
    scene.notes.name = Some(started.job);
    if scene.beat.is_some() {
        scene.await_beat().await?;
    }
    Ok(())
}

/// Runs a job that lists its variables, and keeps what it has printed.
async fn list_variables(scene: &mut Scene) -> StepResult {
    start(scene, "lists its variables").await?;
    over(scene).await?;
    let JobRef { sandbox, job } = of_job(scene).await?;
    let params = JobOutputParams {
        sandbox,
        job,
        stream: Stream::Stdout,
        from: 0,
        max: None,
    };
    let patience = scene.patience();
    let output = scene
        .client()
        .await?
        .call::<method::ReadJob>(&params, patience)
        .await?;
    scene.notes.content = Some(output.data.into_bytes());
    Ok(())
}

fn started_at_once(scene: &Scene) -> StepResult {
    let took = Duration::from_millis(scene.notes.number.unwrap_or(u64::MAX));
    if took <= scene.scaled(AT_ONCE) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("an answer within {} s", scene.scaled(AT_ONCE).as_secs()),
        format!("it came after {} ms", took.as_millis()),
    ))
}

async fn of_job(scene: &mut Scene) -> Result<JobRef, Failure> {
    let job = scene
        .notes
        .name
        .clone()
        .ok_or_else(|| Failure::suite("no job was started"))?;
    let sandbox = scene.sandbox().await?.id;
    Ok(JobRef { sandbox, job })
}

async fn kill(scene: &mut Scene) -> StepResult {
    let params = of_job(scene).await?;
    let patience = scene.patience();
    scene
        .client()
        .await?
        .call::<method::KillJob>(&params, patience)
        .await?;
    Ok(())
}

async fn forget(scene: &mut Scene) -> StepResult {
    let params = of_job(scene).await?;
    let patience = scene.patience();
    scene
        .client()
        .await?
        .call::<method::ForgetJob>(&params, patience)
        .await?;
    Ok(())
}

/// What is told of the job when it has ended.
async fn wait(scene: &mut Scene) -> Result<Result<JobInfo, CallError>, Failure> {
    let JobRef { sandbox, job } = of_job(scene).await?;
    let within = scene.scaled(SOON);
    let params = JobWaitParams {
        sandbox,
        job,
        within_ms: u64::try_from(within.as_millis()).ok(),
    };
    let patience = within + scene.patience();
    Ok(scene
        .client()
        .await?
        .call::<method::WaitJob>(&params, patience)
        .await)
}

async fn over(scene: &mut Scene) -> StepResult {
    match wait(scene).await??.outcome {
        Some(_) => Ok(()),
        None => Err(Failure::failed("the job to have ended", "it is told to run")),
    }
}

async fn told_as(scene: &mut Scene, expected: &Outcome) -> StepResult {
    let waited = wait(scene).await??.outcome;
    let JobRef { sandbox, job } = of_job(scene).await?;
    let patience = scene.patience();
    let listed = scene
        .client()
        .await?
        .call::<method::ListJobs>(&JobListParams { sandbox }, patience)
        .await?;
    let listed = listed.jobs.into_iter().find(|info| info.job == job);
    let listed = listed
        .ok_or_else(|| Failure::failed("the job in the list", "it is not there"))?
        .outcome;
    for (place, outcome) in [("whoever waits", waited), ("the list", listed)] {
        if outcome.as_ref() != Some(expected) {
            let seen = outcome.map_or_else(|| "that it runs".to_owned(), |outcome| outcome.to_string());
            return Err(Failure::failed(
                format!("the outcome: {expected}"),
                format!("{place} is told: {seen}"),
            ));
        }
    }
    Ok(())
}

async fn read_from_every_cursor(scene: &mut Scene) -> StepResult {
    let of = of_job(scene).await?;
    for from in 0..=WORDS.len() {
        let expected = &WORDS.as_bytes()[from..];
        // A reading may give less than there is; the next one begins where it ended.
        let mut seen = Vec::new();
        loop {
            let params = JobOutputParams {
                sandbox: of.sandbox.clone(),
                job: of.job.clone(),
                stream: Stream::Stdout,
                from: (from + seen.len()) as u64,
                max: None,
            };
            let patience = scene.patience();
            let output = scene
                .client()
                .await?
                .call::<method::ReadJob>(&params, patience)
                .await?;
            if output.offset != params.from {
                return Err(Failure::failed(
                    format!("bytes from offset {}", params.from),
                    format!("they are told to be from {}", output.offset),
                ));
            }
            seen.extend_from_slice(output.data.as_bytes());
            if output.end || output.data.is_empty() || seen.len() > WORDS.len() {
                break;
            }
        }
        if seen != expected {
            return Err(Failure::failed(
                format!("from {from}: {}", expected.escape_ascii()),
                seen.escape_ascii().to_string(),
            ));
        }
    }
    Ok(())
}

async fn forgotten(scene: &mut Scene) -> StepResult {
    match wait(scene).await? {
        Err(CallError::Refused(error)) if error.kind() == ErrorKind::JobNotFound => Ok(()),
        Err(error) => Err(Failure::failed(
            "a refusal of kind job_not_found",
            error.to_string(),
        )),
        Ok(info) => Err(Failure::failed(
            "a refusal of kind job_not_found",
            format!("it is told as {:?}", info.outcome),
        )),
    }
}
