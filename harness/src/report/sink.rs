//! Where the events of a run go, and what becomes of them on disk.

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Seek as _, Write},
    path::{Path, PathBuf},
};

use crate::{
    event::{Event, FORMAT},
    redact::Redactor,
    verdict::Exit,
};

use super::{Console, Fold, Report, ReportError, atomic, junit, summary};

/// The event stream.
pub const EVENTS: &str = "events.jsonl";
/// The report.
pub const REPORT: &str = "report.json";
/// The report as JUnit XML.
pub const JUNIT: &str = "junit.xml";
/// The report as Markdown.
pub const SUMMARY: &str = "summary.md";

/// The sink of a run's events: redacts each, appends it to `events.jsonl`, and hands it to the console.
pub struct Reports {
    directory: PathBuf,
    run: String,
    redactor: Redactor,
    console: Console,
    fold: Fold,
    events: Events,
}

impl Reports {
    /// Makes the directory and an empty event file in it, and removes the reports of an earlier run from it, so that they
    /// cannot be taken for this one's. The directory is locked until the sink is dropped.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or another run uses it.
    pub fn create(
        directory: &Path,
        run: &str,
        redactor: Redactor,
        console: Console,
    ) -> Result<Self, ReportError> {
        let unusable = |source| ReportError::Directory {
            path: directory.to_owned(),
            source,
        };
        fs::create_dir_all(directory).map_err(unusable)?;
        let path = directory.join(EVENTS);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(unusable)?;
        lock(&file, &path)?;
        file.set_len(0).map_err(unusable)?;
        for name in [REPORT, JUNIT, SUMMARY] {
            match fs::remove_file(directory.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
                _ => {}
            }
        }
        Ok(Self {
            directory: directory.to_owned(),
            run: run.to_owned(),
            redactor,
            console,
            fold: Fold::default(),
            events: Events {
                path,
                file,
                good: 0,
                failure: None,
            },
        })
    }

    /// Takes the next event. It is redacted before anything is written or shown.
    ///
    /// # Errors
    /// Once, when the event file cannot be written any more. The run can go on: the console and the other reports still
    /// get every event, and [`Self::finish`] fails at the end.
    pub fn record(&mut self, event: &Event) -> Result<(), ReportError> {
        let event = self.redactor.event(event).map_err(ReportError::Encode)?;
        let mut line = serde_json::to_vec(&event).map_err(ReportError::Encode)?;
        line.push(b'\n');
        self.fold.apply(&event);
        self.console.event(&event);
        self.events.append(&line)
    }

    /// The report as of now.
    #[must_use]
    pub fn report(&self) -> Report {
        self.fold.report()
    }

    /// Writes `report.json`, `junit.xml` and `summary.md`, and shows the end on the console.
    ///
    /// # Errors
    /// When a report could not be written, now or during the run. The others are written all the same. The exit code is
    /// then [`ReportError::exit`] or what the report says, whichever is worse; the console has said so.
    pub fn finish(mut self) -> Result<Report, ReportError> {
        let report = self.fold.report();
        let written = write_all(&self.directory, &self.run, &report);
        let lost = self.events.failure.take().map(|source| ReportError::Write {
            path: self.events.path.clone(),
            source,
        });
        let failure = written.err().or(lost);
        let exit = failure
            .as_ref()
            .map_or(Exit::Conformant, ReportError::exit)
            .worst(report.exit(false));
        self.console.finish(
            &report,
            exit,
            failure.is_none().then_some(self.directory.as_path()),
        );
        match failure {
            Some(error) => {
                self.console.note(&error.to_string());
                Err(error)
            }
            None => Ok(report),
        }
    }
}

/// Reads `events.jsonl` of a run that has ended, however it did, and writes the other three reports beside it. An
/// incomplete last line, as a killed process leaves it, is ignored.
///
/// # Errors
/// When the run is still going, the file cannot be read or has a line that is no event, or a report cannot be written.
pub fn rebuild(directory: &Path) -> Result<Report, ReportError> {
    let path = directory.join(EVENTS);
    let unreadable = |source| ReportError::Read {
        path: path.clone(),
        source,
    };
    let file = File::open(&path).map_err(unreadable)?;
    lock(&file, &path)?;
    let mut lines = BufReader::new(&file);
    let mut fold = Fold::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        number += 1;
        match serde_json::from_slice::<Event>(&line) {
            Ok(Event::RunStarted { format, .. }) if format > FORMAT => {
                let why = format!("it is of format {format}, written by a newer herm");
                return Err(ReportError::Garbage {
                    path,
                    line: number,
                    why,
                });
            }
            Ok(event) => fold.apply(&event),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => {
                return Err(ReportError::Garbage {
                    path,
                    line: number,
                    why: error.to_string(),
                });
            }
        }
    }
    let report = fold.report();
    write_all(directory, &report.run, &report)?;
    Ok(report)
}

/// The same for a run that was killed: what it had half written is removed. The reports of another run that are there,
/// because the killed one had not begun its own, are left alone.
///
/// # Errors
/// As [`rebuild`].
pub fn rebuild_killed(directory: &Path, run: &str) -> Result<(), ReportError> {
    for name in [REPORT, JUNIT, SUMMARY] {
        atomic::remove_leftovers(&directory.join(name), run);
    }
    let mut head = Vec::new();
    let path = directory.join(EVENTS);
    let read = File::open(&path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut head));
    read.map_err(|source| ReportError::Read { path, source })?;
    let first = serde_json::from_slice::<Event>(&head);
    match first {
        Ok(Event::RunStarted { run: of, .. }) if of != run => Ok(()),
        _ => rebuild(directory).map(drop),
    }
}

/// Writes every report that can be written; the first failure is told.
fn write_all(directory: &Path, run: &str, report: &Report) -> Result<(), ReportError> {
    let json = serde_json::to_vec_pretty(report).map_err(ReportError::Encode)?;
    let put = |name: &str, content: &[u8]| {
        let path = directory.join(name);
        atomic::write(&path, run, content).map_err(|source| ReportError::Write { path, source })
    };
    let results = [
        put(REPORT, &json),
        junit::junit(report).and_then(|xml| put(JUNIT, xml.as_bytes())),
        put(SUMMARY, summary::summary(report).as_bytes()),
    ];
    results.into_iter().collect()
}

/// A file system without locks is used without.
fn lock(file: &File, path: &Path) -> Result<(), ReportError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ReportError::InUse {
            path: path.to_owned(),
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// The event file. After a write that failed nothing more is written, so that the file never has a gap.
struct Events {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    good: u64,
    failure: Option<io::Error>,
}

impl Events {
    fn append(&mut self, line: &[u8]) -> Result<(), ReportError> {
        if self.failure.is_some() {
            return Ok(());
        }
        match self.file.write_all(line) {
            Ok(()) => {
                self.good += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a line helps nobody; a file that cannot be cut keeps it, and readers ignore it.
                let _ = self
                    .file
                    .set_len(self.good)
                    .and_then(|()| self.file.seek(io::SeekFrom::End(0)));
                let told = io::Error::new(error.kind(), error.to_string());
                self.failure = Some(error);
                Err(ReportError::Write {
                    path: self.path.clone(),
                    source: told,
                })
            }
        }
    }
}

#[cfg(test)]
#[path = "sink_tests.rs"]
mod tests;
