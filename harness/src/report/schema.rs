//! The JSON Schemas of `report.json`, of a line of `events.jsonl`, and of what `herm smoke --json` prints, generated from the
//! types.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{event::Event, smoke::SmokeReport};

use super::Report;

/// The schema of `report.json`.
#[must_use]
pub fn report() -> Value {
    document::<Report>("herm report 1")
}

/// The schema of a line of `events.jsonl`.
#[must_use]
pub fn event() -> Value {
    document::<Event>("herm event 1")
}

/// The schema of what `herm smoke --json` prints.
#[must_use]
pub fn smoke() -> Value {
    document::<SmokeReport>("herm smoke 1")
}

fn document<T: JsonSchema>(title: &str) -> Value {
    // As it is written: a field with a default is always there.
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = Value::from(generator.into_root_schema_for::<T>());
    schema["title"] = title.into();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(name: &str, generated: &Value) {
        let path = format!("{}/schema/{name}", env!("CARGO_MANIFEST_DIR"));
        let generated = serde_json::to_string_pretty(generated).unwrap() + "\n";
        if std::env::var_os("HERM_UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == generated,
            "schema/{name} is stale; run HERM_UPDATE_SCHEMA=1 cargo test -p herm-harness schema"
        );
    }

    /// `HERM_UPDATE_SCHEMA=1` writes the files instead of comparing.
    #[test]
    fn the_files_in_the_tree_are_what_the_types_say() {
        compare("report-1.json", &report());
        compare("events-1.json", &event());
        compare("smoke-1.json", &smoke());
    }

    #[test]
    fn the_report_has_the_documented_fields() {
        let schema = report();
        let subject = &schema["$defs"]["SubjectReport"]["properties"];
        for field in [
            "name",
            "backend",
            "mode",
            "emulated",
            "capabilities",
            "choices",
            "result",
            "requirements",
        ] {
            assert!(subject[field].is_object(), "{field}");
        }
        let requirement = &schema["$defs"]["RequirementReport"]["properties"];
        for field in [
            "id",
            "title",
            "level",
            "verdict",
            "duration_ms",
            "detail",
            "reproduce",
            "reason",
            "chapter",
        ] {
            assert!(requirement[field].is_object(), "{field}");
        }
    }
}
