//! The subjects that this command brings along, and those that a person names.

use std::{env, ffi::OsString, io, path::Path};

use clap::Args;
use herm::backend::{
    docker,
    local::{self, Mode, SpoolFull, Streams},
};
use herm_harness::{
    near_miss::hint,
    subject::{Subject, SubjectError},
};

/// A backend of the executor that can be tested by name.
struct BuiltIn {
    name: &'static str,
    backend: &'static str,
    mode: Mode,
    streams: Streams,
    spool_full: SpoolFull,
    /// Whether it is tested when nobody says what to test.
    default: Unasked,
    /// Variables that its adapter is given, when they are set.
    environment: &'static [&'static str],
}

/// What becomes of a subject when nobody says what to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unasked {
    /// It is tested.
    Tested,
    /// It is tested where all that it needs is there.
    TestedIfItAnswers,
    /// It has to be asked for.
    LeftOut,
}

/// How the engine of containers is found, and from which image they are made.
const ENGINE: &[&str] = &[
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "HERM_IMAGE",
];

/// The backends of the executor that can be tested by name, and how each runs commands. One that differs from another
/// in a choice only is tested when it is asked for.
const BUILT_IN: [BuiltIn; 6] = [
    BuiltIn {
        name: "local",
        backend: local::BACKEND,
        mode: Mode::Resident,
        streams: Streams::Apart,
        spool_full: SpoolFull::Block,
        default: Unasked::Tested,
        environment: &[],
    },
    BuiltIn {
        name: "local-native",
        backend: local::BACKEND,
        mode: Mode::Native,
        streams: Streams::Apart,
        spool_full: SpoolFull::Block,
        default: Unasked::Tested,
        environment: &[],
    },
    BuiltIn {
        name: "local-merged",
        backend: local::BACKEND,
        mode: Mode::Resident,
        streams: Streams::Merged,
        spool_full: SpoolFull::Block,
        default: Unasked::LeftOut,
        environment: &[],
    },
    BuiltIn {
        name: "local-drop-oldest",
        backend: local::BACKEND,
        mode: Mode::Resident,
        streams: Streams::Apart,
        spool_full: SpoolFull::DropOldest,
        default: Unasked::LeftOut,
        environment: &[],
    },
    BuiltIn {
        name: "docker",
        backend: docker::BACKEND,
        mode: Mode::Resident,
        streams: Streams::Apart,
        spool_full: SpoolFull::Block,
        default: Unasked::TestedIfItAnswers,
        environment: ENGINE,
    },
    BuiltIn {
        name: "docker-native",
        backend: docker::BACKEND,
        mode: Mode::Native,
        streams: Streams::Apart,
        spool_full: SpoolFull::Block,
        default: Unasked::LeftOut,
        environment: ENGINE,
    },
];

/// What is tested.
#[derive(Clone, Debug, Args)]
pub(super) struct SubjectArguments {
    /// What to test: local, local-native, local-merged, local-drop-oldest, docker, docker-native, or the path of a manifest; may
    /// be given several times [default: the first two, and docker where an engine answers]
    #[arg(long = "subject", value_name = "NAME|FILE")]
    subjects: Vec<String>,
    /// Test the adapter that this command line starts, without a manifest; it ends the options
    #[arg(long, value_name = "PROGRAM ARGS", num_args = 1.., allow_hyphen_values = true, conflicts_with = "subjects")]
    adapter: Vec<OsString>,
}

impl SubjectArguments {
    /// The subjects that are meant.
    pub(super) fn resolve(&self) -> Result<Vec<Subject>, SubjectError> {
        if let Some(program) = self.adapter.first() {
            let words = self
                .adapter
                .iter()
                .map(|word| word.to_string_lossy().into_owned());
            return Ok(vec![Subject {
                name: Path::new(program)
                    .file_stem()
                    .unwrap_or(program)
                    .to_string_lossy()
                    .into_owned(),
                adapter: self.adapter.clone(),
                environment: Vec::new(),
                directory: None,
                expectations: None,
                arguments: ["--adapter".to_owned()].into_iter().chain(words).collect(),
            }]);
        }
        if self.subjects.is_empty() {
            return unasked(Unasked::Tested);
        }
        let subjects: Vec<Subject> = self
            .subjects
            .iter()
            .map(|name| named(name))
            .collect::<Result<_, _>>()?;
        Ok(unique_names(subjects))
    }

    /// The subjects that are tested besides where all that they need is there: none when somebody says what to test.
    pub(super) fn resolve_optional(&self) -> Result<Vec<Subject>, SubjectError> {
        if self.subjects.is_empty() && self.adapter.is_empty() {
            unasked(Unasked::TestedIfItAnswers)
        } else {
            Ok(Vec::new())
        }
    }
}

/// The subjects of one kind, when nobody says what to test.
fn unasked(what: Unasked) -> Result<Vec<Subject>, SubjectError> {
    let those = BUILT_IN.iter().filter(|subject| subject.default == what);
    those.map(built_in).collect()
}

/// The subject of a name or a manifest's path.
pub(super) fn named(name: &str) -> Result<Subject, SubjectError> {
    if let Some(subject) = BUILT_IN.iter().find(|known| known.name == name) {
        return built_in(subject);
    }
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") || path.is_file() {
        let this = this_program().map_err(|source| SubjectError::Unreadable {
            path: "herm".into(),
            source,
        })?;
        return Subject::load(path, &[this, "adapter".into(), "--manifest".into()]);
    }
    let names = BUILT_IN.map(|known| known.name);
    let known = names.map(str::to_owned).to_vec();
    Err(SubjectError::Unknown {
        name: name.into(),
        hint: hint(name, names),
        known,
    })
}

/// Whether a subject of this name works with containers of an engine.
pub(super) fn is_docker(name: &str) -> bool {
    let named = |subject: &&BuiltIn| subject.name == name;
    BUILT_IN
        .iter()
        .find(named)
        .is_some_and(|subject| subject.backend == docker::BACKEND)
}

fn built_in(subject: &BuiltIn) -> Result<Subject, SubjectError> {
    let this = this_program().map_err(|source| SubjectError::Unreadable {
        path: "herm".into(),
        source,
    })?;
    let mut words = vec![this];
    words.extend(
        [
            "adapter",
            "--backend",
            subject.backend,
            "--mode",
            subject.mode.name(),
        ]
        .map(Into::into),
    );
    if subject.streams != Streams::default() {
        words.extend(["--streams", subject.streams.name()].map(Into::into));
    }
    if subject.spool_full != SpoolFull::default() {
        words.extend(["--spool-full", subject.spool_full.name()].map(Into::into));
    }
    Ok(Subject {
        name: subject.name.into(),
        adapter: words,
        environment: subject
            .environment
            .iter()
            .filter(|name| env::var_os(name).is_some())
            .map(|&name| name.to_owned())
            .collect(),
        directory: None,
        expectations: None,
        arguments: vec!["--subject".into(), subject.name.into()],
    })
}

/// This program, to be started again.
pub(super) fn this_program() -> io::Result<OsString> {
    // While the file is replaced by a build, its own name may be gone; the running image is still there.
    match env::current_exe() {
        Ok(path) if path.exists() => Ok(path.into()),
        Ok(_) => Ok("/proc/self/exe".into()),
        Err(error) => Err(error),
    }
}

/// Two subjects of one name are told apart by a number.
fn unique_names(mut subjects: Vec<Subject>) -> Vec<Subject> {
    for index in 1..subjects.len() {
        let (before, rest) = subjects.split_at_mut(index);
        let Some(subject) = rest.first_mut() else { continue };
        let name = subject.name.clone();
        let mut number = 2;
        while before.iter().any(|other| other.name == subject.name) {
            subject.name = format!("{name}-{number}");
            number += 1;
        }
    }
    subjects
}
