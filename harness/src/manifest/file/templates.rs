//! Checks the commands of a manifest: that they name only what there is, and all that they have to.

use toml::Spanned;

use super::{Manifest, Wrong};
use crate::manifest::{Known, Template};

/// What every command may name.
const ALWAYS: [&str; 2] = ["run", "scratch"];

/// Values that a sandbox may be asked to have: what `open.run` and `exec.run` may name.
const OF_SANDBOX: [&str; 10] = [
    "sandbox",
    "cwd",
    "user",
    "image",
    "memory_bytes",
    "pids",
    "cpu_millis",
    "cpus",
    "disk_bytes",
    "network_none",
];

/// Lists that a sandbox may be asked to have, and the fields of what is in them.
const LISTS_OF_SANDBOX: &[(&str, &[&str])] = &[
    ("env", &["name", "value"]),
    ("mounts", &["source", "target"]),
    ("read_only_mounts", &["source", "target"]),
];

/// Capabilities of a sandbox, and what has to be named for each so that it is not ignored: one of each group.
const NAMED_FOR: [(&str, &[&[&str]]); 7] = [
    ("image", &[&["image"]]),
    ("limits_cpu", &[&["cpu_millis", "cpus"]]),
    ("limits_disk", &[&["disk_bytes"]]),
    ("limits_memory", &[&["memory_bytes"]]),
    ("limits_pids", &[&["pids"]]),
    ("mounts", &[&["mounts"], &["read_only_mounts"]]),
    ("network_none", &[&["network_none"]]),
];

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
                records: LISTS_OF_SANDBOX.to_vec(),
                ..self.known(&OF_SANDBOX)
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
        self.check_named()?;
        self.check_declared()
    }

    /// What a caller may ask of a sandbox is named by the command that makes it, or by that which runs commands in it.
    fn check_named(&self) -> Result<(), Wrong> {
        let commands = [self.open.run.as_ref(), Some(&self.exec.run)];
        let named = |name: &str| {
            let mut commands = commands.iter().flatten();
            commands.any(|command| command.get_ref().uses(name) || command.get_ref().asks_for(name))
        };
        for (capability, groups) in NAMED_FOR {
            let declared = self.capabilities.iter().find(|name| name.get_ref() == capability);
            let Some(declared) = declared else { continue };
            let ignored = groups.iter().find(|group| !group.iter().any(|name| named(name)));
            if let Some(ignored) = ignored {
                let problem = format!(
                    "{capability} is declared, but neither open.run nor exec.run names {}, so it would be ignored",
                    ignored.join(" or ")
                );
                return Err(Wrong::new(declared.span().start, problem));
            }
        }
        Ok(())
    }

    fn check_exec(&self) -> Result<(), Wrong> {
        let known = Known {
            many: vec!["command"],
            records: LISTS_OF_SANDBOX.to_vec(),
            ..self.known(&[&OF_SANDBOX[..], &["stdin"]].concat())
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
