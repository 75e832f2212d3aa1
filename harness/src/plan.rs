//! What will be run on a subject, and why the rest will not: every requirement has a row.

use std::collections::BTreeSet;

use crate::{
    contract::{Contract, Declared, Requirement},
    event::PlannedRow,
    near_miss::hint,
    verdict::Verdict,
};

/// What the user wants of the contract.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these: ids (`TIMEOUT-003`), chapters (`TIMEOUT`) or ids with `*` (`TIMEOUT-*`). Empty means all.
    pub only: Vec<String>,
    /// Only these profiles. Empty means all.
    pub profiles: Vec<String>,
}

/// A selection that selects nothing that exists.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// No requirement fits the pattern.
    #[error("no requirement is {pattern:?}{hint}; `herm list` names all")]
    NoSuchRequirement {
        /// What was asked for.
        pattern: String,
        /// What may have been meant.
        hint: String,
    },
    /// No requirement is in the profile.
    #[error(
        "no requirement is in the profile {profile:?} yet; `herm list --json` tells the profiles of each"
    )]
    EmptyProfile {
        /// What was asked for.
        profile: String,
    },
    /// There is no such profile.
    #[error("there is no profile {profile:?}{hint}; there are {}", known.join(", "))]
    NoSuchProfile {
        /// What was asked for.
        profile: String,
        /// What may have been meant.
        hint: String,
        /// What there is.
        known: Vec<String>,
    },
}

impl Selection {
    /// Checks that everything that is named exists.
    ///
    /// # Errors
    /// [`SelectionError`] with what may have been meant.
    pub fn check(&self, contract: &Contract) -> Result<(), SelectionError> {
        for pattern in &self.only {
            if !contract
                .requirements
                .iter()
                .any(|requirement| matches(pattern, requirement))
            {
                let ids = contract
                    .requirements
                    .iter()
                    .map(|requirement| requirement.id.as_str());
                let chapters = contract.catalogue.chapters.keys().map(String::as_str);
                let hint = hint(pattern, ids.chain(chapters));
                return Err(SelectionError::NoSuchRequirement {
                    pattern: pattern.clone(),
                    hint,
                });
            }
        }
        for profile in &self.profiles {
            let profiles = &contract.catalogue.profiles;
            if !profiles.contains_key(profile) {
                let hint = hint(profile, profiles.keys().map(String::as_str));
                let known = profiles.keys().cloned().collect();
                return Err(SelectionError::NoSuchProfile {
                    profile: profile.clone(),
                    hint,
                    known,
                });
            }
            if !contract
                .requirements
                .iter()
                .any(|requirement| requirement.profiles.contains(profile))
            {
                return Err(SelectionError::EmptyProfile {
                    profile: profile.clone(),
                });
            }
        }
        Ok(())
    }

    /// Why a requirement is switched off, if it is.
    fn switches_off(&self, requirement: &Requirement) -> Option<String> {
        if !self.only.is_empty() && !self.only.iter().any(|pattern| matches(pattern, requirement)) {
            return Some("not among --only".into());
        }
        if !self.profiles.is_empty()
            && !requirement
                .profiles
                .iter()
                .any(|profile| self.profiles.contains(profile))
        {
            return Some(format!("in none of the profiles {}", self.profiles.join(", ")));
        }
        None
    }
}

fn matches(pattern: &str, requirement: &Requirement) -> bool {
    let pattern = pattern.to_uppercase();
    match pattern.split_once('*') {
        Some((head, tail)) => {
            let id = &requirement.id;
            id.len() >= head.len() + tail.len() && id.starts_with(head) && id.ends_with(tail)
        }
        None => requirement.id == pattern || requirement.chapter == pattern.as_str(),
    }
}

/// The plan for one subject.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every requirement, in the order of the contract.
    pub rows: Vec<PlannedRow>,
    /// The ids of those that will be run.
    pub runnable: BTreeSet<String>,
}

impl Plan {
    /// Resolves what a subject declares and what the user wants.
    #[must_use]
    pub fn new(contract: &Contract, declared: &Declared, selection: &Selection) -> Self {
        let mut runnable = BTreeSet::new();
        let rows = contract.requirements.iter().map(|requirement| {
            let (skipped, why) = Self::skip(requirement, declared, selection).unzip();
            if skipped.is_none() {
                runnable.insert(requirement.id.clone());
            }
            PlannedRow {
                id: requirement.id.clone(),
                title: requirement.title.clone(),
                level: requirement.level,
                chapter: requirement.chapter.clone(),
                reason: requirement.reason.clone(),
                skipped,
                why,
            }
        });
        Self {
            rows: rows.collect(),
            runnable,
        }
    }

    fn skip(
        requirement: &Requirement,
        declared: &Declared,
        selection: &Selection,
    ) -> Option<(Verdict, String)> {
        if let Some(why) = selection.switches_off(requirement) {
            return Some((Verdict::Disabled, why));
        }
        let missing = requirement.missing(declared);
        if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            return Some((Verdict::Unsupported, format!("needs {}", missing.join(", "))));
        }
        if requirement.runnable_rows(declared).next().is_none() {
            return Some((
                Verdict::Unsupported,
                "none of its examples applies to what is declared".into(),
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{catalogue::Catalogue, contract::FeatureSource};

    fn contract() -> Contract {
        Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap()).0
    }

    fn skipped<'a>(plan: &'a Plan, id: &str) -> Option<(Verdict, &'a str)> {
        let row = plan.rows.iter().find(|row| row.id == id).unwrap();
        row.skipped.map(|verdict| (verdict, row.why.as_deref().unwrap()))
    }

    #[test]
    fn every_requirement_has_a_row_and_says_why_it_is_not_run() {
        let contract = contract();
        let plan = Plan::new(&contract, &Declared::default(), &Selection::default());
        assert_eq!(plan.rows.len(), contract.requirements.len());
        assert_eq!(skipped(&plan, "EXIT-001"), None);
        assert_eq!(
            skipped(&plan, "EXIT-007"),
            Some((Verdict::Unsupported, "needs argv"))
        );
    }

    #[test]
    fn a_selection_switches_off_and_must_name_what_exists() {
        let contract = contract();
        let selection = |only: &str| Selection {
            only: vec![only.into()],
            profiles: Vec::new(),
        };
        let exits = contract
            .requirements
            .iter()
            .filter(|requirement| requirement.chapter == "EXIT")
            .count();
        for (pattern, kept) in [("EXIT-001", 1), ("EXIT-0*", exits), ("exit", exits)] {
            selection(pattern).check(&contract).unwrap();
            let plan = Plan::new(&contract, &Declared::default(), &selection(pattern));
            let off = plan
                .rows
                .iter()
                .filter(|row| row.skipped == Some(Verdict::Disabled))
                .count();
            assert_eq!(plan.rows.len() - off, kept, "{pattern}");
        }
        let error = selection("EXIT-01").check(&contract).unwrap_err().to_string();
        assert!(error.contains("did you mean `EXIT-001`?"), "{error}");
        let profiles = Selection {
            only: Vec::new(),
            profiles: vec!["cor".into()],
        };
        let error = profiles.check(&contract).unwrap_err().to_string();
        assert!(error.contains("did you mean `core`?"), "{error}");
    }

    #[test]
    fn a_requirement_about_refusal_is_run_where_nothing_is_declared() {
        let contract = contract();
        let all: BTreeSet<String> = contract.catalogue.capabilities.keys().cloned().collect();
        let everything = Declared {
            capabilities: all,
            choices: BTreeMap::new(),
        };
        let plan = Plan::new(&contract, &everything, &Selection::default());
        let why = "none of its examples applies to what is declared";
        assert_eq!(skipped(&plan, "CAP-003"), Some((Verdict::Unsupported, why)));
    }
}
