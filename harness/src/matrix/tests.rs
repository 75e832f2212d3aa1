use super::{CollectError, Digests, Matrix, Part, Shard, collect};
use crate::{
    catalogue::Catalogue,
    contract::{Contract, FeatureSource},
    prove::{MutantProof, Proof},
};

fn contract() -> Contract {
    Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap()).0
}

fn mutant(name: &str, kills: &[&str], killed_by: &[&str]) -> MutantProof {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    MutantProof {
        name: name.into(),
        kills: words(kills),
        killed_by: words(killed_by),
        ..MutantProof::default()
    }
}

fn part(contract: &Contract, shard: &str, mutants: Vec<MutantProof>, unproved: &[&str]) -> (String, Proof) {
    let proof = Proof {
        mutants,
        unproved: unproved.iter().map(ToString::to_string).collect(),
        part: Some(Part {
            shard: shard.parse().unwrap(),
            subject: "local".into(),
            contract: Digests::of(contract).all(),
        }),
        ..Proof::default()
    };
    (format!("{shard}.json"), proof)
}

fn collected(contract: &Contract, parts: Vec<(String, Proof)>) -> Result<(Proof, Matrix), CollectError> {
    collect(contract, parts, "2026-11-29".into(), "0123456789abcdef".into())
}

#[test]
fn a_shard_is_one_of_some_parts_that_are_all_of_it() {
    for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/2", "1/2/3"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
    let shards: Vec<Shard> = (1..=3)
        .map(|number| format!("{number}/3").parse().unwrap())
        .collect();
    for index in 0..20 {
        assert_eq!(
            shards.iter().filter(|shard| shard.has(index)).count(),
            1,
            "{index}"
        );
    }
    assert!((0..20).all(|index| Shard::WHOLE.has(index)));
    assert_eq!(serde_json::to_string(&shards[1]).unwrap(), "\"2/3\"");
}

#[test]
fn all_shards_make_a_matrix() {
    let contract = contract();
    let one = part(
        &contract,
        "1/2",
        vec![mutant("b", &["X-001"], &[])],
        &["X-001", "X-002"],
    );
    let two = part(&contract, "2/2", vec![mutant("a", &["X-001"], &["X-001"])], &[]);
    let (proof, matrix) = collected(&contract, vec![one, two]).unwrap();
    let names: Vec<_> = proof.mutants.iter().map(|mutant| mutant.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    // What one shard left unproved, another has proved.
    assert_eq!(proof.unproved, ["X-002"]);
    assert_eq!((matrix.totals.mutants, matrix.totals.killed), (2, 1));
    assert_eq!((matrix.totals.unproved, matrix.totals.collateral), (1, 0));
    assert_eq!(matrix.totals.not_run, contract.catalogue.mutants.len() - 2);
    assert_eq!(
        matrix.line(&contract),
        "last full matrix: 2026-11-29 at 0123456789ab on local: 1 of 2 mutants killed, 0 collateral, 1 unproved"
    );
}

#[test]
fn what_a_mutant_may_turn_red_is_judged_when_the_parts_are_collected() {
    let mut contract = contract();
    let mut seen = mutant("adds-a-final-newline", &["X-001"], &["X-001"]);
    seen.collateral = vec!["Y-001".into(), "Y-002".into()];
    seen.seen = seen
        .collateral
        .iter()
        .map(|id| (id.clone(), "red".into()))
        .collect();
    let seen = part(&contract, "1/1", vec![seen], &[]);
    let (_, before) = collected(&contract, vec![seen.clone()]).unwrap();
    let row = contract
        .catalogue
        .mutants
        .get_mut("adds-a-final-newline")
        .unwrap();
    row.may.push("Y-001".into());
    let (proof, after) = collected(&contract, vec![seen]).unwrap();
    assert_eq!((before.totals.collateral, after.totals.collateral), (2, 1));
    assert_eq!(proof.mutants[0].collateral, ["Y-002"]);
    assert_eq!(proof.mutants[0].seen.len(), 1);
}

#[test]
fn what_has_changed_since_is_told() {
    let contract = contract();
    let (_, matrix) = collected(&contract, vec![part(&contract, "1/1", vec![], &[])]).unwrap();
    let mut later = contract.clone();
    later.requirements[0].title.push('!');
    assert!(
        !matrix.line(&later).contains("since then"),
        "a title changes nothing"
    );
    later.requirements[0].written.push_str("\nAnd more");
    later.requirements.remove(1);
    later.catalogue.mutants.remove("success-for-all").unwrap();
    let mut other = later.catalogue.mutants["adds-a-final-newline"].clone();
    later.catalogue.mutants.insert("new".into(), other.clone());
    other.kills.push("EXIT-001".into());
    later
        .catalogue
        .mutants
        .insert("adds-a-final-newline".into(), other);
    let line = matrix.line(&later);
    assert!(
        line.contains("since then 2 requirements and 3 mutants are new, changed or gone"),
        "{line}"
    );
}

#[test]
fn what_is_not_one_matrix_is_refused() {
    let contract = contract();
    let make = |shard: &str| part(&contract, shard, vec![], &[]);
    let refused = |parts: Vec<(String, Proof)>| collected(&contract, parts).unwrap_err().to_string();
    assert!(refused(vec![]).contains("nothing to collect"));
    assert!(refused(vec![make("1/3"), make("3/3")]).contains("1 shards are missing, among them 2/3"));
    assert!(refused(vec![make("1/2"), make("1/2")]).contains("is there already"));
    assert!(refused(vec![make("1/2"), make("2/3")]).contains("3 shards on local"));
    let mut other = make("1/1");
    other.1.part.as_mut().unwrap().contract = "other".into();
    assert!(refused(vec![other]).contains("other requirements or mutants"));
    let mut choice = make("1/1");
    choice.1.part = None;
    assert!(refused(vec![choice]).contains("is no part of a full matrix"));
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let contract = contract();
    let (_, matrix) = collected(&contract, vec![part(&contract, "1/1", vec![], &[])]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("matrix.json");
    matrix.write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<Matrix>(&text).unwrap(), matrix);
    let nowhere = matrix.write(&folder.path().join("no/matrix.json")).unwrap_err();
    assert!(nowhere.to_string().contains("no/matrix.json"), "{nowhere}");
}

#[test]
fn the_embedded_record_can_be_read() {
    Matrix::embedded().unwrap();
}
