//! What a requirement needs of a subject.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use herm_protocol::initialize::Initialized;

/// What a subject declares.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Names of capabilities.
    pub capabilities: BTreeSet<String>,
    /// Choice → variant.
    pub choices: BTreeMap<String, String>,
}

impl From<&Initialized> for Declared {
    fn from(initialized: &Initialized) -> Self {
        Self {
            capabilities: initialized.capabilities.iter().cloned().collect(),
            choices: initialized.choices.clone(),
        }
    }
}

/// One thing that a requirement needs; written in a tag as `timeout`, `!user`, `kill_scope=tree`
/// or `state=cwd_env|shell`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The capability is declared.
    Capability(String),
    /// The capability is not declared: the requirement is about its refusal.
    Without(String),
    /// The choice has this variant, or one of these: where one variant promises all that another does, both are named.
    Choice(String, Vec<String>),
}

impl Need {
    /// Reads one need of a tag.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Some(capability) = text.strip_prefix('!') {
            return Self::Without(capability.into());
        }
        match text.split_once('=') {
            Some((choice, variants)) => {
                Self::Choice(choice.into(), variants.split('|').map(Into::into).collect())
            }
            None => Self::Capability(text.into()),
        }
    }

    /// Whether a subject that declares this gives what is needed.
    #[must_use]
    pub fn is_met(&self, declared: &Declared) -> bool {
        match self {
            Self::Capability(name) => declared.capabilities.contains(name),
            Self::Without(name) => !declared.capabilities.contains(name),
            Self::Choice(name, variants) => declared
                .choices
                .get(name)
                .is_some_and(|variant| variants.contains(variant)),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => f.write_str(name),
            Self::Without(name) => write!(f, "!{name}"),
            Self::Choice(name, variants) => write!(f, "{name}={}", variants.join("|")),
        }
    }
}
