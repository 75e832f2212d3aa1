//! `herm smoke`: a minute's check of a backend, which reads like a conversation.

use std::{io, process::ExitCode};

use clap::Args;
use herm_harness::{
    smoke::{BrokenOff, FORMAT, Show, ShowOptions, Smoke, SmokeOptions, SmokeReport, smoke},
    stop::Stop,
    subject::Subject,
    tell::tell,
    verdict::Exit,
};

use super::{
    Refusal, broken,
    color::Color,
    fail,
    list::try_print,
    run::{guard, redactor_of, run_id},
    runtime::block_on,
    signals::EndSignals,
    subjects::SubjectArguments,
    usage,
    workspace::{Workspace, obey},
};

/// Walk through the protocol with a backend that you write: one exchange after the other, what was sent (→), what came (←),
/// and what to do.
///
/// Every message is checked against the protocol's JSON Schema. Without a subject it shows how `local` does it; with -v
/// that is a model to copy from.
///
/// Exit codes: 0 every exchange is right; 1 one is wrong; 2 the command line or a manifest cannot be used; 3 the adapter could
/// not be started, so nothing ran; 4 the conversation broke off (it ended, flooded, or answered no more); 130 or 143
/// interrupted.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    subjects: SubjectArguments,
    /// Show the conversation of exchanges that are right, too
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        match walk_all(&arguments).await {
            Ok(exit) => ExitCode::from(exit.code()),
            Err((exit, message)) => fail(exit, message),
        }
    })
}

async fn walk_all(arguments: &Arguments) -> Result<Exit, Refusal> {
    let subjects = arguments.subjects.resolve().map_err(usage)?;
    let run = run_id();
    let redactor = redactor_of(&subjects);
    for name in redactor.too_short() {
        tell(format_args!(
            "herm: the value of {name} is too short to be told from other text; it is not redacted"
        ));
    }
    let stop = Stop::default();
    let signals = EndSignals::take().map_err(broken)?;
    let workspace = Workspace::make(&run, None)?;
    let options = SmokeOptions {
        run,
        scratch: workspace.path().to_owned(),
        guard: guard(workspace.path()).map_err(broken)?,
        redactor,
        stop: stop.clone(),
    };
    tokio::spawn(obey(signals, stop));
    let mut show = show(arguments);
    let mut walks = Vec::new();
    for subject in &subjects {
        let walk = walk(subject, &options, &mut show).await;
        let interrupted = matches!(walk.broken_off, Some(BrokenOff::Interrupted { .. }));
        walks.push(walk);
        if interrupted {
            break;
        }
    }
    drop(workspace);
    let exit = walks.iter().map(Smoke::exit).fold(Exit::Conformant, Exit::worst);
    if arguments.json {
        let report = SmokeReport {
            format: FORMAT,
            subjects: walks,
        };
        try_print(&serde_json::to_string_pretty(&report).map_err(broken)?)?;
    }
    Ok(exit)
}

async fn walk(subject: &Subject, options: &SmokeOptions, show: &mut Show) -> Smoke {
    let words = subject
        .adapter
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    show.begin(&subject.name, &words.collect::<Vec<_>>());
    let walk = smoke(subject, options, &mut |exchange| show.exchange(exchange)).await;
    show.end(&walk);
    walk
}

fn show(arguments: &Arguments) -> Show {
    let options = ShowOptions {
        console: arguments.color.console(false),
        verbose: arguments.verbose,
    };
    if arguments.json {
        return Show::new(Box::new(io::sink()), options);
    }
    Show::new(Box::new(io::stdout()), options)
}
