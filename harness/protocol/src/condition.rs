//! Conditions: acts on a subject's world that its own interface has no word for, such as killing its engine.
//!
//! They exist for tests. A subject offers those that it can bring about, and undoes each when it is cleared; the catalogue
//! names and explains them (`herm list conditions`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sandbox::Variable;

/// Answer to `condition.list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionList {
    /// What can be brought about here and now.
    pub conditions: Vec<ConditionInfo>,
}

/// A condition that can be brought about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionInfo {
    /// Its name in the catalogue.
    pub name: String,
    /// What is done for it here, in one line for people.
    pub does: String,
    /// What an error that comes of it has to name: a program, an address, a variable. Only told by conditions that take
    /// something away, and by those of other images: there it is the image's name, which a caller may open a sandbox with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
}

/// Parameters of `condition.apply` and `condition.clear`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionParams {
    /// Its name.
    pub name: String,
    /// The sandbox that it strikes. A condition of the whole subject has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// Answer to `condition.apply`: the condition holds from now on, until it is cleared or the run ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionApplied {
    /// Variables that adapters are to be started with while it holds, in place of those of the same name: how a tool, an
    /// engine or a credential is taken away from one adapter without hurting another. Empty when it holds for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<Variable>,
}
