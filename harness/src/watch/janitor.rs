//! Finishes what a run that was killed could not: its reports and its scratch folder.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{Scratch, kept, scratch};
use crate::report;

/// What a run says that ends in order.
const DONE: &[u8] = b"done";

/// How long guards may take to end their adapters.
const PATIENCE: Duration = Duration::from_secs(30);

/// The janitor of a run, seen from the run.
#[derive(Debug)]
pub struct Janitor(Child);

impl Drop for Janitor {
    /// The run ends in order, and there is nothing left to do: whatever kills the run comes before this.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if let Some(mut input) = self.0.stdin.take() {
            // One that is gone already has nothing to do either.
            let _ = input.write_all(DONE);
        }
        let _ = self.0.wait();
    }
}

impl Janitor {
    /// Starts the janitor: `command` must call [`janitor`] with the same folders.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &[OsString]) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no janitor was named"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A group of its own: what ends the run from a terminal does not end it.
        command.process_group(0).spawn().map(Self)
    }
}

/// Waits for the end of the run that started this process. One that was killed leaves its guards, its scratch folder and
/// half a report: the guards end by themselves, the rest is done here. `run` is the run's id.
pub fn janitor(run: &str, reports: Option<&Path>) {
    let mut said = Vec::new();
    // An input that breaks ends the same way as one that is closed.
    let _ = io::stdin().read_to_end(&mut said);
    if said == DONE {
        return;
    }
    if let Some(reports) = reports {
        // A report that cannot be finished can be made later from the events.
        let _ = report::rebuild_killed(reports, run);
    }
    let scratch = Scratch::path_of(run);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let claim = scratch::claim(&scratch);
        if claim.is_some() || Instant::now() > deadline {
            kept::end_all_kept(&scratch);
            // After so long a guard is beyond help, and `herm clean` could do no better.
            let _ = scratch::remove(&scratch);
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
