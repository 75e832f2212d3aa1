//! What a subcommand works in: a folder for temporary files, and a janitor that cleans up when this process is killed.

use std::{
    io,
    path::{Path, PathBuf},
    process::exit,
};

use herm_harness::{
    stop::Stop,
    tell::tell,
    verdict::Exit,
    watch::{Janitor, Scratch},
};

use super::{Refusal, broken, signals::EndSignals, subjects::this_program, usage};

/// The folder and its janitor. The folder is removed first, so that nothing is left whenever this process is killed.
pub(super) struct Workspace {
    scratch: Scratch,
    _janitor: Janitor,
}

impl Workspace {
    /// Starts the janitor of a run, then makes the run's folder: the other way round a kill in between would leave it. A
    /// run with a folder for reports has them finished by the janitor, too.
    pub(super) fn make(run: &str, reports: Option<&Path>) -> Result<Self, Refusal> {
        let reports = reports.map(std::path::absolute).transpose().map_err(usage)?;
        let janitor = start_janitor(run, reports).map_err(broken)?;
        let scratch = Scratch::create(run).map_err(usage)?;
        Ok(Self {
            scratch,
            _janitor: janitor,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }
}

fn start_janitor(run: &str, reports: Option<PathBuf>) -> io::Result<Janitor> {
    let mut command = vec![this_program()?, "janitor".into(), "--run".into(), run.into()];
    if let Some(reports) = reports {
        command.extend(["--reports".into(), reports.into_os_string()]);
    }
    Janitor::start(&command)
}

/// Passes signals on: the first one ends the run in order; the second one ends this process at once, and leaves the rest to
/// the guards and the janitor.
pub(super) async fn obey(mut signals: EndSignals, stop: Stop) {
    stop.stop(signals.next().await);
    let signal = signals.next().await;
    tell("herm: a second signal came: the run ends at once, and what it used is cleaned up behind it");
    exit(Exit::Interrupted { signal }.code().into());
}
