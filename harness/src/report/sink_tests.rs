use std::{
    os::unix::fs::PermissionsExt as _,
    process::Command,
    sync::{Arc, Mutex},
};

use super::*;
use crate::report::{ConsoleOptions, fixture};

/// An output whose content a test can read.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn console(&self) -> Console {
        Console::new(Box::new(self.clone()), ConsoleOptions::default())
    }
}

fn quiet(directory: &Path) -> Result<Reports, ReportError> {
    Reports::create(directory, "run-1", Redactor::default(), Console::silent())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A file system in memory, or `None` where this process may not mount one.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(options: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "herm-test"])
            .arg(directory.path())
            .output();
        mount
            .is_ok_and(|output| output.status.success())
            .then(|| Self(directory))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_run_leaves_four_reports_that_agree() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("deep/reports");
    let mut reports = quiet(&directory).unwrap();
    for event in fixture::events() {
        reports.record(&event).unwrap();
    }
    let report = reports.finish().unwrap();
    assert_eq!(names(&directory), [EVENTS, JUNIT, REPORT, SUMMARY]);
    assert_eq!(report, fixture::report());
    let stored: Report = serde_json::from_slice(&fs::read(directory.join(REPORT)).unwrap()).unwrap();
    assert_eq!(stored, report);
    let lines = fs::read_to_string(directory.join(EVENTS)).unwrap();
    let events: Vec<Event> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events, fixture::events());
    let before: Vec<_> = [JUNIT, REPORT, SUMMARY]
        .map(|name| fs::read(directory.join(name)).unwrap())
        .into();
    assert_eq!(rebuild(&directory).unwrap(), report);
    let after: Vec<_> = [JUNIT, REPORT, SUMMARY]
        .map(|name| fs::read(directory.join(name)).unwrap())
        .into();
    assert_eq!(before, after);
}

#[test]
fn each_event_is_on_disk_when_record_returns_and_old_reports_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    for name in [REPORT, JUNIT, SUMMARY, EVENTS, "mine.txt"] {
        fs::write(directory.path().join(name), "old").unwrap();
    }
    let mut reports = quiet(directory.path()).unwrap();
    assert_eq!(names(directory.path()), [EVENTS, "mine.txt"]);
    for (count, event) in fixture::events().iter().enumerate() {
        reports.record(event).unwrap();
        let lines = fs::read_to_string(directory.path().join(EVENTS)).unwrap();
        assert_eq!(lines.lines().count(), count + 1);
        assert!(lines.ends_with('\n'));
    }
}

#[test]
fn nothing_secret_is_written_or_shown() {
    let directory = tempfile::tempdir().unwrap();
    let screen = Screen::default();
    let secrets = [
        ("ID", "VERDICT-723"),
        ("PROCESS", "process 4711"),
        ("METHOD", "exec.run"),
        ("ENGINE", "docker.sock"),
    ];
    let mut reports = Reports::create(
        directory.path(),
        "run-1",
        Redactor::new(secrets),
        screen.console(),
    )
    .unwrap();
    for event in fixture::events() {
        reports.record(&event).unwrap();
    }
    reports.finish().unwrap();
    for (name, secret) in secrets {
        for file in [EVENTS, REPORT, JUNIT, SUMMARY] {
            let content = fs::read_to_string(directory.path().join(file)).unwrap();
            assert!(!content.contains(secret), "{secret} is in {file}");
        }
        assert!(!screen.text().contains(secret));
        assert!(
            fs::read_to_string(directory.path().join(EVENTS))
                .unwrap()
                .contains(&format!("[redacted {name}]"))
        );
    }
}

#[test]
fn two_runs_do_not_share_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = quiet(directory.path()).unwrap();
    first.record(&fixture::started()).unwrap();
    let Err(error) = quiet(directory.path()) else {
        panic!("two runs share a directory")
    };
    assert!(matches!(error, ReportError::InUse { .. }), "{error}");
    assert!(matches!(
        rebuild(directory.path()),
        Err(ReportError::InUse { .. })
    ));
    assert_eq!(
        fs::read_to_string(directory.path().join(EVENTS))
            .unwrap()
            .lines()
            .count(),
        1
    );
    drop(first);
    rebuild(directory.path()).unwrap();
}

#[test]
fn a_directory_that_cannot_be_used_is_a_usage_error_that_names_it() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("a-file");
    fs::write(&file, "mine").unwrap();
    let taken = parent.path().join("taken");
    fs::create_dir_all(taken.join(EVENTS)).unwrap();
    let mount = Mount::new("ro,size=64k");
    let locked = parent.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let root = rustix::process::geteuid().is_root();
    let read_only = match &mount {
        Some(mount) => mount.0.path().to_owned(),
        // Permissions do not stop root; the process file system does.
        None if root => PathBuf::from("/proc/herm"),
        None => locked,
    };
    for directory in [file.clone(), file.join("below"), taken, read_only] {
        let Err(error) = quiet(&directory) else {
            panic!("{} was usable", directory.display())
        };
        assert!(matches!(error, ReportError::Directory { .. }), "{error}");
        assert_eq!(error.exit().code(), 2);
        let message = error.to_string();
        assert!(
            message.contains(&directory.display().to_string()) && message.contains("--report FOLDER"),
            "{message}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// The event file is `/dev/full`: every write to it fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn an_event_file_that_cannot_be_written_is_told_once_and_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let screen = Screen::default();
    let mut reports =
        Reports::create(directory.path(), "run-1", Redactor::default(), screen.console()).unwrap();
    reports.events.file = File::options().write(true).open("/dev/full").unwrap();
    let failures: Vec<String> = fixture::events()
        .iter()
        .filter_map(|event| reports.record(event).err())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(
        failures[0].contains(EVENTS) && failures[0].contains("No space left"),
        "{}",
        failures[0]
    );
    let error = reports.finish().unwrap_err();
    assert_eq!(error.exit().code(), 4);
    assert!(error.to_string().contains(EVENTS), "{error}");
    assert!(
        screen.text().contains("cannot write") && screen.text().contains("exit 4"),
        "{}",
        screen.text()
    );
    let stored: Report = serde_json::from_slice(&fs::read(directory.path().join(REPORT)).unwrap()).unwrap();
    assert_eq!(stored, fixture::report());
}

/// A real full disk, where one can be mounted: whatever is left is whole.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_never_leaves_half_a_report() {
    // Without the right to mount, the test above has to do.
    let Some(mount) = Mount::new("size=16k") else {
        return;
    };
    let directory = mount.0.path();
    let mut reports = quiet(directory).unwrap();
    let mut failures = 0;
    for _ in 0..20 {
        for event in fixture::events() {
            failures += usize::from(reports.record(&event).is_err());
        }
    }
    assert_eq!(failures, 1);
    let error = reports.finish().unwrap_err();
    assert_eq!(error.exit().code(), 4);
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(names(directory), [EVENTS]);
    let lines = fs::read_to_string(directory.join(EVENTS)).unwrap();
    assert!(lines.ends_with('\n') && lines.len() > 8_000);
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<Event>(line).is_ok())
    );
    assert!(rebuild(directory).is_err());
    assert_eq!(names(directory), [EVENTS]);
}

#[test]
fn a_directory_that_vanishes_is_told_by_name() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("reports");
    let mut reports = quiet(&directory).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    for event in fixture::events() {
        reports.record(&event).unwrap();
    }
    let error = reports.finish().unwrap_err();
    assert!(error.to_string().contains("/reports/report.json"), "{error}");
    assert_eq!(error.exit().code(), 4);
}

#[test]
fn a_killed_run_is_rebuilt_whatever_the_byte_at_which_it_was_cut() {
    let directory = tempfile::tempdir().unwrap();
    let mut whole = Vec::new();
    for event in fixture::events() {
        serde_json::to_writer(&mut whole, &event).unwrap();
        whole.push(b'\n');
    }
    for length in (0..whole.len())
        .step_by(331)
        .chain([whole.len() - 1, whole.len()])
    {
        fs::write(directory.path().join(EVENTS), &whole[..length]).unwrap();
        let report = rebuild(directory.path()).unwrap();
        assert_eq!(report.complete, length >= whole.len() - 1, "{length}");
        let stored: Report =
            serde_json::from_slice(&fs::read(directory.path().join(REPORT)).unwrap()).unwrap();
        assert_eq!(stored, report);
        if !report.complete {
            assert_eq!(report.exit(false).code(), 4, "{length}");
        }
    }
}

#[test]
fn garbage_before_the_last_line_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let good = serde_json::to_string(&fixture::started()).unwrap();
    let newer = good.replacen("\"format\":1", "\"format\":99", 1);
    for (content, line) in [
        (format!("{good}\n{{\"event\":\n{good}\n"), 2),
        (format!("{good}\nnonsense\n"), 2),
        (format!("\n{good}\n"), 1),
        (format!("{good}\n{{\"event\":\"from_the_future\"}}\n"), 2),
        (format!("{newer}\n"), 1),
    ] {
        fs::write(directory.path().join(EVENTS), &content).unwrap();
        let error = rebuild(directory.path()).unwrap_err();
        assert!(
            error.to_string().contains(&format!("{EVENTS} line {line} ")),
            "{content}: {error}"
        );
    }
    fs::remove_file(directory.path().join(EVENTS)).unwrap();
    assert!(
        rebuild(directory.path())
            .unwrap_err()
            .to_string()
            .contains(EVENTS)
    );
}
