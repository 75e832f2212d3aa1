//! `herm list`, `explain`, `doctor` and `completions`.

use predicates::{prelude::*, str::contains};
use serde_json::Value;

use crate::support::Place;

fn json(line: &str) -> Value {
    let place = Place::new();
    let seen = place.run(line, &["--json"]).code(0).stderr("");
    serde_json::from_slice(&seen.get_output().stdout).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn requirements_are_listed_for_people_and_for_machines() {
    let place = Place::new();
    let about = contains("EXIT: ").and(contains("EXIT-001")).and(contains("MUST"));
    place.run("list", &[]).code(0).stdout(about);
    let listed = json("list");
    let listed = listed.as_array().unwrap();
    for requirement in listed {
        let expected = [
            "chapter", "id", "level", "mutants", "needs", "profiles", "reason", "since", "title",
        ];
        let mut keys = keys(requirement);
        keys.sort_unstable();
        assert_eq!(keys, expected);
        assert!(["must", "should", "may"].contains(&requirement["level"].as_str().unwrap()));
        assert!(requirement["reason"].as_str().unwrap().contains("https://"));
    }
    let first = listed
        .iter()
        .find(|requirement| requirement["id"] == "EXIT-001")
        .unwrap();
    assert_eq!(
        (&first["chapter"], &first["since"]),
        (&"EXIT".into(), &"0.1".into())
    );
    assert_eq!(first["profiles"], serde_json::json!(["core"]));
    place
        .run("list --check", &[])
        .code(0)
        .stdout(contains(format!("{} requirements", listed.len())));
}

#[test]
fn the_vocabulary_is_listed() {
    let place = Place::new();
    for (what, word, explained) in [
        ("capabilities", "timeout", "timeout"),
        ("choices", "kill_scope", "tree"),
        ("profiles", "core", "core"),
        ("mutants", "success-for-all", "EXIT-001"),
    ] {
        place
            .run("list", &[what])
            .code(0)
            .stdout(contains(word).and(contains(explained)));
        assert!(json(&format!("list {what}")).get(word).is_some(), "{what}");
    }
    let mutants = json("list mutants");
    assert_eq!(
        mutants["success-for-all"]["kills"],
        serde_json::json!(["EXIT-001"])
    );
}

#[test]
fn every_requirement_can_be_explained() {
    let place = Place::new();
    let about = contains("why: ")
        .and(contains("proved by the mutant success-for-all"))
        .and(contains("features/exec/exit.feature:"))
        .and(contains("herm run --only EXIT-001"))
        .and(contains("code = 255"));
    place.run("explain exit-001", &[]).code(0).stdout(about);
    // What needs a capability says what that is.
    let needy = json("list")
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["needs"][0] == "timeout")
        .unwrap()["id"]
        .clone();
    place
        .run("explain", &[needy.as_str().unwrap()])
        .code(0)
        .stdout(contains("needs timeout: "));
}

#[test]
fn a_doctor_tells_what_is_missing_and_how_to_mend_it() {
    let place = Place::new();
    place.run("doctor", &[]).code(0).stdout(
        contains("ok ")
            .and(contains("local"))
            .and(contains("missing").not()),
    );
    place.write(
        "broken.toml",
        "name = \"broken\"\nadapter = [\"./no-such-adapter\"]",
    );
    let told = contains("missing  broken")
        .and(contains("no-such-adapter"))
        .and(contains("fix: "));
    place
        .run("doctor --subject local --subject broken.toml", &[])
        .code(1)
        .stdout(told);
    place.becomes_clean();
}

#[test]
fn completions_are_scripts_that_their_shell_reads() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let seen = place
            .run("completions", &[shell])
            .code(0)
            .stdout(contains("explain"))
            .stderr("");
        if shell == "bash" {
            let script = seen.get_output().stdout.clone();
            assert_cmd::Command::new("bash")
                .arg("-n")
                .write_stdin(script)
                .assert()
                .success()
                .stderr("");
        }
    }
}
