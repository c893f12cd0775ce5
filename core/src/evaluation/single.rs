//! The score of a run, as precise as other programs take it.
//!
//! `trec_eval` keeps a score in single precision. Two scores that differ further behind are a tie to it, and a tie is
//! broken by the document's name, so whoever wants its figures must round as it does: to 24 significant bits, in the
//! middle to the even one. Here that is done on integers.

use std::cmp::Ordering;

/// Digits that are read before and behind the point. What a system writes as a score has fewer.
const DIGITS_MAX: i32 = 18;
/// Units of a score that is not rounded yet.
const SCALE: u128 = 1_000_000_000_000_000_000;
/// Significant bits of a single.
const BITS: u32 = 24;
/// Longest text that is looked at.
const TEXT_BYTES_MAX: usize = 64;

/// A score with 24 significant bits. Their order is that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Single {
    negative: bool,
    /// `mantissa · 2^exponent`; the mantissa has its highest bit set, or is zero and so is the exponent.
    exponent: i32,
    mantissa: u32,
}

impl Single {
    /// Reads a decimal number such as `12`, `-0.75` or `1.5e-3`: up to 18 digits before the point; what is behind the
    /// eighteenth place is cut off.
    pub fn read(text: &str) -> Option<Single> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (number, power) = match text.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = whole.bytes().chain(part.bytes());
        if (whole.is_empty() && part.is_empty()) || !digits.clone().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut units: u128 = 0;
        // The power of ten that the first digit stands for.
        let first = i32::try_from(whole.len()).ok()?.checked_sub(1)?.checked_add(power)?;
        for (digit, place) in digits.zip(0i32..) {
            let place = first.checked_sub(place)?;
            let digit = u128::from(digit - b'0');
            if digit > 0 && place >= DIGITS_MAX {
                return None;
            }
            if digit > 0 && place >= -DIGITS_MAX {
                units += digit * 10u128.pow(u32::try_from(place + DIGITS_MAX).ok()?);
            }
        }
        Some(Single::round(negative, units))
    }

    /// Of a whole number, such as a score in millionths.
    pub fn of(score: u64) -> Single {
        Single::round(false, u128::from(score.min(999_999_999_999_999_999)) * SCALE)
    }

    fn round(negative: bool, units: u128) -> Single {
        if units == 0 {
            return Single { negative: false, exponent: 0, mantissa: 0 };
        }
        // units / SCALE is quotient · 2^exponent, where the quotient has two or three bits too many. They, and whether
        // anything is left behind them, say which way to round.
        let length = |n: u128| i32::try_from(n.ilog2()).unwrap_or(0);
        let exponent = length(units) - length(SCALE) - 26;
        let (above, below) = match u32::try_from(exponent) {
            Ok(shift) => (units, SCALE << shift),
            Err(_) => (units << exponent.unsigned_abs(), SCALE),
        };
        let (quotient, rest) = (above / below, above % below);
        let n_cut = quotient.ilog2() + 1 - BITS;
        let (mut mantissa, cut) = (quotient >> n_cut, quotient & ((1 << n_cut) - 1));
        let mut exponent = exponent + i32::try_from(n_cut).unwrap_or(0);
        let against_half = cut.cmp(&(1 << (n_cut - 1))).then(rest.cmp(&0));
        if against_half == Ordering::Greater || (against_half == Ordering::Equal && mantissa % 2 == 1) {
            mantissa += 1;
        }
        if mantissa >> BITS > 0 {
            (mantissa, exponent) = (mantissa >> 1, exponent + 1);
        }
        Single { negative, exponent, mantissa: u32::try_from(mantissa).unwrap_or(u32::MAX) }
    }
}

impl Ord for Single {
    fn cmp(&self, other: &Single) -> Ordering {
        let size = |s: &Single| (s.mantissa > 0, s.exponent, s.mantissa);
        match (self.negative, other.negative) {
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Single {
    fn partial_cmp(&self, other: &Single) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Single {
        Single::read(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn what_differs_behind_24_bits_is_equal() {
        assert_eq!(read("1.00000000001"), read("1"));
        assert_eq!(read("16777217"), read("16777216"));
        assert!(read("16777219") > read("16777218"));
        assert_eq!(read("1.5e-3"), read("0.0015"));
        assert_eq!(read("-0"), read("0"));
        assert!(read("-2") < read("-1") && read("-1") < read("0") && read("0") < read("1e-9"));
        assert_eq!(Single::of(1234), read("1234"));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", ".", "e5", "nan", "inf", "1e", "1e99", "0x10", "1.2.3", "1 ", "1e9999999999", "１"] {
            assert_eq!(Single::read(text), None, "{text}");
        }
        assert_eq!(read("0e2000000000"), read("0"));
        assert_eq!(Single::read(&"1".repeat(65)), None);
    }

    proptest! {
        /// The oracle is the processor's own single, reached by text.
        #[test]
        #[expect(clippy::disallowed_types, reason = "what is written without floats is compared with one")]
        fn numbers_are_rounded_as_a_processor_rounds_them(
            whole in 0u64..1_000_000_000, part in 0u64..1_000_000_000_000, places in 0usize..12, negative: bool
        ) {
            let part = &format!("{part:012}")[..places];
            let text = format!("{}{whole}.{part}0", if negative { "-" } else { "" });
            let single = read(&text);
            let size = i64::from(single.mantissa) as f64 * 2f64.powi(single.exponent);
            let ours = if single.negative { -size } else { size };
            prop_assert_eq!(ours as f32, text.parse::<f32>().unwrap());
            prop_assert_eq!(f64::from(ours as f32), ours);
        }

        #[test]
        #[expect(clippy::disallowed_types, reason = "what is written without floats is compared with one")]
        fn their_order_is_that_of_the_processor(a in -1_000_000_000i64..1_000_000_000, near in -40i64..40) {
            let b = a + near;
            let ours = read(&a.to_string()).cmp(&read(&b.to_string()));
            prop_assert_eq!(ours, (a as f32).total_cmp(&(b as f32)));
        }
    }
}
