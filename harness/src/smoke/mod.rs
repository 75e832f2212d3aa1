//! A minute's check of an adapter or a manifest, for whoever writes one: a fixed series of exchanges, in the order in which
//! they are built, each shown as a conversation with what was expected and what to do.
//!
//! It speaks for itself, without the typed client: that one breaks off at the first mistake, and this goes on as far as going
//! on means anything.

mod command;
mod complaint;
mod events;
mod files;
mod greeting;
mod host_access;
mod lifecycle;
mod model;
mod option;
mod plan;
mod refusal;
mod show;
mod start;
mod talk;
mod walk;
mod wire;

use std::{
    ffi::OsString,
    path::PathBuf,
    time::{Duration, Instant},
};

pub use model::{BrokenOff, Exchange, FORMAT, Problem, Smoke, SmokeReport, Speaker, SpokenLine, Verdict};
pub use show::{Show, ShowOptions};
pub use walk::Teller;

use plan::{EXCHANGES, Planned};
use talk::Talk;
use walk::Walk;
use wire::Wire;

use crate::{redact::Redactor, runner, stop::Stop, subject::Subject};

/// How long an adapter may take to end when the walk has broken off.
const GRACE: Duration = Duration::from_secs(1);

/// How to walk.
pub struct SmokeOptions {
    /// The id of the run; whatever is made carries it.
    pub run: String,
    /// A folder for temporary files, which the caller removes.
    pub scratch: PathBuf,
    /// A program, with arguments, that runs the adapter and ends whatever it leaves behind.
    pub guard: Vec<OsString>,
    /// What is never shown.
    pub redactor: Redactor,
    /// When to end early.
    pub stop: Stop,
}

/// Walks through the exchanges with a subject; `tell` is given each one when it is over.
pub async fn smoke(subject: &Subject, options: &SmokeOptions, tell: &mut Teller<'_>) -> Smoke {
    let started = Instant::now();
    let ended = |exchanges, broken_off| Smoke {
        subject: subject.name.clone(),
        arguments: subject.arguments.clone(),
        exchanges,
        broken_off,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    if let Err(why) = start::check(subject).await {
        return ended(Vec::new(), Some(BrokenOff::NotStarted { why }));
    }
    let launch = runner::launch(subject, &options.run, &options.scratch, &options.guard);
    let wire = match Wire::start(&launch) {
        Ok(wire) => wire,
        Err(fault) => {
            let why = fault.to_string();
            return ended(Vec::new(), Some(BrokenOff::NotStarted { why }));
        }
    };
    let talk = Talk::new(wire, &options.redactor, &options.stop);
    let mut walk = Walk::new(talk, &options.redactor, tell);
    for planned in &EXCHANGES {
        match walk.obstacle(planned) {
            Some((verdict, why)) => walk.leave_out(planned, verdict, why),
            None => take(&mut walk, planned, options).await,
        }
    }
    walk.talk.end(GRACE).await;
    let broken_off = walk.talk.lost.take();
    ended(walk.exchanges, broken_off)
}

/// Takes one exchange from its beginning to its end.
async fn take(walk: &mut Walk<'_>, planned: &Planned, options: &SmokeOptions) {
    walk.begin(planned);
    match planned.id {
        "initialize" => {
            let scratch = options.scratch.display().to_string();
            greeting::initialize(walk, &options.run, &scratch).await;
        }
        "preflight" => greeting::preflight(walk).await,
        "open" => lifecycle::open(walk).await,
        "print" => command::print(walk).await,
        "exit_code" => command::exit_code(walk).await,
        "streams" => command::streams(walk).await,
        "argv" => option::argv(walk).await,
        "env" => option::env(walk).await,
        "cwd" => option::cwd(walk).await,
        "stdin" => option::stdin(walk).await,
        "stdin_stream" => option::stdin_stream(walk).await,
        "timeout" => option::timeout(walk).await,
        "cancel" => option::cancel(walk).await,
        "files" => files::files(walk).await,
        "host_access" => host_access::host_access(walk).await,
        "sandbox_not_found" => refusal::sandbox_not_found(walk).await,
        "unknown_method" => refusal::unknown_method(walk).await,
        "undeclared" => refusal::undeclared(walk).await,
        "at_once" => option::at_once(walk).await,
        "close" => lifecycle::close(walk).await,
        "closed" => refusal::closed(walk).await,
        "close_again" => lifecycle::close_again(walk).await,
        "end" => lifecycle::end(walk, &options.scratch).await,
        other => unreachable!("{other} is planned, and not written"),
    }
    walk.finish().await;
}
