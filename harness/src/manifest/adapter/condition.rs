//! Brings conditions about, and undoes them.

use herm_protocol::{
    ByteString, Error,
    condition::{ConditionApplied, ConditionInfo, ConditionList, ConditionParams},
    sandbox::Variable,
};

use super::{ManifestAdapter, lock, operation};
use crate::manifest::{Values, file::Condition};

impl ManifestAdapter {
    pub(super) fn conditions(&self) -> Result<ConditionList, Error> {
        if self.manifest.conditions.is_empty() {
            return Err(Error::unsupported("condition.list"));
        }
        let values = self.values();
        let conditions = self.manifest.conditions.iter().map(|(name, condition)| {
            let names = condition.names.as_ref();
            ConditionInfo {
                name: name.get_ref().clone(),
                does: condition.does.clone(),
                names: names.map(|names| names.get_ref().fill(&values).to_string_lossy().into_owned()),
            }
        });
        Ok(ConditionList {
            conditions: conditions.collect(),
        })
    }

    pub(super) async fn apply(&self, params: ConditionParams) -> Result<ConditionApplied, Error> {
        let condition = self.condition(&params.name)?;
        let values = self.values_struck(condition, &params)?;
        // What holds already is not brought about again.
        if let Some(apply) = condition.apply.as_ref().filter(|_| self.hold(&params)) {
            let what = format!("bring about {}", params.name);
            if let Err(error) = operation(apply.get_ref(), &values, &what).await {
                // What was not brought about may have nothing to undo; the first error is the one that tells.
                let _ = self.clear(&params).await;
                return Err(error);
            }
        }
        let variable = |(name, value): (&toml::Spanned<String>, &toml::Spanned<crate::manifest::Text>)| {
            let value = ByteString::from(value.get_ref().fill(&values));
            Variable::new(name.get_ref().as_str(), value)
        };
        Ok(ConditionApplied {
            environment: condition.environment.iter().map(variable).collect(),
        })
    }

    /// Counts a condition as one that holds, from before its command: one that fails half-way has to be undone, too. Says
    /// whether it did not hold before.
    fn hold(&self, params: &ConditionParams) -> bool {
        let mut held = lock(&self.held);
        let new = !held.contains(params);
        if new {
            held.push(params.clone());
        }
        new
    }

    /// Undoes a condition; one that does not hold is no error.
    pub(super) async fn clear(&self, params: &ConditionParams) -> Result<(), Error> {
        let condition = self.condition(&params.name)?;
        let held = {
            let mut held = lock(&self.held);
            let there = held.iter().position(|held| held == params);
            there.map(|index| held.swap_remove(index))
        };
        let (Some(held), Some(clear)) = (held, &condition.clear) else {
            return Ok(());
        };
        let mut values = self.values();
        if let Some(sandbox) = &params.sandbox {
            values.one.insert("sandbox", sandbox.as_str().into());
        }
        let cleared = operation(clear.get_ref(), &values, &format!("undo {}", params.name)).await;
        cleared.map(|_| ()).inspect_err(|_| lock(&self.held).push(held))
    }

    /// Undoes what the harness has forgotten, the last first.
    pub(super) async fn clear_all(&self) {
        let held = lock(&self.held).clone();
        for params in held.iter().rev() {
            // There is nobody left who could be told.
            let _ = self.clear(params).await;
        }
    }

    fn condition(&self, name: &str) -> Result<&Condition, Error> {
        self.manifest
            .conditions
            .get(name)
            .ok_or_else(|| Error::unsupported(format!("the condition {name}")))
    }

    /// The values of a condition's commands, when it is applied as it has to be: to a sandbox that there is, or to none.
    fn values_struck(&self, condition: &Condition, params: &ConditionParams) -> Result<Values, Error> {
        let strikes_sandbox = condition
            .apply
            .as_ref()
            .is_some_and(|apply| apply.get_ref().uses("sandbox"));
        match (&params.sandbox, strikes_sandbox) {
            (None, false) => Ok(self.values()),
            (None, true) => {
                let problem = format!("is missing; {} strikes one sandbox", params.name);
                Err(Error::invalid_argument("sandbox", problem))
            }
            (Some(_), false) => {
                let problem = format!("is given, but {} strikes the whole subject", params.name);
                Err(Error::invalid_argument("sandbox", problem))
            }
            (Some(sandbox), true) if self.sandboxes().contains_key(sandbox) => Ok(self.values_of(sandbox)),
            (Some(sandbox), true) => Err(Error::sandbox_not_found(sandbox)),
        }
    }
}
