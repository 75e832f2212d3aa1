//! `herm clean`: what a run has left behind.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use herm::backend::{
    docker::DockerBackend,
    local::{Mode, SpoolFull, Streams},
};
use herm_harness::{
    catalogue::Catalogue,
    manifest::{AnyManifest, Manifest},
    subject::Subject,
    tell::tell,
    verdict::Exit,
    watch::{self, Abandoned, Scratch},
};
use herm_protocol::ledger::LedgerItem;

use super::{
    Refusal,
    adapter::{IMAGE, docker_backend},
    broken, fail,
    list::try_print,
    runtime::block_on,
    signals::EndSignals,
    subjects::is_docker,
    usage,
};

/// Remove what a run that was killed has left behind, and nothing else. Without --run, list such runs.
///
/// Temporary files are found by the run's id. What a subject has made elsewhere (containers, folders on another machine) is
/// found by the commands of its manifest's ledger, so the manifest has to be named; that of docker and docker-native by the
/// labels of the engine, so they have to be named, too.
///
/// Exit codes: 0 everything is gone, 1 something could not be removed, 2 there is no such run or it still goes on.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's id, as its reports tell it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// A subject of that run, for what it has made elsewhere: docker, docker-native, or the path of a manifest; may be given
    /// several times
    #[arg(long = "subject", value_name = "NAME|FILE")]
    subjects: Vec<PathBuf>,
}

/// A subject whose things can be found.
struct Known {
    /// The words that name it on a command line.
    words: Vec<String>,
    finder: Finder,
}

/// How the things of a subject are found and removed.
enum Finder {
    /// By the commands of its manifest, which run in its folder.
    Manifest(Box<Manifest>, PathBuf),
    /// By the labels of the engine.
    Engine(String, DockerBackend),
}

impl Known {
    fn name(&self) -> &str {
        match &self.finder {
            Finder::Manifest(manifest, _) => manifest.name.get_ref(),
            Finder::Engine(name, _) => name,
        }
    }

    /// The runs that are known to have left something of it, going on or not.
    async fn runs(&self) -> Result<BTreeSet<String>, Refusal> {
        match &self.finder {
            Finder::Manifest(..) => Ok(BTreeSet::new()),
            Finder::Engine(_, backend) => backend.runs().await.map_err(usage),
        }
    }

    /// What a run has left of it.
    async fn left_by(&self, run: &str, scratch: &Path) -> Result<Vec<LedgerItem>, Refusal> {
        match &self.finder {
            Finder::Manifest(manifest, folder) => {
                enter(folder)?;
                manifest.left_by(run, scratch).await.map_err(usage)
            }
            Finder::Engine(_, backend) => backend.left_by(run).await.map_err(usage),
        }
    }

    /// Removes what a run has left of it, and tells each thing with what is wrong where it is still there.
    async fn clean(&self, run: &str, scratch: &Path) -> Result<Vec<(LedgerItem, Option<String>)>, Refusal> {
        match &self.finder {
            Finder::Manifest(manifest, folder) => {
                enter(folder)?;
                let cleaned = manifest.clean(run, scratch).await.map_err(usage)?;
                let cleaned = cleaned.into_iter().map(|thing| (thing.item, thing.problem));
                Ok(cleaned.collect())
            }
            Finder::Engine(_, backend) => {
                let mut cleaned = Vec::new();
                for item in backend.left_by(run).await.map_err(usage)? {
                    let problem = backend.remove_left(&item).await.err();
                    cleaned.push((item, problem.map(|problem| problem.to_string())));
                }
                Ok(cleaned)
            }
        }
    }
}

fn enter(folder: &Path) -> Result<(), Refusal> {
    env::set_current_dir(folder)
        .map_err(|error| usage(format_args!("failed to enter {}: {error}", folder.display())))
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    block_on(async move {
        match done(&arguments).await {
            Ok(exit) => ExitCode::from(exit.code()),
            Err((exit, message)) => fail(exit, message),
        }
    })
}

/// What was asked for, until a signal comes: then the command that runs is ended, and what is left is left.
async fn done(arguments: &Arguments) -> Result<Exit, Refusal> {
    let mut signals = EndSignals::take_unless_ignored().map_err(broken)?;
    let work = async {
        let subjects = known(&arguments.subjects)?;
        match &arguments.run {
            None => list(&subjects).await,
            Some(run) => clean(run, &subjects).await,
        }
    };
    tokio::select! {
        done = work => done,
        signal = signals.next() => Ok(Exit::Interrupted { signal }),
    }
}

fn known(files: &[PathBuf]) -> Result<Vec<Known>, Refusal> {
    let catalogue = Catalogue::embedded().map_err(broken)?;
    let known = |path: &PathBuf| {
        if let Some(name) = path.to_str().filter(|name| is_docker(name)) {
            let backend = docker_backend(IMAGE, Mode::default(), Streams::default(), SpoolFull::default());
            return Ok(Known {
                words: vec!["--subject".into(), name.into()],
                finder: Finder::Engine(name.into(), backend.map_err(usage)?),
            });
        }
        let AnyManifest::Commands(manifest) = AnyManifest::load(path, &catalogue).map_err(usage)? else {
            return Err(usage(format_args!(
                "{} is the manifest of an adapter, which removes what it has made when it ends; only the commands of a manifest's ledger can find it afterwards",
                path.display()
            )));
        };
        if manifest.ledger.is_empty() {
            return Err(usage(format_args!(
                "{} has no [[ledger]], so that what a run has made cannot be found; add one",
                path.display()
            )));
        }
        let subject = Subject::load(path, &[]).map_err(usage)?;
        Ok(Known {
            words: subject.arguments,
            finder: Finder::Manifest(manifest, subject.directory.unwrap_or_default()),
        })
    };
    files.iter().map(known).collect()
}

/// Tells which runs have left something, and what of it is each subject's.
async fn list(subjects: &[Known]) -> Result<Exit, Refusal> {
    let mut runs: BTreeSet<String> = watch::leftovers().into_iter().collect();
    for subject in subjects {
        // The files of a run may be gone while what it has made elsewhere is still there.
        let found = subject.runs().await?.into_iter();
        runs.extend(found.filter(|run| Abandoned::of(run).is_ok()));
    }
    if runs.is_empty() {
        try_print("no run has left anything behind")?;
    }
    for run in runs {
        let scratch = Scratch::path_of(&run);
        let mut line = vec!["herm", "clean", "--run", &run];
        line.extend(
            subjects
                .iter()
                .flat_map(|subject| &subject.words)
                .map(String::as_str),
        );
        try_print(&line.join(" "))?;
        for subject in subjects {
            for item in subject.left_by(&run, &scratch).await? {
                try_print(&format!("    {}: {}", subject.name(), name_of(&item)))?;
            }
        }
    }
    Ok(Exit::Conformant)
}

/// Removes what a run has left: what subjects have made first, and then the folder that this may be in.
async fn clean(run: &str, subjects: &[Known]) -> Result<Exit, Refusal> {
    let scratch = Scratch::path_of(run);
    if subjects.is_empty() {
        let path = watch::clean(run).map_err(usage)?;
        try_print(&format!("removed {}", path.display()))?;
        tell(format_args!(
            "herm: what the run's subjects have made elsewhere, such as containers, was not looked for; add --subject FILE for each manifest of the run that has a [[ledger]], and --subject docker where docker was judged"
        ));
        return Ok(Exit::Conformant);
    }
    let folder = Abandoned::of(run).map_err(usage)?;
    let mut all = true;
    for subject in subjects {
        all &= clean_subject(subject, run, &scratch).await?;
    }
    if let Some(folder) = folder {
        let path = folder.remove().map_err(usage)?;
        try_print(&format!("removed {}", path.display()))?;
    }
    Ok(if all {
        Exit::Conformant
    } else {
        Exit::NotConformant
    })
}

/// Removes what a subject has made in a run, tells each thing, and says whether all is gone.
async fn clean_subject(subject: &Known, run: &str, scratch: &Path) -> Result<bool, Refusal> {
    let cleaned = subject.clean(run, scratch).await?;
    if cleaned.is_empty() {
        try_print(&format!("{}: nothing is left of run {run}", subject.name()))?;
    }
    for (item, problem) in &cleaned {
        let name = name_of(item);
        match problem {
            None => try_print(&format!("{}: removed {name}", subject.name()))?,
            Some(problem) => tell(format_args!(
                "herm: {}: {name} is still there: {problem}",
                subject.name()
            )),
        }
    }
    Ok(cleaned.iter().all(|(_, problem)| problem.is_none()))
}

fn name_of(item: &LedgerItem) -> String {
    format!("{} {}", item.kind, item.id)
}
