//! What the contract has for a row: a requirement, a chapter to come, or a reason for neither.

use std::fmt;

use serde::Serialize;

/// What the contract has for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The ids of the requirements that would have caught it.
    CaughtBy(Vec<String>),
    /// The code of a chapter that is not written yet, and is to catch it.
    Due(String),
    /// Why no requirement can catch it.
    Exception(String),
}

/// An answer without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Requirements would have caught it.
    Caught,
    /// A chapter that is not written yet is to catch it.
    Due,
    /// Nothing can catch it, for a stated reason.
    Excepted,
}

/// A row with no answer, or with more than one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "has {given} of `caught_by`, `due` and `exception`; it needs just one of them: the requirements that would have \
     caught it, the chapter that is to catch it, or why none can"
)]
pub(super) struct NotOneAnswer {
    given: usize,
}

/// The three keys, as they stand in a file.
pub(super) struct Keys {
    pub(super) caught_by: Option<Vec<String>>,
    pub(super) due: Option<String>,
    pub(super) exception: Option<String>,
}

impl TryFrom<Keys> for Answer {
    type Error = NotOneAnswer;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        match keys {
            Keys {
                caught_by: Some(ids),
                due: None,
                exception: None,
            } => Ok(Self::CaughtBy(ids)),
            Keys {
                caught_by: None,
                due: Some(chapter),
                exception: None,
            } => Ok(Self::Due(chapter)),
            Keys {
                caught_by: None,
                due: None,
                exception: Some(reason),
            } => Ok(Self::Exception(reason)),
            Keys {
                caught_by,
                due,
                exception,
            } => Err(NotOneAnswer {
                given: [caught_by.is_some(), due.is_some(), exception.is_some()]
                    .iter()
                    .filter(|given| **given)
                    .count(),
            }),
        }
    }
}

impl Answer {
    /// How the row stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self {
            Self::CaughtBy(_) => Standing::Caught,
            Self::Due(_) => Standing::Due,
            Self::Exception(_) => Standing::Excepted,
        }
    }

    /// The requirements that would have caught it; none unless it is caught.
    #[must_use]
    pub fn caught_by(&self) -> &[String] {
        match self {
            Self::CaughtBy(ids) => ids,
            Self::Due(_) | Self::Exception(_) => &[],
        }
    }

    /// The chapter that is to catch it.
    #[must_use]
    pub fn due(&self) -> Option<&str> {
        match self {
            Self::Due(chapter) => Some(chapter),
            Self::CaughtBy(_) | Self::Exception(_) => None,
        }
    }

    /// Why nothing can catch it.
    #[must_use]
    pub fn exception(&self) -> Option<&str> {
        match self {
            Self::Exception(reason) => Some(reason),
            Self::CaughtBy(_) | Self::Due(_) => None,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caught => "caught",
            Self::Due => "due",
            Self::Excepted => "excepted",
        })
    }
}
