//! What stands in a manifest of commands.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::manifest::{Template, Text};

/// A backend described by commands.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name in reports: 1 to 64 letters, digits, `-`, `_`, `.` and `+`.
    #[schemars(with = "String", regex(pattern = r"^[A-Za-z0-9_.+-]{1,64}$"))]
    pub name: Spanned<String>,
    /// Where to read about it.
    #[serde(default)]
    pub homepage: Option<String>,
    /// What kind of place commands run in: docker, ssh, bubblewrap …
    #[serde(default)]
    pub backend: Option<String>,
    /// A command whose first line of output is its version.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub version: Option<Spanned<Template>>,
    /// How many requirements may be tested at the same time; 1 when not given.
    #[serde(default = "one")]
    #[schemars(with = "u32", range(min = 1))]
    pub parallelism: Spanned<u32>,
    /// What works. What is not named has to be refused, which the adapter of a manifest does by itself.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub capabilities: Vec<Spanned<String>>,
    /// Which variants hold, where more than one way is right.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub choices: BTreeMap<Spanned<String>, Spanned<String>>,
    /// Names of variables of yours that the commands need; nothing else of your environment reaches them. One that may be
    /// missing is written with a `?` behind it. Each is also a placeholder: `{$NAME}`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub environment: Vec<Spanned<String>>,
    /// The file of expected failures, relative to the manifest's folder.
    #[serde(default)]
    pub expectations: Option<PathBuf>,
    /// What has to be there before it can be used. Goes with the capability `preflight`.
    #[serde(default)]
    #[schemars(with = "Vec<Check>")]
    pub preflight: Vec<Spanned<Check>>,
    /// How a sandbox is made.
    #[serde(default)]
    pub open: Open,
    /// How a command is run.
    pub exec: Exec,
    /// How a sandbox is destroyed.
    #[serde(default)]
    pub close: Option<Operation>,
    /// How the sandboxes of this run are listed: one id a line. Goes with the capability `list`.
    #[serde(default)]
    #[schemars(with = "Option<Operation>")]
    pub list: Option<Spanned<Operation>>,
    /// How files are read and written. Goes with the capability `files`.
    #[serde(default)]
    #[schemars(with = "Option<Files>")]
    pub files: Option<Spanned<Files>>,
    /// How everything is listed that this run has made and that still exists. Goes with the capability `ledger`.
    #[serde(default)]
    #[schemars(with = "Vec<Owned>")]
    pub ledger: Vec<Spanned<Owned>>,
    /// What can be done to the backend's world by way of test.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Condition>")]
    pub conditions: BTreeMap<Spanned<String>, Condition>,
}

fn one() -> Spanned<u32> {
    Spanned::new(0..0, 1)
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
    /// The command. Without `id = "output"` it is given the id as `{sandbox}`. It may name what the sandbox was asked to be:
    /// `{cwd}`, `{user}`, `{image}`, `{memory_bytes}`, `{pids}`, `{cpu_millis}` or `{cpus}`, `{disk_bytes}`, `network_none`,
    /// and each of `env`, `mounts` and `read_only_mounts`.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub run: Option<Spanned<Template>>,
    /// Where the id comes from; `given` when not said.
    #[serde(default)]
    pub id: IdFrom,
    /// How long it may take, in seconds; 60 when not given.
    #[serde(default)]
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub within_s: Option<Spanned<u64>>,
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
    /// The command; `{command}` stands for the words that are to be run. It may name `{cwd}`, `{user}`, `{stdin}` (there is
    /// input), each `env`, and what the sandbox was asked to be, as `open.run` may.
    #[schemars(with = "Template")]
    pub run: Spanned<Template>,
    /// The words that run the text of a shell, `{text}`; they become `{command}`.
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

/// One kind of thing that a run makes: how those are listed that still exist, and how one of them is removed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// `process`, `container`, `instance`, `mount`, `file`, `socket`, `remote`, or a word of the backend's own.
    #[schemars(with = "String", regex(pattern = r"^[a-z][a-z0-9_-]*$"))]
    pub kind: Spanned<String>,
    /// A command that prints the ids of those that exist, one a line, and of this run only: it names `{run}` (or `{scratch}`,
    /// which is the run's own).
    #[schemars(with = "Template")]
    pub run: Spanned<Template>,
    /// A command that removes one of them, `{item}`. `herm clean` uses it for what a killed run has left behind.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub remove: Option<Spanned<Template>>,
}

/// How a condition is brought about: by a command, by variables of adapters that are started while it holds, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What is done for it, in one line for people.
    pub does: String,
    /// What an error that comes of it has to name: a program, an address, a variable. For conditions that take something
    /// away, and for those of other images: there it is the image's name.
    #[serde(default)]
    #[schemars(with = "Option<Text>")]
    pub names: Option<Spanned<Text>>,
    /// Variables of adapters that are started while it holds. Only of a condition of the whole subject.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Text>")]
    pub environment: BTreeMap<Spanned<String>, Spanned<Text>>,
    /// A command that brings it about. Of a condition that strikes a sandbox it names `{sandbox}`.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub apply: Option<Spanned<Template>>,
    /// A command that undoes it. One that strikes a sandbox needs none when there is nothing to undo.
    #[serde(default)]
    #[schemars(with = "Option<Template>")]
    pub clear: Option<Spanned<Template>>,
}
