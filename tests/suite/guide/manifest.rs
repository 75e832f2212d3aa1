//! The manifests of the guide, and parts of them, can be used.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use herm_harness::{catalogue::Catalogue, expectation::Expectations, subject::Subject};
use serde_json::Value;

use super::{contract, file, page, pages};
use crate::support::{HERM, Place};

/// What `herm init` writes: the parts that the guide shows are put into it.
fn whole_manifest(place: &Place) -> toml::Table {
    if !place.path("whole").exists() {
        place.run("init --lang manifest whole", &[]).code(0);
    }
    let text = fs::read_to_string(place.path("whole/whole.toml")).unwrap();
    text.parse().unwrap()
}

#[test]
fn every_manifest_loads_and_every_part_of_one_fits_into_a_whole() {
    let contract = contract();
    let ids: Vec<_> = contract.requirements.iter().map(|one| one.id.as_str()).collect();
    let place = Place::new();
    let mut seen = BTreeMap::from([("whole", 0), ("part", 0), ("expectations", 0)]);
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "toml") {
            let about = format!("{}:\n{}", page.name(), block.text);
            let table: toml::Table = block
                .text
                .parse()
                .unwrap_or_else(|error| panic!("{about}{error}"));
            if table.contains_key("subject") {
                let path = place.write("expectations.toml", &block.text);
                Expectations::load(&path, &ids).unwrap_or_else(|error| panic!("{about}{error}"));
                *seen.get_mut("expectations").unwrap() += 1;
                continue;
            }
            let text = if table.contains_key("name") {
                *seen.get_mut("whole").unwrap() += 1;
                block.text.clone()
            } else {
                *seen.get_mut("part").unwrap() += 1;
                toml::to_string(&put_into(whole_manifest(&place), table)).unwrap()
            };
            // Every variable that a manifest of the guide names may be missing.
            let path = place.write("subject.toml", &text);
            Subject::load(&path, &[HERM.into()]).unwrap_or_else(|error| panic!("{about}{error}"));
        }
    }
    assert!(seen.values().all(|count| *count >= 2), "{seen:?}");
}

/// A part replaces what it says, and leaves the rest. The capability that goes with a table is declared with it.
fn put_into(mut whole: toml::Table, part: toml::Table) -> toml::Table {
    for table in ["files", "ledger"]
        .into_iter()
        .filter(|table| part.contains_key(*table))
    {
        let capabilities = whole.get_mut("capabilities").and_then(toml::Value::as_array_mut);
        capabilities.unwrap().push(table.into());
    }
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(there)), toml::Value::Table(more)) => there.extend(more),
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
    whole
}

#[test]
fn manifest_md_names_every_key_of_the_schema() {
    let schema: Value = serde_json::from_str(&file("harness/schema/manifest-1.json")).unwrap();
    let mut keys = BTreeSet::new();
    collect_keys(&schema, &mut keys);
    // What is a choice or a condition stands on the pages of these.
    let catalogue = Catalogue::embedded().unwrap();
    keys.retain(|key| !catalogue.choices.contains_key(key) && !catalogue.conditions.contains_key(key));
    assert!(keys.len() > 20, "{keys:?}");
    let page = page("adapter/manifest.md");
    for key in keys {
        let forms = [
            format!("`{key}`"),
            format!("`[{key}]`"),
            format!("`[[{key}]]`"),
            format!("`[{key}.NAME]`"),
            format!("`{{ {key} = "),
            format!("`{key} = "),
            format!(", {key} = ["),
        ];
        assert!(
            forms.iter().any(|form| page.text.contains(form)),
            "manifest.md does not explain {key}"
        );
    }
}

fn collect_keys(schema: &Value, keys: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| collect_keys(value, keys));
        }
        Value::Array(list) => list.iter().for_each(|value| collect_keys(value, keys)),
        _ => {}
    }
}
