//! Changes to the file.

use std::process::ExitCode;

use herm::{
    backend::{OpenError, local::SpoolFull, open_backend},
    config::{self, Change, Config, Sources, Value, dotenv_file, find_or_tell},
};
use herm_harness::tell::tell;

use super::{Refusal, nothing, print, usage};

pub(super) fn set(sources: &Sources, key: &str, text: &str) -> Result<ExitCode, Refusal> {
    let setting = find_or_tell(key).map_err(usage)?;
    let change = config::set(sources, setting, text).map_err(usage)?;
    tell_of_mirror(sources, &change);
    tell_what_remains(sources);
    let value = change.value.unwrap_or(Value::Nothing);
    let shown = if setting.is_secret() {
        value.masked()
    } else {
        value
    };
    let shown = match shown {
        Value::Text(text) => text.escape_debug().to_string(),
        value => value.to_json().to_string(),
    };
    let line = change
        .place
        .map(|place| format!(":{}", place.line))
        .unwrap_or_default();
    let file = sources.file();
    let done = if change.written { "" } else { " already" };
    Ok(print(&format!(
        "{} is{done} {shown} ({}{line})",
        setting.name(),
        file.display()
    )))
}

pub(super) fn unset(sources: &Sources, key: &str) -> Result<ExitCode, Refusal> {
    let file = sources.file();
    let absent = || nothing(format!("{key} is not set in {}", file.display()));
    let setting = match find_or_tell(key) {
        Ok(setting) => setting,
        // What is misspelt in the file can be taken out by the name that it has there.
        Err(unknown) => {
            let removed = match key
                .split_once('.')
                .filter(|(section, _)| config::is_section(section))
            {
                Some((section, key)) => config::unset_unknown(sources, section, key).map_err(usage)?,
                None => false,
            };
            if !removed {
                return Err(usage(unknown));
            }
            return Ok(print(&format!("{key} is taken out of {}", file.display())));
        }
    };
    let change = config::unset(sources, setting).map_err(usage)?;
    tell_of_mirror(sources, &change);
    if !change.written && change.mirror.is_none() {
        return Err(absent());
    }
    Ok(print(&match Config::load(sources) {
        Ok(config) => {
            let now = config.get(setting.name());
            let origin = now.map(|now| now.origin.to_string()).unwrap_or_default();
            format!("{} is taken out; what holds now: {origin}", setting.name())
        }
        Err(problems) => {
            tell(format_args!("herm: {problems}"));
            format!("{} is taken out", setting.name())
        }
    }))
}

fn tell_of_mirror(sources: &Sources, change: &Change) {
    if let Some(variable) = change.mirror {
        let path = dotenv_file(&sources.home);
        tell(format_args!(
            "herm: {variable} in {} said otherwise, and was changed, too",
            path.display()
        ));
    }
}

/// What is still wrong after a change that was good in itself.
fn tell_what_remains(sources: &Sources) {
    let problem = match Config::load(sources) {
        Ok(config) => match open_backend(&config, sources, SpoolFull::default()) {
            Ok(backend) => backend.check_configuration().map_err(|error| error.to_string()),
            // Another build may have it.
            Err(OpenError::NotBuilt(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        Err(problems) => Err(problems.to_string()),
    };
    if let Err(problem) = problem {
        tell(format_args!(
            "herm: it is set; this remains to be mended:\n{problem}"
        ));
    }
}
