//! Who is timed, and what it is timed at.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use herm_protocol::{
    exec::{Command as Task, Outcome, RunParams},
    method,
    sandbox::OpenParams,
};

use crate::{
    runner::{RunOptions, workshop},
    scene::{Failure, Worker, Workshop},
    subject::Subject,
};

/// How long a subject may take to open a sandbox, before the first trial.
const OPEN: Duration = Duration::from_mins(2);

/// Something that is done over and over and timed.
#[async_trait]
pub trait Operation: Send {
    /// Does it once and says how long it took.
    ///
    /// # Errors
    /// It did not do what it should.
    async fn once(&mut self) -> Result<Duration, Failure>;

    /// Ends what it holds.
    async fn end(&mut self) {}
}

/// One who is timed.
pub struct Contender {
    pub(super) name: String,
    operation: Box<dyn Operation>,
    /// Seconds of each round that counts.
    pub(super) times: Vec<f64>,
}

impl Contender {
    /// A contender without times.
    #[must_use]
    pub fn new(name: impl Into<String>, operation: Box<dyn Operation>) -> Self {
        Self {
            name: name.into(),
            operation,
            times: Vec::new(),
        }
    }

    pub(super) async fn once(&mut self, limit: Duration) -> Result<(), Failure> {
        let told = |failure: Failure| Failure {
            seen: format!("{}: {}", self.name, failure.seen),
            ..failure
        };
        match tokio::time::timeout(limit, self.operation.once()).await {
            Ok(Ok(time)) => {
                // The resolution of the clock is the shortest time there is.
                self.times.push(time.as_secs_f64().max(1e-9));
                Ok(())
            }
            Ok(Err(failure)) => Err(told(failure)),
            Err(_) => Err(told(Failure::deadline(limit))),
        }
    }

    pub(super) async fn end(&mut self) {
        self.operation.end().await;
    }
}

/// A program that is started, and waited for, with nothing between: the baseline that everything else is measured by.
pub struct PlainCommand {
    words: Vec<OsString>,
}

impl PlainCommand {
    /// A program with its arguments.
    #[must_use]
    pub fn new(words: Vec<OsString>) -> Self {
        Self { words }
    }
}

#[async_trait]
impl Operation for PlainCommand {
    async fn once(&mut self) -> Result<Duration, Failure> {
        let (program, arguments) = self
            .words
            .split_first()
            .ok_or_else(|| Failure::suite("no program was named"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let shown = program.to_string_lossy().into_owned();
        let timed = tokio::task::spawn_blocking(move || {
            let start = Instant::now();
            let status = command.status();
            (status, start.elapsed())
        });
        let (status, time) = timed.await.map_err(|error| Failure::suite(error.to_string()))?;
        match status {
            Ok(status) if status.success() => Ok(time),
            Ok(status) => Err(Failure::failed(
                "exit code 0",
                format!("{shown} ended with {status}"),
            )),
            Err(error) => Err(Failure::suite(format!("failed to start {shown}: {error}"))),
        }
    }
}

/// A command in a sandbox that is open already, from the request to the answer.
pub struct SubjectExec {
    workshop: Arc<Workshop>,
    worker: Option<Worker>,
    sandbox: String,
    text: String,
    serial: u64,
}

impl SubjectExec {
    /// Starts an adapter of the subject and opens a sandbox, in which `text` will be run by the shell.
    ///
    /// # Errors
    /// The adapter does not introduce itself, or no sandbox can be opened.
    pub async fn open(subject: &Subject, options: &RunOptions, text: &str) -> Result<Self, Failure> {
        let workshop = Arc::new(workshop(subject, options));
        let worker = workshop.employ().await?;
        let opened = worker
            .client
            .call::<method::Open>(&OpenParams::default(), OPEN)
            .await;
        let sandbox = match opened {
            Ok(opened) => opened.sandbox,
            Err(error) => {
                workshop.give_back(worker, true).await;
                return Err(error.into());
            }
        };
        Ok(Self {
            workshop,
            worker: Some(worker),
            sandbox,
            text: text.into(),
            serial: 0,
        })
    }
}

#[async_trait]
impl Operation for SubjectExec {
    async fn once(&mut self) -> Result<Duration, Failure> {
        let worker = self
            .worker
            .as_ref()
            .ok_or_else(|| Failure::suite("the adapter has ended"))?;
        self.serial += 1;
        let exec = format!("bench-{}", self.serial);
        let params = RunParams::new(&self.sandbox, exec, Task::Shell(self.text.as_str().into()));
        let start = Instant::now();
        // The limit of a trial is its caller's.
        let record = worker.client.run(&params)?.wait(Duration::from_hours(1)).await?;
        let time = start.elapsed();
        match record.answer {
            Some(Ok(result)) if result.outcome == (Outcome::Exited { code: 0 }) => Ok(time),
            Some(Ok(result)) => Err(Failure::failed("exit code 0", result.outcome.to_string())),
            Some(Err(error)) => Err(error.into()),
            None => Err(Failure::suite("the command has not ended")),
        }
    }

    async fn end(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            worker.close(&self.sandbox, Duration::from_secs(30)).await;
            self.workshop.give_back(worker, true).await;
        }
    }
}

#[cfg(test)]
pub(super) mod test {
    use super::*;
    use crate::bench::statistics::Random;

    /// Takes a time that is made up: a factor, an even spread of a tenth, and now and then a disturbance.
    pub(crate) struct Scripted(Option<(f64, Random)>);

    impl Scripted {
        pub(crate) fn new(factor: f64, seed: u64) -> Self {
            Self(Some((factor, Random::new(seed))))
        }

        pub(crate) fn broken() -> Self {
            Self(None)
        }
    }

    #[async_trait]
    impl Operation for Scripted {
        async fn once(&mut self) -> Result<Duration, Failure> {
            let Some((factor, random)) = &mut self.0 else {
                return Err(Failure::suite("it does not work"));
            };
            let spread = 0.95 + f64::from(u32::try_from(random.below(1000)).unwrap()) / 10_000.0;
            let disturbed = if random.below(10) == 0 { 2.0 } else { 1.0 };
            Ok(Duration::from_secs_f64(0.001 * *factor * spread * disturbed))
        }
    }
}
