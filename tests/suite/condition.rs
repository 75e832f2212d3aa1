//! Conditions: one that is not offered or that breaks is told, and one that holds is gone with the run, however that ends.

use std::{fs, time::Duration};

use predicates::str::contains;

use crate::support::{Place, exit_code, row, signal, verdict};

/// Requirements that hold conditions for a while: a full disk, a paused sandbox, a clock that jumps.
const HOLDS: &str = "run --only PREFLIGHT-010,PREFLIGHT-011,STALE-004,STALE-005,TIMEOUT-014";

/// A manifest of commands has no conditions.
const PLAIN: &str = r#"
name = "plain"
capabilities = []
choices = { latency = "local", left_behind = "keep", relative_path = "workdir", shell = "posix", state = "none", stream_bytes = "exact", streams = "apart" }
[open]
run = ["mktemp", "-d"]
id = "output"
[exec]
run = ["env", "-C", "{sandbox}", "{command}"]
shell = ["sh", "-c", "--", "{text}"]
[close]
run = ["rm", "-rf", "{sandbox}"]
"#;

/// An adapter that answers everything, and refuses what `$1` names.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    id=$(printf '%s\n' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in *"\"method\":\"$1\""*)
        echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"the lever is stuck\",\"data\":{\"kind\":\"unavailable\"}}}"
        continue
    esac
    case $line in
        *'"method":"initialize"'*) result='{"protocol":"herm/1","name":"x","version":"1","capabilities":[],"choices":{}}' ;;
        *'"method":"condition.list"'*) result='{"conditions":[{"name":"remove","does":"nothing"}]}' ;;
        *'"method":"sandbox.open"'*) result='{"sandbox":"s","state":"created","exec_mode":"native"}' ;;
        *'"method":"sandbox.close"'*) result='{"existed":false}' ;;
        *'"method":"exec.run"'*) result='{"outcome":{"type":"exited","code":0},"stdout":{"bytes":0},"stderr":{"bytes":0},"duration_ms":1}' ;;
        *) result='{}' ;;
    esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
"#;

#[test]
fn a_condition_that_is_not_offered_is_inconclusive_and_named() {
    let place = Place::new();
    place.write("plain.toml", PLAIN);
    place
        .run("run --only STALE-006,PREFLIGHT-007 --subject plain.toml", &[])
        .code(1);
    let report = place.report();
    for (id, what) in [
        ("STALE-006", "the condition remove"),
        ("PREFLIGHT-007", "a condition whose name ends in .missing"),
    ] {
        assert_eq!(verdict(&report, id), "inconclusive");
        let seen = row(&report, id)["detail"]["seen"].as_str().unwrap();
        assert!(seen.contains(&format!("does not offer {what}")), "{seen}");
    }
    place.becomes_clean();
}

#[test]
fn a_condition_that_breaks_is_an_error_and_one_that_cannot_be_undone_is_too() {
    for (method, said) in [
        (
            "condition.apply",
            "the condition remove could not be brought about",
        ),
        ("condition.clear", "the condition remove could not be undone"),
    ] {
        let place = Place::new();
        let script = place.script("adapter", SCRIPT);
        place
            .run(
                "run --only STALE-006 --adapter",
                &[script.to_str().unwrap(), method],
            )
            .code(4)
            .stdout(contains("the lever is stuck"));
        let report = place.report();
        assert_eq!(verdict(&report, "STALE-006"), "error", "{method}");
        let detail = &row(&report, "STALE-006")["detail"];
        assert_eq!(detail["kind"], "condition", "{method}");
        assert!(detail["seen"].as_str().unwrap().contains(said), "{detail}");
        place.becomes_clean();
    }
}

/// Mounts of conditions that this process can see, and what libfaketime has left.
fn left() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = mounts
        .lines()
        .filter(|line| line.contains("herm-condition"))
        .map(str::to_owned);
    let shared = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let shared = shared.map(|entry| entry.file_name().to_string_lossy().into_owned());
    mounts
        .chain(shared.filter(|name| name.contains("faketime")))
        .collect()
}

#[test]
fn conditions_that_hold_are_gone_with_a_run_that_is_killed_or_interrupted() {
    for (index, moment) in [200, 400, 700, 1000, 1500, 2600].into_iter().enumerate() {
        let place = Place::new();
        let mut child = place.start(HOLDS);
        std::thread::sleep(Duration::from_millis(moment));
        let name = ["-KILL", "-INT"][index % 2];
        signal(child.id(), name);
        exit_code(&mut child);
        place.becomes_clean();
        assert_eq!(left(), [""; 0], "{name} after {moment} ms");
    }
}
