//! What is tested: a backend behind its adapter.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{catalogue::Catalogue, manifest, near_miss::hint};

/// A backend behind its adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name, unique in a run.
    pub name: String,
    /// The adapter: a program and its arguments.
    pub adapter: Vec<OsString>,
    /// Names of the variables that the adapter needs; nothing else of the caller's environment reaches it, but for what
    /// says where and who one is.
    pub environment: Vec<String>,
    /// The folder that the adapter starts in; the caller's own when not given.
    pub directory: Option<PathBuf>,
    /// The file of expected failures.
    pub expectations: Option<PathBuf>,
    /// The words that name it on the command line of `herm run`; they come last.
    pub arguments: Vec<String>,
}

/// A subject's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    adapter: Vec<String>,
    #[serde(default)]
    environment: Vec<String>,
    #[serde(default)]
    expectations: Option<PathBuf>,
}

/// The keys of a manifest, for near misses.
const KEYS: [&str; 4] = ["adapter", "environment", "expectations", "name"];

/// A subject that cannot be used. Every kind is a usage error.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The name is none of the built-in ones and no file.
    #[error("there is no subject {name:?}{hint}; name one of {}, or the path of a manifest (a .toml file)", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        hint: String,
        /// The built-in subjects.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("failed to read the manifest {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A manifest of commands that cannot be used.
    #[error(transparent)]
    Manifest(#[from] manifest::ManifestError),
    /// This program is broken.
    #[error("{0}")]
    Suite(String),
    /// A variable that the manifest names is not set.
    #[error(
        "{path}: the adapter needs the variable {name}, which is not set; set it, or write {name}? in `environment` if it may be missing"
    )]
    Unset {
        /// The file.
        path: PathBuf,
        /// The variable.
        name: String,
    },
    /// The file is no manifest.
    #[error(
        "{path}:{line}:{column}: {problem}; a manifest has the keys name and adapter (a list: program and arguments), and may have environment (names of variables) and expectations (a path)"
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Where.
        column: usize,
        /// What is wrong.
        problem: String,
    },
}

impl Subject {
    /// Reads a manifest: of a process that speaks the protocol (it has the key `adapter`), or of commands (it has the table
    /// `exec`), which `carrier` carries out when the manifest's path is put behind it.
    ///
    /// # Errors
    /// [`SubjectError`] with the place.
    pub fn load(path: &Path, carrier: &[OsString]) -> Result<Self, SubjectError> {
        let unreadable = |source| SubjectError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let of_commands = toml::from_str::<toml::Table>(&text)
            .is_ok_and(|table| table.contains_key("exec") && !table.contains_key("adapter"));
        if of_commands {
            return Self::of_commands(path, carrier);
        }
        let broken = |offset: usize, problem: String| {
            let before = &text[..text.floor_char_boundary(offset)];
            let line = before.matches('\n').count() + 1;
            let column = before
                .chars()
                .rev()
                .take_while(|character| *character != '\n')
                .count()
                + 1;
            SubjectError::Broken {
                path: path.to_owned(),
                line,
                column,
                problem,
            }
        };
        let manifest: Manifest = toml::from_str(&text).map_err(|error| {
            let message = error.message();
            let unknown = message
                .strip_prefix("unknown field `")
                .and_then(|rest| rest.split('`').next());
            let hint = unknown.map(|key| hint(key, KEYS)).unwrap_or_default();
            broken(
                error.span().map_or(0, |span| span.start),
                format!("{message}{hint}"),
            )
        })?;
        if manifest.adapter.first().is_none_or(String::is_empty) {
            return Err(broken(
                text.find("adapter").unwrap_or(0),
                "adapter names no program".into(),
            ));
        }
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 64
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
        };
        if !is_name(&manifest.name) {
            let problem = "name is not made of 1 to 64 letters, digits, -, _, . and +".into();
            return Err(broken(text.find("name").unwrap_or(0), problem));
        }
        let environment = variables(path, manifest.environment)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        Ok(Self {
            name: manifest.name,
            adapter: manifest.adapter.into_iter().map(OsString::from).collect(),
            environment,
            directory: Some(folder.to_owned()),
            expectations: manifest.expectations.map(|file| folder.join(file)),
            arguments: vec!["--subject".into(), path.display().to_string()],
        })
    }
}

/// The names of the variables that are needed, checked to be set; one that may be missing is written with a `?` behind it.
fn variables(path: &Path, names: Vec<String>) -> Result<Vec<String>, SubjectError> {
    let mut variables = Vec::new();
    for name in names {
        let optional = name.strip_suffix('?').map(str::to_owned);
        if optional.is_none() && env::var_os(&name).is_none() {
            return Err(SubjectError::Unset {
                path: path.to_owned(),
                name,
            });
        }
        variables.push(optional.unwrap_or(name));
    }
    Ok(variables)
}

impl Subject {
    fn of_commands(path: &Path, carrier: &[OsString]) -> Result<Self, SubjectError> {
        let catalogue = Catalogue::embedded().map_err(|error| SubjectError::Suite(error.to_string()))?;
        let manifest = manifest::Manifest::load(path, &catalogue)?;
        let absolute = std::path::absolute(path).map_err(|source| SubjectError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let folder = absolute.parent().map(Path::to_owned);
        Ok(Self {
            name: manifest.name.into_inner(),
            adapter: carrier
                .iter()
                .cloned()
                .chain([absolute.clone().into_os_string()])
                .collect(),
            environment: variables(path, manifest.environment)?,
            expectations: manifest
                .expectations
                .map(|file| folder.clone().unwrap_or_default().join(file)),
            directory: folder,
            arguments: vec!["--subject".into(), path.display().to_string()],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Subject, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("subject.toml");
        fs::write(&path, text).unwrap();
        Subject::load(&path, &["carrier".into()]).map_err(|error| {
            error
                .to_string()
                .replace(&path.display().to_string(), "subject.toml")
        })
    }

    #[test]
    fn a_manifest_names_an_adapter() {
        let subject =
            load("name = \"mine\"\nadapter = [\"python3\", \"adapter.py\"]\nenvironment = [\"PATH\"]")
                .unwrap();
        assert_eq!(subject.adapter, ["python3", "adapter.py"]);
        assert_eq!(subject.environment, ["PATH"]);
    }

    #[test]
    fn a_broken_manifest_is_told_with_its_place() {
        for (text, place, problem) in [
            (
                "name = \"x\"\nadaptor = []",
                "subject.toml:2:1: ",
                "did you mean `adapter`?",
            ),
            (
                "name = \"x\"\nadapter = []",
                "subject.toml:2:1: ",
                "names no program",
            ),
            (
                "name = \"a b\"\nadapter = [\"x\"]",
                "subject.toml:1:1: ",
                "letters",
            ),
            ("name = ", "subject.toml:1:", ""),
            ("", "subject.toml:1:1: ", "missing field `name`"),
        ] {
            let error = load(text).unwrap_err();
            assert!(
                error.starts_with(place) && error.contains(problem),
                "{text:?}: {error}"
            );
        }
        assert!(
            Subject::load(Path::new("no/such.toml"), &[])
                .unwrap_err()
                .to_string()
                .contains("no/such.toml")
        );
    }
}
