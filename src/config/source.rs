//! Where values come from.

use std::{collections::BTreeMap, env, fmt, path::PathBuf};

use super::{Place, Problem, config_file, home};

/// A setting that the command line gives.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The option, such as `--backend`.
    pub option: &'static str,
    /// The key of the setting.
    pub key: &'static str,
    /// The text that was given.
    pub text: String,
}

/// Everything that a configuration is made of.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Hermes' directory.
    pub home: PathBuf,
    /// The variables of this process. Bytes that are no UTF-8 are replaced.
    pub environment: BTreeMap<String, String>,
    /// What the command line gives.
    pub arguments: Vec<Argument>,
}

impl Sources {
    /// Those of this process.
    ///
    /// # Errors
    /// Hermes' directory is not known.
    pub fn of_this_process() -> Result<Self, Problem> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Ok(Self {
            home: home()?,
            environment: env::vars_os()
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            arguments: Vec::new(),
        })
    }

    /// With a setting that the command line gives, if it does.
    #[must_use]
    pub fn with(mut self, option: &'static str, key: &'static str, text: Option<&str>) -> Self {
        self.arguments.extend(text.map(|text| Argument {
            option,
            key,
            text: text.to_owned(),
        }));
        self
    }

    /// The file of settings.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        config_file(&self.home)
    }

    /// A variable of this process that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.environment
            .get(name)
            .filter(|value| !value.is_empty())
            .cloned()
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An option of the command line.
    Argument(&'static str),
    /// The file of settings.
    File {
        /// The file.
        path: PathBuf,
        /// The key's place; not known where a merge key or an alias brought it.
        place: Option<Place>,
    },
    /// A variable of this process.
    Variable(&'static str),
    /// A variable in the file `.env`.
    Dotenv {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// Nobody sets it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(option) => f.write_str(option),
            Self::File { path, place } => {
                write!(f, "{}", path.display())?;
                place.map_or(Ok(()), |place| write!(f, ":{}", place.line))
            }
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Dotenv { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}
