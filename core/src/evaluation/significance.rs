//! Whether two runs differ by more than chance.

use std::collections::BTreeMap;

use super::Fixed;
use super::draw::Draw;

/// Up to so many queries on which the runs differ, every exchange is counted.
pub const EXACT_UP_TO: u32 = 20;
/// Exchanges that are drawn where there are too many to count.
pub const DRAWS: u64 = 100_000;

/// What a paired test over the same queries says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Queries that both runs were measured on.
    pub n_queries: usize,
    /// Queries on which the second run is better.
    pub n_better: usize,
    /// Queries on which it is worse.
    pub n_worse: usize,
    /// Mean of the second run less mean of the first.
    pub difference: Fixed,
    /// How likely a difference of at least this size, in either direction, is among runs that differ by chance only.
    pub p: Fixed,
    /// How many exchanges it was found from.
    pub n_exchanges: u64,
    /// Whether these were all there are.
    pub exact: bool,
}

/// Fisher's two-sided paired randomisation test of the mean (Smucker, Allan and Carterette, CIKM 2007): if the runs do
/// not differ, their two values of each query could as well be exchanged. Queries with equal values change nothing by
/// being exchanged, so only the others are. Up to [`EXACT_UP_TO`] of these every exchange is counted; otherwise
/// [`DRAWS`] are drawn, and what was observed counts as one of them (Phipson and Smyth, 2010), so *p* is never nothing.
/// Without a common query there is no comparison.
pub fn compare(base: &BTreeMap<String, Fixed>, other: &BTreeMap<String, Fixed>, seed: u64) -> Option<Comparison> {
    let all: Vec<Fixed> = base.iter().filter_map(|(query, value)| Some(other.get(query)?.minus(*value))).collect();
    let difference = Fixed::mean(all.iter().copied())?;
    let differing: Vec<i128> = all.iter().map(|d| d.units()).filter(|d| d.abs() > ROUNDING).collect();
    let (n_extreme, n_exchanges, exact) = match u32::try_from(differing.len()) {
        Ok(n) if n <= EXACT_UP_TO => (count_all(&differing), 1 << n, true),
        _ => (count_drawn(&differing, seed) + 1, DRAWS + 1, false),
    };
    Some(Comparison {
        n_queries: all.len(),
        n_better: differing.iter().filter(|d| **d > 0).count(),
        n_worse: differing.iter().filter(|d| **d < 0).count(),
        difference,
        p: Fixed::ratio(n_extreme.into(), n_exchanges.into()),
        n_exchanges,
        exact,
    })
}

/// Two values that are equal as fractions may differ by this much after rounding.
const ROUNDING: i128 = 4;

/// From which sum on an exchange is at least as extreme as what was observed. Sums that are equal as fractions may
/// differ by the rounding of each part.
fn bound(differences: &[i128]) -> i128 {
    let observed = differences.iter().sum::<i128>().abs();
    observed - ROUNDING * i128::try_from(differences.len()).unwrap_or(0)
}

/// All 2ⁿ exchanges, each from the one before by exchanging one query (Gray code).
fn count_all(differences: &[i128]) -> u64 {
    let bound = bound(differences);
    let mut signed: Vec<i128> = differences.to_vec();
    let mut sum: i128 = signed.iter().sum();
    let mut n_extreme = u64::from(sum.abs() >= bound);
    for step in 1u64..1 << differences.len() {
        if let Some(one) = usize::try_from(step.trailing_zeros()).ok().and_then(|at| signed.get_mut(at)) {
            sum -= 2 * *one;
            *one = -*one;
        }
        n_extreme += u64::from(sum.abs() >= bound);
    }
    n_extreme
}

fn count_drawn(differences: &[i128], seed: u64) -> u64 {
    let bound = bound(differences);
    let mut draw = Draw::new(seed);
    let mut extreme = || {
        let mut sum = 0i128;
        for some in differences.chunks(64) {
            let mut bits = draw.bits();
            for one in some {
                sum += if bits & 1 == 1 { *one } else { -*one };
                bits >>= 1;
            }
        }
        sum.abs() >= bound
    };
    (0..DRAWS).map(|_| u64::from(extreme())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(list: &[(i128, i128)]) -> BTreeMap<String, Fixed> {
        list.iter().zip(1..).map(|((n, d), at)| (format!("q{at:03}"), Fixed::ratio(*n, *d))).collect()
    }

    fn compared(differences: &[i128]) -> Comparison {
        let base = values(&vec![(1, 3); differences.len()]);
        let other = values(&differences.iter().map(|d| (1000 + 3 * d, 3000)).collect::<Vec<_>>());
        compare(&base, &other, 7).unwrap()
    }

    #[test]
    fn few_queries_are_counted_out() {
        // All in one direction: only the observed exchange and its mirror are as extreme.
        let all = compared(&[1, 2, 3, 4, 5]);
        assert_eq!((all.p, all.n_exchanges, all.exact), (Fixed::ratio(2, 32), 32, true));
        assert_eq!((all.n_better, all.n_worse, all.difference.decimal(6)), (5, 0, "0.003000".to_string()));
        // 1 + 2 − 3 = 0: everything is as extreme as nothing.
        assert_eq!(compared(&[1, 2, -3]).p, Fixed::ONE);
        // 1 + 2 + 3 − 4 = 2: of the sums 10 8 6 4 2 4 2 0 and their mirrors (0 twice) all but the two of nothing.
        assert_eq!(compared(&[1, 2, 3, -4]).p, Fixed::ratio(14, 16));
    }

    #[test]
    fn equal_runs_do_not_differ() {
        let same = compared(&[0, 0, 0]);
        assert_eq!((same.p, same.n_better, same.n_worse, same.difference), (Fixed::ONE, 0, 0, Fixed::ZERO));
        assert_eq!(compare(&values(&[]), &values(&[(1, 1)]), 1), None);
    }

    #[test]
    fn many_queries_are_drawn() {
        // Thirty differences of one size, of which twenty are better: p = P(|S| ≥ 10) of a binomial, 0.098737.
        let differences: Vec<i128> = (0..30).map(|at| if at < 20 { 5 } else { -5 }).collect();
        let drawn = compared(&differences);
        assert!(!drawn.exact && drawn.n_exchanges == DRAWS + 1);
        let off = drawn.p.minus(Fixed::ratio(98_737, 1_000_000)).units().abs();
        assert!(off < Fixed::ratio(4, 1000).units(), "{:?}", drawn.p);
        // And never nothing.
        assert_eq!(compared(&[9; 100]).p, Fixed::ratio(1, i128::from(DRAWS) + 1));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_which_run_is_called_the_first(differences in prop::collection::vec(-9i128..10, 1..12)) {
            let mirrored: Vec<i128> = differences.iter().map(|d| -d).collect();
            let (one, two) = (compared(&differences), compared(&mirrored));
            prop_assert_eq!(one.p, two.p);
            prop_assert_eq!((one.n_better, one.n_worse), (two.n_worse, two.n_better));
        }
    }
}
