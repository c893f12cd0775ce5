//! How far a mean over these queries may be from the mean over others like them.

use super::Fixed;
use super::draw::Draw;

/// How intervals are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// What is drawn follows from it.
    pub seed: u64,
    /// How many times the queries are drawn anew.
    pub n_resamples: usize,
    /// How many of a thousand intervals shall hold the true mean.
    pub level_milli: u16,
}

/// Most resamples; their cost is this times the number of queries.
pub const RESAMPLES_MAX: usize = 100_000;

impl Default for Bootstrap {
    /// Ten thousand resamples less one, so that the bounds of 95 % are the 250th mean from below and from above.
    fn default() -> Bootstrap {
        Bootstrap { seed: 1, n_resamples: 9_999, level_milli: 950 }
    }
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The lower bound.
    pub low: Fixed,
    /// The upper bound.
    pub high: Fixed,
}

impl Bootstrap {
    /// The percentile interval of the mean (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section
    /// 13.3): with *B* resamples and α = 1 − level, the *k*-th mean from below and from above, k = ⌊(B + 1) α / 2⌋, and at
    /// least the first. Nothing has no interval.
    pub fn interval(&self, values: &[Fixed]) -> Option<Interval> {
        if values.is_empty() {
            return None;
        }
        let n_resamples = self.n_resamples.clamp(1, RESAMPLES_MAX);
        let mut draw = Draw::new(self.seed);
        let mut sums: Vec<Fixed> = Vec::with_capacity(n_resamples);
        for _ in 0..n_resamples {
            let drawn = (0..values.len()).filter_map(|_| values.get(draw.below(values.len())));
            sums.push(drawn.fold(Fixed::ZERO, |sum, value| sum.plus(*value)));
        }
        sums.sort_unstable();
        let outside = usize::from(1000 - self.level_milli.min(1000));
        let k = ((n_resamples + 1) * outside / 2000).max(1).min(n_resamples);
        let n = i128::try_from(values.len()).ok()?;
        let mean = |at: usize| sums.get(at).map(|sum| sum.shared_by(n));
        Some(Interval { low: mean(k - 1)?, high: mean(n_resamples - k)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_coins_is_that_of_the_binomial() {
        // A hundred coins of which half fell: the mean of a resample is binomial, with the deviation 0.05, and its
        // 2.5 % quantile is 0.40.
        let values: Vec<Fixed> = (0..100).map(|at| Fixed::ONE.times(at % 2)).collect();
        let interval = Bootstrap::default().interval(&values).unwrap();
        assert_eq!((interval.low.to_string().as_str(), interval.high.to_string().as_str()), ("0.4000", "0.6000"));
        let narrower = Bootstrap { level_milli: 500, ..Bootstrap::default() }.interval(&values).unwrap();
        assert!(interval.low < narrower.low && narrower.high < interval.high);
    }

    #[test]
    fn equal_values_leave_no_doubt_and_none_have_no_interval() {
        let interval = Bootstrap::default().interval(&[Fixed::ONE; 5]).unwrap();
        assert_eq!((interval.low, interval.high), (Fixed::ONE, Fixed::ONE));
        assert_eq!(Bootstrap::default().interval(&[]), None);
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_interval_within_the_values(
            values in prop::collection::vec(0i128..1000, 1..20), seed: u64
        ) {
            let values: Vec<Fixed> = values.into_iter().map(|v| Fixed::ratio(v, 1000)).collect();
            let bootstrap = Bootstrap { seed, n_resamples: 199, level_milli: 950 };
            let interval = bootstrap.interval(&values).unwrap();
            prop_assert_eq!(bootstrap.interval(&values), Some(interval));
            prop_assert!(interval.low <= interval.high);
            prop_assert!(values.iter().min().unwrap() <= &interval.low && &interval.high <= values.iter().max().unwrap());
        }
    }
}
