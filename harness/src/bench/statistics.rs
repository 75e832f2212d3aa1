//! The statistics of a comparison: what the ratio of two times is, and how sure one can be of it.
//!
//! Times of one machine drift together, so two subjects are timed in turn and judged by the ratio *within* each round.
//! The median of the logarithms of these ratios is robust against a round that was disturbed; its interval comes from the
//! percentile bootstrap (B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13), which assumes
//! no distribution. Looking several times before the end would raise more false alarms than stated; so each look spends a
//! part of the error that is allowed in all, after P. C. O'Brien and T. R. Fleming in the form of K. K. G. Lan and
//! D. L. `DeMets` (*Discrete sequential boundaries for clinical trials*, Biometrika 70, 1983).

use serde::Serialize;

/// How often the bootstrap draws. The end of an interval at the sharpest look lies among the most extreme of them.
const DRAWS: usize = 4000;

/// An interval of a ratio around its estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The median ratio.
    pub ratio: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval as seen from a bound.
    #[must_use]
    pub fn divided_by(self, bound: f64) -> Self {
        Self {
            low: self.low / bound,
            ratio: self.ratio / bound,
            high: self.high / bound,
        }
    }

    /// The width of the interval as a part of the ratio: how small a difference could be seen.
    #[must_use]
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.ratio
    }
}

/// A source of random numbers: splitmix64 (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014). A seed gives the same order
/// of trials and the same interval again.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A source that begins at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of a product is even enough: `bound` is far below 2⁶⁴.
        let product = u128::from(self.next()) * (bound as u128);
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// Puts items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The median. The slice is put into order.
///
/// # Panics
/// Never; the median of nothing is NaN.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile at `part` (0–1), between the two nearest values (R. J. Hyndman, Y. Fan, 1996, definition 7). The slice is
/// put into order; the quantile of nothing is NaN.
#[must_use]
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return f64::NAN;
    };
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2⁵² values")]
    let place = part.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the place lies between 0 and the last index"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    values[below] + (values[above] - values[below]) * place.fract()
}

/// The interval of the median ratio of two times, given for each round, with an error of `alpha` on each side.
#[must_use]
pub fn interval(ratios: &[f64], alpha: f64, random: &mut Random) -> Interval {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mut drawn = vec![0.0; logarithms.len()];
    let mut medians: Vec<f64> = (0..DRAWS)
        .map(|_| {
            for value in &mut drawn {
                *value = logarithms[random.below(logarithms.len())];
            }
            // Selecting is enough: the bootstrap needs no order of the rest.
            let middle = drawn.len() / 2;
            *drawn.select_nth_unstable_by(middle, f64::total_cmp).1
        })
        .collect();
    Interval {
        low: quantile(&mut medians, alpha).exp(),
        ratio: median(&mut logarithms.clone()).exp(),
        high: quantile(&mut medians, 1.0 - alpha).exp(),
    }
}

/// The error that each look may spend, so that all together spend `alpha`. `parts` are the parts of all rounds (0–1,
/// ascending, the last one 1) at which one looks.
#[must_use]
pub fn spending(alpha: f64, parts: &[f64]) -> Vec<f64> {
    let limit = normal_quantile(1.0 - alpha / 2.0);
    let mut before = 0.0;
    parts
        .iter()
        .map(|part| {
            let spent = 2.0 * (1.0 - normal(limit / part.sqrt()));
            let now = spent - before;
            before = spent;
            now
        })
        .collect()
}

/// The distribution function of the standard normal distribution, by the fraction of W. J. Cody's `erfc` in the form of
/// *Numerical Recipes* (2007, 6.2.2); its relative error is below 1.2e-7.
fn normal(x: f64) -> f64 {
    let z = (x / std::f64::consts::SQRT_2).abs();
    let t = 1.0 / (1.0 + 0.5 * z);
    let coefficients = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let polynomial = coefficients
        .iter()
        .rev()
        .fold(0.0, |sum, coefficient| sum * t + coefficient);
    let complement = t * (-z * z + polynomial).exp();
    if x < 0.0 {
        complement / 2.0
    } else {
        1.0 - complement / 2.0
    }
}

/// The quantile of the standard normal distribution, by halving.
fn normal_quantile(part: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if normal(middle) < part {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, error: f64) {
        assert!((left - right).abs() <= error, "{left} is not near {right}");
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (x, expected) in [
            (0.0, 0.5),
            (1.0, 0.841_345),
            (1.96, 0.975_002),
            (-2.575_829, 0.005),
        ] {
            near(normal(x), expected, 1e-6);
        }
        near(normal_quantile(0.975), 1.959_964, 1e-5);
    }

    #[test]
    fn quantiles_lie_between_values() {
        near(median(&mut [3.0, 1.0, 2.0]), 2.0, 0.0);
        near(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5, 1e-12);
        near(quantile(&mut [0.0, 10.0], 0.95), 9.5, 1e-12);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn looks_spend_what_is_allowed_and_little_of_it_early() {
        let spent = spending(0.025, &[0.25, 0.5, 0.75, 1.0]);
        near(spent.iter().sum(), 0.025, 1e-6);
        // The published boundaries for four even looks (Lan and `DeMets`, 1983; one-sided 2.5 %).
        for (look, expected) in spent.iter().zip([0.000_007, 0.001_5, 0.008, 0.015_3]) {
            near(*look, expected, 0.000_4);
        }
    }

    /// Ratios around `truth` with a spread as of a busy machine: most near it, one in ten far off.
    fn ratios(truth: f64, count: usize, random: &mut Random) -> Vec<f64> {
        let part = |random: &mut Random| f64::from(u32::try_from(random.below(1000)).unwrap()) / 1000.0;
        (0..count)
            .map(|_| {
                let near = truth * (0.9 + 0.2 * part(random));
                match random.below(20) {
                    0 => near * 3.0,
                    1 => near / 3.0,
                    _ => near,
                }
            })
            .collect()
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = Random::new(7);
        let trials = 200;
        let missed = (0..trials)
            .filter(|_| {
                let interval = interval(&ratios(1.2, 60, &mut random), 0.05, &mut random);
                interval.low > 1.2 || interval.high < 1.2
            })
            .count();
        // One in ten may miss; 33 of 200 is more than four deviations away from it.
        assert!((4..=36).contains(&missed), "{missed} of {trials} missed");
    }

    #[test]
    fn a_seed_gives_the_same_interval_again() {
        let twice = [1, 1].map(|seed| {
            let mut random = Random::new(seed);
            let ratios = ratios(1.0, 40, &mut random);
            interval(&ratios, 0.025, &mut random)
        });
        assert_eq!(twice[0], twice[1]);
    }

    #[test]
    fn every_order_of_three_comes_up() {
        let mut random = Random::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
