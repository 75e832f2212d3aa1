//! `herm init`: a project to start from, which passes as it stands.

mod language;
mod name;
mod place;
mod template;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;

use self::{language::Language, name::Name, place::Written};
use super::{Refusal, fail, list::print, usage};

/// Write a project that tests a backend of your own and passes as it stands, with a workflow for GitHub.
///
/// Nothing is overwritten: when a file is in the way, it is named and nothing at all is written.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How the backend is plugged in
    #[arg(long, value_enum)]
    lang: Language,
    /// The backend's name in files and reports; the directory's when not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Overwrite the files of the template, and no others
    #[arg(long)]
    force: bool,
    /// Where; it is made when it is not there
    #[arg(default_value = ".")]
    directory: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match init(arguments) {
        Ok(told) => print(&told),
        Err((exit, message)) => fail(exit, message),
    }
}

fn init(arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        lang,
        name,
        force,
        directory,
    } = arguments;
    let name = match name {
        Some(name) => Name::parse(name, *lang).map_err(usage)?,
        None => Name::derive(&last_part(directory), *lang),
    };
    let files = template::files(*lang, &name);
    let written = place::write(directory, &files, *force).map_err(usage)?;
    Ok(tell(*lang, &name, directory, &written))
}

/// The last part of a directory's path; nothing when it has none, as the root.
fn last_part(directory: &Path) -> String {
    let absolute = directory
        .canonicalize()
        .or_else(|_| std::path::absolute(directory));
    absolute
        .ok()
        .as_deref()
        .and_then(Path::file_name)
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .into_owned()
}

/// What was written, and what can be done with it now.
fn tell(lang: Language, name: &Name, directory: &Path, written: &Written) -> String {
    use std::fmt::Write as _;
    let mut told = format!(
        "{name}: {} in {}\n\n",
        lang.describe(),
        directory.to_string_lossy()
    );
    for (path, what) in &written.files {
        let _ = match what {
            Some(what) => writeln!(told, "  {path:<28}  {what}"),
            None => writeln!(told, "  {path}"),
        };
    }
    let manifest = shell_word(&directory.join(format!("{name}.toml")));
    let commands = match lang {
        Language::Rust => {
            let cargo = shell_word(&directory.join("Cargo.toml"));
            [
                format!("cargo build --manifest-path {cargo}"),
                format!("herm run --subject {manifest}"),
            ]
        }
        Language::Manifest | Language::Python => [
            format!("herm smoke --subject {manifest}"),
            format!("herm run --subject {manifest}"),
        ],
    };
    let _ = write!(
        told,
        "\nIt passes as it stands. Next:\n\n  {}\n  {}",
        commands[0], commands[1]
    );
    told
}

/// A path as one word for the shell that a person types in.
fn shell_word(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    let text = path.to_string_lossy();
    // A path must not be taken for an option.
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text.into_owned()
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+=:@%,".contains(&byte);
    if text.bytes().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_that_a_shell_reads_as_it_is() {
        for (path, word) in [
            ("./mine.toml", "mine.toml"),
            ("a/b-c.toml", "a/b-c.toml"),
            ("with space/it's.toml", r"'with space/it'\''s.toml'"),
            ("$HOME/x", "'$HOME/x'"),
            ("-x/y", "./-x/y"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }

    #[test]
    fn a_directory_is_named_by_its_last_part() {
        assert_eq!(last_part(Path::new("/no/such/place")), "place");
        assert_eq!(last_part(Path::new("/")), "");
        assert!(!last_part(Path::new(".")).is_empty());
    }
}
