//! What a sandbox does without.

use std::fmt;

/// A default that does not hold in a sandbox, or a wish that was not heard: told when it is opened, never dropped silently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakening {
    /// What it is about, as one word or the name of a setting, such as `pids`.
    pub subject: &'static str,
    /// What does not hold, why, and what to do about it: one line for people.
    pub notice: String,
}

impl Weakening {
    pub(super) fn new(subject: &'static str, notice: impl Into<String>) -> Self {
        Self {
            subject,
            notice: notice.into(),
        }
    }
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.notice)
    }
}
