//! Failures that are known, and failures that come and go.

use std::fs;

use predicates::{prelude::*, str::contains};

use crate::support::{HERM, Place, row, verdict};

/// A subject that fails EXIT-001, and keeps EXIT-002.
fn subject(place: &Place) {
    let words = [
        HERM,
        "mutant",
        "success-for-all",
        "--",
        HERM,
        "adapter",
        "--backend",
        "local",
    ];
    place.write("mine.toml", &format!("name = \"mine\"\nadapter = {words:?}\n"));
}

const RUN: &str = "run --subject mine.toml --only EXIT-001,EXIT-002";

fn entry(subject: &str, id: &str) -> String {
    format!(
        "version = 1\nsubject = \"{subject}\"\n\n[[expect]]\nid = \"{id}\"\nverdict = \"failed\"\nreason = \"why not\"\n"
    )
}

#[test]
fn a_known_failure_is_0_and_partial_and_a_stale_one_is_1() {
    let place = Place::new();
    subject(&place);
    place.write("known", &entry("mine", "EXIT-001"));
    place
        .run(RUN, &["--expectations", "known"])
        .code(0)
        .stdout(contains("partial"));
    let report = place.report();
    assert_eq!(report["subjects"][0]["result"], "partial");
    assert_eq!(verdict(&report, "EXIT-001"), "known_failure");
    assert!(
        row(&report, "EXIT-001")["detail"]["note"]
            .as_str()
            .unwrap()
            .contains("why not")
    );

    place.write("stale", &entry("mine", "EXIT-002"));
    place
        .run(RUN, &["--expectations", "stale"])
        .code(1)
        .stdout(contains("remove the entry"));
    assert_eq!(verdict(&place.report(), "EXIT-002"), "unexpected_pass");
}

#[test]
fn a_file_that_cannot_be_used_is_2_and_nothing_is_run() {
    let place = Place::new();
    subject(&place);
    for (text, words) in [
        (entry("mine", "EXIT-01"), "did you mean `EXIT-001`?"),
        (
            entry("other", "EXIT-001"),
            "is about the subject \"other\", and not about \"mine\"",
        ),
        (
            entry("mine", "EXIT-001").replace("why not", " "),
            "reason is empty",
        ),
        ("version = 1\nsubject".into(), "expected a TOML document"),
    ] {
        place.write("file", &text);
        place
            .run(RUN, &["--expectations", "file"])
            .code(2)
            .stdout("")
            .stderr(contains(words));
    }
    place
        .run(RUN, &["--expectations", "none"])
        .code(2)
        .stderr(contains("--write-expectations"));
    let two = "--subject local --write-expectations file";
    place
        .run(&format!("{RUN} {two}"), &[])
        .code(2)
        .stderr(contains("one subject"));
    assert!(!place.path("herm-report").exists());
}

#[test]
fn todays_failures_become_the_file_that_makes_them_known() {
    let place = Place::new();
    subject(&place);
    place.run(RUN, &["--write-expectations", "file"]).code(1);
    place.run(RUN, &["--expectations", "file"]).code(0);
    // What is known stays known when the file is written again, with its reason.
    let text = fs::read_to_string(place.path("file"))
        .unwrap()
        .replace("seen:", "my own words:");
    place.write("file", &text);
    place
        .run(RUN, &["--expectations", "file", "--write-expectations", "file"])
        .code(0);
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), text);
}

#[test]
fn a_run_that_saw_nothing_writes_no_expectations() {
    let place = Place::new();
    place.write("file", "mine");
    let adapter = [
        "--write-expectations",
        "file",
        "--adapter",
        HERM,
        "misbehave",
        "crashes-at-start",
    ];
    place
        .run("run", &adapter)
        .code(4)
        .stderr(contains("file is not written"));
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "mine");
    place
        .run("run --only EXIT-002 --write-expectations no/such/file", &[])
        .code(2)
        .stderr(contains("no/such/file"));
}

/// An adapter whose first two processes break PROTO-003: that which introduces itself, and that of the first attempt.
fn flaky(place: &Place) -> String {
    let local = format!("'{HERM}' adapter --backend local");
    let script = format!(
        "n=$(cat '{count}' 2>/dev/null || echo 0); echo $((n + 1)) > '{count}'\n\
         [ \"$n\" -lt 2 ] && exec '{HERM}' mutant dies-of-an-unknown-method -- {local}\n\
         exec {local}",
        count = place.path("count").display()
    );
    place.script("flaky", &script).display().to_string()
}

#[test]
fn what_passes_after_a_retry_is_flaky() {
    let place = Place::new();
    let adapter = flaky(&place);
    place
        .run("run --only PROTO-003 --retries 2 --adapter", &[&adapter])
        .code(0)
        .stdout(contains("1 flaky"));
    let report = place.report();
    assert_eq!(verdict(&report, "PROTO-003"), "flaky");
    // What was seen in the first attempt is told.
    assert!(row(&report, "PROTO-003")["detail"]["seen"].is_string());

    let place = Place::new();
    let adapter = flaky(&place);
    place.run("run --only PROTO-003 --adapter", &[&adapter]).code(4);
    place.run("run --only PROTO-003 --adapter", &[&adapter]).code(0);
}

#[test]
fn certify_is_strict() {
    let place = Place::new();
    for line in ["--only EXIT-001", "--profile core", "--retries 1"] {
        place
            .run("run --certify", &line.split(' ').collect::<Vec<_>>())
            .code(2)
            .stderr(contains("cannot be used with"));
    }
    crate::features::write(&place, crate::features::VALID);
    place.run("run --certify --features contract", &[]).code(0);
    assert_eq!(place.report()["certify"], true);
    place
        .run("run --features contract", &[])
        .code(0)
        .stderr(predicate::str::is_empty());
    assert_eq!(place.report()["certify"], false);
}
