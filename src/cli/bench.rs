//! `herm bench`: how long subjects take, beside each other.

use std::{ffi::OsString, fmt::Write as _, process::ExitCode};

use clap::{Args, ValueEnum};
use herm_harness::{
    bench::{BenchOptions, BenchResult, BenchVerdict, Contender, PlainCommand, SubjectExec, compare},
    runner::RunOptions,
    scene::Failure,
    stop::Stop,
    subject::Subject,
    verdict::Exit,
};

use super::{
    Refusal, broken, fail,
    list::try_print,
    run::{guard, run_id},
    runtime::block_on,
    signals::EndSignals,
    subjects::named,
    usage,
    workspace::{Workspace, obey},
};

/// What every command does that is timed: nothing.
const TEXT: &str = "true";

/// Time a subject beside other subjects, or beside a plain command, in a way that noise cannot fake.
///
/// Each round times everybody once, in a random order; the verdict is on the interval of the ratio within the rounds. The
/// subject takes part twice: if it differs from itself, the machine is too restless, and nothing is concluded.
///
/// Exit codes: 0 no baseline is faster by more than the effect, or it cannot be told (which is said); 5 one is; 2 usage; 4
/// a subject broke.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The subject that is judged
    #[arg(long, value_name = "NAME|FILE", default_value = "local")]
    subject: String,
    /// A subject that it is compared with; may be given several times
    #[arg(long, value_name = "NAME|FILE")]
    vs: Vec<String>,
    /// A plain command that it is compared with, such as bash -c true; it ends the options
    #[arg(long, value_name = "PROGRAM ARGS", num_args = 1.., allow_hyphen_values = true)]
    vs_command: Vec<OsString>,
    /// What is timed
    #[arg(long, value_enum, default_value_t = What::Exec)]
    only: What,
    /// The most rounds; fewer are run when the answer is clear before
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(8..=100_000))]
    rounds: u32,
    /// The smallest difference that matters, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent)]
    effect: f64,
    /// Where the random order begins, to have the same one again
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How much slower than a baseline the subject may be, as a factor; only what is over it is worse
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    at_most: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What can be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A shell command that does nothing, in a sandbox that is open already, from the request to the answer.
    Exec,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.1..=1000.0).contains(&value) => Ok(value),
        _ => Err("it is no number from 0.1 to 1000".into()),
    }
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.001..=1000.0).contains(&value) => Ok(value),
        _ => Err("it is no number from 0.001 to 1000".into()),
    }
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        match bench(&arguments).await {
            Ok(exit) => ExitCode::from(exit.code()),
            Err((exit, message)) => fail(exit, message),
        }
    })
}

async fn bench(arguments: &Arguments) -> Result<Exit, Refusal> {
    let subject = named(&arguments.subject).map_err(usage)?;
    let others: Vec<Subject> = arguments
        .vs
        .iter()
        .map(|name| named(name).map_err(usage))
        .collect::<Result<_, _>>()?;
    let run = run_id();
    let stop = Stop::default();
    let signals = EndSignals::take().map_err(broken)?;
    let workspace = Workspace::make(&run, None)?;
    let options = RunOptions::new(
        run,
        workspace.path().to_owned(),
        guard(workspace.path()).map_err(broken)?,
        stop.clone(),
    );
    tokio::spawn(obey(signals, stop.clone()));
    let result = tokio::select! {
        biased;
        () = stop.stopped() => Err(Failure::interrupted()),
        result = time_all(arguments, &subject, &others, &options) => result,
    };
    if let Some(signal) = stop.signal() {
        return Ok(Exit::Interrupted { signal });
    }
    let result = result.map_err(|failure| broken(failure.seen))?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&result).map_err(broken)?
    } else {
        table(&result)
    };
    try_print(&text)?;
    Ok(match result.verdict() {
        BenchVerdict::Worse => Exit::Regression,
        _ => Exit::Conformant,
    })
}

async fn time_all(
    arguments: &Arguments,
    subject: &Subject,
    others: &[Subject],
    run: &RunOptions,
) -> Result<BenchResult, Failure> {
    let What::Exec = arguments.only;
    let mut baselines = Vec::new();
    if !arguments.vs_command.is_empty() {
        let words: Vec<_> = arguments
            .vs_command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let command = PlainCommand::new(arguments.vs_command.clone());
        baselines.push(Contender::new(words.join(" "), Box::new(command)));
    }
    for other in others {
        baselines.push(of(other, &other.name, run).await?);
    }
    let ours = of(subject, &subject.name, run).await?;
    let control = of(subject, &format!("{} (control)", subject.name), run).await?;
    let options = BenchOptions {
        rounds: arguments.rounds,
        effect: arguments.effect / 100.0,
        bound: arguments.at_most.unwrap_or(1.0),
        seed: arguments.seed,
        ..BenchOptions::default()
    };
    compare("exec", ours, baselines, control, &options).await
}

async fn of(subject: &Subject, name: &str, run: &RunOptions) -> Result<Contender, Failure> {
    let exec = SubjectExec::open(subject, run, TEXT).await?;
    Ok(Contender::new(name, Box::new(exec)))
}

fn table(result: &BenchResult) -> String {
    let width = result
        .times
        .iter()
        .map(|times| times.name.len())
        .max()
        .unwrap_or(0);
    let mut text = format!(
        "{:<width$}  {:>10}  {:>10}\n",
        result.operation, "p50 ms", "p95 ms"
    );
    for times in &result.times {
        let _ = writeln!(
            text,
            "{:<width$}  {:>10.3}  {:>10.3}",
            times.name, times.p50_ms, times.p95_ms
        );
    }
    let subject = result.times.first().map_or("", |times| times.name.as_str());
    for comparison in result.comparisons.iter().chain([&result.control]) {
        let interval = comparison.interval;
        let bound = if (comparison.bound - 1.0).abs() > f64::EPSILON {
            format!(" than {} ×", comparison.bound)
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "\n{subject} ÷ {}: {:.3} ({:.3} – {:.3}), {}{bound}",
            comparison.baseline, interval.ratio, interval.low, interval.high, comparison.verdict
        );
    }
    let _ = write!(
        text,
        "\n\n{}: {} rounds; a difference under {:.1} % does not matter; noise floor {:.1} %",
        result.verdict(),
        result.rounds,
        result.effect * 100.0,
        result.control.interval.width() * 100.0
    );
    if result.verdict() == BenchVerdict::Inconclusive {
        text.push_str("\nthe machine was too restless: try again with more --rounds, or a larger --effect");
    }
    text
}
