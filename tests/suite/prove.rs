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
fn shards_of_a_full_matrix_are_put_together_and_recorded() {
    let place = Place::new();
    crate::features::write(&place, &crate::features::VALID.replace("code 0\n", "code 130\n"));
    let full = "prove --features contract --full --json --shard";
    let mut found = Vec::new();
    for shard in ["1/2", "2/2"] {
        let seen = place.run(full, &[shard]).code(0);
        let proof: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
        assert_eq!(proof["part"]["shard"], json!(shard));
        found.extend(proof["mutants"].as_array().unwrap().clone());
        place.write(
            &format!("{}.json", shard.replace('/', "-of-")),
            &proof.to_string(),
        );
    }
    // Those that break nothing of this contract are not run; each of the others is run in one shard, and killed there.
    let mut names: Vec<_> = found
        .iter()
        .map(|mutant| mutant["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert!(names.len() > 1 && names.contains(&"success-for-all"), "{names:?}");
    names.windows(2).for_each(|two| assert_ne!(two[0], two[1]));
    // These are parts of another matrix than that of the embedded contract.
    place
        .run("prove --collect 1-of-2.json 2-of-2.json", &[])
        .code(2)
        .stderr(contains("made with other requirements or mutants"));
    place
        .run("prove --shard 3/2", &[])
        .code(2)
        .stderr(contains("write K/N"));
    place
        .run("prove --collect no.json", &[])
        .code(2)
        .stderr(contains("failed to read no.json"));
    place.becomes_clean();
}

/// A result of all of the matrix, as an earlier run may have left it: no mutant is run for it.
#[test]
fn a_record_is_written_for_all_shards_of_this_contract() {
    let place = Place::new();
    let none = json!({
        "mutants": [{"name": "success-for-all", "kills": ["EXIT-001"], "killed_by": ["EXIT-001"], "collateral": ["EXIT-002"]}],
        "unproved": [],
        "part": {"shard": "1/1", "subject": "local", "contract": digest()},
    });
    place.write("1-of-1.json", &none.to_string());
    place
        .run(
            "prove --collect 1-of-1.json --record matrix.json --commit 0123456789abcdef",
            &[],
        )
        .code(6)
        .stdout(contains("last full matrix: ").and(contains(
            " at 0123456789ab on local: 1 of 1 mutants killed, 1 collateral",
        )));
    let text = std::fs::read_to_string(place.path("matrix.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["commit"], "0123456789abcdef");
    assert_eq!(record["totals"]["collateral"], 1);
    assert!(
        record["requirements"]["EXIT-001"].is_string() && record["mutants"]["success-for-all"].is_string()
    );
    place
        .run("prove --collect 1-of-1.json --record matrix.json", &[])
        .code(2)
        .stderr(contains("--commit"));
}

/// The digest of the contract that herm was built with.
fn digest() -> String {
    use herm_harness::{
        catalogue::Catalogue,
        contract::{Contract, FeatureSource},
        matrix::Digests,
    };
    let (contract, _) = Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap());
    Digests::of(&contract).all()
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
