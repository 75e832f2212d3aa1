//! A contract from a folder, and what makes it none.

use predicates::{prelude::*, str::contains};

use crate::support::{Place, verdict};

/// A contract of one requirement. It asks less than the requirement of that id does, so that its mutants survive.
pub(crate) const VALID: &str = "Feature: EXIT: how a command ended is told as it was

  @id:EXIT-001 @must @since:0.1 @profile:core @mutant:success-for-all
  Scenario: A success is told
    Somebody saw it otherwise (https://example.org/1).
    Given an open sandbox
    When a command exits with code 0
    Then the outcome is exited with code 0
";

/// A contract of one requirement that its mutants break.
pub(crate) fn strict() -> String {
    VALID.replace("code 0\n", "code 70\n")
}

pub(crate) fn write(place: &Place, text: &str) {
    place.write("contract/exec/exit.feature", text);
}

#[test]
fn a_folder_of_features_is_a_contract() {
    let place = Place::new();
    write(&place, VALID);
    place
        .run("list --check --features contract", &[])
        .code(0)
        .stdout(contains("1 requirements"));
    place
        .run("list --features contract", &[])
        .code(0)
        .stdout(contains("A success is told"));
    place
        .run("explain EXIT-001 --features contract", &[])
        .code(0)
        .stdout(contains("A success is told"));
    place.run("run --subject local --features contract", &[]).code(0);
    let report = place.report();
    assert_eq!(
        (
            report["totals"]["requirements"].as_u64(),
            verdict(&report, "EXIT-001")
        ),
        (Some(1), "passed")
    );
}

#[test]
fn what_is_wrong_with_features_is_told_with_file_and_line_and_nothing_is_run() {
    let second = VALID.lines().skip(2).collect::<Vec<_>>().join("\n");
    let twice = format!("{VALID}\n{second}\n");
    let reason = "    Somebody saw it otherwise (https://example.org/1).\n";
    for (text, place_of_it, words) in [
        (
            twice.as_str(),
            ":11: ",
            "EXIT-001 is the id of another requirement, too: exec/exit.feature:4",
        ),
        (&VALID.replace(reason, ""), ":4: ", "EXIT-001 has no reason"),
        (
            &VALID.replace("(https://example.org/1)", ""),
            ":4: ",
            "without the link to its source",
        ),
        (
            &VALID.replace("@profile:core", "@profile:core @needs:timeuot"),
            ":4: ",
            "did you mean `timeout`?",
        ),
        (
            &VALID.replace("@profile:core", "@profile:core @needs:shell=fish"),
            ":4: ",
            "unknown variant \"fish\"",
        ),
        (
            &VALID.replace("@profile:core", "@profile:cor"),
            ":4: ",
            "did you mean `core`?",
        ),
        (&VALID.replace("@must", ""), ":4: ", "no level"),
        (
            &VALID.replace("success-for-all", "success-for-al"),
            ":4: ",
            "did you mean `success-for-all`?",
        ),
        (
            &VALID.replace("EXIT-001", "EXITS-001"),
            ":4: ",
            "did you mean `EXIT`?",
        ),
        (&VALID.replace("EXIT-001", "EXIT-1"), ":4: ", "three digits"),
        (
            &VALID.replace("When a command exits", "When a command leaves"),
            ":7: ",
            "a command leaves with code 0",
        ),
        (
            &VALID.replace("  Scenario:", "  Scenery:"),
            ":4: ",
            "is no valid feature",
        ),
    ] {
        let place = Place::new();
        write(&place, text);
        let told = || contains(format!("exec/exit.feature{place_of_it}")).and(contains(words));
        place
            .run("list --check --features contract", &[])
            .code(2)
            .stderr(told());
        for line in ["list", "explain EXIT-001", "run", "prove"] {
            place
                .run(line, &["--features", "contract"])
                .code(2)
                .stdout("")
                .stderr(told());
        }
        assert!(!place.path("herm-report").exists());
    }
}

#[test]
fn a_folder_without_features_is_no_contract() {
    let place = Place::new();
    place
        .run("list --check --features none", &[])
        .code(2)
        .stderr(contains("none").and(contains("cannot be read")));
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run("run --features empty", &[])
        .code(2)
        .stderr(contains("there is no .feature file"));
}
