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
    let mut definitions = Value::from(definitions);
    without_null(&mut definitions);
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

/// TOML has no null: what may be missing is left out, and an editor need not offer it.
fn without_null(schema: &mut Value) {
    let is_null = |kind: &Value| *kind == json!({"type": "null"}) || *kind == json!("null");
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_null),
        Value::Object(object) => {
            object.retain(|key, value| !(key == "default" && value.is_null()));
            for key in ["anyOf", "type"] {
                let Some(Value::Array(kinds)) = object.get_mut(key) else {
                    continue;
                };
                kinds.retain(|kind| !is_null(kind));
                if let [only] = kinds.as_mut_slice() {
                    let only = only.take();
                    object.remove(key);
                    match only {
                        Value::Object(kind) => object.extend(kind),
                        kind => drop(object.insert(key.into(), kind)),
                    }
                }
            }
            object.values_mut().for_each(without_null);
        }
        _ => {}
    }
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

    /// Whether a value fits a schema, as far as this schema's own words go; one that is not known here is a mistake.
    fn fits(value: &Value, schema: &Value, root: &Value) -> bool {
        let all = |schemas: &Value| -> usize {
            let schemas = schemas.as_array().unwrap();
            schemas.iter().filter(|schema| fits(value, schema, root)).count()
        };
        let empty = Map::new();
        let object = value.as_object();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        schema
            .as_object()
            .unwrap()
            .iter()
            .all(|(word, rule)| match word.as_str() {
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    fits(value, &root["$defs"][name], root)
                }
                "oneOf" => all(rule) == 1,
                "anyOf" => all(rule) > 0,
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "type" => match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_u64(),
                    other => panic!("the type {other}"),
                },
                "required" => rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|key| object.is_none_or(|object| object.contains_key(key.as_str().unwrap()))),
                "properties" => object.is_none_or(|object| {
                    let known = object.iter().filter(|(key, _)| properties.contains_key(*key));
                    known
                        .into_iter()
                        .all(|(key, value)| fits(value, &properties[key], root))
                }),
                "additionalProperties" => object.is_none_or(|object| {
                    let mut others = object.iter().filter(|(key, _)| !properties.contains_key(*key));
                    others.all(|(_, value)| *rule != json!(false) && fits(value, rule, root))
                }),
                "items" => value
                    .as_array()
                    .is_none_or(|items| items.iter().all(|item| fits(item, rule, root))),
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
                "minimum" => value.as_u64().is_none_or(|value| value >= rule.as_u64().unwrap()),
                "pattern" => value
                    .as_str()
                    .is_none_or(|text| regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)),
                "uniqueItems" | "description" | "default" | "format" | "title" | "$schema" | "$defs" => true,
                other => panic!("the schema says {other}"),
            })
    }

    /// Every manifest that is shipped, with its path.
    fn shipped() -> Vec<(std::path::PathBuf, String)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/subjects");
        let mut found = Vec::new();
        for folder in [folder.to_owned(), format!("{folder}/examples")] {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "toml") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.push((path, text));
                }
            }
        }
        assert!(found.len() >= 8, "{found:?}");
        found
    }

    #[test]
    fn what_is_shipped_fits_the_schema_and_names_it() {
        let schema = document(&Catalogue::embedded().unwrap());
        for (path, text) in shipped() {
            let value: Value = toml::from_str(&text).unwrap();
            assert!(fits(&value, &schema, &schema), "{path:?}");
            let named = text.lines().next().unwrap().strip_prefix("#:schema ").unwrap();
            let named = path.parent().unwrap().join(named);
            assert!(
                named.ends_with("harness/schema/manifest-1.json") && named.exists(),
                "{path:?}"
            );
        }
    }

    #[test]
    fn what_is_shipped_can_be_loaded() {
        let catalogue = Catalogue::embedded().unwrap();
        for (path, _) in shipped() {
            Manifest::load(&path, &catalogue).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn an_editor_sees_what_is_wrong() {
        let schema = document(&Catalogue::embedded().unwrap());
        let fit = |text: &str| fits(&toml::from_str(text).unwrap(), &schema, &schema);
        assert!(fit("name = \"a\"\nadapter = [\"b\"]"));
        let exec = "exec = { run = [\"{command}\"], shell = [\"sh\", \"-c\", \"{text}\"] }";
        let with = |more: &str| fit(&format!("name = \"a\"\n{exec}\n{more}"));
        assert!(with("capabilities = [\"argv\"]"));
        for wrong in [
            "capabilities = [\"argvv\"]",
            "capabilities = [\"timeout\"]",
            "choices = { shell = \"fish\" }",
            "choices = { shel = \"bash\" }",
            "adapter = [\"b\"]",
            "parallelism = 0",
            "version = [1]",
            "version = [{ wen = \"cwd\", words = [] }]",
            "conditions = { \"engine.mising\" = { does = \"x\" } }",
            "conditions = { stop = { apply = [\"x\"] } }",
        ] {
            assert!(!with(wrong), "{wrong}");
        }
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
