//! Several callers of one job at once.

use std::time::Duration;

use futures::future::{join, join_all};
use herm_protocol::{
    Error, ErrorKind,
    client::CallError,
    exec::{Outcome, Stream},
    job::{JobInfo, JobOutputParams, JobRef, JobWaitParams},
    method,
};

use super::{A_WHILE, CODE, SOON, WORDS, begin, of_job};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::show,
};

/// How many wait for one job: more than a pool of workers usually has.
const MANY: usize = 16;

/// What is needed to wait for the job, or to read it.
struct Asking {
    client: std::sync::Arc<herm_protocol::client::Client>,
    of: JobRef,
    patience: Duration,
}

impl Asking {
    async fn new(scene: &mut Scene) -> Result<Self, Failure> {
        Ok(Self {
            of: of_job(scene).await?,
            patience: scene.patience(),
            client: scene.client().await?,
        })
    }

    async fn wait(&self, within: Option<Duration>) -> Result<JobInfo, CallError> {
        let params = JobWaitParams {
            sandbox: self.of.sandbox.clone(),
            job: self.of.job.clone(),
            within_ms: within.and_then(|within| u64::try_from(within.as_millis()).ok()),
        };
        self.client.call::<method::WaitJob>(&params, self.patience).await
    }

    /// The bytes from there on, and where they begin.
    async fn read(&self, from: u64) -> Result<(u64, Vec<u8>), CallError> {
        let params = JobOutputParams {
            sandbox: self.of.sandbox.clone(),
            job: self.of.job.clone(),
            stream: Stream::Stdout,
            from,
            max: None,
        };
        let output = self
            .client
            .call::<method::ReadJob>(&params, self.patience)
            .await?;
        Ok((output.offset, output.data.as_bytes().to_vec()))
    }
}

/// Waits that had no bound, or a long one.
fn told_as(waits: Vec<Result<JobInfo, CallError>>, expected: &Outcome) -> StepResult {
    let all = waits.len();
    for (place, told) in waits.into_iter().enumerate() {
        let outcome = match told {
            Ok(info) => info.outcome,
            Err(CallError::Refused(error)) => return Err(error.into()),
            Err(CallError::Fault(fault)) => {
                let expected = format!("each of {all} who wait to be told: {expected}");
                return Err(Failure::failed(
                    expected,
                    format!("number {}: {fault}", place + 1),
                ));
            }
        };
        if outcome.as_ref() != Some(expected) {
            let seen = outcome.map_or_else(|| "that it runs".into(), |outcome| outcome.to_string());
            return Err(Failure::failed(
                format!("each of {all} who wait to be told: {expected}"),
                format!("number {} is told: {seen}", place + 1),
            ));
        }
    }
    Ok(())
}

/// Some wait without a bound and some with a long one; when one that has waited a while has been told that the job runs, it
/// is told to go on, and ends.
pub(super) async fn all_are_told(scene: &mut Scene) -> StepResult {
    let asking = Asking::new(scene).await?;
    let long = scene.scaled(SOON);
    let waiting = join_all([None, Some(long), None, Some(long)].map(|within| asking.wait(within)));
    let ending = async {
        let early = asking.wait(Some(A_WHILE)).await?;
        if let Some(outcome) = early.outcome {
            return Err(Failure::failed(
                "whoever waits a while to be told that the job runs",
                outcome.to_string(),
            ));
        }
        begin::give_sign(scene).await
    };
    let (told, ended) = join(waiting, ending).await;
    ended?;
    told_as(told, &Outcome::Exited { code: CODE })
}

/// Many wait for the job, and another has it killed meanwhile.
pub(super) async fn kill_while_many_wait(scene: &mut Scene) -> StepResult {
    let asking = Asking::new(scene).await?;
    let waiting = join_all((0..MANY).map(|_| asking.wait(None)));
    let killing = async {
        // The requests before it on the connection were taken by then.
        asking.wait(Some(Duration::ZERO)).await?;
        let within = asking.patience;
        asking
            .client
            .call::<method::KillJob>(&asking.of, within)
            .await
            .map(|_| ())
    };
    let (told, killed) = join(waiting, killing).await;
    killed?;
    told_as(told, &Outcome::Cancelled)
}

/// One waits for the job when its sandbox is destroyed. Whoever waits is answered: as ended or lost, or refused since nothing
/// is there any more.
pub(super) async fn destroy_while_one_waits(scene: &mut Scene) -> StepResult {
    let asking = Asking::new(scene).await?;
    let id = asking.of.sandbox.clone();
    let destroying = async {
        asking.wait(Some(Duration::ZERO)).await?;
        scene.destroy(&id).await.map(|_| ())
    };
    let (told, destroyed) = join(asking.wait(None), destroying).await;
    destroyed?;
    scene.own.retain(|sandbox| sandbox.id != id);
    if let Some(beat) = &mut scene.beat {
        beat.reachable = beat.reachable && beat.sandbox != id;
    }
    let gone = |error: &Error| matches!(error.kind(), ErrorKind::SandboxNotFound | ErrorKind::JobNotFound);
    match told {
        Ok(JobInfo {
            outcome: Some(Outcome::SandboxLost | Outcome::Cancelled | Outcome::Signaled { .. }),
            ..
        }) => Ok(()),
        Err(CallError::Refused(error)) if gone(&error) => Ok(()),
        other => Err(Failure::failed(
            "whoever waits to be told that the job was lost or ended, or that it is not there",
            match other {
                Ok(JobInfo { outcome, .. }) => {
                    outcome.map_or_else(|| "that it runs".into(), |outcome| outcome.to_string())
                }
                Err(error) => error.to_string(),
            },
        )),
    }
}

/// From every cursor at the same time, while others wait, each is given what is behind its own.
pub(super) async fn each_reads_its_own(scene: &mut Scene) -> StepResult {
    let asking = Asking::new(scene).await?;
    let words = WORDS.as_bytes();
    let reading = join_all((0..=words.len()).map(|from| asking.read(from as u64)));
    let (read, told) = join(reading, asking.wait(None)).await;
    for (from, read) in read.into_iter().enumerate() {
        let (offset, seen) = read?;
        if offset != from as u64 || seen != words[from..] {
            return Err(Failure::failed(
                format!("from {from}: {}", show(&words[from..])),
                format!("from {offset}: {}", show(&seen)),
            ));
        }
    }
    told_as(vec![told], &Outcome::Exited { code: CODE })
}
