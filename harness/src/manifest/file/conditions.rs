//! Checks the conditions of a manifest.

use toml::Spanned;

use super::{
    Condition, Manifest, Wrong,
    templates::{check, names_one_of},
    words::is_variable,
};
use crate::{
    catalogue::{Catalogue, Strikes},
    near_miss::hint,
};

/// Variables that the harness sets for every adapter, so that a condition cannot take them over.
const OF_THE_HARNESS: [&str; 1] = ["TMPDIR"];

impl Manifest {
    pub(super) fn check_conditions(&self, catalogue: &Catalogue) -> Result<(), Wrong> {
        for (name, condition) in &self.conditions {
            let at = name.span().start;
            let Some(known) = catalogue.conditions.get(name.get_ref()) else {
                let hint = hint(name.get_ref(), catalogue.conditions.keys().map(String::as_str));
                let problem = format!(
                    "there is no condition {:?}{hint}; `herm list conditions` names all",
                    name.get_ref()
                );
                return Err(Wrong::new(at, problem));
            };
            if condition.apply.is_none() && condition.environment.is_empty() {
                let problem = format!(
                    "the condition {} has neither apply nor environment, so nothing would be done",
                    name.get_ref()
                );
                return Err(Wrong::new(at, problem));
            }
            if let (None, Some(clear)) = (&condition.apply, &condition.clear) {
                let problem = "there is clear without apply, so there is nothing to undo; variables are undone by themselves";
                return Err(Wrong::new(clear.span().start, problem));
            }
            match known.strikes {
                Strikes::Sandbox => self.check_strike(name, condition)?,
                Strikes::Subject => self.check_change(name, condition)?,
            }
        }
        Ok(())
    }

    /// A condition of one sandbox.
    fn check_strike(&self, name: &Spanned<String>, condition: &Condition) -> Result<(), Wrong> {
        let label = name.get_ref();
        if let Some((variable, _)) = condition.environment.first_key_value() {
            let problem = format!(
                "{label} strikes one sandbox, but variables reach whole adapters; strike it by a command, apply"
            );
            return Err(Wrong::new(variable.span().start, problem));
        }
        let known = self.known(&["sandbox"]);
        let parts = [(&condition.apply, "apply"), (&condition.clear, "clear")];
        for (template, part) in parts {
            if let Some(template) = template {
                let what = format!("{part} of {label}");
                check(template, &what, &known)?;
                names_one_of(template, &what, &["sandbox"], "which sandbox to strike")?;
            }
        }
        self.check_names(condition, &["sandbox"])
    }

    /// A condition of the whole subject.
    fn check_change(&self, name: &Spanned<String>, condition: &Condition) -> Result<(), Wrong> {
        let label = name.get_ref();
        let known = self.known(&[]);
        for (variable, value) in &condition.environment {
            let (word, at) = (variable.get_ref(), variable.span().start);
            if !is_variable(word) {
                return Err(Wrong::new(at, format!("{word:?} is no name of a variable")));
            }
            if OF_THE_HARNESS.contains(&word.as_str()) {
                let problem = format!("{word} is set by the harness for every adapter; use another variable");
                return Err(Wrong::new(at, problem));
            }
            value
                .get_ref()
                .check(&known)
                .map_err(|problem| Wrong::new(value.span().start, format!("{word} {problem}")))?;
        }
        let parts = [(&condition.apply, "apply"), (&condition.clear, "clear")];
        for (template, part) in parts {
            if let Some(template) = template {
                check(template, &format!("{part} of {label}"), &known)?;
            }
        }
        if let (Some(apply), None) = (&condition.apply, &condition.clear) {
            let problem = format!(
                "{label} strikes the whole subject, and there is no clear: what comes after the test would find it as it is left; add the command that undoes it"
            );
            return Err(Wrong::new(apply.span().start, problem));
        }
        self.check_names(condition, &[])
    }

    fn check_names(&self, condition: &Condition, more: &[&str]) -> Result<(), Wrong> {
        match &condition.names {
            Some(names) => names
                .get_ref()
                .check(&self.known(more))
                .map_err(|problem| Wrong::new(names.span().start, format!("names {problem}"))),
            None => Ok(()),
        }
    }
}
