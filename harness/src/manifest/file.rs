//! The manifest: a TOML file that says by which commands a backend is used, and what it declares.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::Template;
use crate::{catalogue::Catalogue, near_miss::hint};

/// A backend described by commands.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name in reports: 1 to 64 letters, digits, `-`, `_`, `.` and `+`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where to read about it.
    #[serde(default)]
    pub homepage: Option<String>,
    /// What kind of place commands run in.
    #[serde(default)]
    pub backend: Option<String>,
    /// A command whose first line of output is its version.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub version: Option<Spanned<Template>>,
    /// How many requirements may be tested at the same time.
    #[serde(default = "one")]
    pub parallelism: u32,
    /// What works; `herm list capabilities` explains each.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub capabilities: Vec<Spanned<String>>,
    /// Which variants hold; `herm list choices` explains each.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub choices: BTreeMap<String, Spanned<String>>,
    /// Names of variables of yours that the commands need.
    #[serde(default)]
    pub environment: Vec<String>,
    /// The file of expected failures, relative to the manifest's folder.
    #[serde(default)]
    pub expectations: Option<PathBuf>,
    /// What has to be there before it can be used.
    #[serde(default)]
    pub preflight: Vec<Check>,
    /// How a sandbox is made.
    #[serde(default)]
    pub open: Open,
    /// How a command is run.
    pub exec: Exec,
    /// How a sandbox is destroyed.
    #[serde(default)]
    pub close: Option<Operation>,
    /// How sandboxes are listed: one id a line. Needs the capability `list`.
    #[serde(default)]
    pub list: Option<Operation>,
    /// How files are read and written. Needs the capability `files`.
    #[serde(default)]
    pub files: Option<Files>,
}

fn one() -> u32 {
    1
}

/// Something that has to be there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// A command that works when it is.
    #[schemars(with = "Template")]
    pub run: Spanned<Template>,
    /// What is missing otherwise.
    pub missing: String,
    /// The step that mends it.
    pub fix: String,
}

/// How a sandbox is made. Without a command there is nothing to make.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The command. Without `id = "output"` it is given the id as `{sandbox}`.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub run: Option<Spanned<Template>>,
    /// Where the id comes from.
    #[serde(default)]
    pub id: IdFrom,
    /// How long it may take, in seconds; 60 when not given.
    #[serde(default)]
    pub within_s: Option<u64>,
    /// The directory that commands start in, if it is known.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// Where a sandbox's id comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdFrom {
    /// It is made up, and given to the command.
    #[default]
    Given,
    /// It is the last line that the command prints.
    Output,
}

/// How a command is run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// The command; `{command}` stands for the words that are to be run.
    #[schemars(with = "Template")]
    pub run: Spanned<Template>,
    /// The words that run the text of a shell, `{text}`.
    #[schemars(with = "Template")]
    pub shell: Spanned<Template>,
}

/// Any other operation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The command.
    #[schemars(with = "Template")]
    pub run: Spanned<Template>,
}

/// How files are read and written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// A command that prints the file `{path}`.
    #[schemars(with = "Template")]
    pub read: Spanned<Template>,
    /// A command that writes its input to the file `{path}`.
    #[schemars(with = "Template")]
    pub write: Spanned<Template>,
}

/// Capabilities that commands alone can give.
const POSSIBLE: [&str; 21] = [
    "argv",
    "concurrency",
    "cwd",
    "drop_caps",
    "env",
    "files",
    "isolation",
    "limits_cpu",
    "limits_disk",
    "limits_memory",
    "limits_pids",
    "list",
    "mounts",
    "network_none",
    "no_new_privileges",
    "persist_files",
    "stdin",
    "stdin_stream",
    "streams_apart",
    "survive_client",
    "user",
];

/// What every command may name.
const ALWAYS: [&str; 3] = ["run", "sandbox", "scratch"];

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("failed to read the manifest {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no manifest.
    #[error("{path}:{line}:{column}: {problem}")]
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

impl Manifest {
    /// Reads a manifest and checks everything that can be checked without running a command.
    ///
    /// # Errors
    /// [`ManifestError`] with the place.
    pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Self, ManifestError> {
        let text = fs::read_to_string(path).map_err(|source| ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, catalogue).map_err(|(offset, problem)| {
            let (line, column) = place_of(&text, offset);
            ManifestError::Broken {
                path: path.to_owned(),
                line,
                column,
                problem,
            }
        })
    }

    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, (usize, String)> {
        let manifest: Self = toml::from_str(text).map_err(|error| {
            let unknown = error
                .message()
                .strip_prefix("unknown field `")
                .and_then(|rest| rest.split('`').next());
            let known = error.message().split('`').skip(3).step_by(2);
            let hint = unknown.map(|key| hint(key, known)).unwrap_or_default();
            (
                error.span().map_or(0, |span| span.start),
                format!("{}{hint}", error.message()),
            )
        })?;
        manifest.check_words(catalogue)?;
        manifest.check_templates()?;
        Ok(manifest)
    }

    fn check_words(&self, catalogue: &Catalogue) -> Result<(), (usize, String)> {
        let name = self.name.get_ref();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            let problem = "name is not made of 1 to 64 letters, digits, -, _, . and +";
            return Err((self.name.span().start, problem.into()));
        }
        for capability in &self.capabilities {
            let (name, at) = (capability.get_ref().as_str(), capability.span().start);
            if !catalogue.capabilities.contains_key(name) {
                let hint = hint(name, catalogue.capabilities.keys().map(String::as_str));
                return Err((
                    at,
                    format!("there is no capability {name:?}{hint}; `herm list capabilities` names all"),
                ));
            }
            if !POSSIBLE.contains(&name) {
                let problem = format!(
                    "{name} cannot be given by commands alone; write an adapter for it, or leave it out"
                );
                return Err((at, problem));
            }
        }
        for (name, variant) in &self.choices {
            let (value, at) = (variant.get_ref(), variant.span().start);
            let Some(choice) = catalogue.choices.get(name) else {
                let hint = hint(name, catalogue.choices.keys().map(String::as_str));
                return Err((
                    at,
                    format!("there is no choice {name:?}{hint}; `herm list choices` names all"),
                ));
            };
            if !choice.values.contains_key(value) {
                let known: Vec<_> = choice.values.keys().map(String::as_str).collect();
                return Err((
                    at,
                    format!("{name} is one of {}, and not {value:?}", known.join(", ")),
                ));
            }
        }
        Ok(())
    }

    fn check_templates(&self) -> Result<(), (usize, String)> {
        let declared: BTreeSet<&str> = self
            .capabilities
            .iter()
            .map(|name| name.get_ref().as_str())
            .collect();
        let environment: &[(&str, &[&str])] = &[("env", &["name", "value"])];
        let check = |template: &Spanned<Template>, what: &str, more: &[&str], records: &[(&str, &[&str])]| {
            let known: Vec<_> = ALWAYS.iter().chain(more).copied().collect();
            template
                .get_ref()
                .check(&known, records)
                .map_err(|problem| (template.span().start, format!("{what} {problem}")))
        };
        let exec = self.exec.run.get_ref();
        check(
            &self.exec.run,
            "exec.run",
            &["command", "cwd", "stdin", "user"],
            environment,
        )?;
        check(&self.exec.shell, "exec.shell", &["text"], &[])?;
        for (template, used) in [(&self.exec.run, "command"), (&self.exec.shell, "text")] {
            if !template.get_ref().uses(used) {
                return Err((
                    template.span().start,
                    format!("the command does not name {{{used}}}, so nothing would be run"),
                ));
            }
        }
        for (capability, used) in [("cwd", "cwd"), ("env", "env"), ("user", "user")] {
            if declared.contains(capability) && !exec.uses(used) {
                let problem = format!(
                    "{capability} is declared, but exec.run does not name {used}, so it would be ignored"
                );
                return Err((self.exec.run.span().start, problem));
            }
        }
        let list = self.list.as_ref().map(|list| (&list.run, "list.run", &[][..]));
        let close = self
            .close
            .as_ref()
            .map(|close| (&close.run, "close.run", &[][..]));
        let open = self
            .open
            .run
            .as_ref()
            .map(|open| (open, "open.run", &["cwd"][..]));
        let version = self.version.as_ref().map(|version| (version, "version", &[][..]));
        for (template, what, more) in [list, close, open, version].into_iter().flatten() {
            check(template, what, more, environment)?;
        }
        if let Some(files) = &self.files {
            check(&files.read, "files.read", &["path"], &[])?;
            check(&files.write, "files.write", &["path"], &[])?;
        }
        for (capability, there) in [("list", self.list.is_some()), ("files", self.files.is_some())] {
            if declared.contains(capability) && !there {
                let at = self.capabilities.iter().find(|name| name.get_ref() == capability);
                let at = at.map_or(0, |name| name.span().start);
                return Err((
                    at,
                    format!("{capability} is declared, but there is no [{capability}]"),
                ));
            }
        }
        Ok(())
    }
}

/// Line and column, from 1, of an offset in a text.
fn place_of(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    (
        line,
        before
            .chars()
            .rev()
            .take_while(|character| *character != '\n')
            .count()
            + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"
capabilities = ["argv", "cwd"]
choices = { shell = "posix" }
[exec]
run = ["env", { when = "cwd", words = ["-C", "{cwd}"] }, "{command}"]
shell = ["sh", "-c", "{text}"]
"#;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(text, &Catalogue::embedded().unwrap()).map_err(|(offset, problem)| {
            let (line, column) = place_of(text, offset);
            format!("{line}:{column}: {problem}")
        })
    }

    #[test]
    fn a_small_manifest_is_enough() {
        let manifest = parse(SMALL).unwrap();
        assert_eq!((manifest.parallelism, manifest.open.id), (1, IdFrom::Given));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_may_have_been_meant() {
        for (from, to, expected) in [
            (
                "\"argv\"",
                "\"argvv\"",
                "3:17: there is no capability \"argvv\" (did you mean `argv`?)",
            ),
            (
                "\"argv\"",
                "\"timeout\"",
                "3:17: timeout cannot be given by commands alone",
            ),
            (
                "\"argv\"",
                "\"env\"",
                "6:7: env is declared, but exec.run does not name env",
            ),
            (
                "\"argv\"",
                "\"list\"",
                "3:17: list is declared, but there is no [list]",
            ),
            ("\"posix\"", "\"fish\"", "4:21: shell is one of bash, posix"),
            (
                "shell = \"posix\"",
                "shel = \"posix\"",
                "4:20: there is no choice \"shel\" (did you mean `shell`?)",
            ),
            ("{cwd}", "{pwd}", "6:7: exec.run names {pwd}"),
            (
                "\"{command}\"",
                "\"x\"",
                "6:7: the command does not name {command}",
            ),
            ("\"{text}\"", "\"x\"", "7:9: the command does not name {text}"),
            ("[exec]\nrun", "[exec]\nrum", "6:1: unknown field `rum`"),
            ("name = \"small\"", "name = \"a b\"", "2:8: name is not made of"),
        ] {
            assert!(SMALL.contains(from));
            let error = parse(&SMALL.replace(from, to)).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
