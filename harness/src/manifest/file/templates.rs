//! Checks the commands of a manifest: that they name only what there is, and all that they have to.

use toml::Spanned;

use super::{Manifest, Wrong};
use crate::manifest::{Known, Template};

/// What every command may name.
const ALWAYS: [&str; 2] = ["run", "scratch"];

/// What has variables.
const ENVIRONMENT: &[(&str, &[&str])] = &[("env", &["name", "value"])];

impl Manifest {
    /// What a command may name: what all may, and `more`.
    pub(super) fn known<'a>(&'a self, more: &[&'a str]) -> Known<'a> {
        let variables = self.environment.iter().map(|name| {
            let name = name.get_ref();
            name.strip_suffix('?').unwrap_or(name)
        });
        Known {
            one: more.iter().chain(&ALWAYS).copied().collect(),
            variables: variables.collect(),
            ..Known::default()
        }
    }

    pub(super) fn check_templates(&self) -> Result<(), Wrong> {
        self.check_exec()?;
        let of_sandbox = self.known(&["sandbox"]);
        if let Some(version) = &self.version {
            check(version, "version", &self.known(&[]))?;
        }
        for preflight in &self.preflight {
            check(&preflight.get_ref().run, "preflight.run", &self.known(&[]))?;
        }
        if let Some(open) = &self.open.run {
            let known = Known {
                records: ENVIRONMENT.to_vec(),
                ..self.known(&["sandbox", "cwd"])
            };
            check(open, "open.run", &known)?;
        }
        if let Some(close) = &self.close {
            check(&close.run, "close.run", &of_sandbox)?;
            names_one_of(&close.run, "close.run", &["sandbox"], "which sandbox to destroy")?;
        }
        if let Some(list) = &self.list {
            check(&list.get_ref().run, "list.run", &self.known(&[]))?;
        }
        if let Some(files) = self.files.as_ref().map(Spanned::get_ref) {
            for (template, what) in [(&files.read, "files.read"), (&files.write, "files.write")] {
                check(template, what, &self.known(&["sandbox", "path"]))?;
                names_one_of(template, what, &["path"], "which file")?;
            }
        }
        self.check_ledger()?;
        self.check_declared()
    }

    fn check_exec(&self) -> Result<(), Wrong> {
        let known = Known {
            many: vec!["command"],
            records: ENVIRONMENT.to_vec(),
            ..self.known(&["sandbox", "cwd", "stdin", "user"])
        };
        check(&self.exec.run, "exec.run", &known)?;
        check(&self.exec.shell, "exec.shell", &self.known(&["text", "sandbox"]))?;
        for (template, used) in [(&self.exec.run, "command"), (&self.exec.shell, "text")] {
            if !template.get_ref().uses(used) {
                let problem = format!("the command does not name {{{used}}}, so nothing would be run");
                return Err(Wrong::new(template.span().start, problem));
            }
        }
        for capability in ["cwd", "env", "user"] {
            if self.declares(capability) && !self.exec.run.get_ref().uses(capability) {
                let problem = format!(
                    "{capability} is declared, but exec.run does not name {capability}, so it would be ignored"
                );
                return Err(Wrong::new(self.exec.run.span().start, problem));
            }
        }
        Ok(())
    }

    fn check_ledger(&self) -> Result<(), Wrong> {
        for owned in self.ledger.iter().map(Spanned::get_ref) {
            let kind = owned.kind.get_ref();
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
            if !kind.starts_with(|first: char| first.is_ascii_lowercase()) || !kind.bytes().all(fits) {
                let problem = format!(
                    "kind is {kind:?}; it is a word in small letters, such as container, process, file"
                );
                return Err(Wrong::new(owned.kind.span().start, problem));
            }
            check(&owned.run, "ledger.run", &self.known(&[]))?;
            names_one_of(
                &owned.run,
                "ledger.run",
                &["run", "scratch"],
                "whose things to list",
            )?;
            if let Some(remove) = &owned.remove {
                check(remove, "ledger.remove", &self.known(&["item"]))?;
                names_one_of(remove, "ledger.remove", &["item"], "what to remove")?;
            }
        }
        Ok(())
    }

    /// What is declared is there, and what is there is declared: an adapter refuses what is not.
    fn check_declared(&self) -> Result<(), Wrong> {
        let pairs = [
            ("list", "[list]", self.list.as_ref().map(Spanned::span)),
            ("files", "[files]", self.files.as_ref().map(Spanned::span)),
            (
                "preflight",
                "[[preflight]]",
                self.preflight.first().map(Spanned::span),
            ),
            ("ledger", "[[ledger]]", self.ledger.first().map(Spanned::span)),
        ];
        for (capability, table, there) in pairs {
            let declared = self.capabilities.iter().find(|name| name.get_ref() == capability);
            match (declared, there) {
                (Some(declared), None) => {
                    let problem = format!("{capability} is declared, but there is no {table}");
                    return Err(Wrong::new(declared.span().start, problem));
                }
                (None, Some(span)) => {
                    let problem = format!(
                        "there is {table}, but the capability {capability} is not declared; add it to `capabilities`"
                    );
                    return Err(Wrong::new(span.start, problem));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

pub(super) fn check(template: &Spanned<Template>, what: &str, known: &Known<'_>) -> Result<(), Wrong> {
    template.get_ref().check(known).map_err(|(at, problem)| Wrong {
        offset: at.unwrap_or(template.span().start),
        problem: format!("{what} {problem}"),
    })
}

/// A command that does not say what it is about would strike something else.
pub(super) fn names_one_of(
    template: &Spanned<Template>,
    what: &str,
    names: &[&str],
    about: &str,
) -> Result<(), Wrong> {
    if names.iter().any(|name| template.get_ref().uses(name)) {
        return Ok(());
    }
    let names: Vec<_> = names.iter().map(|name| format!("{{{name}}}")).collect();
    let problem = format!(
        "{what} names no {}, so it cannot know {about}",
        names.join(" or ")
    );
    Err(Wrong::new(template.span().start, problem))
}
