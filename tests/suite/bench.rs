//! `herm bench`.

use predicates::{prelude::*, str::contains};
use serde_json::Value;

use crate::support::Place;

#[test]
fn a_subject_is_timed_beside_a_plain_command_and_beside_itself() {
    let place = Place::new();
    let arguments = [
        "--rounds",
        "8",
        "--json",
        "--at-most",
        "1000",
        "--vs-command",
        "true",
    ];
    let seen = place.run("bench", &arguments).code(0).stderr("");
    let result: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    let names: Vec<_> = result["times"]
        .as_array()
        .unwrap()
        .iter()
        .map(|times| times["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["local", "true", "local (control)"]);
    assert!(result["times"][0]["p50_ms"].as_f64().unwrap() > 0.0);
    let interval = &result["comparisons"][0]["interval"];
    assert!(interval["low"].as_f64().unwrap() <= interval["high"].as_f64().unwrap());
    assert_eq!(result["control"]["bound"], 1.0);
}

#[test]
fn a_subject_over_its_bound_is_a_regression() {
    let place = Place::new();
    // No shell starts within a thousandth of the time of a sleep of a tenth of a second.
    let arguments = [
        "--rounds",
        "12",
        "--effect",
        "100",
        "--at-most",
        "0.001",
        "--vs-command",
        "sleep",
        "0.1",
    ];
    place.run("bench", &arguments).code(5).stdout(contains("worse"));
}

#[test]
fn what_cannot_be_timed_is_told() {
    let place = Place::new();
    place
        .run("bench", &["--rounds", "8", "--vs-command", "false"])
        .code(4)
        .stderr(contains("false").and(contains("exit status: 1")));
    place
        .run("bench", &["--rounds", "8", "--vs-command", "no-such-program"])
        .code(4)
        .stderr(contains("no-such-program"));
    place
        .run("bench", &["--subject", "locl"])
        .code(2)
        .stderr(contains("did you mean"));
    place
        .run("bench", &["--effect", "0"])
        .code(2)
        .stderr(contains("0.1"));
}
