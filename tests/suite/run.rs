//! `herm run`: reports and exit codes.

use std::{fs, process::Command};

use predicates::{prelude::*, str::contains};
use serde_json::Value;

use crate::support::{HERM, Place, exit_code, report_in, row, signal, verdict};

#[test]
fn a_green_run_is_0_and_its_four_reports_agree() {
    let place = Place::new();
    let seen = place
        .run("run --subject local --only EXIT-001,OPEN-002", &[])
        .code(0);
    seen.stdout(contains("local  kept, of what was selected").and(contains("exit 0")))
        .stderr("");
    let report = place.report();
    assert_eq!(report["complete"], true);
    assert_eq!(report["subjects"][0]["name"], "local");
    assert_eq!(report["subjects"][0]["result"], "selection_kept");
    for (id, expected) in [
        ("EXIT-001", "passed"),
        ("OPEN-002", "passed"),
        ("EXIT-002", "disabled"),
    ] {
        assert_eq!(verdict(&report, id), expected);
    }
    let folder = place.path("herm-report");
    let junit = fs::read_to_string(folder.join("junit.xml")).unwrap();
    let junit = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    let rows = report["subjects"][0]["requirements"].as_array().unwrap().len();
    assert_eq!((junit.tests, junit.failures, junit.errors), (rows, 0, 0));
    let summary = fs::read_to_string(folder.join("summary.md")).unwrap();
    assert!(summary.contains("kept, of what was selected"), "{summary}");
    let events = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "run_started");
    assert_eq!(events.last().unwrap()["event"], "run_finished");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
    place.becomes_clean();
}

#[test]
fn json_prints_the_report_and_nothing_else() {
    let place = Place::new();
    let seen = place
        .run("run --json --only EXIT-002 --report here/and/there", &[])
        .code(0);
    let printed: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    assert_eq!(printed, report_in(&place.path("here/and/there")));
    seen.stderr("");
    assert_eq!(fs::read_dir(place.home()).unwrap().count(), 1);
}

#[test]
fn a_broken_must_is_1_and_is_told_with_the_command_that_shows_it() {
    let place = Place::new();
    let adapter = [
        "--adapter",
        HERM,
        "mutant",
        "success-for-all",
        "--",
        HERM,
        "adapter",
        "--backend",
        "local",
    ];
    let seen = place.run("run --only EXIT-001,OPEN-002", &adapter).code(1);
    seen.stdout(
        contains("EXIT-001")
            .and(contains("herm run --only EXIT-001 -v --adapter"))
            .and(contains("exit 1")),
    );
    let report = place.report();
    assert_eq!(report["subjects"][0]["result"], "not_conformant");
    assert_eq!(verdict(&report, "EXIT-001"), "failed");
    assert_eq!(verdict(&report, "OPEN-002"), "passed");
    let command = row(&report, "EXIT-001")["reproduce"].as_str().unwrap();
    let again = Command::new("sh")
        .args(["-c", &command.replacen("herm", HERM, 1)])
        .current_dir(place.home())
        .output();
    assert_eq!(again.unwrap().status.code(), Some(1), "{command}");
}

#[test]
fn nothing_that_ran_is_3() {
    let place = Place::new();
    let adapter = ["--adapter", HERM, "misbehave", "logs-a-lot"];
    let seen = place.run("run --only FILE-001", &adapter).code(3);
    seen.stdout(contains("exit 3: nothing ran"));
    let report = place.report();
    assert_eq!(verdict(&report, "FILE-001"), "unsupported");
    assert_eq!(report["subjects"][0]["result"], "nothing_ran");
}

#[test]
fn the_worst_of_several_subjects_counts() {
    let place = Place::new();
    place.write(
        "broken.toml",
        "name = \"broken\"\nadapter = [\"./no-such-adapter\"]",
    );
    let seen = place
        .run(
            "run --only EXIT-002 --subject local --subject broken.toml --subject local",
            &[],
        )
        .code(4);
    seen.stdout(contains("no-such-adapter").and(contains("local-2")));
    let report = place.report();
    let subjects = report["subjects"].as_array().unwrap();
    let results: Vec<_> = subjects
        .iter()
        .map(|subject| (&subject["name"], &subject["result"]))
        .collect();
    assert_eq!(
        serde_json::to_value(results).unwrap(),
        serde_json::json!([
            ["local", "selection_kept"],
            ["broken", "broken"],
            ["local-2", "selection_kept"]
        ])
    );
}

#[test]
fn an_adapter_beside_its_manifest_is_found_and_starts_there() {
    let place = Place::new();
    place.script(
        "subjects/mine",
        &format!("pwd -P > where; exec '{HERM}' adapter --backend local"),
    );
    place.write("subjects/mine.toml", "name = \"mine\"\nadapter = [\"./mine\"]");
    place
        .run("run --only EXIT-002 --subject subjects/mine.toml", &[])
        .code(0);
    let started_in = fs::read_to_string(place.path("subjects/where")).unwrap();
    assert_eq!(
        started_in.trim(),
        place.path("subjects").canonicalize().unwrap().to_str().unwrap()
    );
}

#[test]
fn any_number_at_the_same_time_gives_the_same_verdicts() {
    for parallel in ["1", "4294967295"] {
        let place = Place::new();
        place
            .run("run --only EXIT,OPEN-001 --parallel", &[parallel])
            .code(0);
        assert_eq!(verdict(&place.report(), "EXIT-003"), "passed");
    }
    let place = Place::new();
    place
        .run("run --parallel 0", &[])
        .code(2)
        .stderr(contains("--parallel"));
}

#[test]
fn signals_end_a_run_in_order() {
    for (name, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let place = Place::new();
        let mut child = place.start("run --only EXIT,TIMEOUT,STREAM");
        crate::kill::begins(&place);
        signal(child.id(), name);
        assert_eq!(exit_code(&mut child), Some(128 + number), "{name}");
        let report = place.report();
        assert_eq!(
            (&report["complete"], &report["interrupted"]),
            (&true.into(), &number.into())
        );
        // What was not tested is inconclusive; nothing is held against the subject.
        assert_eq!(report["totals"]["verdicts"]["failed"], 0);
        assert_eq!(report["totals"]["verdicts"]["error"], 0);
        place.becomes_clean();
    }
}

#[test]
fn a_signal_while_an_adapter_starts_does_not_call_it_broken() {
    let place = Place::new();
    let mut child = place.start(&format!("run --adapter {HERM} misbehave hangs-at-start"));
    crate::kill::adapter_starts(&place, "misbehave");
    signal(child.id(), "-INT");
    assert_eq!(exit_code(&mut child), Some(130));
    assert_eq!(place.report()["subjects"][0]["result"], "nothing_ran");
    place.becomes_clean();
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_everything_is_cleaned_up_behind_it() {
    let place = Place::new();
    // Ends neither at the end of its input nor when it is asked to.
    let hanging = "trap '' HUP INT TERM; while read -r line; do :; done; sleep 60";
    let script = place.script("hangs", hanging);
    let mut child = place.start(&format!("run --adapter {}", script.display()));
    crate::kill::adapter_starts(&place, "hangs");
    signal(child.id(), "-INT");
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal(child.id(), "-INT");
    assert_eq!(exit_code(&mut child), Some(130));
    place.becomes_clean();
    assert_eq!(place.report()["format"], 1);
}
