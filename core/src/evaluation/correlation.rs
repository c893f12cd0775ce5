//! Whether two orders agree: Spearman's rank correlation.

use super::Fixed;

/// Spearman's ρ of pairs of numbers, such as the distance of a source and how satisfied its reader was: the correlation
/// of their ranks, where equal numbers share the mean of their ranks. Without two pairs, or if all numbers of one side
/// are equal, there is none. Spearman, American Journal of Psychology 15 (1904).
pub fn spearman(pairs: &[(i64, i64)]) -> Option<Fixed> {
    let a = doubled_ranks(pairs.iter().map(|pair| pair.0).collect());
    let b = doubled_ranks(pairs.iter().map(|pair| pair.1).collect());
    // Twice the rank less the mean of twice the ranks, which is n + 1: whole numbers, whatever is tied.
    let n = i128::try_from(pairs.len()).ok()?;
    let off = |rank: &i128| rank - (n + 1);
    let common: i128 = a.iter().zip(&b).map(|(a, b)| off(a) * off(b)).sum();
    let spread = |ranks: &[i128]| ranks.iter().map(|r| off(r) * off(r)).sum::<i128>();
    let (of_a, of_b) = (spread(&a), spread(&b));
    if of_a == 0 || of_b == 0 {
        return None;
    }
    // √(of_a · of_b) to nine further places: both are below n³, so this fits for a million pairs.
    let product = of_a.unsigned_abs().checked_mul(of_b.unsigned_abs())?;
    let (scaled, places) = match product.checked_mul(1_000_000_000_000_000_000) {
        Some(scaled) => (scaled, 1_000_000_000),
        None => (product, 1),
    };
    let rho = Fixed::ratio(common.checked_mul(places)?, i128::try_from(scaled.isqrt()).ok()?);
    // The root is cut off, so a perfect agreement may come out a little above one.
    Some(rho.min(Fixed::ONE).max(Fixed::ZERO.minus(Fixed::ONE)))
}

/// Twice the rank of each, so that the middle between two ranks is whole.
fn doubled_ranks(values: Vec<i64>) -> Vec<i128> {
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let rank = |value: &i64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        // Ranks below + 1 ..= up_to; twice their mean is the sum of the first and the last.
        i128::try_from(below + 1 + up_to).unwrap_or(0)
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(a: &[i64], b: &[i64], rho: &str) {
        let pairs: Vec<(i64, i64)> = a.iter().copied().zip(b.iter().copied()).collect();
        assert_eq!(spearman(&pairs).map(|r| r.decimal(8)).as_deref(), Some(rho), "{a:?} {b:?}");
    }

    #[test]
    fn correlations_are_those_of_the_books() {
        check(&[1, 2, 3, 4], &[10, 20, 30, 99], "1.00000000");
        check(&[1, 2, 3, 4], &[4, 3, 2, 1], "-1.00000000");
        // 1 − 6 · 194 / (10 · 99), the example of IQ and hours of television.
        check(&[106, 100, 86, 101, 99, 103, 97, 113, 112, 110], &[7, 27, 2, 50, 28, 29, 20, 12, 6, 17], "-0.17575758");
        // Ties share ranks 1, 2½, 2½, 4 against 1, 2, 3, 4: 4.5 / √(4.5 · 5).
        check(&[1, 2, 2, 3], &[1, 2, 3, 4], "0.94868330");
    }

    #[test]
    fn without_an_order_there_is_none() {
        for pairs in [&[][..], &[(1, 1)], &[(1, 1), (1, 2)], &[(1, 5), (2, 5), (3, 5)]] {
            assert_eq!(spearman(pairs), None, "{pairs:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_between_the_bounds_and_turns_with_the_order(
            pairs in prop::collection::vec((-20i64..20, -20i64..20), 2..30)
        ) {
            let turned: Vec<_> = pairs.iter().map(|(a, b)| (*a, -b)).collect();
            if let Some(rho) = spearman(&pairs) {
                prop_assert!(rho.units().abs() <= Fixed::ONE.units(), "{rho:?}");
                prop_assert_eq!(spearman(&turned).map(Fixed::units), Some(-rho.units()));
            }
        }
    }
}
