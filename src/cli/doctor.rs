//! `herm doctor`: what is missing on this machine, and what to do about it.

use std::{env, fs, path::Path, process::ExitCode};

use clap::Args;
use herm::backend::{Backend, local::SpoolFull};
use herm_harness::{
    runner::{RunOptions, preflight},
    stop::Stop,
    subject::Subject,
    verdict::Exit,
};

use super::{
    configured::BackendArguments,
    fail,
    list::print,
    run::{guard, run_id},
    runtime::block_on,
    subjects::SubjectArguments,
    workspace::Workspace,
};

/// Look for what is missing on this machine, for herm and for subjects.
///
/// Temporary files of killed runs are told, and hinder nobody.
///
/// Exit codes: 0 nothing is missing, 1 something is.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    subjects: SubjectArguments,
}

/// One thing that was looked at.
struct Finding {
    what: String,
    weight: Weight,
    /// What is wrong, and the step that mends it: nothing where all is well.
    problem: Option<(String, String)>,
}

/// How much a problem hinders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Something that is needed is not there.
    Missing,
    /// Everything works all the same.
    Note,
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            weight: Weight::Note,
            problem: None,
        }
    }

    fn bad(what: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            weight: Weight::Missing,
            problem: Some((problem.into(), fix.into())),
        }
    }

    /// The same, where everything works without it.
    fn optional(self) -> Self {
        Self {
            weight: Weight::Note,
            ..self
        }
    }

    fn note(what: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            weight: Weight::Note,
            ..Self::bad(what, problem, fix)
        }
    }
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        let resolved = arguments.subjects.resolve();
        let (subjects, optional) = match (resolved, arguments.subjects.resolve_optional()) {
            (Ok(subjects), Ok(optional)) => (subjects, optional),
            (Err(error), _) | (_, Err(error)) => return fail(Exit::Usage, error),
        };
        let mut findings = vec![processes(), leftovers()];
        findings.extend(configuration().await);
        match Workspace::make(&run_id(), None) {
            Ok(workspace) => {
                findings.push(Finding::good(format!(
                    "temporary files go to {}",
                    env::temp_dir().display()
                )));
                for subject in &subjects {
                    findings.extend(look_at(subject, workspace.path()).await);
                }
                for subject in &optional {
                    let found = look_at(subject, workspace.path()).await;
                    findings.extend(found.into_iter().map(Finding::optional));
                }
            }
            Err((_, error)) => findings.push(Finding::bad(
                "temporary files",
                error,
                "set TMPDIR to a folder that can be written",
            )),
        }
        report(&findings)
    })
}

fn report(findings: &[Finding]) -> ExitCode {
    let line = |finding: &Finding| match &finding.problem {
        None => format!("ok       {}", finding.what),
        Some((problem, fix)) => {
            let word = match finding.weight {
                Weight::Missing => "missing",
                Weight::Note => "note",
            };
            format!("{word:<7}  {}: {problem}\n         fix: {fix}", finding.what)
        }
    };
    print(&findings.iter().map(line).collect::<Vec<_>>().join("\n"));
    let exit = if findings.iter().all(|finding| finding.weight == Weight::Note) {
        Exit::Conformant
    } else {
        Exit::NotConformant
    };
    ExitCode::from(exit.code())
}

/// The suite proves the death of processes with its own eyes where it can.
fn processes() -> Finding {
    let what = "the processes of this machine can be seen";
    match fs::read("/proc/self/cmdline") {
        Ok(line) if !line.is_empty() => Finding::good(what),
        _ => Finding::bad(
            what,
            "/proc is not there, so checks look from inside the sandbox only",
            "mount it: mount -t proc proc /proc",
        ),
    }
}

fn leftovers() -> Finding {
    let runs = herm_harness::watch::leftovers();
    match runs.as_slice() {
        [] => Finding::good("no run has left anything behind"),
        runs => Finding::note(
            "clean slate",
            format!("{} killed runs have left temporary files", runs.len()),
            runs.iter()
                .map(|run| format!("herm clean --run {run}"))
                .collect::<Vec<_>>()
                .join("; "),
        ),
    }
}

/// Whether commands have a place to run, and whether that can be used.
async fn configuration() -> Vec<Finding> {
    let (backend, config) = match BackendArguments::default().open(SpoolFull::default()) {
        Ok(opened) => opened,
        Err((_, problem)) => {
            return vec![Finding::bad(
                "the configuration",
                problem,
                "herm config check tells more",
            )];
        }
    };
    let (name, origin) = (backend.name(), config.backend_origin());
    let what = format!("herm exec runs commands on: {name} ({origin})");
    match backend.adapter().preflight().await {
        Ok(preflight) if preflight.problems.is_empty() => {
            let mut findings = vec![Finding::good(what)];
            if let Backend::Docker(docker) = &backend {
                let weak = docker.weakenings().await.unwrap_or_default();
                findings.extend(weak.into_iter().map(|notice| {
                    let (problem, fix) = notice.split_once("; ").unwrap_or((&notice, "herm config list"));
                    Finding::note("what does not hold", problem, fix)
                }));
            }
            findings
        }
        Ok(preflight) => {
            let problems = preflight.problems.into_iter();
            problems
                .map(|problem| Finding::bad(&what, problem.what, problem.fix))
                .collect()
        }
        Err(error) => {
            let fix = "herm config set terminal.backend names another one";
            vec![Finding::bad(what, error.to_string(), fix)]
        }
    }
}

async fn look_at(subject: &Subject, scratch: &Path) -> Vec<Finding> {
    let Ok(guard) = guard(scratch) else {
        return vec![Finding::bad(
            &subject.name,
            "this program cannot be found",
            "call it by its path",
        )];
    };
    let options = RunOptions::new(run_id(), scratch.to_owned(), guard, Stop::default());
    match preflight(subject, &options).await {
        Ok((info, Some(preflight))) if preflight.problems.is_empty() => {
            let who = format!("{} {}", info.name, info.version);
            vec![Finding::good(format!("{} can be used", who.trim_end()))]
        }
        Ok((info, Some(preflight))) => preflight
            .problems
            .into_iter()
            .map(|problem| Finding::bad(&info.name, problem.what, problem.fix))
            .collect(),
        Ok((info, None)) => {
            vec![Finding::good(format!(
                "{} {} introduces itself; it does not say what it needs",
                info.name, info.version
            ))]
        }
        Err(failure) => vec![Finding::bad(
            &subject.name,
            failure.failure.seen,
            "start its adapter by hand, and see what it writes to standard error",
        )],
    }
}
