//! The chapter RISK, held to an adapter that judges mounts by the executor's own policy, and to each of its mutants.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{HERM, Place};

/// The example `judge_mounts`, which is built with the tests.
fn adapter() -> PathBuf {
    let adapter = Path::new(HERM).with_file_name("examples").join("judge_mounts");
    assert!(
        adapter.is_file(),
        "{} is not there; cargo build --examples makes it",
        adapter.display()
    );
    adapter
}

/// A place with the chapter alone, and a manifest of the adapter.
fn place() -> Place {
    let place = Place::new();
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("features/approval/risk.feature");
    place.write(
        "contract/approval/risk.feature",
        &fs::read_to_string(chapter).unwrap(),
    );
    let adapter = adapter();
    place.write(
        "mounts.toml",
        &format!(
            "name = \"judges-mounts\"\nadapter = [{:?}]\n",
            adapter.to_str().unwrap()
        ),
    );
    place
}

#[test]
fn the_policy_keeps_every_requirement() {
    let place = place();
    place
        .run("run --features contract --subject mounts.toml", &[])
        .code(0);
    let report = place.report();
    let rows = report["subjects"][0]["requirements"].as_array().unwrap();
    assert!(rows.len() >= 8, "{} requirements", rows.len());
    for row in rows {
        assert_eq!(row["verdict"], "passed", "{row}");
    }
    place.becomes_clean();
}

#[test]
fn every_mutant_turns_red_what_it_breaks_and_nothing_else() {
    let place = place();
    let chapter = fs::read_to_string(place.path("contract/approval/risk.feature")).unwrap();
    let mutants: BTreeSet<&str> = chapter
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("@mutant:"))
        .collect();
    let mutants: Vec<_> = mutants.into_iter().collect();
    let seen = place
        .run(
            "prove --features contract --subject mounts.toml --json --mutant",
            &[&mutants.join(",")],
        )
        .code(0);
    let proof: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    assert_eq!(proof["unproved"], serde_json::json!([]));
    let proved = proof["mutants"].as_array().unwrap();
    assert_eq!(proved.len(), mutants.len());
    for mutant in proved {
        assert!(!mutant["kills"].as_array().unwrap().is_empty(), "{mutant}");
        assert_eq!(mutant["killed_by"], mutant["kills"], "{mutant}");
    }
    place.becomes_clean();
}
