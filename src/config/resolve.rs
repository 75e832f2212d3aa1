//! One configuration out of all sources.

use std::collections::BTreeMap;

use super::{
    BackendName, Origin, Problem, Problems, SETTINGS, Setting, Sources, Value,
    dotenv::{Dotenv, MISNAMED},
    dotenv_file,
    file::ConfigFile,
    find,
    judge::{self, Found},
    setting::Misfit,
};

/// The key of the backend.
const BACKEND: &str = "terminal.backend";

/// A value with where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The value.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
    /// Who says otherwise and is not heard.
    pub contradicted_by: Vec<Origin>,
}

/// A resolved configuration. It does not change any more; the backend is pinned with it.
#[derive(Clone, Debug)]
pub struct Config {
    values: BTreeMap<&'static str, Resolved>,
    backend: BackendName,
    overlooked: Vec<Problem>,
}

impl Config {
    /// Every setting at its default.
    #[must_use]
    pub fn defaults() -> Self {
        let value = |setting: &Setting| Resolved {
            value: setting.default(),
            origin: Origin::Default,
            contradicted_by: Vec::new(),
        };
        Self {
            values: SETTINGS
                .iter()
                .map(|setting| (setting.name(), value(setting)))
                .collect(),
            backend: BackendName::Local,
            overlooked: Vec::new(),
        }
    }

    /// Resolves every setting. This blocks for as long as two small files take.
    ///
    /// # Errors
    /// Everything that is wrong in the file, in an argument, and in the variables that the backend reads.
    pub fn load(sources: &Sources) -> Result<Self, Problems> {
        let dotenv = Dotenv::read(&dotenv_file(&sources.home), &sources.environment)?;
        let variable = |name: &str| {
            let own = sources.variable(name);
            own.or_else(|| dotenv.get(name).map(|(value, _)| value))
        };
        let file = ConfigFile::read(&sources.file())?;
        let (found, mut problems) = match &file {
            Some(file) => judge::judge(file, variable),
            None => (Found::new(), Vec::new()),
        };
        let mut candidates = Candidates {
            sources,
            dotenv: &dotenv,
            found: &found,
            bad: Vec::new(),
        };
        let mut config = Self::defaults();
        for setting in SETTINGS {
            config.values.insert(setting.name(), candidates.best(setting));
        }
        let backend = config.text(BACKEND);
        if let Some(backend) = BackendName::of(&backend) {
            config.backend = backend;
        }
        for (setting, problem, always) in candidates.bad {
            // A variable that only another backend reads may hold what it likes.
            if always || setting.readers.contains(&config.backend) {
                problems.push(problem);
            } else {
                config.overlooked.push(problem);
            }
        }
        // Whoever set one has meant a backend, and would run on another.
        let misnamed = MISNAMED.iter().find(|name| sources.variable(name).is_some());
        if let (Some(name), Origin::Default) = (misnamed, config.backend_origin()) {
            let what = "nothing reads this variable, and nothing else says where commands run";
            let fix = "set TERMINAL_ENV, the variable of the backend, or unset it";
            problems.push(Problem::new(format!("the variable {name}"), None, what, fix));
        }
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(Problems(problems))
        }
    }

    /// What the command line says, and else the defaults: for what does without the file and the variables.
    ///
    /// # Errors
    /// An argument that cannot be used.
    pub fn of_arguments(sources: &Sources) -> Result<Self, Problems> {
        let mut candidates = Candidates {
            sources: &Sources {
                arguments: sources.arguments.clone(),
                ..Sources::default()
            },
            dotenv: &Dotenv::default(),
            found: &Found::new(),
            bad: Vec::new(),
        };
        let mut config = Self::defaults();
        for setting in SETTINGS {
            config.values.insert(setting.name(), candidates.best(setting));
        }
        let problems: Vec<_> = candidates
            .bad
            .into_iter()
            .map(|(_, problem, _)| problem)
            .collect();
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        if let Some(backend) = BackendName::of(&config.text(BACKEND)) {
            config.backend = backend;
        }
        Ok(config)
    }

    /// Where commands run.
    #[must_use]
    pub fn backend(&self) -> BackendName {
        self.backend
    }

    /// Where the choice of the backend came from.
    #[must_use]
    pub fn backend_origin(&self) -> &Origin {
        self.values
            .get(BACKEND)
            .map_or(&Origin::Default, |resolved| &resolved.origin)
    }

    /// The value of a setting by its name, with where it came from.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Resolved> {
        self.values.get(find(name)?.name())
    }

    /// What is wrong with variables that the backend does not read.
    #[must_use]
    pub fn overlooked(&self) -> &[Problem] {
        &self.overlooked
    }

    /// The text of a setting; empty when it is none.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        match self.value(name) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    /// The whole number of a setting; 0 when it is none.
    #[must_use]
    pub fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Integer(integer) => integer,
            _ => 0,
        }
    }

    /// The number of a setting; 0 when it is none.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(number) => number,
            _ => 0.0,
        }
    }

    /// The flag of a setting; false when it is none.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Value::Flag(true))
    }

    /// The list of a setting; empty when it is none.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::List(list) => list,
            _ => Vec::new(),
        }
    }

    /// The map of a setting; empty when it is none.
    #[must_use]
    pub fn map(&self, name: &str) -> BTreeMap<String, String> {
        match self.value(name) {
            Value::Map(map) => map,
            _ => BTreeMap::new(),
        }
    }

    fn value(&self, name: &str) -> Value {
        debug_assert!(find(name).is_some(), "there is no setting {name}");
        self.get(name)
            .map_or(Value::Nothing, |resolved| resolved.value.clone())
    }
}

/// What each source says of a setting.
struct Candidates<'a> {
    sources: &'a Sources,
    dotenv: &'a Dotenv,
    found: &'a Found,
    /// What cannot be used, and whether that matters to every backend.
    bad: Vec<(&'static Setting, Problem, bool)>,
}

impl Candidates<'_> {
    /// The value of the first source that has one.
    fn best(&mut self, setting: &'static Setting) -> Resolved {
        let mut said = Vec::new();
        let arguments = self.sources.arguments.iter();
        for argument in arguments.filter(|argument| Some(argument.key) == setting.key) {
            match setting.read_text(&argument.text) {
                Ok(value) => said.push((value, Origin::Argument(argument.option))),
                Err(Misfit { what, fix }) => {
                    let problem = Problem::new(argument.option, None, what, fix);
                    self.bad.push((setting, problem, true));
                }
            }
        }
        if let Some((value, place)) = self.found.get(setting.name()) {
            let path = self.sources.file();
            said.push((value.clone(), Origin::File { path, place: *place }));
        }
        if let Some(name) = setting.variable {
            let own = self
                .sources
                .variable(name)
                .map(|text| (text, Origin::Variable(name)));
            let path = self.dotenv.path.clone();
            let kept = self
                .dotenv
                .get(name)
                .map(|(text, line)| (text, Origin::Dotenv { path, line }));
            for (text, origin) in own.into_iter().chain(kept) {
                match setting.read_text(&text) {
                    Ok(value) => said.push((value, origin)),
                    // What is not heard need not be right.
                    Err(_) if !said.is_empty() => {}
                    Err(Misfit { what, fix }) => {
                        let problem = Problem::new(origin.to_string(), None, what, fix);
                        self.bad.push((setting, problem, setting.key == Some(BACKEND)));
                    }
                }
            }
        }
        let mut said = said.into_iter();
        let (value, origin) = said.next().unwrap_or((setting.default(), Origin::Default));
        let contradicted_by = said
            .filter(|(other, _)| *other != value)
            .map(|(_, origin)| origin)
            .collect();
        Resolved {
            value,
            origin,
            contradicted_by,
        }
    }
}
