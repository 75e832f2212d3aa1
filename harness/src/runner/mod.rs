//! Runs the plan of a subject through cucumber and says what was seen, as events.

mod board;
mod dispatch;
mod features;
mod launch;
mod writer;

use std::{
    ffi::OsString,
    panic,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cucumber::{Cucumber, runner};
use futures::{FutureExt as _, future::BoxFuture};
use herm_protocol::{ErrorKind, client::CallError, initialize::Preflight, method, sandbox::Empty};

use board::Board;
use features::Features;
use writer::{EventWriter, Late};

use crate::{
    contract::{Contract, Declared},
    event::{Event, SubjectInfo},
    expectation::Expectations,
    plan::{Plan, Selection},
    redact::Redactor,
    report::INTERRUPTED,
    scene::{Failure, Listener, Scene, Worker, Workshop},
    stop::Stop,
    subject::Subject,
};

pub use launch::CANARIES;
pub(crate) use launch::{launch, workshop};

/// At most so many requirements at the same time, whatever a subject declares.
const MOST_AT_ONCE: u32 = 64;

/// How long a subject may look for what is missing.
const PREFLIGHT: Duration = Duration::from_mins(1);

/// Takes every event of a run. It is called from asynchronous code and must not block.
pub type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// Shows kept sandboxes to a person, and returns when that person has seen enough.
pub type Hold = Arc<dyn Fn(Vec<String>) -> BoxFuture<'static, ()> + Send + Sync>;

/// How to test subjects.
#[derive(Clone)]
pub struct RunOptions {
    /// The id of the run; whatever is made carries it.
    pub run: String,
    /// A folder for temporary files, which the caller removes.
    pub scratch: PathBuf,
    /// A folder in it that is this subject's alone, where several are tested side by side; the whole when not given.
    pub own_folder: Option<PathBuf>,
    /// What the user wants of the contract.
    pub selection: Selection,
    /// At most so many requirements at the same time; what the subject declares when not given.
    pub parallelism: Option<u32>,
    /// How often a requirement that is not kept is tried again.
    pub retries: u32,
    /// Whether the sandbox of a failure is left as it is.
    pub keep: bool,
    /// Told of the sandboxes that are kept; they are kept for as long as it takes.
    pub hold: Option<Hold>,
    /// Whether every message of the adapter is checked against the schema; one that does not fit is an `error`.
    pub validate: bool,
    /// A program, with arguments, that runs the adapter and ends whatever it leaves behind.
    pub guard: Vec<OsString>,
    /// What never reaches an event or the listener.
    pub redactor: Arc<Redactor>,
    /// Takes every line that goes over the wire, redacted and shortened.
    pub listener: Option<Arc<Listener>>,
    /// When to end early.
    pub stop: Stop,
}

impl RunOptions {
    /// The whole contract once, without retries, and with nobody who looks on.
    #[must_use]
    pub fn new(run: String, scratch: PathBuf, guard: Vec<OsString>, stop: Stop) -> Self {
        Self {
            run,
            scratch,
            own_folder: None,
            selection: Selection::default(),
            parallelism: None,
            retries: 0,
            keep: false,
            hold: None,
            guard,
            redactor: Arc::default(),
            listener: None,
            validate: false,
            stop,
        }
    }
}

/// A subject that could not be tested at all.
#[derive(Debug, thiserror::Error)]
#[error("failed to test {subject}: {}", failure.seen)]
pub struct SubjectFailure {
    /// Its name.
    pub subject: String,
    /// Why.
    pub failure: Failure,
}

/// Tests one subject and says what was seen.
///
/// # Errors
/// [`SubjectFailure`] when its adapter cannot be started or does not introduce itself; the event of it was sent.
pub async fn test(
    contract: &Contract,
    subject: &Subject,
    expectations: Option<&Expectations>,
    options: &RunOptions,
    sink: EventSink,
) -> Result<(), SubjectFailure> {
    let mut workshop = launch::workshop(subject, options);
    let (worker, declared) = match get_acquainted(&mut workshop, options).await {
        Ok(acquainted) => acquainted,
        Err(failure) => {
            let reason = failure.seen.clone();
            let broken = failure.kind.as_deref() != Some(INTERRUPTED);
            sink(Event::SubjectSkipped {
                subject: subject.name.clone(),
                reason,
                broken,
            });
            return Err(SubjectFailure {
                subject: subject.name.clone(),
                failure,
            });
        }
    };
    let info = SubjectInfo {
        untested: contract.untested(&declared),
        ..info_of(subject, &worker)
    };
    let parallelism = options
        .parallelism
        .map_or(info.parallelism, |most| most.min(info.parallelism))
        .max(1);
    let plan = Plan::new(contract, &declared, &options.selection);
    sink(Event::SubjectPlanned {
        subject: info,
        rows: plan.rows.clone(),
    });

    workshop.give_back(worker, false).await;
    let workshop = Arc::new(workshop);
    let mut wanted = plan.runnable;
    let mut first_seen = board::Observed::new();
    for attempt in 0..=options.retries {
        let last = attempt == options.retries || options.stop.signal().is_some();
        let board = Board::new(
            subject,
            expectations,
            options.redactor.clone(),
            sink.clone(),
            last,
            first_seen,
        );
        let features = Features::of(contract, &declared, &wanted);
        let board = run_features(features, board, &workshop, parallelism, options.keep).await;
        (wanted, first_seen) = board.left();
        if wanted.is_empty() || last {
            break;
        }
    }
    let kept = workshop.kept();
    if let Some(hold) = options.hold.as_ref().filter(|_| !kept.is_empty()) {
        tokio::select! {
            () = options.stop.stopped() => {}
            () = hold(kept) => {}
        }
    }
    workshop.shut().await;
    Ok(())
}

/// Asks a subject what is missing on this machine. `None` when it does not say.
///
/// # Errors
/// [`SubjectFailure`] when its adapter cannot be started, does not introduce itself, or breaks.
pub async fn preflight(
    subject: &Subject,
    options: &RunOptions,
) -> Result<(SubjectInfo, Option<Preflight>), SubjectFailure> {
    let failed = |failure| SubjectFailure {
        subject: subject.name.clone(),
        failure,
    };
    let workshop = launch::workshop(subject, options);
    let worker = introduce(&workshop, options).await.map_err(failed)?;
    let answer = worker
        .client
        .call::<method::CheckPreflight>(&Empty {}, PREFLIGHT)
        .await;
    let info = info_of(subject, &worker);
    workshop.give_back(worker, true).await;
    match answer {
        Ok(preflight) => Ok((info, Some(preflight))),
        Err(CallError::Refused(error)) if error.kind() == ErrorKind::Unsupported => Ok((info, None)),
        Err(error) => Err(failed(error.into())),
    }
}

async fn introduce(workshop: &Workshop, options: &RunOptions) -> Result<Worker, Failure> {
    tokio::select! {
        biased;
        () = options.stop.stopped() => Err(Failure::interrupted()),
        worker = workshop.employ() => worker,
    }
}

/// Starts a first adapter, and fits the workshop to what it declares.
async fn get_acquainted(
    workshop: &mut Workshop,
    options: &RunOptions,
) -> Result<(Worker, Declared), Failure> {
    let worker = introduce(workshop, options).await?;
    let declared = Declared::from(&worker.initialized);
    workshop.set_factor(factor_of(&declared));
    let outlives = |name: &str| declared.capabilities.contains(name);
    if outlives("attach") || outlives("survive_client") {
        workshop.keep_what_is_left()?;
    }
    Ok((worker, declared))
}

/// By how much every deadline is longer than on this machine.
fn factor_of(declared: &Declared) -> u32 {
    match declared.choices.get("latency").map(String::as_str) {
        Some("cloud") => 8,
        Some("lan") => 3,
        _ => 1,
    }
}

fn info_of(subject: &Subject, worker: &Worker) -> SubjectInfo {
    let initialized = worker.initialized.clone();
    SubjectInfo {
        name: subject.name.clone(),
        version: initialized.version,
        homepage: initialized.homepage,
        backend: initialized.backend,
        mode: initialized.mode,
        emulated: initialized.emulated,
        capabilities: initialized.capabilities,
        choices: initialized.choices,
        untested: Vec::new(),
        parallelism: initialized.parallelism.clamp(1, MOST_AT_ONCE),
    }
}

/// Drives cucumber over the features; the board has every verdict in the end.
async fn run_features(
    features: Features,
    board: Board,
    workshop: &Arc<Workshop>,
    parallelism: u32,
    keep: bool,
) -> Board {
    let any = regex::Regex::new("(?s)^.*$").unwrap_or_else(|error| unreachable!("{error}"));
    let flags = Arc::new(features.flags());
    let mut board = board;
    board.expect(features.rows());
    let lent = workshop.clone();
    let late = Late::default();
    let told = late.clone();
    let runner = runner::Basic::default()
        .max_concurrent_scenarios(usize::try_from(parallelism).unwrap_or(1))
        .given(any.clone(), dispatch::dispatch)
        .when(any.clone(), dispatch::dispatch)
        .then(any, dispatch::dispatch)
        .before(move |_, _, scenario, scene: &mut Scene| {
            scene.workshop = Some(lent.clone());
            (scene.fresh, scene.alone) = flags.of(scenario);
            futures::future::ready(()).boxed_local()
        })
        .after(move |_, _, scenario, finished, scene| {
            let red = matches!(finished, cucumber::event::ScenarioFinished::StepFailed(..));
            let told = told.clone();
            async move {
                if let Some(scene) = scene
                    && let Some(failure) = scene.end(red, keep && red).await
                {
                    told.tell(scenario, failure);
                }
            }
            .boxed_local()
        });
    let writer = Cucumber::<_, _, _, _, _, cucumber::cli::Empty>::custom(
        features,
        runner,
        EventWriter::new(board, late),
    )
    .with_cli(cucumber::cli::Opts::<_, _, _, cucumber::cli::Empty>::default())
    .run(())
    .await;
    tell_of_panics();
    writer.into_board()
}

/// Cucumber silences all panics while it runs, and gives back whatever hook it found, which may be the silent one of
/// another run. This tells of panics again, but for those that only carry a verdict out of a step.
fn tell_of_panics() {
    drop(panic::take_hook());
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<dispatch::Thrown>() {
            default(info);
        }
    }));
}

/// Milliseconds since a moment.
fn millis_since(moment: Instant) -> u64 {
    u64::try_from(moment.elapsed().as_millis()).unwrap_or(u64::MAX)
}
