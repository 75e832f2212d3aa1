//! The files of each template. They are files of this repository that are tested as they stand, with `my-backend` as the
//! backend's name.

use std::path::PathBuf;

use include_dir::{Dir, include_dir};

use super::{Language, Name};

/// The name that the templates are written with.
const PLACEHOLDER: &str = "my-backend";

/// The source of the crate herm-protocol, which comes along until it is published.
static PROTOCOL: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/cli/init/templates/rust/protocol/src");

/// A file to be written.
pub(super) struct TemplateFile {
    /// Where, below the project's directory.
    pub(super) path: PathBuf,
    /// Its content.
    pub(super) content: Vec<u8>,
    /// What it is, in a few words; what needs none is told by its directory.
    pub(super) about: Option<&'static str>,
}

/// A file of a template: its path in the project, its text, and what it is.
type Entry = (&'static str, &'static str, &'static str);

/// The text of a file below `templates/`.
macro_rules! text {
    ($path:literal) => {
        include_str!(concat!("templates/", $path))
    };
}

const WORKFLOW: &str = "tests it on GitHub, on every push";
const README: &str = "what to do with all this";

const MANIFEST: &[Entry] = &[
    (
        "my-backend.toml",
        text!("manifest/my-backend.toml"),
        "the backend: its commands, and what it declares",
    ),
    (
        "expectations.toml",
        text!("manifest/expectations.toml"),
        "failures that are known, each with its reason",
    ),
    (
        ".github/workflows/herm.yml",
        text!("manifest/.github/workflows/herm.yml"),
        WORKFLOW,
    ),
    (
        ".gitignore",
        text!("manifest/.gitignore"),
        "keeps reports out of git",
    ),
    ("README.md", text!("manifest/README.md"), README),
];

const PYTHON: &[Entry] = &[
    (
        "backend.py",
        text!("python/backend.py"),
        "the backend: this is what you change",
    ),
    (
        "herm_adapter.py",
        text!("python/herm_adapter.py"),
        "keeps the protocol for it",
    ),
    (
        "test_backend.py",
        text!("python/test_backend.py"),
        "tests of both: python3 -m unittest",
    ),
    (
        "my-backend.toml",
        text!("python/my-backend.toml"),
        "tells herm how it is started",
    ),
    (
        "expectations.toml",
        text!("python/expectations.toml"),
        "failures that are known, each with its reason",
    ),
    (
        ".github/workflows/herm.yml",
        text!("python/.github/workflows/herm.yml"),
        WORKFLOW,
    ),
    (
        ".gitignore",
        text!("python/.gitignore"),
        "keeps reports and caches out of git",
    ),
    ("README.md", text!("python/README.md"), README),
];

// A file named Cargo.toml would make another package of its folder, and `cargo package` would leave that out.
const RUST: &[Entry] = &[
    (
        "src/backend.rs",
        text!("rust/src/backend.rs"),
        "the backend: this is what you change",
    ),
    (
        "src/command.rs",
        text!("rust/src/command.rs"),
        "how a command runs",
    ),
    (
        "src/check.rs",
        text!("rust/src/check.rs"),
        "what is refused before anything starts",
    ),
    ("src/main.rs", text!("rust/src/main.rs"), "serves it"),
    ("Cargo.toml", text!("rust/Cargo.toml.in"), "what it is built from"),
    (
        "my-backend.toml",
        text!("rust/my-backend.toml"),
        "tells herm how it is started",
    ),
    (
        "protocol/schema/herm-1.json",
        text!("rust/protocol/schema/herm-1.json"),
        "the messages, as a JSON Schema",
    ),
    (
        "protocol/Cargo.toml",
        text!("rust/protocol/Cargo.toml.in"),
        "the crate herm-protocol, until it is published",
    ),
    (
        "expectations.toml",
        text!("rust/expectations.toml"),
        "failures that are known, each with its reason",
    ),
    (
        ".github/workflows/herm.yml",
        text!("rust/.github/workflows/herm.yml"),
        WORKFLOW,
    ),
    (
        ".gitignore",
        text!("rust/.gitignore"),
        "keeps reports and what is built out of git",
    ),
    ("README.md", text!("rust/README.md"), README),
];

/// The files of a template, with the backend's name in them.
pub(super) fn files(language: Language, name: &Name) -> Vec<TemplateFile> {
    let entries = match language {
        Language::Manifest => MANIFEST,
        Language::Python => PYTHON,
        Language::Rust => RUST,
    };
    let name = name.to_string();
    let named = entries.iter().map(|(path, text, about)| TemplateFile {
        path: path.replace(PLACEHOLDER, &name).into(),
        content: text.replace(PLACEHOLDER, &name).into_bytes(),
        about: Some(about),
    });
    let mut files: Vec<_> = named.collect();
    if language == Language::Rust {
        collect(&PROTOCOL, &mut files);
    }
    files
}

fn collect(directory: &Dir<'_>, files: &mut Vec<TemplateFile>) {
    for file in directory.files() {
        files.push(TemplateFile {
            path: PathBuf::from("protocol/src").join(file.path()),
            content: file.contents().to_vec(),
            about: None,
        });
    }
    for below in directory.dirs() {
        collect(below, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(language: Language) -> Vec<TemplateFile> {
        files(language, &Name::parse("zebra", language).unwrap())
    }

    #[test]
    fn the_name_stands_everywhere_and_the_placeholder_nowhere() {
        for language in [Language::Manifest, Language::Python, Language::Rust] {
            let files = named(language);
            assert!(
                files
                    .iter()
                    .any(|file| file.path == std::path::Path::new("zebra.toml"))
            );
            for file in files {
                let text = String::from_utf8(file.content).unwrap();
                assert!(!text.contains(PLACEHOLDER), "{}", file.path.display());
            }
        }
    }

    /// The crate's own manifest takes its versions from the workspace; the copy has to say them itself.
    #[test]
    fn the_copy_of_the_protocol_is_built_from_what_the_crate_is_built_from() {
        let root = env!("CARGO_MANIFEST_DIR");
        let read = |path: &str| {
            let text = std::fs::read_to_string(format!("{root}/{path}")).unwrap();
            text.parse::<toml::Table>().unwrap()
        };
        let (workspace, own) = (read("Cargo.toml"), read("harness/protocol/Cargo.toml"));
        let shared = &workspace["workspace"]["dependencies"];
        let expected: toml::Table = own["dependencies"]
            .as_table()
            .unwrap()
            .keys()
            .map(|name| (name.clone(), shared[name].clone()))
            .collect();
        let copy = read("src/cli/init/templates/rust/protocol/Cargo.toml.in");
        assert_eq!(copy["dependencies"].as_table().unwrap(), &expected);
        let package = &workspace["workspace"]["package"];
        for key in ["version", "edition", "rust-version"] {
            assert_eq!(copy["package"][key], package[key], "{key}");
        }
    }
}
