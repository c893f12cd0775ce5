//! Integer scores and time. Everything that is stored, signed, ranked or returned is measured in these.
//!
//! **The one rounding rule:** a ratio is truncated towards zero ([`ratio`]), so a score never claims more than the
//! evidence gives it.

mod exponential;
mod factor;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use exponential::{exp_neg, exp2_neg};
pub use factor::{Factor, Product, Weight};

/// A score that people read: thousandths, `0..=1000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Milli(u16);

/// A score for intermediate products: millionths, `0..=1_000_000`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Micro(u32);

/// A number that is no score: outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is outside 0..={max}")]
pub struct RangeError {
    value: u64,
    max: u64,
}

/// `numerator * scale / denominator`, truncated, and at most `scale`. A ratio over nothing is zero.
pub fn ratio(numerator: u64, denominator: u64, scale: u64) -> u64 {
    if denominator == 0 {
        return 0;
    }
    let scaled = u128::from(numerator) * u128::from(scale) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(scale).min(scale)
}

impl Milli {
    /// Nothing.
    pub const ZERO: Milli = Milli(0);
    /// All of it.
    pub const ONE: Milli = Milli(1000);

    /// A score of `value` thousandths.
    pub fn new(value: u16) -> Result<Milli, RangeError> {
        if value <= 1000 { Ok(Milli(value)) } else { Err(RangeError { value: value.into(), max: 1000 }) }
    }

    /// A score known when the program is written.
    ///
    /// # Panics
    /// In a constant, at compile time, if `value` is above 1000.
    pub const fn from_const(value: u16) -> Milli {
        assert!(value <= 1000);
        Milli(value)
    }

    /// The nearest score to `value`.
    pub fn clamped(value: i64) -> Milli {
        Milli(u16::try_from(value.clamp(0, 1000)).unwrap_or(1000))
    }

    /// `numerator / denominator` by the one rounding rule.
    pub fn from_ratio(numerator: u64, denominator: u64) -> Milli {
        Milli(u16::try_from(ratio(numerator, denominator, 1000)).unwrap_or(1000))
    }

    /// Thousandths.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Micro {
    /// Nothing.
    pub const ZERO: Micro = Micro(0);
    /// All of it.
    pub const ONE: Micro = Micro(1_000_000);

    /// A score of `value` millionths.
    pub fn new(value: u32) -> Result<Micro, RangeError> {
        if value <= 1_000_000 { Ok(Micro(value)) } else { Err(RangeError { value: value.into(), max: 1_000_000 }) }
    }

    /// A score known when the program is written.
    ///
    /// # Panics
    /// In a constant, at compile time, if `value` is above 1_000_000.
    pub const fn from_const(value: u32) -> Micro {
        assert!(value <= 1_000_000);
        Micro(value)
    }

    /// `numerator / denominator` by the one rounding rule.
    pub fn from_ratio(numerator: u64, denominator: u64) -> Micro {
        Micro(u32::try_from(ratio(numerator, denominator, 1_000_000)).unwrap_or(1_000_000))
    }

    /// What is missing from all of it.
    pub const fn complement(self) -> Micro {
        Micro(1_000_000 - self.0)
    }

    /// Millionths.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl From<Milli> for Micro {
    fn from(milli: Milli) -> Micro {
        Micro(u32::from(milli.0) * 1000)
    }
}

impl From<Micro> for Milli {
    fn from(micro: Micro) -> Milli {
        Milli(u16::try_from(micro.0 / 1000).unwrap_or(1000))
    }
}

impl TryFrom<u16> for Milli {
    type Error = RangeError;
    fn try_from(value: u16) -> Result<Milli, RangeError> {
        Milli::new(value)
    }
}

impl From<Milli> for u16 {
    fn from(milli: Milli) -> u16 {
        milli.0
    }
}

impl TryFrom<u32> for Micro {
    type Error = RangeError;
    fn try_from(value: u32) -> Result<Micro, RangeError> {
        Micro::new(value)
    }
}

impl From<Micro> for u32 {
    fn from(micro: Micro) -> u32 {
        micro.0
    }
}

impl fmt::Display for Milli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A moment: milliseconds since 1970-01-01 UTC. It is read by the shell and passed in; `core` never asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(pub u64);

impl Duration {
    /// A span of whole seconds.
    pub const fn seconds(n: u64) -> Duration {
        Duration(n.saturating_mul(1000))
    }

    /// A span of whole days.
    pub const fn days(n: u64) -> Duration {
        Duration::seconds(n.saturating_mul(86_400))
    }

    /// This span and `ms` milliseconds more.
    pub const fn plus_ms(self, ms: u64) -> Duration {
        Duration(self.0.saturating_add(ms))
    }
}

impl Timestamp {
    /// This moment and `span` later; stops at the end of time instead of wrapping.
    pub fn plus(self, span: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(span.0).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Days since 1970-01-01, and milliseconds into that day.
    fn day(self) -> (i64, i64) {
        (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000))
    }
}

/// RFC 3339 in UTC with milliseconds, such as `2026-03-01T09:30:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = self.day();
        // Civil date from a day count, after Howard Hinnant, "chrono-compatible low-level date algorithms".
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let day_of_era = z.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (s, ms) = (ms / 1000, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{ms:03}Z", s / 3600, s / 60 % 60, s % 60)
    }
}

/// A text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a moment such as 2026-03-01T09:30:00.000Z")]
pub struct TimestampParseError(String);

/// Reads the form that is written, and no other.
impl std::str::FromStr for Timestamp {
    type Err = TimestampParseError;
    fn from_str(text: &str) -> Result<Timestamp, TimestampParseError> {
        let refused = || TimestampParseError(text.chars().take(40).collect());
        let number = |at: std::ops::Range<usize>| -> Result<i64, TimestampParseError> {
            let digits = text.get(at).filter(|d| d.bytes().all(|b| b.is_ascii_digit())).ok_or_else(refused)?;
            digits.parse().map_err(|_| refused())
        };
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second, ms) = (number(11..13)?, number(14..16)?, number(17..19)?, number(20..23)?);
        // Day count from a civil date, after the same algorithms.
        let year_from_march = if month <= 2 { year - 1 } else { year };
        let era = year_from_march.div_euclid(400);
        let year_of_era = year_from_march.rem_euclid(400);
        let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        let moment = Timestamp((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms);
        // Only what is written the same again was read: so months of thirteen and hours of twenty-five are not.
        if moment.to_string() == text { Ok(moment) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratios_truncate_and_never_exceed_the_scale() {
        assert_eq!(Milli::from_ratio(2, 3).get(), 666);
        assert_eq!(Milli::from_ratio(5, 3), Milli::ONE);
        assert_eq!(Milli::from_ratio(1, 0), Milli::ZERO);
        assert_eq!(Milli::from(Micro::from_ratio(999_999, 1_000_000)).get(), 999);
        assert!(Milli::new(1001).is_err() && Micro::new(1_000_001).is_err());
    }

    #[test]
    fn a_moment_reads_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_234_567_890_123, "2009-02-13T23:31:30.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_moments() {
        for text in [
            "",
            "now",
            "2026-02-30T00:00:00.000Z",
            "2026-01-01T25:00:00.000Z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T00:00:00Z",
            "+026-01-01T00:00:00.000Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_is_read_as_it_is_written(ms in -62_167_219_200_000i64..253_402_300_800_000) {
            prop_assert_eq!(Timestamp(ms).to_string().parse(), Ok(Timestamp(ms)));
        }

        #[test]
        fn a_ratio_is_monotone_in_its_numerator(a in 0u64..1_000_000, b in 0u64..1_000_000, d in 1u64..1_000_000) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(Micro::from_ratio(low, d) <= Micro::from_ratio(high, d));
        }
    }
}
