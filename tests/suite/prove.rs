//! `herm prove`.

use predicates::{prelude::*, str::contains};
use serde_json::{Value, json};

use crate::support::{HERM, Place};

#[test]
fn a_mutant_that_is_killed_is_0() {
    let place = Place::new();
    crate::features::write(&place, &crate::features::strict());
    let seen = place
        .run("prove --features contract --mutant success-for-all --json", &[])
        .code(0)
        .stderr("");
    let proof: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    let expected = json!({
        "mutants": [{"name": "success-for-all", "kills": ["EXIT-001"], "killed_by": ["EXIT-001"], "collateral": []}],
        "unproved": [],
    });
    assert_eq!(proof, expected);
    place.becomes_clean();
    assert!(!place.path("herm-report").exists());
}

#[test]
fn a_survivor_and_what_it_leaves_unproved_are_6() {
    let place = Place::new();
    crate::features::write(&place, crate::features::VALID);
    let line = "prove --features contract --mutant success-for-all";
    place
        .run(line, &[])
        .code(6)
        .stdout(contains("SURVIVED EXIT-001").and(contains("unproved: EXIT-001")));
    let seen = place.run(line, &["--json"]).code(6);
    let proof: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    assert_eq!(proof["unproved"], json!(["EXIT-001"]));
    assert_eq!(proof["mutants"][0]["killed_by"], json!([]));
}

#[test]
fn what_turns_red_and_should_not_is_6() {
    let place = Place::new();
    // Two requirements, and a mutant of one of them breaks the other as well.
    let other = "
  @id:EXIT-003 @must @since:0.1 @profile:core @mutant:signals-as-exit-codes
  Scenario: A code of seven is told
    Somebody saw it otherwise (https://example.org/2).
    Given an open sandbox
    When a command exits with code 70
    Then the outcome is exited with code 70
";
    crate::features::write(&place, &format!("{}{other}", crate::features::VALID));
    place
        .run("prove --features contract --mutant success-for-all", &[])
        .code(6)
        .stdout(contains("COLLATERAL EXIT-003"));
}

#[test]
fn a_proof_needs_a_subject_that_is_green_and_mutants_that_exist() {
    let place = Place::new();
    crate::features::write(&place, &crate::features::strict());
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
    place.write("red.toml", &format!("name = \"red\"\nadapter = {words:?}\n"));
    let line = "prove --features contract --subject red.toml";
    place
        .run(line, &[])
        .code(4)
        .stderr(contains("red is not green itself: EXIT-001"));
    place
        .run("prove --mutant succes-for-all", &[])
        .code(2)
        .stderr(contains("did you mean `success-for-all`?"));
    place
        .run("prove --subject lokal", &[])
        .code(2)
        .stderr(contains("did you mean `local`?"));
    place.becomes_clean();
}
