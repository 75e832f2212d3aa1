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
fn what_the_contract_is_measured_by_is_listed() {
    let place = Place::new();
    for line in ["list faults", "list --faults"] {
        let about = contains("HB HANG-BG").and(contains("due in chapters that are not written yet:"));
        place.run(line, &[]).code(0).stdout(about);
    }
    for line in ["list peers", "list --peers"] {
        let about = contains("inspect_ai").and(contains("reasons:"));
        place.run(line, &[]).code(0).stdout(about);
    }
    let faults = json("list faults");
    let row = faults.as_array().unwrap().iter().find(|row| row["id"] == "HB-01");
    let expected = serde_json::json!({
        "id": "HB-01",
        "kind": "HANG-BG",
        "source": "https://github.com/NousResearch/hermes-agent/pull/10584",
        "wrong": row.unwrap()["wrong"],
        "at_risk": ["all"],
        "chapters": ["JOB"],
        "standing": "caught",
        "caught_by": ["JOB-001"],
        "due": null,
        "exception": null,
    });
    assert_eq!(row, Some(&expected));
    let peers = json("list peers");
    let check = |name: &str| {
        let mut rows = peers.as_array().unwrap().iter();
        rows.find(|row| row["check"] == name).unwrap()
    };
    let expected = serde_json::json!({
        "suite": "inspect_ai",
        "check": "exec_returncode",
        "category": "E02",
        "functions": 1,
        "standing": "caught",
        "caught_by": ["EXIT-001"],
        "due": null,
        "exception": null,
    });
    assert_eq!(check("exec_returncode"), &expected);
    // A reason is told in full.
    let excepted = check("watch_file");
    assert_eq!(excepted["standing"], "excepted");
    assert!(
        excepted["exception"].as_str().unwrap().ends_with('.'),
        "{excepted}"
    );
    // What a requirement would have caught is told with it.
    place
        .run("explain JOB-001", &[])
        .code(0)
        .stdout(contains("would have caught HB-01: "));
    place.run("list faults --peers", &[]).code(2);
}

#[test]
fn the_book_is_written_where_it_is_wanted() {
    let place = Place::new();
    place.write("book/SUMMARY.md", "# Summary\n");
    place
        .run("list --book book", &[])
        .code(0)
        .stdout(contains("pages written to book/contract"));
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(read("book/SUMMARY.md").contains("(contract/exit.md)"));
    assert!(read("book/contract/exit.md").contains("## EXIT-001"));
    // Features of one's own are a book, too.
    crate::features::write(&place, crate::features::VALID);
    place
        .run("list --features contract --book own", &[])
        .code(0)
        .stdout(contains("2 pages"));
    place.write("file", "");
    place
        .run("list --book file", &[])
        .code(4)
        .stderr(contains("failed to make file/contract"));
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
