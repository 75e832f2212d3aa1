//! What is set.

use std::process::ExitCode;

use herm::{
    backend::local::SpoolFull,
    config::{Config, Kind, Origin, Resolved, SETTINGS, Setting, Sources, Value, find_or_tell},
};
use herm_harness::tell::tell;
use serde_json::{Value as Json, json};

use super::{Refusal, print, usage};

pub(super) fn get(sources: &Sources, key: &str, as_json: bool) -> Result<ExitCode, Refusal> {
    let setting = find_or_tell(key).map_err(usage)?;
    let config = Config::load(sources).map_err(usage)?;
    let value = resolved(&config, setting).value;
    Ok(print(&if as_json {
        value.to_json().to_string()
    } else {
        value.to_string()
    }))
}

pub(super) fn list(sources: &Sources, as_json: bool) -> Result<ExitCode, Refusal> {
    let config = Config::load(sources).map_err(usage)?;
    if as_json {
        let rows: Vec<_> = SETTINGS.iter().map(|setting| object(&config, setting)).collect();
        return Ok(print(&serde_json::to_string_pretty(&rows).unwrap_or_default()));
    }
    let rows: Vec<_> = SETTINGS.iter().map(|setting| line(&config, setting)).collect();
    let widest = |column: fn(&[String; 3]) -> &String| {
        rows.iter()
            .map(|row| column(row).chars().count())
            .max()
            .unwrap_or_default()
    };
    let (name, value) = (widest(|row| &row[0]), widest(|row| &row[1]));
    let lines = rows
        .iter()
        .map(|row| format!("{:name$}  {:value$}  {}", row[0], row[1], row[2]));
    Ok(print(&lines.collect::<Vec<_>>().join("\n")))
}

pub(super) fn check(sources: &Sources) -> Result<ExitCode, Refusal> {
    let config = Config::load(sources).map_err(usage)?;
    let file = sources.file();
    let there = if file.exists() {
        "can be used"
    } else {
        "is not there: defaults hold"
    };
    for problem in config.overlooked() {
        tell(format_args!(
            "herm: {problem}; {} does not read it",
            config.backend()
        ));
    }
    for setting in SETTINGS {
        let Resolved {
            origin,
            contradicted_by,
            ..
        } = resolved(&config, setting);
        for other in contradicted_by {
            tell(format_args!(
                "herm: {} is set by {origin}; {other} says otherwise, and is not heard",
                setting.name()
            ));
        }
        if setting.readers.is_empty() && matches!(origin, Origin::File { .. }) {
            tell(format_args!(
                "herm: {} ({origin}) is for Hermes itself; herm does not read it",
                setting.name()
            ));
        }
    }
    let (backend, origin) = (config.backend(), config.backend_origin());
    let printed = print(&format!(
        "{} {there}\ncommands run on: {backend} ({origin})",
        file.display()
    ));
    let backend = herm::backend::open_backend(&config, sources, SpoolFull::default()).map_err(usage)?;
    backend.check_configuration().map_err(usage)?;
    Ok(printed)
}

fn resolved(config: &Config, setting: &Setting) -> Resolved {
    config.get(setting.name()).cloned().unwrap_or_else(|| Resolved {
        value: setting.default(),
        origin: Origin::Default,
        contradicted_by: Vec::new(),
    })
}

/// The value as it may be shown.
fn shown(setting: &Setting, value: &Value) -> Value {
    if setting.is_secret() {
        value.masked()
    } else {
        value.clone()
    }
}

fn line(config: &Config, setting: &Setting) -> [String; 3] {
    let Resolved { value, origin, .. } = resolved(config, setting);
    let value = match shown(setting, &value) {
        Value::Text(text) if text.is_empty() => "\"\"".into(),
        Value::Text(text) => text.escape_debug().to_string(),
        value => value.to_json().to_string(),
    };
    [setting.name().into(), value, origin.to_string()]
}

fn object(config: &Config, setting: &Setting) -> Json {
    let Resolved {
        value,
        origin,
        contradicted_by,
    } = resolved(config, setting);
    let kind = match setting.kind {
        Kind::Text => "text",
        Kind::Choice(_) => "choice",
        Kind::Integer { .. } => "integer",
        Kind::Number { .. } => "number",
        Kind::Flag => "flag",
        Kind::List(_) => "list",
        Kind::Map => "map",
    };
    json!({
        "key": setting.name(),
        "variable": setting.variable,
        "type": kind,
        "expected": setting.expected(),
        "value": shown(setting, &value).to_json(),
        "default": setting.default().to_json(),
        "origin": described(&origin),
        "contradicted_by": contradicted_by.iter().map(described).collect::<Vec<_>>(),
        "readers": setting.readers.iter().map(|reader| reader.name()).collect::<Vec<_>>(),
        "about": setting.about,
    })
}

fn described(origin: &Origin) -> Json {
    match origin {
        Origin::Argument(option) => json!({"from": "argument", "option": option}),
        Origin::File { path, place } => {
            let line = place.map(|place| place.line);
            json!({"from": "file", "path": path, "line": line})
        }
        Origin::Variable(name) => json!({"from": "environment", "variable": name}),
        Origin::Dotenv { path, line } => json!({"from": "dotenv", "path": path, "line": line}),
        Origin::Default => json!({"from": "default"}),
    }
}
