//! Changes to the text of the file that leave everything else in it as it stands.
//!
//! The editor is not trusted: what it makes is read again, and must mean what was there before with the one change. So
//! a file that it cannot follow is refused, and never damaged.

use std::str::FromStr as _;

use serde_yaml::{Mapping, Value as Yaml};

use super::{Place, Problem, Value, file::ConfigFile, scalar::flow};

#[cfg(test)]
mod tests;

/// What to do when a file cannot be changed by a program.
const BY_HAND: &str = "change it there by hand; the file is left as it is";

/// The text with a key of a section set; none when it is set to that already.
pub(super) fn set(
    file: &ConfigFile,
    section: &str,
    key: &str,
    value: &Value,
) -> Result<Option<String>, Problem> {
    let (raw, target) = (flow(value), value.to_yaml());
    let mut wanted = file.content.clone().unwrap_or_default();
    let place = wanted.entry(section.into()).or_insert(Yaml::Null);
    if place.is_null() {
        *place = Yaml::Mapping(Mapping::new());
    }
    let Yaml::Mapping(settings) = place else {
        let what = format!("{section} is a section: settings are expected below it");
        return Err(file.problem(file.place(section, None), what, BY_HAND));
    };
    if settings.get(key) == Some(&target) {
        return Ok(None);
    }
    settings.insert(key.into(), target);
    let text = if file.content.is_some() {
        edited(file, section, |root, settings| {
            match settings {
                Some(settings) => settings.set(key, node(&raw)?),
                None => root.set(section, block(key, &raw)?),
            }
            Some(())
        })?
    } else {
        appended(&file.text, section, key, &raw)
    };
    checked(file, section, key, text, &wanted).map(Some)
}

/// The text without a key of a section; none when it is not there.
pub(super) fn unset(file: &ConfigFile, section: &str, key: &str) -> Result<Option<String>, Problem> {
    let mut wanted = file.content.clone().unwrap_or_default();
    let Some(Yaml::Mapping(settings)) = wanted.get_mut(section) else {
        return Ok(None);
    };
    if settings.remove(key).is_none() {
        let merged = file.merged()?;
        if merged.get(section).and_then(|section| section.get(key)).is_none() {
            return Ok(None);
        }
        let what = format!("{section}.{key} comes from elsewhere in the file by a merge key (<<)");
        return Err(file.problem(file.place(section, None), what, BY_HAND));
    }
    let text = edited(file, section, |_, settings| settings?.remove(key).map(drop))?;
    checked(file, section, key, text, &wanted).map(Some)
}

/// The text after a change to its tree. The change gets the section, unless that is empty.
fn edited(
    file: &ConfigFile,
    section: &str,
    change: impl FnOnce(&yaml_edit::Mapping, Option<yaml_edit::Mapping>) -> Option<()>,
) -> Result<String, Problem> {
    let cannot = || {
        let what = format!("{section} stands there in a way that cannot be changed safely");
        file.problem(file.place(section, None), what, BY_HAND)
    };
    let (tree, root) = file.root().ok_or_else(cannot)?;
    let settings = root.get_mapping(section).filter(|settings| !settings.is_empty());
    // An alias stands for a section that is not empty, and is not replaced.
    let empty = |content: &Mapping| {
        content
            .get(section)
            .is_none_or(|found| found.is_null() || is_empty(found))
    };
    if settings.is_none() && !file.content.as_ref().is_none_or(empty) {
        return Err(cannot());
    }
    change(&root, settings).ok_or_else(cannot)?;
    Ok(with_its_line_ends(&file.text, tree.to_string()))
}

fn is_empty(yaml: &Yaml) -> bool {
    yaml.as_mapping().is_some_and(Mapping::is_empty)
}

/// A value as a part of a tree.
fn node(raw: &str) -> Option<yaml_edit::YamlNode> {
    yaml_edit::Document::from_str(&format!("k: {raw}\n"))
        .ok()?
        .as_mapping()?
        .get("k")
}

/// A section of one setting as a part of a tree.
fn block(key: &str, raw: &str) -> Option<yaml_edit::Mapping> {
    yaml_edit::Document::from_str(&format!("{key}: {raw}\n"))
        .ok()?
        .as_mapping()
}

/// A text of comments only, with a section behind them.
fn appended(text: &str, section: &str, key: &str, raw: &str) -> String {
    let end = line_end(text);
    let between = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        end
    };
    format!("{text}{between}{section}:{end}  {key}: {raw}{end}")
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// New lines end as the old ones do, when those all end alike.
fn with_its_line_ends(old: &str, new: String) -> String {
    let all_end_so = old.matches('\n').count() == old.matches("\r\n").count();
    if line_end(old) == "\n" || !all_end_so {
        return new;
    }
    new.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The text, when it means what is wanted and nothing else of it has gone.
fn checked(
    file: &ConfigFile,
    section: &str,
    key: &str,
    text: String,
    wanted: &Mapping,
) -> Result<String, Problem> {
    let place: Option<Place> = file.place(section, Some(key));
    let made = ConfigFile::parse(&file.path, text.into_bytes());
    match made {
        Ok(made) if made.content.clone().unwrap_or_default() == *wanted && keeps_comments(file, &made) => {
            Ok(made.text)
        }
        _ => {
            let what = format!(
                "{section}.{key} cannot be changed without changing something else in the file, such as the uses of an anchor, or a comment among its own lines"
            );
            Err(file.problem(place, what, BY_HAND))
        }
    }
}

/// Whether every line of the old text that is a comment is in the new one.
fn keeps_comments(old: &ConfigFile, new: &ConfigFile) -> bool {
    let lines = |file: &ConfigFile| {
        let lines = file
            .text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut kept = lines(new).into_iter();
    lines(old).iter().all(|comment| kept.any(|line| line == *comment))
}
