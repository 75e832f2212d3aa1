//! What is tested: a backend behind its adapter.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use toml::Spanned;

use crate::{
    catalogue::Catalogue,
    manifest::{AnyManifest, ManifestError},
};

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
    /// A manifest that cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
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
}

impl Subject {
    /// Reads a manifest: of a process that speaks the protocol, or of commands, which `carrier` carries out when the
    /// manifest's path is put behind it. Its adapter starts in the manifest's folder.
    ///
    /// # Errors
    /// [`SubjectError`] with the place.
    pub fn load(path: &Path, carrier: &[OsString]) -> Result<Self, SubjectError> {
        let catalogue = Catalogue::embedded().map_err(|error| SubjectError::Suite(error.to_string()))?;
        let manifest = AnyManifest::load(path, &catalogue)?;
        let absolute = std::path::absolute(path).map_err(|source| SubjectError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let folder = absolute.parent().map(Path::to_owned).unwrap_or_default();
        let (name, adapter, environment, expectations) = match manifest {
            AnyManifest::Commands(manifest) => {
                let words = carrier.iter().cloned().chain([absolute.into_os_string()]);
                let adapter = words.collect();
                (
                    manifest.name,
                    adapter,
                    manifest.environment,
                    manifest.expectations,
                )
            }
            AnyManifest::Process(manifest) => {
                let words = manifest.adapter.into_inner().into_iter().map(OsString::from);
                (
                    manifest.name,
                    words.collect(),
                    manifest.environment,
                    manifest.expectations,
                )
            }
        };
        Ok(Self {
            name: name.into_inner(),
            adapter,
            environment: variables(path, environment)?,
            expectations: expectations.map(|file| folder.join(file)),
            directory: Some(folder),
            arguments: vec!["--subject".into(), path.display().to_string()],
        })
    }
}

/// The names of the variables that are needed, checked to be set; one that may be missing is written with a `?` behind it.
fn variables(path: &Path, names: Vec<Spanned<String>>) -> Result<Vec<String>, SubjectError> {
    let mut variables = Vec::new();
    for name in names.into_iter().map(Spanned::into_inner) {
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

#[cfg(test)]
mod tests {
    use std::fs;

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
                "subject.toml:2:11: ",
                "names no program",
            ),
            (
                "name = \"a b\"\nadapter = [\"x\"]",
                "subject.toml:1:8: ",
                "letters",
            ),
            ("name = ", "subject.toml:1:", ""),
            ("", "subject.toml:1:1: ", "it has neither adapter"),
            (
                "name = \"x\"\nadapter = [\"x\"]\n[exec]\nrun = [\"x\"]",
                "subject.toml:1:1: ",
                "it has both",
            ),
            (
                "name = \"x\"\nadapter = [\"a\", 2]",
                "subject.toml:2:17: ",
                "this is the number 2, but text in quotes is expected here",
            ),
            (
                "name = \"x\"\n[exce]\nrun = [\"x\"]",
                "subject.toml:2:2: ",
                "did you mean `exec`?",
            ),
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
