//! `herm run`: subjects judged by the contract.

use std::{
    env,
    ffi::OsString,
    hash::{BuildHasher as _, RandomState},
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use clap::Args;
use herm_harness::{
    contract::Contract,
    event::{Event, FORMAT},
    expectation::{Expectations, write_expectations},
    plan::Selection,
    recorder::Recorder,
    redact::Redactor,
    report::{Console, Report, Reports},
    runner::{self, EventSink, Hold, RunOptions},
    scene::Listener,
    stop::Stop,
    subject::Subject,
    tell::tell,
    verdict::Exit,
};

use super::{
    Refusal, broken,
    color::Color,
    contract::ContractArguments,
    fail,
    list::try_print,
    runtime::block_on,
    signals::EndSignals,
    subjects::{SubjectArguments, this_program},
    usage,
    workspace::{Workspace, obey},
};

/// Test subjects against the contract, and report.
///
/// Exit codes: 0 conformant, 1 not, 2 usage, 3 nothing ran, 4 the suite or an adapter broke, 130 or 143 interrupted.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    subjects: SubjectArguments,
    /// Only these requirements: an id (TIMEOUT-003), a chapter (TIMEOUT), or an id with * (TIMEOUT-*)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    only: Vec<String>,
    /// Only the requirements of these profiles
    #[arg(long = "profile", value_name = "NAME", value_delimiter = ',')]
    profiles: Vec<String>,
    /// Where the reports go: events.jsonl, report.json, junit.xml, summary.md
    #[arg(long, value_name = "FOLDER", default_value = "herm-report")]
    report: PathBuf,
    /// Print report.json on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// Show the conversation with the adapter, on standard error
    #[arg(short, long)]
    verbose: bool,
    /// At most so many requirements at the same time; a subject may declare less
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    parallel: Option<u32>,
    /// Try what is not kept again, so often; what is kept then is flaky
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "certify")]
    retries: u32,
    /// Check every message of the adapter against the protocol's JSON Schema; one that does not fit is an error
    #[arg(long)]
    validate: bool,
    /// Be strict: no selection, no retries, and a flaky MUST counts
    #[arg(long, conflicts_with_all = ["only", "profiles"])]
    certify: bool,
    /// Leave the sandbox of a failure as it is until Enter is pressed; makes one requirement run after the other
    #[arg(long)]
    keep: bool,
    /// The failures that are expected, and why; a stale entry is red
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,
    /// Write today's failures to this file of expectations
    #[arg(long, value_name = "FILE")]
    write_expectations: Option<PathBuf>,
    /// When to colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    #[command(flatten)]
    contract: ContractArguments,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        match test(&arguments).await {
            Ok(exit) => ExitCode::from(exit.code()),
            Err((exit, message)) => fail(exit, message),
        }
    })
}

async fn test(arguments: &Arguments) -> Result<Exit, Refusal> {
    let started = Instant::now();
    let contract = arguments.contract.load_valid().map_err(usage)?;
    let selection = Selection {
        only: arguments.only.clone(),
        profiles: arguments.profiles.clone(),
    };
    selection.check(&contract).map_err(usage)?;
    let mut subjects = arguments.subjects.resolve().map_err(usage)?;
    let optional = arguments.subjects.resolve_optional().map_err(usage)?;
    let mut expectations = subjects
        .iter()
        .map(|subject| expectations_of(arguments, subject, &contract))
        .collect::<Result<Vec<_>, _>>()?;

    check_write_expectations(arguments, &subjects)?;

    let run = run_id();
    let redactor = redactor_of(&subjects);
    for name in redactor.too_short() {
        tell(format_args!(
            "herm: the value of {name} is too short to be told from other text; it is not redacted"
        ));
    }
    let stop = Stop::default();
    let signals = EndSignals::take().map_err(broken)?;
    let workspace = Workspace::make(&run, Some(&arguments.report))?;
    let reports = Reports::create(&arguments.report, &run, redactor, console(arguments))
        .map_err(|error| (error.exit(), error.to_string()))?;
    let recorder = Recorder::start(reports);
    let options = RunOptions {
        run: run.clone(),
        scratch: workspace.path().to_owned(),
        own_folder: None,
        selection,
        parallelism: if arguments.keep {
            Some(1)
        } else {
            arguments.parallel
        },
        retries: arguments.retries,
        keep: arguments.keep,
        hold: arguments.keep.then(hold),
        validate: arguments.validate,
        guard: guard(workspace.path()).map_err(broken)?,
        redactor: Arc::new(redactor_of(&subjects)),
        listener: arguments.verbose.then(listener),
        stop: stop.clone(),
    };

    tokio::spawn(obey(signals, stop.clone()));
    let sink = recorder.sink();
    sink(first_event(run, arguments.certify));
    // What is skipped is told before anything else.
    for subject in optional {
        if answers(&subject, &options, &sink).await {
            subjects.push(subject);
            expectations.push(None);
        }
    }
    let exit = test_all(&contract, &subjects, &expectations, &options, &sink).await;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    sink(Event::RunFinished {
        interrupted: stop.signal(),
        duration_ms,
    });
    drop(sink);
    let finished = tokio::task::spawn_blocking(move || recorder.finish())
        .await
        .map_err(broken)?;
    drop(workspace);
    let report = finished.map_err(|error| {
        (
            error.exit(),
            format!("{error}; the verdicts above stand, the reports do not"),
        )
    })?;
    conclude(arguments, &report, &expectations, exit)
}

/// Whether everything is there that a subject needs; what is missing is told as the reason why it is skipped.
async fn answers(subject: &Subject, options: &RunOptions, sink: &EventSink) -> bool {
    let reason = match runner::preflight(subject, options).await {
        Ok((_, preflight)) => {
            let problems = preflight.map(|preflight| preflight.problems).unwrap_or_default();
            let told = problems
                .iter()
                .map(|problem| format!("{}: {}", problem.what, problem.fix));
            told.collect::<Vec<_>>().join("; ")
        }
        Err(failure) => failure.failure.seen,
    };
    if reason.is_empty() {
        return true;
    }
    sink(Event::SubjectSkipped {
        subject: subject.name.clone(),
        reason,
        broken: false,
    });
    false
}

async fn test_all(
    contract: &Contract,
    subjects: &[Subject],
    expectations: &[Option<Expectations>],
    options: &RunOptions,
    sink: &EventSink,
) -> Exit {
    let mut exit = Exit::Conformant;
    for (subject, expectations) in subjects.iter().zip(expectations) {
        if options.stop.signal().is_some() {
            let reason = "the run was interrupted".into();
            sink(Event::SubjectSkipped {
                subject: subject.name.clone(),
                reason,
                broken: false,
            });
        } else if runner::test(contract, subject, expectations.as_ref(), options, sink.clone())
            .await
            .is_err()
        {
            exit = exit.worst(Exit::Broken);
        }
    }
    exit
}

/// One file is about one subject.
fn check_write_expectations(arguments: &Arguments, subjects: &[Subject]) -> Result<(), Refusal> {
    match &arguments.write_expectations {
        Some(path) if subjects.len() > 1 => Err(usage(format_args!(
            "{} can be about one subject, and {} are given; run one after the other with --write-expectations",
            path.display(),
            subjects.len()
        ))),
        _ => Ok(()),
    }
}

fn conclude(
    arguments: &Arguments,
    report: &Report,
    expectations: &[Option<Expectations>],
    exit: Exit,
) -> Result<Exit, Refusal> {
    if arguments.json {
        try_print(&serde_json::to_string_pretty(report).map_err(broken)?)?;
    }
    if let Some(path) = &arguments.write_expectations {
        let known = expectations.first().and_then(Option::as_ref);
        match report.subjects.first() {
            Some(subject) if subject.skipped.is_none() && report.interrupted.is_none() => {
                let written = write_expectations(subject, known, path).map_err(usage)?;
                tell(format_args!(
                    "herm: wrote {written} expectations to {}; give each its reason",
                    path.display()
                ));
            }
            _ => tell(format_args!(
                "herm: {} is not written: the subject was not tested to the end",
                path.display()
            )),
        }
    }
    Ok(report.exit(arguments.certify).worst(exit))
}

fn expectations_of(
    arguments: &Arguments,
    subject: &Subject,
    contract: &Contract,
) -> Result<Option<Expectations>, Refusal> {
    let Some(path) = arguments.expectations.as_ref().or(subject.expectations.as_ref()) else {
        return Ok(None);
    };
    // A manifest may name the file that is to be written for the first time.
    let written = arguments.write_expectations.as_deref();
    if written.is_some_and(|written| is_same(written, path)) && !path.exists() {
        return Ok(None);
    }
    let ids: Vec<_> = contract
        .requirements
        .iter()
        .map(|requirement| requirement.id.as_str())
        .collect();
    let expectations = Expectations::load(path, &ids).map_err(usage)?;
    if expectations.subject != subject.name {
        let (path, meant) = (path.display(), &expectations.subject);
        return Err(usage(format!(
            "{path} is about the subject {meant:?}, and not about {:?}",
            subject.name
        )));
    }
    Ok(Some(expectations))
}

/// Whether two paths name one file, which need not be there.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((std::path::absolute(one), std::path::absolute(other)), (Ok(one), Ok(other)) if one == other)
}

fn first_event(run: String, certify: bool) -> Event {
    Event::RunStarted {
        format: FORMAT,
        suite_version: env!("CARGO_PKG_VERSION").into(),
        run,
        started: jiff::Timestamp::now()
            .round(jiff::Unit::Second)
            .unwrap_or_default()
            .to_string(),
        certify,
    }
}

/// An id that no other run has, and that sorts by time.
pub(super) fn run_id() -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%dt%H%M%S");
    let random = RandomState::new().hash_one(std::process::id());
    format!("{now}-{:08x}", random & 0xffff_ffff)
}

/// What the variables that subjects need hold never reaches a report.
pub(super) fn redactor_of(subjects: &[Subject]) -> Redactor {
    let names = subjects.iter().flat_map(|subject| &subject.environment);
    Redactor::new(names.filter_map(|name| {
        env::var_os(name).map(|value| (name.clone(), std::os::unix::ffi::OsStringExt::into_vec(value)))
    }))
}

/// Shows a person the kept sandboxes, until Enter is pressed.
fn hold() -> Hold {
    Arc::new(|kept: Vec<String>| {
        Box::pin(async move {
            for sandbox in &kept {
                tell(format!("kept: {sandbox}"));
            }
            if !io::stdin().is_terminal() {
                return tell("standard input is no terminal, so they end now");
            }
            tell("press Enter to end them");
            let _ = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new())).await;
        })
    })
}

fn listener() -> Arc<Listener> {
    Arc::new(|line: &str| tell(line))
}

/// The words that come before an adapter's own.
pub(super) fn guard(scratch: &Path) -> io::Result<Vec<OsString>> {
    Ok(vec![
        this_program()?,
        "guard".into(),
        "--scratch".into(),
        scratch.into(),
        "--".into(),
    ])
}

fn console(arguments: &Arguments) -> Console {
    if arguments.json {
        return Console::silent();
    }
    let options = arguments.color.console(arguments.verbose);
    Console::new(Box::new(io::stdout()), options)
}
