//! What a comparison says.

use std::fmt;

use serde::Serialize;

use super::statistics::Interval;

/// What a comparison of a subject with a baseline says, given the smallest difference that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchVerdict {
    /// Faster by more than the smallest difference that matters.
    Better,
    /// Not slower by more than that.
    NoWorse,
    /// Slower by more than that.
    Worse,
    /// The machine was too restless for the rounds that were run.
    Inconclusive,
}

impl BenchVerdict {
    /// Judges an interval of time of the subject ÷ time of the baseline. `effect` is a part: 0.03 is 3 %.
    #[must_use]
    pub fn of(interval: Interval, effect: f64) -> Self {
        if interval.low > 1.0 + effect {
            Self::Worse
        } else if interval.high < 1.0 - effect {
            Self::Better
        } else if interval.high < 1.0 + effect {
            Self::NoWorse
        } else {
            Self::Inconclusive
        }
    }
}

impl fmt::Display for BenchVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::NoWorse => "no worse",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_interval_has_to_lie_beyond_the_effect() {
        for (low, high, expected) in [
            (1.04, 1.2, BenchVerdict::Worse),
            (1.02, 1.2, BenchVerdict::Inconclusive),
            (0.99, 1.02, BenchVerdict::NoWorse),
            (0.5, 0.96, BenchVerdict::Better),
            (0.5, 0.98, BenchVerdict::NoWorse),
            (0.5, 2.0, BenchVerdict::Inconclusive),
        ] {
            let interval = Interval {
                low,
                ratio: 1.0,
                high,
            };
            assert_eq!(BenchVerdict::of(interval, 0.03), expected, "{low}–{high}");
        }
    }
}
