//! The guide speaks of capabilities, choices, conditions and requirements that there are.

use std::collections::BTreeSet;

use herm_harness::{catalogue::Catalogue, contract::Declared};
use serde_json::Value;

use super::{contract, file, page, pages};

#[test]
fn the_tables_say_what_the_catalogue_says() {
    let catalogue = Catalogue::embedded().unwrap();
    let contract = contract();
    let schema: Value = serde_json::from_str(&file("harness/schema/manifest-1.json")).unwrap();
    let possible = words_of(&schema, "capabilities");
    assert!(
        possible.contains("argv") && !possible.contains("timeout"),
        "{possible:?}"
    );
    let declared = Declared {
        capabilities: catalogue.capabilities.keys().cloned().collect(),
        ..Declared::default()
    };
    let untested = contract.untested(&declared);
    let declare = page("adapter/declare.md").text;
    for (name, promises) in &catalogue.capabilities {
        let yes = |yes: bool| if yes { "yes" } else { "–" };
        let row = format!(
            "| `{name}` | {promises} | {} | {} |",
            yes(possible.contains(name)),
            yes(!untested.contains(name))
        );
        assert!(declare.contains(&row), "declare.md lacks this row:\n{row}");
    }
    for (name, choice) in &catalogue.choices {
        let variants: Vec<_> = choice
            .values
            .iter()
            .map(|(variant, means)| format!("`{variant}`: {means}"))
            .collect();
        let row = format!("| `{name}` | {} | {} | ", choice.explains, variants.join("<br>"));
        assert!(declare.contains(&row), "declare.md lacks this row:\n{row}");
    }
    let world = page("adapter/world.md").text;
    for (name, condition) in &catalogue.conditions {
        let row = format!("| `{name}` | {} | ", condition.explains);
        assert!(world.contains(&row), "world.md lacks this row:\n{row}");
    }
}

/// The words that a key of the schema may have.
fn words_of(schema: &Value, key: &str) -> BTreeSet<String> {
    match schema {
        Value::Object(object) => {
            let mut words = BTreeSet::new();
            if let Some(property) = object
                .get("properties")
                .and_then(|properties| properties.get(key))
            {
                collect_words(property, &mut words);
            }
            words.extend(object.values().flat_map(|value| words_of(value, key)));
            words
        }
        Value::Array(list) => list.iter().flat_map(|value| words_of(value, key)).collect(),
        _ => BTreeSet::new(),
    }
}

fn collect_words(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(list)) = object.get("enum") {
                words.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            words.extend(object.get("const").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| collect_words(value, words));
        }
        Value::Array(list) => list.iter().for_each(|value| collect_words(value, words)),
        _ => {}
    }
}

#[test]
fn every_id_that_is_named_exists() {
    let contract = contract();
    let ids: BTreeSet<_> = contract.requirements.iter().map(|one| one.id.as_str()).collect();
    for page in pages() {
        let words = page
            .text
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        for word in words {
            let is_id = word.split_once('-').is_some_and(|(chapter, number)| {
                contract
                    .requirements
                    .iter()
                    .any(|one| one.id.split('-').next() == Some(chapter))
                    && number.len() == 3
                    && number.bytes().all(|byte| byte.is_ascii_digit())
            });
            assert!(
                !is_id || ids.contains(word),
                "{}: there is no requirement {word}",
                page.name()
            );
        }
    }
}
