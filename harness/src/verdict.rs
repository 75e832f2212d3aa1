//! What is said of a requirement, and what that does to the exit code.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How binding a requirement is (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Optional; told, never counted against a backend.
    May,
    /// Recommended; told, never counted against a backend.
    Should,
    /// Binding.
    Must,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::May => "MAY",
            Self::Should => "SHOULD",
            Self::Must => "MUST",
        })
    }
}

/// What is said of one requirement on one subject, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Kept.
    Passed,
    /// Switched off by the user.
    Disabled,
    /// The subject does not declare what it needs.
    Unsupported,
    /// Broken, and the expectation file says so, with a reason.
    KnownFailure,
    /// Passed after a retry.
    Flaky,
    /// Its precondition could not be made.
    Inconclusive,
    /// Kept, although the expectation file says that it is broken.
    UnexpectedPass,
    /// Observed against the rule.
    Failed,
    /// The suite, the adapter's protocol or a condition broke.
    Error,
}

impl Verdict {
    /// Every verdict, from best to worst.
    pub const ALL: [Self; 9] = [
        Self::Passed,
        Self::Disabled,
        Self::Unsupported,
        Self::KnownFailure,
        Self::Flaky,
        Self::Inconclusive,
        Self::UnexpectedPass,
        Self::Failed,
        Self::Error,
    ];

    /// The stable name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Disabled => "disabled",
            Self::Unsupported => "unsupported",
            Self::KnownFailure => "known_failure",
            Self::Flaky => "flaky",
            Self::Inconclusive => "inconclusive",
            Self::UnexpectedPass => "unexpected_pass",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }

    /// Whether the requirement was tested to its end, however it ended.
    #[must_use]
    pub fn ran(self) -> bool {
        !matches!(self, Self::Disabled | Self::Unsupported)
    }

    /// Whether it counts as red for a mutant: something was noticed.
    #[must_use]
    pub fn is_red(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }

    /// What the verdict on a requirement of this level does to the exit code; `certify` makes flakiness count.
    #[must_use]
    pub fn exit(self, level: Level, certify: bool) -> Exit {
        match self {
            Self::Error => Exit::Broken,
            Self::UnexpectedPass => Exit::NotConformant,
            Self::Failed | Self::Inconclusive if level == Level::Must => Exit::NotConformant,
            Self::Flaky if level == Level::Must && certify => Exit::NotConformant,
            _ => Exit::Conformant,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The exit codes of the `herm` command. The worst of a run wins, in the order usage, broken, not conformant, nothing ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: conformant, or simply done.
    Conformant,
    /// 1: a MUST is not kept, or an expectation is stale.
    NotConformant,
    /// 2: the command line, a manifest or a file of the user's cannot be used.
    Usage,
    /// 3: nothing ran.
    NothingRan,
    /// 4: the suite or the adapter broke.
    Broken,
    /// 5: `bench` found a regression.
    Regression,
    /// 6: `prove` found a survivor, collateral or an unproved requirement.
    Survivor,
    /// 130 or 143: interrupted by SIGINT or SIGTERM (128 + the signal's number).
    Interrupted {
        /// The signal's number.
        signal: u8,
    },
}

impl Exit {
    /// The process exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Conformant => 0,
            Self::NotConformant => 1,
            Self::Usage => 2,
            Self::NothingRan => 3,
            Self::Broken => 4,
            Self::Regression => 5,
            Self::Survivor => 6,
            Self::Interrupted { signal } => 128 + signal,
        }
    }

    /// What the code means, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Conformant => "every MUST that was tested is kept, or is a known failure",
            Self::NotConformant => "a MUST is not kept, or an expectation is stale",
            Self::Usage => "the command line or a file that it names cannot be used",
            Self::NothingRan => "nothing ran",
            Self::Broken => "the suite or an adapter broke",
            Self::Regression => "slower than the baseline",
            Self::Survivor => "the suite did not notice a mutant, or blamed the wrong requirement",
            Self::Interrupted { .. } => "interrupted",
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Conformant => 0,
            Self::NothingRan => 1,
            Self::NotConformant | Self::Regression | Self::Survivor => 2,
            Self::Broken => 3,
            Self::Usage => 4,
            Self::Interrupted { .. } => 5,
        }
    }

    /// The worse of two.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the verdicts, as the documentation has it.
    #[test]
    fn every_verdict_does_to_the_exit_code_what_is_documented() {
        use Level::{May, Must, Should};
        for (verdict, must, other) in [
            (Verdict::Error, 4, 4),
            (Verdict::Failed, 1, 0),
            (Verdict::UnexpectedPass, 1, 1),
            (Verdict::Inconclusive, 1, 0),
            (Verdict::Flaky, 0, 0),
            (Verdict::KnownFailure, 0, 0),
            (Verdict::Unsupported, 0, 0),
            (Verdict::Disabled, 0, 0),
            (Verdict::Passed, 0, 0),
        ] {
            assert_eq!(verdict.exit(Must, false).code(), must, "{verdict}");
            for level in [Should, May] {
                assert_eq!(verdict.exit(level, false).code(), other, "{verdict}");
            }
        }
        assert_eq!(Verdict::Flaky.exit(Must, true).code(), 1);
    }

    #[test]
    fn the_worst_exit_wins_in_the_documented_order() {
        let order = [
            Exit::Conformant,
            Exit::NothingRan,
            Exit::NotConformant,
            Exit::Broken,
            Exit::Usage,
        ];
        for (index, better) in order.iter().enumerate() {
            for worse in &order[index..] {
                assert_eq!(better.worst(*worse), *worse);
                assert_eq!(worse.worst(*better), *worse);
            }
        }
    }
}
