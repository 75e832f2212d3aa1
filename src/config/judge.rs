//! The sections of the file that are ours, against the table of settings. What else stands there is Hermes' own.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value as Yaml};

use super::{
    BackendName, Place, Problem, SETTINGS, Setting, Value, expand::expand, file::ConfigFile, find,
    near_miss::hint, setting::Misfit, table::keys_of,
};

/// The sections that are judged.
pub(super) const SECTIONS: [&str; 2] = ["terminal", "proxy"];

/// What the file sets, by the setting's name, with the place of each.
pub(super) type Found = BTreeMap<&'static str, (Value, Option<Place>)>;

/// Reads every setting of the file, and tells everything that is wrong with them.
pub(super) fn judge(
    file: &ConfigFile,
    variable: impl Fn(&str) -> Option<String> + Copy,
) -> (Found, Vec<Problem>) {
    let mut found = Found::new();
    let mut problems = Vec::new();
    let content = match file.merged() {
        Ok(content) => content,
        Err(problem) => return (found, vec![problem]),
    };
    judge_beside(file, &content, &mut problems);
    for section in SECTIONS {
        match content.get(section) {
            None | Some(Yaml::Null) => {}
            Some(Yaml::Mapping(settings)) => {
                judge_section(file, section, settings, variable, &mut found, &mut problems);
            }
            Some(_) => {
                let what = format!("{section} is a section: settings are expected below it");
                problems.push(file.problem(
                    file.place(section, None),
                    what,
                    "write `key: value` lines there",
                ));
            }
        }
    }
    problems.sort_by_key(|problem| problem.place);
    (found, problems)
}

/// Keys beside the sections that were meant to be in one. The rest of the file is not ours.
fn judge_beside(file: &ConfigFile, content: &Mapping, problems: &mut Vec<Problem>) {
    let named = content
        .iter()
        .filter_map(|(key, value)| Some((key.as_str()?, value)));
    for (key, value) in named {
        let place = file.place(key, None);
        let of_variable = SETTINGS.iter().find(|setting| setting.variable == Some(key));
        let flat = key.split_once('.').filter(|(section, _)| is_section(section));
        if let Some((section, inner)) = flat {
            let what = format!("{key} is no key of the file: {inner} stands in the section {section}");
            let fix = format!("write `{section}:`, and below it, indented, `{inner}: VALUE`");
            problems.push(file.problem(place, what, fix));
        } else if let Some(setting) = of_variable.filter(|setting| setting.key.is_some()) {
            let what = format!("{key} is a variable; in the file it is {}", setting.name());
            problems.push(file.problem(place, what, HOW_TO_LIST));
        } else if is_of_section(key, value) {
            let what =
                format!("{key} stands beside the sections, where nothing reads it: it is terminal.{key}");
            let fix = format!("write `terminal:`, and below it, indented, `{key}: VALUE`");
            problems.push(file.problem(place, what, fix));
        } else if let Some(section) = SECTIONS.iter().find(|section| is_nearly(key, section)) {
            let what = format!("{key} is no section (did you mean `{section}`?)");
            let fix = "correct it; what stands below it would not be heard";
            problems.push(file.problem(place, what, fix));
        }
    }
}

/// Whether a key beside the sections can only be meant for `terminal`: others cannot be told from Hermes' own.
fn is_of_section(key: &str, value: &Yaml) -> bool {
    let names_one = key == "backend" && value.as_str().is_some_and(|name| BackendName::of(name).is_some());
    let is_long = ["docker_", "container_"]
        .iter()
        .any(|start| key.starts_with(start));
    names_one || is_long && find(&format!("terminal.{key}")).is_some()
}

/// Whether a key is one slip away from a section, or that in other letters.
fn is_nearly(key: &str, section: &str) -> bool {
    let folded = key.trim().to_lowercase();
    key != section
        && (folded == section || (section.len() > 6 && strsim::damerau_levenshtein(&folded, section) == 1))
}

fn judge_section(
    file: &ConfigFile,
    section: &str,
    settings: &Mapping,
    variable: impl Fn(&str) -> Option<String> + Copy,
    found: &mut Found,
    problems: &mut Vec<Problem>,
) {
    for (key, yaml) in settings {
        let Yaml::String(key) = key else {
            let what = format!("a key of {section} is no text");
            problems.push(file.problem(file.place(section, None), what, "correct it, or take it out"));
            continue;
        };
        let name = format!("{section}.{key}");
        let Some(setting) = find(&name) else {
            problems.push(file.problem(file.place(section, Some(key)), unknown(&name), HOW_TO_LIST));
            continue;
        };
        if yaml.is_null() {
            continue;
        }
        match setting.read_yaml(&expanded(yaml, variable)) {
            Ok(value) => {
                let place = file.place(section, Some(key));
                if found.insert(setting.name(), (value, place)).is_some() {
                    let names: Vec<_> = keys_of(setting).collect();
                    let what = format!("{} are one setting, and both are here", names.join(" and "));
                    problems.push(file.problem(place, what, "take one of them out"));
                }
            }
            Err(Misfit { what, fix }) => {
                problems.push(file.problem(file.place_of_value(section, key), what, fix));
            }
        }
    }
}

/// Whether a section of the file is ours.
#[must_use]
pub fn is_section(name: &str) -> bool {
    SECTIONS.contains(&name)
}

/// The setting of a name that a person has given.
///
/// # Errors
/// There is none; what may be meant is told.
pub fn find_or_tell(name: &str) -> Result<&'static Setting, Problem> {
    find(name).ok_or_else(|| Problem::new("", None, unknown(name), HOW_TO_LIST))
}

/// Where all names are told.
const HOW_TO_LIST: &str = "herm config list names all settings";

/// That a name is no setting, and which one may be meant.
fn unknown(name: &str) -> String {
    let of_variable = SETTINGS.iter().find(|setting| setting.variable == Some(name));
    let keys = SETTINGS.iter().flat_map(keys_of);
    let meant = match (of_variable, name.split_once('.')) {
        (Some(setting), _) => format!(" (the variable of `{}`)", setting.name()),
        // Where the section is right, only what follows is compared.
        (None, Some((section, key))) if is_section(section) => hint(
            key,
            keys.filter_map(|known| known.strip_prefix(section)?.strip_prefix('.')),
        ),
        _ => hint(name, keys),
    };
    format!("there is no setting {name}{meant}")
}

/// The node with `${VAR}` expanded in every text.
fn expanded(yaml: &Yaml, variable: impl Fn(&str) -> Option<String> + Copy) -> Yaml {
    match yaml {
        Yaml::String(text) => Yaml::String(expand(text, variable)),
        Yaml::Sequence(items) => items.iter().map(|item| expanded(item, variable)).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), expanded(value, variable)));
            Yaml::Mapping(entries.collect())
        }
        other => other.clone(),
    }
}
