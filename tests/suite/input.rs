//! What the user gives and cannot be used: exit code 2, a message that names it, and the next step.

use std::{fs, os::unix::ffi::OsStrExt as _, process::Command};

use predicates::{prelude::*, str::contains};

use crate::support::{HERM, Place, report_in};

#[test]
fn each_bad_input_is_2_with_what_and_what_next() {
    let place = Place::new();
    place.write("typo.toml", "name = \"x\"\nadaptor = [\"x\"]\n");
    place.write("empty.toml", "name = \"x\"\nadapter = []\n");
    place.write("text.toml", "name is x");
    place.write(
        "unset.toml",
        "name = \"x\"\nadapter = [\"x\"]\nenvironment = [\"HERM_TEST_UNSET\"]\n",
    );
    place.write("file", "");
    for (line, words) in [
        (
            "run --subject lokal",
            &["\"lokal\"", "did you mean `local`?", "path of a manifest"][..],
        ),
        ("run --subject none.toml", &["none.toml", "No such file"]),
        ("run --subject .toml/x", &["\".toml/x\"", "name one of local"]),
        (
            "run --subject typo.toml",
            &["typo.toml:2:1", "did you mean `adapter`?"],
        ),
        (
            "run --subject empty.toml",
            &["empty.toml:2:1", "names no program"],
        ),
        ("run --subject text.toml", &["text.toml:1:"]),
        (
            "run --subject unset.toml",
            &["unset.toml", "HERM_TEST_UNSET", "set it"],
        ),
        ("prove --subject unset.toml", &["HERM_TEST_UNSET"]),
        ("smoke --subject lokal", &["\"lokal\"", "did you mean `local`?"]),
        ("smoke --subject none.toml", &["none.toml", "No such file"]),
        (
            "smoke --subject typo.toml",
            &["typo.toml:2:1", "did you mean `adapter`?"],
        ),
        ("smoke --subject unset.toml", &["HERM_TEST_UNSET", "set it"]),
        ("smoke --subject local --adapter x", &["cannot be used with"]),
        (
            "run --only EXIT-01",
            &["\"EXIT-01\"", "did you mean `EXIT-001`?", "herm list"],
        ),
        (
            "run --only EXIT-001,EXITT",
            &["\"EXITT\"", "did you mean `EXIT`?"],
        ),
        ("run --only NONE-*", &["\"NONE-*\""]),
        ("run --profile cor", &["\"cor\"", "did you mean `core`?"]),
        ("run --onyl EXIT", &["--onyl", "--only"]),
        ("run --retries many", &["--retries"]),
        ("run --subject local --adapter x", &["cannot be used with"]),
        ("run --report file", &["file", "--report FOLDER"]),
        ("run --report file/inner", &["file/inner", "--report FOLDER"]),
        ("exlpain", &["exlpain", "explain"]),
        (
            "explain EXIT-01",
            &["\"EXIT-01\"", "did you mean `EXIT-001`?", "herm list"],
        ),
        ("list mutant", &["mutants"]),
        ("completions fsh", &["fish"]),
        ("clean --run ../x", &["\"../x\"", "herm clean"]),
        ("mutant none -- true", &["none"]),
        ("misbehave none", &["none"]),
        ("doctor --subject lokal", &["did you mean `local`?"]),
    ] {
        let seen = place.run(line, &[]).code(2).stdout("");
        for word in words {
            let told = String::from_utf8_lossy(&seen.get_output().stderr).into_owned();
            assert!(told.contains(word), "{line}: {word:?} is not in {told}");
        }
    }
    assert!(place.left().is_empty() && !place.path("herm-report").exists());
}

#[test]
fn no_folder_for_temporary_files_is_2_and_leaves_the_reports_of_an_earlier_run() {
    let place = Place::new();
    place.run("run --only EXIT-002", &[]).code(0);
    let earlier = place.report();
    let none = place.path("none");
    for line in ["run --only EXIT-002", "prove"] {
        let mut command = place.herm(line);
        let told = contains("none/herm-run-").and(contains("set TMPDIR"));
        command
            .env("TMPDIR", &none)
            .assert()
            .code(2)
            .stdout("")
            .stderr(told);
    }
    let mut doctor = place.herm("doctor");
    doctor
        .env("TMPDIR", &none)
        .assert()
        .code(1)
        .stdout(contains("fix: set TMPDIR"));
    let odd = place.home().join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    fs::create_dir(&odd).unwrap();
    let mut command = place.herm("run --only EXIT-002");
    command
        .env("TMPDIR", &odd)
        .assert()
        .code(2)
        .stderr(contains("not valid UTF-8"));
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 0);
    assert_eq!(place.report(), earlier);
}

#[test]
fn a_folder_for_temporary_files_may_be_relative_or_long() {
    let place = Place::new();
    place.script("subjects/mine", &format!("exec '{HERM}' adapter --backend local"));
    place.write("subjects/mine.toml", "name = \"mine\"\nadapter = [\"./mine\"]");
    let long = format!("{}/{}", "a".repeat(200), "b".repeat(200));
    for folder in ["relative", &long] {
        fs::create_dir_all(place.path(folder)).unwrap();
        let mut command =
            place.herm("run --only EXIT-002,FILE-002,TIMEOUT-003,CWD-002 --subject subjects/mine.toml");
        command.env("TMPDIR", folder).assert().code(0);
        assert_eq!(fs::read_dir(place.path(folder)).unwrap().count(), 0);
    }
}

#[test]
fn a_report_folder_that_another_run_uses_is_2_and_left_to_it() {
    let place = Place::new();
    let mut first = place.start(&format!(
        "run --only EXIT-002 --adapter {HERM} misbehave hangs-in-a-command"
    ));
    crate::kill::begins(&place);
    let second = place.run("run --only EXIT-002", &[]).code(2);
    second.stderr(
        contains("herm-report/events.jsonl").and(contains("choose another directory with --report FOLDER")),
    );
    crate::support::signal(first.id(), "-TERM");
    assert_eq!(crate::support::exit_code(&mut first), Some(143));
    assert_eq!(place.report()["interrupted"], 15);
    place.becomes_clean();
}

#[test]
fn a_report_disk_that_is_full_is_4_and_the_verdicts_are_told_all_the_same() {
    let place = Place::new();
    // No file may grow beyond some kilobytes, as on a disk that is full; the signal that comes with it is ignored.
    let script = format!("trap '' XFSZ; ulimit -f 4; exec '{HERM}' run --only EXIT-002");
    let run = Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.home())
        .env("TMPDIR", place.temporary())
        .output()
        .unwrap();
    let (out, told) = (
        String::from_utf8(run.stdout).unwrap(),
        String::from_utf8(run.stderr).unwrap(),
    );
    assert_eq!(run.status.code(), Some(4), "{told}");
    assert!(out.contains("1 passed") && out.contains("exit 4"), "{out}");
    assert!(
        told.contains("herm-report/report.json: File too large") && told.contains("free space"),
        "{told}"
    );
    assert!(!told.contains(".tmp"), "{told}");
    // What there is can be read, and nothing half-written is among it.
    let folder = place.path("herm-report");
    let events = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    assert!(
        events
            .lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    assert!(
        fs::read_dir(&folder).unwrap().all(|entry| !entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".tmp"))
    );
    place.becomes_clean();
}

#[test]
fn a_report_folder_may_have_any_name() {
    let place = Place::new();
    let folder = place.home().join(std::ffi::OsStr::from_bytes(b"odd \xff\n name"));
    let mut command = place.herm("run --only EXIT-002 --report");
    command.arg(&folder).assert().code(0);
    report_in(&folder);
    let long = place.path(&"x".repeat(300));
    let mut command = place.herm("run --only EXIT-002 --report");
    command.arg(long).assert().code(2).stderr(contains("too long"));
    place.becomes_clean();
}

#[test]
fn streams_that_native_mode_cannot_merge_are_no_way_to_start_an_adapter() {
    let place = Place::new();
    let line = "adapter --backend local --mode native --streams merged";
    place
        .run(line, &[])
        .code(2)
        .stdout("")
        .stderr(contains("--mode resident"));
}
