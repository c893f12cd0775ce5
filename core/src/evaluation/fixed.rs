//! Decimal numbers with eighteen places: what a measure of quality is counted in.
//!
//! A mean over hundreds of queries is printed to four places and must come out the same on every machine, so it is
//! an integer all the way. Millionths ([`crate::measure::Micro`]) would not do: sums of their roundings reach the
//! fourth place.

use std::fmt;

/// How many units make one.
const SCALE: i128 = 1_000_000_000_000_000_000;
/// Places after the point.
const PLACES: u32 = 18;
/// Fractional bits of the mantissa whose logarithm is taken: its square still fits 128 bits.
const LOG_BITS: u32 = 63;

/// A decimal number with eighteen places.
///
/// **Rounding:** a quotient is rounded to the nearest unit, away from zero in the middle. These numbers are compared
/// with those of other programs, which round to nearest too; nothing is granted or ranked by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fixed(i128);

impl Fixed {
    /// Nothing.
    pub const ZERO: Fixed = Fixed(0);
    /// One.
    pub const ONE: Fixed = Fixed(SCALE);

    /// So many units of 10⁻¹⁸.
    pub const fn from_units(units: i128) -> Fixed {
        Fixed(units)
    }

    /// In units of 10⁻¹⁸.
    pub const fn units(self) -> i128 {
        self.0
    }

    /// `numerator / denominator`; a ratio over nothing is zero.
    pub fn ratio(numerator: i128, denominator: i128) -> Fixed {
        if denominator == 0 {
            return Fixed::ZERO;
        }
        let negative = (numerator < 0) != (denominator < 0);
        let (above, below) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        // Long division, digit by digit: scaling the numerator first would overflow for sums of large gains.
        let (mut quotient, mut rest) = (above / below, above % below);
        for _ in 0..PLACES {
            rest = rest.saturating_mul(10);
            quotient = quotient.saturating_mul(10).saturating_add(rest / below);
            rest %= below;
        }
        if rest >= below - rest {
            quotient = quotient.saturating_add(1);
        }
        let units = i128::try_from(quotient).unwrap_or(i128::MAX);
        Fixed(if negative { -units } else { units })
    }

    /// `self / other`; zero if the other is.
    pub fn over(self, other: Fixed) -> Fixed {
        Fixed::ratio(self.0, other.0)
    }

    /// The whole multiple.
    pub fn times(self, n: i128) -> Fixed {
        Fixed(self.0.saturating_mul(n))
    }

    /// The sum.
    pub fn plus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_add(other.0))
    }

    /// The difference.
    pub fn minus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_sub(other.0))
    }

    /// The mean; nothing has none.
    pub fn mean(values: impl IntoIterator<Item = Fixed>) -> Option<Fixed> {
        let (mut sum, mut n) = (Fixed::ZERO, 0i128);
        for value in values {
            (sum, n) = (sum.plus(value), n + 1);
        }
        (n > 0).then(|| sum.shared_by(n))
    }

    /// One of `n` equal parts; nothing if there are none.
    pub fn shared_by(self, n: i128) -> Fixed {
        if n <= 0 {
            return Fixed::ZERO;
        }
        let (quotient, rest) = (self.0 / n, self.0 % n);
        let further = if rest.abs() >= n - rest.abs() { rest.signum() } else { 0 };
        Fixed(quotient + further)
    }

    /// The same with so many places and zeros behind them, to the nearest, in the middle to the even digit, as `printf`
    /// does.
    pub fn rounded(self, places: u32) -> Fixed {
        let step = 10i128.pow(PLACES.saturating_sub(places));
        let (quotient, rest) = (self.0 / step, self.0 % step);
        let up = match (rest.abs() * 2).cmp(&step) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => quotient % 2 != 0,
            std::cmp::Ordering::Greater => true,
        };
        Fixed((quotient + if up { rest.signum() } else { 0 }) * step)
    }

    /// The number with so many places, 1 to 18.
    pub fn decimal(self, places: u32) -> String {
        let places = places.clamp(1, PLACES);
        let rounded = self.rounded(places).0;
        let (whole, part) = (rounded.abs() / SCALE, rounded.abs() % SCALE / 10i128.pow(PLACES - places));
        let sign = if rounded < 0 { "-" } else { "" };
        format!("{sign}{whole}.{part:0width$}", width = places as usize)
    }
}

/// Four places, as such figures are published.
impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.decimal(4))
    }
}

/// The binary logarithm, to two units of 10⁻¹⁸; of zero it is said to be zero.
///
/// Squaring doubles a logarithm, so each carry past two is its next binary digit. What a squaring cuts off weighs half
/// as much with every digit that is already known, so the errors sum to less than two units.
pub fn log2(n: u64) -> Fixed {
    if n == 0 {
        return Fixed::ZERO;
    }
    let whole = n.ilog2();
    let mut mantissa = u128::from(n) << (LOG_BITS - whole);
    let mut bits: u128 = 0;
    for _ in 0..LOG_BITS {
        mantissa = (mantissa * mantissa) >> LOG_BITS;
        bits <<= 1;
        if mantissa >> (LOG_BITS + 1) > 0 {
            mantissa >>= 1;
            bits |= 1;
        }
    }
    let half = 1u128 << (LOG_BITS - 1);
    let part = (bits * SCALE.unsigned_abs() + half) >> LOG_BITS;
    Fixed(i128::from(whole) * SCALE + i128::try_from(part).unwrap_or(SCALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logarithms_are_those_of_the_tables() {
        for (n, units) in [
            (1, 0),
            (2, SCALE),
            (1 << 40, 40 * SCALE),
            (1 << 63, 63 * SCALE),
            // OEIS A020857, A020858, A020860, A020862: the digits after these are 45, 87, 44 and 87.
            (3, 1_584_962_500_721_156_181),
            (5, 2_321_928_094_887_362_348),
            (7, 2_807_354_922_057_604_107),
            (10, 3_321_928_094_887_362_348),
            (11, 3_459_431_618_637_297_256),
        ] {
            let off = (log2(n).0 - units).abs();
            assert!(off <= 2, "log2({n}) is off by {off}");
        }
    }

    #[test]
    fn numbers_are_written_as_printf_writes_them() {
        for (numerator, denominator, text) in [
            (1, 3, "0.3333"),
            (2, 3, "0.6667"),
            (-2, 3, "-0.6667"),
            (1, 1, "1.0000"),
            // 0.03125 and 0.09375 lie in the middle and are exact in binary too.
            (1, 32, "0.0312"),
            (3, 32, "0.0938"),
            (-1, 100_000, "0.0000"),
            (1, 0, "0.0000"),
        ] {
            assert_eq!(Fixed::ratio(numerator, denominator).to_string(), text, "{numerator}/{denominator}");
        }
        assert_eq!(Fixed::ratio(1, 7).decimal(18), "0.142857142857142857");
        assert_eq!(Fixed::ratio(2, 3).decimal(18), "0.666666666666666667");
    }

    #[test]
    fn a_mean_is_of_something() {
        assert_eq!(Fixed::mean([]), None);
        assert_eq!(Fixed::mean([Fixed::ONE, Fixed::ZERO]), Some(Fixed::ratio(1, 2)));
        assert_eq!(Fixed::ONE.shared_by(3), Fixed::ratio(1, 3));
        assert_eq!(Fixed::from_units(-5).shared_by(2), Fixed::from_units(-3));
    }

    proptest! {
        #[test]
        fn logarithms_of_products_are_sums(a in 1u64..1 << 31, b in 1u64..1 << 31) {
            let off = log2(a * b).0 - log2(a).0 - log2(b).0;
            prop_assert!(off.abs() <= 6, "{off}");
        }

        #[test]
        fn logarithms_grow(n in 1u64..u64::from(u32::MAX)) {
            prop_assert!(log2(n) < log2(n + 1));
        }

        #[test]
        fn a_ratio_is_within_half_a_unit(a in -1_000_000_000i128..1_000_000_000, b in 1i128..1_000_000_000) {
            let off = Fixed::ratio(a, b).0 * b - a * SCALE;
            prop_assert!(off.abs() * 2 <= b);
            prop_assert_eq!(Fixed::ratio(a, b), Fixed(a * SCALE).shared_by(b));
        }
    }
}
