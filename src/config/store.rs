//! Changing the file of settings: one change at a time, all of it or nothing.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use herm_protocol::Error;
use rustix::fs::{FlockOperation, flock};
use serde_yaml::Value as Yaml;

use super::{
    Kind, Place, Problem, Setting, Sources, Value,
    dotenv::Dotenv,
    dotenv_file, edit,
    expand::expand,
    file::{ConfigFile, is_dangling},
    setting::Misfit,
    table::keys_of,
};
use crate::files;

/// How long another process may change the file.
const LOCK: Duration = Duration::from_secs(10);

/// Files that are made here are for their owner only, as Hermes makes them.
const NEW_FILE_MODE: u32 = 0o600;

/// What a change came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Whether the file was written; it is not when it says so already.
    pub written: bool,
    /// The value, when one was set.
    pub value: Option<Value>,
    /// Where it stands.
    pub place: Option<Place>,
    /// The variable of `.env` that said otherwise, and was changed, too.
    pub mirror: Option<&'static str>,
}

/// Sets a key of the file. Lists and maps are given as JSON or YAML; `${VAR}` is kept as it is, and must mean a value of
/// the right type.
///
/// # Errors
/// The value is of the wrong type, or the file cannot be read, understood, changed without harm, or written; it is as it
/// was then.
pub fn set(sources: &Sources, setting: &Setting, text: &str) -> Result<Change, Problem> {
    let (section, own_key) = name_of(setting)?;
    let dotenv_path = dotenv_file(&sources.home);
    let locked = Locked::take(&sources.home, &sources.file())?;
    let dotenv = Dotenv::read(&dotenv_path, &sources.environment)?;
    let variable = |name: &str| {
        let own = sources.variable(name);
        own.or_else(|| dotenv.get(name).map(|(value, _)| value))
    };
    let (value, stored) =
        parsed(setting, text, variable).map_err(|Misfit { what, fix }| Problem::new("", None, what, fix))?;
    let file = locked.read()?;
    let key = key_in_use(&file, setting).unwrap_or(own_key);
    let changed = edit::set(&file, section, key, &stored)?;
    let after = match &changed {
        Some(text) => ConfigFile::parse(&file.path, text.clone().into_bytes())?,
        None => file,
    };
    if let Some(text) = &changed {
        locked.write(text.as_bytes())?;
    }
    Ok(Change {
        written: changed.is_some(),
        place: after.place(section, Some(key)),
        mirror: mirror(&dotenv, setting, Some(&value))?,
        value: Some(value),
    })
}

/// Takes a key out of the file, and its copy out of `.env`.
///
/// # Errors
/// The file cannot be read, understood, changed without harm, or written; it is as it was then.
pub fn unset(sources: &Sources, setting: &Setting) -> Result<Change, Problem> {
    let (section, _) = name_of(setting)?;
    let nothing = Change {
        written: false,
        value: None,
        place: None,
        mirror: None,
    };
    if !sources.home.exists() {
        return Ok(nothing);
    }
    let locked = Locked::take(&sources.home, &sources.file())?;
    let file = locked.read()?;
    let dotenv = Dotenv::read(&dotenv_file(&sources.home), &sources.environment)?;
    let written = match key_in_use(&file, setting) {
        Some(key) => locked.take_out(&file, section, key)?,
        None => false,
    };
    Ok(Change {
        written,
        mirror: mirror(&dotenv, setting, None)?,
        ..nothing
    })
}

/// Takes a key out of the file that is no setting, such as a misspelt one; says whether it was there.
///
/// # Errors
/// As [`unset`].
pub fn unset_unknown(sources: &Sources, section: &str, key: &str) -> Result<bool, Problem> {
    if !sources.home.exists() {
        return Ok(false);
    }
    let locked = Locked::take(&sources.home, &sources.file())?;
    locked.take_out(&locked.read()?, section, key)
}

/// The section and the key of a setting in the file.
fn name_of(setting: &Setting) -> Result<(&'static str, &'static str), Problem> {
    let name = setting.name();
    let split = setting.key.and_then(|key| key.split_once('.'));
    split.ok_or_else(|| {
        let what = "only a variable sets this; the file has no key for it";
        Problem::new(
            name,
            None,
            what,
            format!("export {name}=VALUE, or write it into .env"),
        )
    })
}

/// The name that the file uses for a setting.
fn key_in_use(file: &ConfigFile, setting: &Setting) -> Option<&'static str> {
    let content = file.merged().ok()?;
    let there = |name: &&'static str| {
        let section_and_key = name.split_once('.');
        section_and_key
            .is_some_and(|(section, key)| content.get(section).is_some_and(|s| s.get(key).is_some()))
    };
    let name = keys_of(setting).find(there)?;
    name.split_once('.').map(|(_, key)| key)
}

/// The value that a text means, and what is to stand in the file.
fn parsed(
    setting: &Setting,
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Value, Value), Misfit> {
    match setting.kind {
        Kind::List(_) | Kind::Map => {
            // A text would be read as JSON, and is no list.
            let yaml = match serde_yaml::from_str(text) {
                Ok(Yaml::String(_)) | Err(_) => return Err(setting.misfit(text)),
                Ok(yaml) => yaml,
            };
            let value = setting.read_yaml(&yaml)?;
            Ok((value.clone(), value))
        }
        _ if text.contains("${") => {
            let value = setting.read_text(&expand(text, variable))?;
            Ok((value, Value::Text(text.to_owned())))
        }
        _ => {
            let value = setting.read_text(text)?;
            Ok((value.clone(), value))
        }
    }
}

/// Makes a copy in `.env` say the same; says whether it said otherwise.
fn mirror(
    dotenv: &Dotenv,
    setting: &Setting,
    value: Option<&Value>,
) -> Result<Option<&'static str>, Problem> {
    let Some(variable) = setting.variable else {
        return Ok(None);
    };
    let text = value.map(Value::to_variable);
    let says = |old: &str| setting.read_text(old).ok();
    let same = value.is_some()
        && dotenv
            .get(variable)
            .is_some_and(|(old, _)| says(&old).as_ref() == value);
    let Some(bytes) = dotenv.with(variable, text.as_deref()).filter(|_| !same) else {
        return Ok(None);
    };
    files::write_as(&dotenv.path, &bytes, NEW_FILE_MODE).map_err(|error| unwritten(&dotenv.path, &error))?;
    Ok(Some(variable))
}

/// The file of settings, which nobody else changes meanwhile.
struct Locked {
    path: PathBuf,
    _lock: File,
}

impl Locked {
    /// Waits for its turn. What is locked is the directory, so that no further file is left behind.
    fn take(home: &Path, path: &Path) -> Result<Self, Problem> {
        let failed = |directory: &Path, error: &io::Error| {
            let what = format!("the directory cannot be used: {error}");
            Problem::new(
                directory.display().to_string(),
                None,
                what,
                "make it writable for this user",
            )
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(home);
        made.map_err(|error| failed(home, &error))?;
        // Two links to one file are one file.
        let target = files::follow(path).map_err(|error| failed(home, &error))?;
        let directory = target.parent().unwrap_or(home);
        fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        let lock = File::open(directory).map_err(|error| failed(directory, &error))?;
        let until = Instant::now() + LOCK;
        while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(failed(directory, &error.into()));
            }
            if Instant::now() > until {
                let what = "another process has been changing the configuration for too long";
                let name = directory.display().to_string();
                return Err(Problem::new(name, None, what, "end it, and try again"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The file as it is now; an empty one when it is not there.
    fn read(&self) -> Result<ConfigFile, Problem> {
        // A link may lead to what is to be made now.
        if is_dangling(&self.path) {
            return ConfigFile::parse(&self.path, Vec::new());
        }
        match ConfigFile::read(&self.path)? {
            Some(file) => Ok(file),
            None => ConfigFile::parse(&self.path, Vec::new()),
        }
    }

    fn take_out(&self, file: &ConfigFile, section: &str, key: &str) -> Result<bool, Problem> {
        match edit::unset(file, section, key)? {
            Some(text) => self.write(text.as_bytes()).map(|()| true),
            None => Ok(false),
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Problem> {
        files::write_as(&self.path, bytes, NEW_FILE_MODE).map_err(|error| unwritten(&self.path, &error))
    }
}

fn unwritten(path: &Path, error: &Error) -> Problem {
    let fix = error
        .data
        .fix
        .clone()
        .unwrap_or_else(|| "make it writable for this user".into());
    Problem::new(path.display().to_string(), None, error.message.clone(), fix)
}
