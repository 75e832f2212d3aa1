//! The JSON Schema of a manifest, generated from the types and the catalogue, for editors.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{Manifest, ProcessManifest, file::POSSIBLE};
use crate::catalogue::{Catalogue, Strikes};

/// The schema of a manifest of either kind. Names of capabilities, choices and conditions come with their explanations.
#[must_use]
pub fn document(catalogue: &Catalogue) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let commands = reference::<Manifest>(&mut generator);
    let process = reference::<ProcessManifest>(&mut generator);
    let mut definitions = generator.take_definitions(true);
    if let Some(manifest) = definitions.get_mut("Manifest") {
        let properties = &mut manifest["properties"];
        properties["capabilities"]["items"] = json!({"oneOf": capabilities(catalogue)});
        properties["capabilities"]["uniqueItems"] = true.into();
        replace_values(&mut properties["choices"], choices(catalogue));
        replace_values(&mut properties["conditions"], conditions(catalogue));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "herm manifest",
        "description": "A backend that herm can test: the commands of a tool (exec), or a program that speaks herm/1 (adapter).",
        "oneOf": [commands, process],
        "$defs": definitions,
    })
}

fn reference<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().into()
}

/// One value, explained.
fn explained(value: &str, explains: &str) -> Value {
    json!({"const": value, "description": explains})
}

fn capabilities(catalogue: &Catalogue) -> Vec<Value> {
    let possible = catalogue
        .capabilities
        .iter()
        .filter(|(name, _)| POSSIBLE.contains(&name.as_str()));
    possible
        .map(|(name, explains)| explained(name, explains))
        .collect()
}

fn choices(catalogue: &Catalogue) -> Map<String, Value> {
    let choices = catalogue.choices.iter().map(|(name, choice)| {
        let variants = choice
            .values
            .iter()
            .map(|(value, explains)| explained(value, explains));
        let schema = json!({"description": choice.explains, "oneOf": variants.collect::<Vec<_>>()});
        (name.clone(), schema)
    });
    choices.collect()
}

fn conditions(catalogue: &Catalogue) -> Map<String, Value> {
    let conditions = catalogue.conditions.iter().map(|(name, condition)| {
        let struck = match condition.strikes {
            Strikes::Sandbox => "It strikes one sandbox: apply names {sandbox}.",
            Strikes::Subject => "It strikes the whole subject.",
        };
        let description = format!("{} {struck}", condition.explains);
        (
            name.clone(),
            json!({"description": description, "$ref": "#/$defs/Condition"}),
        )
    });
    conditions.collect()
}

/// Gives a table the keys that are known, in place of any.
fn replace_values(table: &mut Value, keys: Map<String, Value>) {
    table["properties"] = keys.into();
    table["additionalProperties"] = false.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HERM_UPDATE_SCHEMA=1` writes the file instead of comparing.
    #[test]
    fn the_file_in_the_tree_is_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/manifest-1.json");
        let schema = document(&Catalogue::embedded().unwrap());
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("HERM_UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            stored == generated,
            "schema/manifest-1.json is stale; run HERM_UPDATE_SCHEMA=1 cargo test -p herm-harness schema"
        );
    }

    /// Whatever an editor may complete has a line that explains it.
    #[test]
    fn every_key_is_described() {
        let schema = document(&Catalogue::embedded().unwrap());
        let definitions = schema["$defs"].as_object().unwrap();
        for (name, definition) in definitions {
            for (key, property) in definition["properties"].as_object().into_iter().flatten() {
                let described = property["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 5);
                assert!(described, "{name}.{key}: {property}");
            }
        }
    }
}
