//! Powers that fall: `e^−x` and `2^−x`, in fixed-point arithmetic.
//!
//! Computed on integers with 60 fractional bits, so no machine rounds them otherwise. **Error:** the intermediate value
//! is within 2⁻⁵⁴ of the exact one and is then truncated to a millionth: a result is at most one millionth below the
//! exact value, and above it by no more than 2⁻⁵⁴. `2^−x` is exact for whole `x` up to 19.

use super::Micro;

/// Fractional bits.
const BITS: u32 = 60;
/// One.
const ONE: u128 = 1 << BITS;
/// ln 2 with 60 fractional bits, truncated.
const LN2: u128 = 799_144_290_325_165_978;
/// Terms of the series. The argument is below ln 2, and 0.6932²²/22! is below 2⁻⁸⁰.
const TERMS: u128 = 22;

/// `e^−(numerator / denominator)`. Over nothing it is zero: an endless time has passed.
pub fn exp_neg(numerator: u64, denominator: u64) -> Micro {
    match fixed(numerator, denominator) {
        Some(x) => micro(halved(series(x % LN2), x / LN2)),
        None => Micro(0),
    }
}

/// `2^−(numerator / denominator)`: what is left after so many half-lives. Over nothing it is zero.
pub fn exp2_neg(numerator: u64, denominator: u64) -> Micro {
    match fixed(numerator, denominator) {
        Some(x) => micro(halved(series((x % ONE * LN2) >> BITS), x >> BITS)),
        None => Micro(0),
    }
}

/// The ratio with 60 fractional bits; nothing if it is so large that nothing would be left.
fn fixed(numerator: u64, denominator: u64) -> Option<u128> {
    let x = (u128::from(numerator) << BITS).checked_div(u128::from(denominator))?;
    (x < 64 << BITS).then_some(x)
}

/// `e^−x` for `x` below ln 2, by Horner's rule: `1 − x(1 − x/2 · (1 − x/3 · …))`. Every bracket lies in 0..=1.
fn series(x: u128) -> u128 {
    (1..=TERMS).rev().fold(ONE, |inner, n| ONE - ((x * inner) >> BITS) / n)
}

fn halved(value: u128, times: u128) -> u128 {
    u32::try_from(times).ok().and_then(|n| value.checked_shr(n)).unwrap_or(0)
}

fn micro(value: u128) -> Micro {
    Micro(u32::try_from((value * 1_000_000) >> BITS).unwrap_or(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(exp_neg(0, 30), Micro::ONE);
        assert_eq!(exp_neg(1, 1).get(), 367_879);
        assert_eq!(exp_neg(3, 1).get(), 49_787);
        assert_eq!(exp_neg(1, 30).get(), 967_216);
        assert_eq!((exp_neg(13, 1).get(), exp_neg(14, 1).get()), (2, 0));
        for (n, left) in [(0, 1_000_000), (1, 500_000), (2, 250_000), (6, 15_625), (19, 1), (20, 0)] {
            assert_eq!(exp2_neg(n, 1).get(), left, "{n}");
        }
        assert_eq!(exp2_neg(1, 2).get(), 707_106);
    }

    #[test]
    fn nothing_is_left_of_an_endless_time() {
        assert_eq!([exp_neg(1, 0), exp2_neg(0, 0), exp_neg(u64::MAX, 1), exp2_neg(u64::MAX, 1)], [Micro(0); 4]);
        assert_eq!(exp_neg(1, 1 << 40).get(), 999_999, "a moment has passed, so a little is lost");
    }

    proptest! {
        /// Against floating point, which tests may use.
        #[test]
        #[allow(clippy::disallowed_types)]
        fn they_are_the_exponentials(n in 0u64..1 << 50, d in 1u64..1 << 50) {
            let x = n as f64 / d as f64;
            for (ours, exact) in [(exp_neg(n, d), (-x).exp()), (exp2_neg(n, d), (-x).exp2())] {
                let below = exact * 1e6 - f64::from(ours.get());
                // A 64-bit float itself is off by about 1e-9 of a millionth here.
                prop_assert!((-1e-6..=1.000_001).contains(&below), "{ours:?} against {exact}");
            }
        }

        #[test]
        fn more_time_never_leaves_more(a in any::<u64>(), b in any::<u64>(), d in 1u64..1 << 45) {
            let (less, more) = (a.min(b), a.max(b));
            prop_assert!(exp_neg(more, d) <= exp_neg(less, d) && exp2_neg(more, d) <= exp2_neg(less, d));
            let (less, more) = (less >> 20, more >> 20);
            prop_assert!(exp_neg(more, d) <= exp_neg(less, d) && exp2_neg(more, d) <= exp2_neg(less, d));
        }
    }
}
