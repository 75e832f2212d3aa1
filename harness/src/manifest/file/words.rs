//! Checks the words of a manifest: its name, what it declares, the variables that it needs.

use toml::Spanned;

use super::{Manifest, Wrong};
use crate::{catalogue::Catalogue, near_miss::hint};

/// Capabilities that commands alone can give.
pub(in crate::manifest) const POSSIBLE: [&str; 24] = [
    "argv",
    "concurrency",
    "cwd",
    "drop_caps",
    "env",
    "files",
    "image",
    "isolation",
    "ledger",
    "limits_cpu",
    "limits_disk",
    "limits_memory",
    "limits_pids",
    "list",
    "mounts",
    "network_none",
    "no_new_privileges",
    "persist_files",
    "preflight",
    "stdin",
    "stdin_stream",
    "streams_apart",
    "survive_client",
    "user",
];

pub(in crate::manifest) fn check_name(name: &Spanned<String>) -> Result<(), Wrong> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    let word = name.get_ref();
    if word.is_empty() || word.len() > 64 || !word.bytes().all(fits) {
        let problem = "name is not made of 1 to 64 letters, digits, -, _, . and +";
        return Err(Wrong::new(name.span().start, problem));
    }
    Ok(())
}

/// Whether a word can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(fits) && !name.starts_with(|first: char| first.is_ascii_digit())
}

pub(in crate::manifest) fn check_environment(names: &[Spanned<String>]) -> Result<(), Wrong> {
    for name in names {
        let word = name.get_ref();
        if !is_variable(word.strip_suffix('?').unwrap_or(word)) {
            let problem = format!(
                "environment names {word:?}, which is no name of a variable; it is a list of names such as \"TOKEN\", or \"TOKEN?\" for one that may be missing"
            );
            return Err(Wrong::new(name.span().start, problem));
        }
    }
    Ok(())
}

impl Manifest {
    pub(in crate::manifest) fn declares(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|name| name.get_ref() == capability)
    }

    pub(super) fn check_words(&self, catalogue: &Catalogue) -> Result<(), Wrong> {
        check_name(&self.name)?;
        check_environment(&self.environment)?;
        if *self.parallelism.get_ref() == 0 {
            let problem =
                "parallelism is 0; it is how many requirements may be tested at the same time, 1 or more";
            return Err(Wrong::new(self.parallelism.span().start, problem));
        }
        if let Some(within) = self
            .open
            .within_s
            .as_ref()
            .filter(|within| *within.get_ref() == 0)
        {
            let problem =
                "open.within_s is 0, so that nothing could be opened; it is a number of seconds, 1 or more";
            return Err(Wrong::new(within.span().start, problem));
        }
        self.check_capabilities(catalogue)?;
        self.check_choices(catalogue)
    }

    fn check_capabilities(&self, catalogue: &Catalogue) -> Result<(), Wrong> {
        for (index, capability) in self.capabilities.iter().enumerate() {
            let (name, at) = (capability.get_ref().as_str(), capability.span().start);
            if !catalogue.capabilities.contains_key(name) {
                let hint = hint(name, catalogue.capabilities.keys().map(String::as_str));
                let problem =
                    format!("there is no capability {name:?}{hint}; `herm list capabilities` names all");
                return Err(Wrong::new(at, problem));
            }
            if !POSSIBLE.contains(&name) {
                let problem = format!(
                    "{name} cannot be given by commands alone; write an adapter for it, or leave it out"
                );
                return Err(Wrong::new(at, problem));
            }
            if self.capabilities[..index].contains(capability) {
                return Err(Wrong::new(at, format!("{name} is declared twice")));
            }
        }
        Ok(())
    }

    fn check_choices(&self, catalogue: &Catalogue) -> Result<(), Wrong> {
        for (name, variant) in &self.choices {
            let Some(choice) = catalogue.choices.get(name.get_ref()) else {
                let hint = hint(name.get_ref(), catalogue.choices.keys().map(String::as_str));
                let problem = format!(
                    "there is no choice {:?}{hint}; `herm list choices` names all",
                    name.get_ref()
                );
                return Err(Wrong::new(name.span().start, problem));
            };
            let value = variant.get_ref();
            if !choice.values.contains_key(value) {
                let known: Vec<_> = choice.values.keys().map(String::as_str).collect();
                let hint = hint(value, known.iter().copied());
                let problem = format!(
                    "{} is one of {}, and not {value:?}{hint}",
                    name.get_ref(),
                    known.join(", ")
                );
                return Err(Wrong::new(variant.span().start, problem));
            }
        }
        Ok(())
    }
}
