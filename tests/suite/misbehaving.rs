//! A run outlives whatever an adapter does, and tells what it was.

use std::time::Instant;

use predicates::{prelude::*, str::contains};

use crate::support::{BOUND, HERM, Place, row};

/// Runs against an adapter of a kind; gives the exit code, and verdict and kind of each of two requirements.
fn run(kind: &str) -> (i32, [(String, String); 2]) {
    let place = Place::new();
    let start = Instant::now();
    let seen = place.run(
        "run --only EXIT-002,OPEN-001",
        &["--adapter", HERM, "misbehave", kind],
    );
    assert!(start.elapsed() < BOUND);
    let code = seen.get_output().status.code().unwrap();
    place.becomes_clean();
    let report = place.report();
    let said = ["OPEN-001", "EXIT-002"].map(|id| {
        let row = row(&report, id);
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (word(&row["verdict"]), word(&row["detail"]["kind"]))
    });
    (code, said)
}

#[test]
fn each_kind_of_broken_protocol_has_a_name_of_its_own() {
    for (kind, name) in [
        ("answers-nonsense", "adapter_nonsense"),
        ("answers-twice", "adapter_answered_twice"),
        ("answers-unasked", "adapter_answered_unasked"),
        ("crashes-in-a-command", "adapter_crashed"),
        ("floods-notifications", "adapter_flooded"),
        ("floods-without-newlines", "adapter_flooded"),
        ("prints-noise", "adapter_noise"),
    ] {
        let (code, said) = run(kind);
        let expected = ("error".to_owned(), name.to_owned());
        assert_eq!((code, said), (4, [expected.clone(), expected]), "{kind}");
    }
}

#[test]
fn an_adapter_that_hangs_in_a_command_is_told_and_holds_nobody_up() {
    let place = Place::new();
    let start = Instant::now();
    let adapter = ["--adapter", HERM, "misbehave", "hangs-in-a-command"];
    place.run("run --only EXIT-002", &adapter).code(1);
    assert!(start.elapsed() < BOUND);
    let report = place.report();
    let row = row(&report, "EXIT-002");
    assert_eq!(
        (&row["verdict"], &row["detail"]["kind"]),
        (&"inconclusive".into(), &"precondition".into())
    );
    assert!(
        row["detail"]["seen"]
            .as_str()
            .unwrap()
            .contains("did not answer exec.run within")
    );
    place.becomes_clean();
}

#[test]
fn much_log_is_no_breach() {
    let (code, said) = run("logs-a-lot");
    // It runs nothing, so it fails what looks at commands.
    assert_eq!((code, said[1].0.as_str()), (1, "failed"));
}

#[test]
fn an_adapter_that_cannot_be_talked_to_is_broken_and_the_reason_told() {
    for (kind, words) in [
        ("crashes-at-start", "exit status: 70"),
        ("speaks-another-version", "herm/0.0-other"),
        ("hangs-at-start", "did not answer initialize"),
    ] {
        let place = Place::new();
        let seen = place
            .run("run --only EXIT-002", &["--adapter", HERM, "misbehave", kind])
            .code(4);
        seen.stdout(contains(words).and(contains("broken")));
        let report = place.report();
        assert_eq!(report["subjects"][0]["result"], "broken");
        assert!(report["subjects"][0]["skipped"].as_str().unwrap().contains(words));
        place.becomes_clean();
    }
}
