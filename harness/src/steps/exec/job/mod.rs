//! JOB: work that outlives its command.

mod begin;
mod full;
mod given;
mod many;
mod output;
mod together;
mod unknown;

use std::{sync::Arc, time::Duration};

use herm_protocol::{
    Error, ErrorKind,
    client::{CallError, Client},
    exec::{Outcome, RunParams},
    job::{JobInfo, JobListParams, JobRef, JobWaitParams},
    method,
};
use tokio::time::Instant;

use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
    steps::{
        isolation::{host, r#priv},
        lifecycle::leave_beat,
    },
};

/// What the job of a scenario prints.
const WORDS: &str = "one\nzw\u{f6}lf \u{20ac}\n\u{1f600} three\n";

/// What it prints as errors, where it does.
const ERRORS: &str = "four\nfive\n";

/// How it ends.
const CODE: i32 = 7;

/// How long a call may take that starts a job.
const AT_ONCE: Duration = Duration::from_secs(3);

/// How long is waited for what does not come.
const A_WHILE: Duration = Duration::from_millis(500);

/// How long a job may take to end that ends by itself.
const SOON: Duration = Duration::from_secs(10);

pub(super) use many::each_as_it_ended;

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command leaves a beat behind", |scene, _| {
            Box::pin(leave_beat(scene))
        })
        .when("a job {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "lists its variables" => list_variables(scene).await,
                    "tells what it may do" => r#priv::tell_by_job(scene).await,
                    what if let Some(how) = what.strip_prefix("looks for ") => {
                        host::look_by_job(scene, how).await
                    }
                    what => match what.strip_prefix("tells ") {
                        Some(given) if given.ends_with(" that it was given") => {
                            given::start(scene, given).await
                        }
                        _ => begin::start(scene, what).await,
                    },
                }
            })
        })
        .when("{int} jobs {words}", |scene, arguments| {
            Box::pin(async move { many::start(scene, arguments.int(0)?, arguments.words(1)?).await })
        })
        .when("the job is {words}", |scene, arguments| {
            Box::pin(async move { do_to_job(scene, arguments.words(0)?).await })
        })
        .when("an unknown job is {words}", |scene, arguments| {
            Box::pin(async move {
                let words = arguments.words(0)?;
                let former = [
                    " by the id of one that was forgotten",
                    " by the id of one that was stopped",
                ];
                if let Some(how) = former.iter().find_map(|by| words.strip_suffix(by)) {
                    return unknown::ask_about_forgotten(scene, how).await;
                }
                match words.strip_suffix(" by an id like the job's") {
                    Some(how) => unknown::ask_by_like_ids(scene, how).await,
                    None => unknown::ask_about_none(scene, arguments.words(0)?).await,
                }
            })
        })
        .then("the job {words}", |scene, arguments| {
            Box::pin(async move { observe(scene, arguments.words(0)?).await })
        });
}

/// Runs a job that lists its variables, and keeps what it has printed.
async fn list_variables(scene: &mut Scene) -> StepResult {
    scene.notes.content = Some(printed_by(scene, "env".into()).await?);
    Ok(())
}

/// Runs a job to its end, and gives what it has printed.
pub(crate) async fn printed_by(scene: &mut Scene, text: String) -> Result<Vec<u8>, Failure> {
    let params = scene.command(text).await?;
    run_to_its_end(scene, params).await
}

/// Runs a command as a job to its end, and gives what it has printed.
pub(crate) async fn run_to_its_end(scene: &mut Scene, params: RunParams) -> Result<Vec<u8>, Failure> {
    let params = RunParams {
        detach: true,
        window: None,
        ..params
    };
    scene.notes.name = Some(begin::begin(scene, &params).await?);
    over(scene).await?;
    output::from_the_beginning(scene).await
}

async fn do_to_job(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "killed while 16 wait for it" => together::kill_while_many_wait(scene).await,
        "waited for until its sandbox is gone" => together::destroy_while_one_waits(scene).await,
        "killed" => kill(scene).await,
        "killed by another command" => kill_from_outside(scene).await,
        "over" => over(scene).await,
        "over and forgotten" => {
            over(scene).await?;
            scene.notes.forgotten.clone_from(&scene.notes.name);
            forget(scene).await
        }
        "over and killed" => {
            over(scene).await?;
            // Whether that is refused is not what this is about.
            let killed = try_to_kill(scene).await;
            scene.answer(killed).map(|_| ())
        }
        "forgotten while it runs" => {
            let forgotten = try_to_forget(scene).await;
            scene.answer(forgotten).map(|_| ())
        }
        "told to go on" => begin::give_sign(scene).await,
        "half done" => output::half_there(scene).await,
        other => Err(Failure::suite(format!("{other:?} is nothing that a job can be"))),
    }
}

async fn observe(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "was started at once" => started_at_once(scene),
        "is told to run, for as long as it does" => told_to_run(scene).await,
        "list has them from the oldest on" => many::oldest_first(scene).await,
        "is told as timed out" => told_as(scene, &Outcome::TimedOut).await,
        "is told as cancelled" => told_as(scene, &Outcome::Cancelled).await,
        "is told as ended by a signal" => told_as_signalled(scene).await,
        "is told as exited with its code, also in the list" => {
            told_as(scene, &Outcome::Exited { code: CODE }).await
        }
        "tells all who wait how it has ended" => together::all_are_told(scene).await,
        "gives each of many readers at once what is behind its own cursor" => {
            together::each_reads_its_own(scene).await
        }
        "gives each stream its own bytes" => output::apart(scene).await,
        "gives its output from every cursor" => output::read_from_every_cursor(scene).await,
        "has more to come" => output::has_no_end_yet(scene).await,
        "is listed with its command, and grows older" => listed_truly(scene).await,
        "gives no more than it is asked for" => output::no_more_than_asked(scene).await,
        "gives nothing from beyond its end" => output::nothing_beyond_the_end(scene).await,
        "gives all that it has printed, piece by piece, and again" => output::whole_twice(scene).await,
        "has written just that" => {
            over(scene).await?;
            output::whole(scene).await
        }
        "gives every byte that it has written" => output::whole(scene).await,
        "goes on whenever it is read, and loses nothing" => output::flows(scene).await,
        "is told to wait for a reader, and that only while it does" => full::told(scene).await,
        "keeps the end of its output, and tells a gap before it" => full::keeps_the_end(scene).await,
        "is waited for no longer than was asked" => waits_as_asked(scene, A_WHILE).await,
        "is told to run without any waiting" => waits_as_asked(scene, Duration::ZERO).await,
        "is not known any more" => forgotten(scene).await,
        other => Err(Failure::suite(format!(
            "{other:?} is nothing to be seen of a job"
        ))),
    }
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
    Ok(try_to_kill(scene).await?)
}

async fn try_to_kill(scene: &mut Scene) -> Result<(), CallError> {
    let (params, client, patience) = asking(scene).await?;
    client
        .call::<method::KillJob>(&params, patience)
        .await
        .map(|_| ())
}

async fn forget(scene: &mut Scene) -> StepResult {
    Ok(try_to_forget(scene).await?)
}

async fn try_to_forget(scene: &mut Scene) -> Result<(), CallError> {
    let (params, client, patience) = asking(scene).await?;
    client
        .call::<method::ForgetJob>(&params, patience)
        .await
        .map(|_| ())
}

/// What is needed to ask something about the job.
async fn asking(scene: &mut Scene) -> Result<(JobRef, Arc<Client>, Duration), CallError> {
    let broken = |failure: Failure| CallError::Refused(Error::internal("ask about a job", failure.seen));
    let params = of_job(scene).await.map_err(broken)?;
    let patience = scene.patience();
    let client = scene.client().await.map_err(broken)?;
    Ok((params, client, patience))
}

/// Has another command of the sandbox kill the job, whose first line is the number of its process.
async fn kill_from_outside(scene: &mut Scene) -> StepResult {
    let number = output::first_line(scene).await?;
    scene.prepare(format!("kill -9 {number}")).await.map(|_| ())
}

/// What is told of the job when it has ended.
async fn wait(scene: &mut Scene) -> Result<Result<JobInfo, CallError>, Failure> {
    let within = scene.scaled(SOON);
    wait_for(scene, within).await
}

async fn wait_for(scene: &mut Scene, within: Duration) -> Result<Result<JobInfo, CallError>, Failure> {
    let JobRef { sandbox, job } = of_job(scene).await?;
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
    told(scene, &expected.to_string(), |outcome| outcome == expected).await
}

async fn told_as_signalled(scene: &mut Scene) -> StepResult {
    let expected = "ended by signal 9";
    told(scene, expected, |outcome| {
        matches!(outcome, Outcome::Signaled { number: 9, .. })
    })
    .await
}

/// Whoever waits and whoever lists is told an outcome that fits.
async fn told(scene: &mut Scene, expected: &str, fits: impl Fn(&Outcome) -> bool) -> StepResult {
    let waited = wait(scene).await??.outcome;
    let listed = info(scene).await?.outcome;
    for (place, outcome) in [("whoever waits", waited), ("the list", listed)] {
        if !outcome.as_ref().is_some_and(&fits) {
            let seen = outcome.map_or_else(|| "that it runs".to_owned(), |outcome| outcome.to_string());
            return Err(Failure::failed(
                format!("the outcome: {expected}"),
                format!("{place} is told: {seen}"),
            ));
        }
    }
    Ok(())
}

/// The job as it is listed.
async fn info(scene: &mut Scene) -> Result<JobInfo, Failure> {
    let JobRef { sandbox, job } = of_job(scene).await?;
    let patience = scene.patience();
    let listed = scene
        .client()
        .await?
        .call::<method::ListJobs>(&JobListParams { sandbox }, patience)
        .await?;
    let found = listed.jobs.into_iter().find(|info| info.job == job);
    found.ok_or_else(|| Failure::failed("the job in the list", "it is not there"))
}

/// The list tells what a job was started with, and for how long it has been there.
async fn listed_truly(scene: &mut Scene) -> StepResult {
    let first = info(scene).await?;
    tokio::time::sleep(A_WHILE).await;
    let later = info(scene).await?;
    let command = later.command.to_string_lossy().into_owned();
    let older = later.age_ms.saturating_sub(first.age_ms);
    let grown = u64::try_from(A_WHILE.as_millis()).unwrap_or(u64::MAX);
    let most = scene.scaled(AT_ONCE).as_millis() + A_WHILE.as_millis();
    if command.contains("echo $$") && older + 1 >= grown && u128::from(older) <= most {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a command with `echo $$` in it, older by {grown} to {most} ms"),
        format!("{command:?}, older by {older} ms"),
    ))
}

/// Whoever waits a while, and whoever lists after that, is told that the job runs.
async fn told_to_run(scene: &mut Scene) -> StepResult {
    let waited = wait_for(scene, A_WHILE).await??.outcome;
    let listed = info(scene).await?.outcome;
    for (place, outcome) in [("whoever waits", waited), ("the list", listed)] {
        if let Some(outcome) = outcome {
            return Err(Failure::failed(
                "the job to be told to run, since it does",
                format!("{place} is told: {outcome}"),
            ));
        }
    }
    Ok(())
}

/// A wait that is bounded is answered when its time is over, and not before.
async fn waits_as_asked(scene: &mut Scene, asked: Duration) -> StepResult {
    let began = Instant::now();
    let waited = wait_for(scene, asked).await??.outcome;
    let took = began.elapsed();
    let latest = asked + scene.scaled(AT_ONCE);
    if waited.is_none() && took >= asked && took <= latest {
        return Ok(());
    }
    let outcome = waited.map_or_else(|| "that it runs".to_owned(), |outcome| outcome.to_string());
    Err(Failure::failed(
        format!(
            "to be told that the job runs, after {} to {} ms",
            asked.as_millis(),
            latest.as_millis()
        ),
        format!("{outcome}, after {} ms", took.as_millis()),
    ))
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

/// A command that somebody waits for is not told as a job.
pub(crate) async fn none_is_listed(scene: &mut Scene) -> StepResult {
    let listed = many::listed(scene).await?;
    if listed.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = listed
        .iter()
        .map(|info| format!("{}: {}", info.job, info.command.to_string_lossy()))
        .collect();
    Err(Failure::failed(
        "no job, since what runs is a command that its caller waits for",
        told.join(", "),
    ))
}
