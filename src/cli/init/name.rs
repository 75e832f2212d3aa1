//! The name of a new backend: what it may be, and what becomes of a directory's.

use std::fmt;

use super::Language;

/// The longest name that a report takes.
const LONGEST: usize = 64;

/// The name where a directory's gives none.
const FALLBACK: &str = "my-backend";

/// Names whose `NAME.toml` would be another file of the project, or the settings of a tool that reads it by its name.
const TAKEN: &[&str] = &[
    "book",
    "cargo",
    "clippy",
    "deny",
    "expectations",
    "pyproject",
    "ruff",
    "rust-toolchain",
    "rustfmt",
    "taplo",
];

/// Names that no crate of ours may have: words of the language, what cargo keeps for itself, and what it depends on.
const NO_CRATE: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "async-trait",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "herm-protocol",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "rustix",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tokio",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// A backend's name, which every file of its template can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    /// A name that was asked for.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub(super) fn parse(text: &str, language: Language) -> Result<Self, String> {
        match problem(text, language) {
            None => Ok(Self(text.to_owned())),
            Some(problem) => Err(format!("--name {text:?} {problem}; give another")),
        }
    }

    /// A name that is near to a directory's.
    pub(super) fn derive(directory: &str, language: Language) -> Self {
        let kept = |character: char| fits(character, language);
        let mut name = String::new();
        for character in directory.chars() {
            if kept(character) {
                name.push(character);
            } else if !name.ends_with('-') {
                name.push('-');
            }
        }
        if language == Language::Rust {
            name.make_ascii_lowercase();
        }
        let name = name.trim_matches(|character: char| !character.is_ascii_alphanumeric());
        let longer: String = name.chars().take(LONGEST - "-backend".len()).collect();
        let candidates = [name.to_owned(), format!("{longer}-backend"), FALLBACK.to_owned()];
        let found = candidates
            .into_iter()
            .find(|name| problem(name, language).is_none());
        Self(found.unwrap_or_else(|| FALLBACK.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn fits(character: char, language: Language) -> bool {
    let more = if language == Language::Rust { "-_" } else { "-_.+" };
    character.is_ascii_alphanumeric() || more.contains(character)
}

/// What is wrong with a name.
fn problem(name: &str, language: Language) -> Option<String> {
    let is_rust = language == Language::Rust;
    let (characters, begin) = if is_rust {
        ("letters, digits, - and _", "a letter")
    } else {
        ("letters, digits, -, _, . and +", "a letter or digit")
    };
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(|character| fits(character, language)) {
        return Some(format!("is not made of 1 to {LONGEST} {characters}"));
    }
    let first = name.chars().next().unwrap_or_default();
    if !first.is_ascii_alphabetic() && (is_rust || !first.is_ascii_digit()) {
        return Some(format!("does not begin with {begin}"));
    }
    let plain = name.to_ascii_lowercase();
    if TAKEN.contains(&plain.as_str()) {
        return Some(format!(
            "does not do: {name}.toml is the name of another tool's file"
        ));
    }
    if is_rust && NO_CRATE.contains(&plain.replace('_', "-").as_str()) {
        return Some("is a name that no crate of yours may have".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_gives_a_name_that_is_near_and_valid() {
        use Language::{Manifest, Python, Rust};
        for (directory, language, name) in [
            ("my.sandbox", Python, "my.sandbox"),
            ("my.sandbox", Rust, "my-sandbox"),
            ("My Sandbox", Rust, "my-sandbox"),
            ("My  (old) Sandbox!", Manifest, "My-old-Sandbox"),
            ("grün 日本", Manifest, "gr-n"),
            ("日本", Manifest, "my-backend"),
            ("", Python, "my-backend"),
            ("...", Python, "my-backend"),
            ("-rf", Python, "rf"),
            ("9lives", Python, "9lives"),
            ("9lives", Rust, "my-backend"),
            ("test", Rust, "test-backend"),
            ("test", Python, "test"),
            ("tokio", Rust, "tokio-backend"),
            ("Cargo", Rust, "cargo-backend"),
            ("expectations", Manifest, "expectations-backend"),
        ] {
            assert_eq!(Name::derive(directory, language).0, name, "{directory}");
        }
        let long = Name::derive(&"x".repeat(300), Python).0;
        assert_eq!(long, format!("{}-backend", "x".repeat(56)));
    }

    #[test]
    fn a_name_that_cannot_be_says_what_would_do() {
        for (name, language, why) in [
            ("", Language::Python, "1 to 64 letters"),
            ("a b", Language::Manifest, "1 to 64 letters"),
            ("a/b", Language::Manifest, "1 to 64 letters"),
            ("a\nb", Language::Manifest, "1 to 64 letters"),
            ("a.b", Language::Rust, "letters, digits, - and _"),
            ("-a", Language::Python, "begin with a letter or digit"),
            (".a", Language::Python, "begin with a letter or digit"),
            ("1a", Language::Rust, "begin with a letter"),
            ("Expectations", Language::Manifest, "another tool's file"),
            ("async_trait", Language::Rust, "no crate"),
        ] {
            let error = Name::parse(name, language).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(Name::parse("my.tool+x_1", Language::Python).is_ok());
    }
}
