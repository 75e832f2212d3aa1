//! Compares how long subjects take for the same thing, in a way that noise cannot fake.
//!
//! Every round times each contender once, in a random order, so that whatever disturbs the machine disturbs all of them.
//! The first contender takes part twice, as two adapters of its own: the ratio of the two, which is 1 by construction, is
//! the control that shows how far the machine can be trusted.

mod contender;
pub mod statistics;
mod verdict;

use std::time::Duration;

use serde::Serialize;

use crate::scene::Failure;

pub use contender::{Contender, Operation, PlainCommand, SubjectExec};
pub use statistics::Interval;
use statistics::{Random, interval, quantile, spending};
pub use verdict::BenchVerdict;

/// The error of all looks together, on each side.
const ALPHA: f64 = 0.025;

/// The parts of all rounds at which one looks whether the answer is clear already.
const LOOKS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// How to compare.
#[derive(Clone, Copy, Debug)]
pub struct BenchOptions {
    /// The most rounds; fewer are run when the answer is clear before.
    pub rounds: u32,
    /// Rounds before the first that counts.
    pub warm_up: u32,
    /// The smallest difference that matters, as a part of the baseline's time.
    pub effect: f64,
    /// How many times the baseline's time is allowed; 1 asks which one is faster. The control is always held to 1.
    pub bound: f64,
    /// Where the random order begins.
    pub seed: u64,
    /// How long one trial may take.
    pub limit: Duration,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            rounds: 400,
            warm_up: 20,
            effect: 0.03,
            bound: 1.0,
            seed: 1,
            limit: Duration::from_secs(30),
        }
    }
}

/// Times of one contender, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Its name.
    pub name: String,
    /// The median.
    pub p50_ms: f64,
    /// What 95 of 100 stay below.
    pub p95_ms: f64,
}

/// The subject beside one other contender.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The baseline's name.
    pub baseline: String,
    /// Time of the subject ÷ time of the baseline.
    pub interval: Interval,
    /// How many times the baseline's time is allowed.
    pub bound: f64,
    /// What that says.
    pub verdict: BenchVerdict,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct BenchResult {
    /// The operation that was timed.
    pub operation: String,
    /// Rounds that were counted.
    pub rounds: usize,
    /// The smallest difference that matters.
    pub effect: f64,
    /// Times of each contender; the control is the last.
    pub times: Vec<Times>,
    /// The subject beside each baseline.
    pub comparisons: Vec<Comparison>,
    /// The subject beside itself: the width of this interval is the noise floor.
    pub control: Comparison,
}

impl BenchResult {
    /// The worst of all verdicts; a control that is not 1 makes everything inconclusive.
    #[must_use]
    pub fn verdict(&self) -> BenchVerdict {
        if matches!(self.control.verdict, BenchVerdict::Worse | BenchVerdict::Better) {
            return BenchVerdict::Inconclusive;
        }
        let has = |verdict| {
            self.comparisons
                .iter()
                .any(|comparison| comparison.verdict == verdict)
        };
        [
            BenchVerdict::Worse,
            BenchVerdict::Inconclusive,
            BenchVerdict::NoWorse,
        ]
        .into_iter()
        .find(|verdict| has(*verdict))
        .unwrap_or(BenchVerdict::Better)
    }
}

/// Times a subject beside baselines. `control` is the subject once more, on its own.
///
/// # Errors
/// Whatever a contender fails with: a trial that did not do what it should is no time.
pub async fn compare(
    operation: &str,
    subject: Contender,
    baselines: Vec<Contender>,
    control: Contender,
    options: &BenchOptions,
) -> Result<BenchResult, Failure> {
    let mut contenders = vec![subject];
    contenders.extend(baselines);
    contenders.push(control);
    let result = look_until_clear(operation, &mut contenders, options).await;
    for contender in &mut contenders {
        contender.end().await;
    }
    result
}

async fn look_until_clear(
    operation: &str,
    contenders: &mut [Contender],
    options: &BenchOptions,
) -> Result<BenchResult, Failure> {
    let mut random = Random::new(options.seed);
    for _ in 0..options.warm_up {
        round(contenders, &mut random, options).await?;
    }
    for contender in &mut *contenders {
        contender.times.clear();
    }
    let mut result = None;
    for (part, alpha) in LOOKS.into_iter().zip(spending(ALPHA, &LOOKS)) {
        let until = rounded(f64::from(options.rounds) * part);
        while (contenders[0].times.len() as u64) < until {
            round(contenders, &mut random, options).await?;
        }
        let seen = look(operation, contenders, alpha, options, &mut random);
        let clear = seen.verdict() != BenchVerdict::Inconclusive;
        result = Some(seen);
        if clear {
            break;
        }
    }
    result.ok_or_else(|| Failure::suite("no round was run"))
}

fn rounded(rounds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of rounds is small and not negative"
    )]
    let rounded = rounds.ceil() as u64;
    rounded.max(1)
}

/// Times everybody once, in a random order.
async fn round(
    contenders: &mut [Contender],
    random: &mut Random,
    options: &BenchOptions,
) -> Result<(), Failure> {
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    random.shuffle(&mut order);
    for index in order {
        contenders[index].once(options.limit).await?;
    }
    Ok(())
}

fn look(
    operation: &str,
    contenders: &[Contender],
    alpha: f64,
    options: &BenchOptions,
    random: &mut Random,
) -> BenchResult {
    let subject = &contenders[0];
    let control = contenders.len() - 1;
    let mut comparisons: Vec<_> = contenders
        .iter()
        .enumerate()
        .skip(1)
        .map(|(index, other)| {
            let ratios: Vec<f64> = subject
                .times
                .iter()
                .zip(&other.times)
                .map(|(ours, theirs)| ours / theirs)
                .collect();
            let interval = interval(&ratios, alpha, random);
            let bound = if index == control { 1.0 } else { options.bound };
            Comparison {
                baseline: other.name.clone(),
                interval,
                bound,
                verdict: BenchVerdict::of(interval.divided_by(bound), options.effect),
            }
        })
        .collect();
    let control = comparisons.pop();
    let times = |contender: &Contender| {
        let mut times = contender.times.clone();
        Times {
            name: contender.name.clone(),
            p50_ms: quantile(&mut times, 0.5) * 1000.0,
            p95_ms: quantile(&mut times, 0.95) * 1000.0,
        }
    };
    let even = Interval {
        low: 1.0,
        ratio: 1.0,
        high: 1.0,
    };
    BenchResult {
        operation: operation.into(),
        rounds: subject.times.len(),
        effect: options.effect,
        times: contenders.iter().map(times).collect(),
        comparisons,
        control: control.unwrap_or(Comparison {
            baseline: subject.name.clone(),
            interval: even,
            bound: 1.0,
            verdict: BenchVerdict::NoWorse,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contender::test::Scripted;

    /// Compares contenders whose times are `base` × their factor, each round disturbed as a whole and each trial a little.
    async fn compared(ours: f64, theirs: f64, seed: u64) -> BenchResult {
        let contender =
            |name: &str, factor: f64, seed: u64| Contender::new(name, Box::new(Scripted::new(factor, seed)));
        let options = BenchOptions {
            rounds: 200,
            warm_up: 1,
            seed,
            ..BenchOptions::default()
        };
        let subject = contender("subject", ours, seed * 3);
        let baseline = contender("baseline", theirs, seed * 3 + 1);
        let control = contender("control", ours, seed * 3 + 2);
        compare("exec", subject, vec![baseline], control, &options)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_clear_difference_is_found_before_all_rounds_are_run() {
        let slower = compared(1.5, 1.0, 1).await;
        assert_eq!(slower.verdict(), BenchVerdict::Worse);
        assert!(slower.rounds < 200, "{} rounds", slower.rounds);
        assert_eq!(compared(0.5, 1.0, 2).await.verdict(), BenchVerdict::Better);
        let slower = &slower.comparisons[0].interval;
        assert!(slower.low < 1.5 && slower.high > 1.5, "{slower:?}");
    }

    #[tokio::test]
    async fn two_equals_raise_few_alarms_and_a_fifth_more_is_found_mostly() {
        let (mut alarms, mut found) = (0, 0);
        for seed in 0..60 {
            alarms += u32::from(compared(1.0, 1.0, seed).await.verdict() == BenchVerdict::Worse);
            found += u32::from(compared(1.2, 1.0, seed).await.verdict() == BenchVerdict::Worse);
        }
        assert!(alarms <= 2, "{alarms} false alarms in 60");
        assert!(found >= 48, "{found} of 60 found");
    }

    #[tokio::test]
    async fn a_trial_that_fails_is_no_time() {
        let broken = Contender::new("broken", Box::new(Scripted::broken()));
        let [subject, control] =
            [1, 2].map(|seed| Contender::new("subject", Box::new(Scripted::new(1.0, seed))));
        let failure = compare("exec", subject, vec![broken], control, &BenchOptions::default())
            .await
            .unwrap_err();
        assert!(failure.seen.contains("broken"), "{failure:?}");
    }
}
