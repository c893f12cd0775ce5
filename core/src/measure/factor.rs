//! Numbers that may pass one: what multiplies a score, and what comes of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Micro, Milli, RangeError};

/// A multiplier from a table, in thousandths, `0..=4000`: 1200 lifts by a fifth, 800 lowers by a fifth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Factor(u16);

/// A product of scores and factors, in millionths, `0..=16_000_000`. It orders and shares out; it is no probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Weight(u32);

/// No table multiplies by more.
const FACTOR_MAX: u16 = 4000;
/// The largest product of the tables of this crate is below this.
const WEIGHT_MAX: u32 = 16_000_000;

impl Factor {
    /// Changes nothing.
    pub const ONE: Factor = Factor(1000);

    /// A factor known when the program is written.
    ///
    /// # Panics
    /// In a constant, at compile time, if `thousandths` is above 4000.
    pub const fn from_const(thousandths: u16) -> Factor {
        assert!(thousandths <= FACTOR_MAX);
        Factor(thousandths)
    }

    /// `numerator / denominator` by the one rounding rule, held between two others. A ratio over nothing is one.
    pub fn from_ratio_within(numerator: u128, denominator: u128, low: Factor, high: Factor) -> Factor {
        let Some(thousandths) = numerator.saturating_mul(1000).checked_div(denominator) else { return Factor::ONE };
        Factor(u16::try_from(thousandths).unwrap_or(u16::MAX)).clamp(low, high.max(low))
    }

    /// Thousandths.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Weight {
    /// Changes nothing.
    pub const ONE: Weight = Weight(1_000_000);

    /// Millionths.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u16> for Factor {
    type Error = RangeError;
    fn try_from(value: u16) -> Result<Factor, RangeError> {
        if value <= FACTOR_MAX {
            Ok(Factor(value))
        } else {
            Err(RangeError { value: value.into(), max: FACTOR_MAX.into() })
        }
    }
}

impl From<Factor> for u16 {
    fn from(factor: Factor) -> u16 {
        factor.0
    }
}

impl TryFrom<u32> for Weight {
    type Error = RangeError;
    fn try_from(value: u32) -> Result<Weight, RangeError> {
        if value <= WEIGHT_MAX {
            Ok(Weight(value))
        } else {
            Err(RangeError { value: value.into(), max: WEIGHT_MAX.into() })
        }
    }
}

impl From<Weight> for u32 {
    fn from(weight: Weight) -> u32 {
        weight.0
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// A product under way. It is kept whole and truncated once, when it is read, so the order of its factors does not
/// matter. (Past 31 digits it sheds its last three; no formula of this crate comes near.)
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The product times 1000 to the power of `thousands`.
    value: u128,
    /// How many times a thousand stands below.
    thousands: u32,
}

/// Above this three digits are shed; what stands below, times the largest weight, cannot overflow.
const VALUE_MAX: u128 = 1 << 103;

impl Product {
    /// Of nothing yet.
    pub const ONE: Product = Product { value: 1, thousands: 0 };

    /// Times a factor.
    pub fn times(self, factor: Factor) -> Product {
        self.scaled(u128::from(factor.0), 1)
    }

    /// Times a score.
    pub fn times_micro(self, score: Micro) -> Product {
        self.scaled(u128::from(score.get()), 2)
    }

    /// Times a score that people read.
    pub fn times_milli(self, score: Milli) -> Product {
        self.scaled(u128::from(score.get()), 1)
    }

    /// Times a weight.
    pub fn times_weight(self, weight: Weight) -> Product {
        self.scaled(u128::from(weight.0), 2)
    }

    /// This, or one if it is more.
    pub fn at_most_one(self) -> Product {
        if self.value > self.one() { Product::ONE } else { self }
    }

    /// As a weight, truncated.
    pub fn weight(self) -> Weight {
        Weight(self.millionths().min(WEIGHT_MAX))
    }

    /// As a score, truncated, at most one.
    pub fn micro(self) -> Micro {
        Micro(self.millionths().min(1_000_000))
    }

    fn scaled(self, by: u128, thousands: u32) -> Product {
        let mut product = Product { value: self.value * by, thousands: self.thousands + thousands };
        while product.value > VALUE_MAX && product.thousands > 0 {
            product.value /= 1000;
            product.thousands -= 1;
        }
        // What has no thousands left to shed is far beyond every weight, and stays there.
        product.value = product.value.min(VALUE_MAX);
        // A product of nothing but zeros could pile up thousands for ever.
        if product.value == 0 { Product { value: 0, thousands: 0 } } else { product }
    }

    fn one(self) -> u128 {
        1000u128.checked_pow(self.thousands).unwrap_or(u128::MAX)
    }

    fn millionths(self) -> u32 {
        let millionths = match self.thousands {
            0 => self.value.saturating_mul(1_000_000),
            1 => self.value.saturating_mul(1000),
            _ => self.value / Product { value: 1, thousands: self.thousands - 2 }.one(),
        };
        u32::try_from(millionths).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_hold_at_both_edges() {
        assert_eq!(Factor::try_from(4000).map(Factor::get).ok(), Some(4000));
        assert!(Factor::try_from(4001).is_err());
        assert_eq!(Weight::try_from(16_000_000).map(Weight::get).ok(), Some(16_000_000));
        assert!(Weight::try_from(16_000_001).is_err());
        assert!(serde_json::from_str::<Factor>("4001").is_err() && serde_json::from_str::<Weight>("16000001").is_err());
    }

    #[test]
    fn a_product_is_truncated_once() {
        let third = Micro::from_ratio(1, 3);
        // 0.333333 · 3 would be 0.999999; twice 1.5 in between, it is still that, and not less.
        let product = Product::ONE.times_micro(third).times(Factor::from_const(1500)).times(Factor::from_const(2000));
        assert_eq!(product.weight().get(), 999_999);
        assert_eq!(Product::ONE.weight(), Weight::ONE);
        assert_eq!(Product::ONE.times(Factor::from_const(1001)).at_most_one().weight(), Weight::ONE);
        assert_eq!(Product::ONE.times(Factor::from_const(999)).at_most_one().weight().get(), 999_000);
        assert_eq!(Product::ONE.times(Factor::from_const(1500)).micro(), Micro::ONE);
    }

    #[test]
    fn a_ratio_over_nothing_changes_nothing() {
        let (low, high) = (Factor::from_const(500), Factor::from_const(2000));
        assert_eq!(Factor::from_ratio_within(7, 0, low, high), Factor::ONE);
        assert_eq!(Factor::from_ratio_within(0, 7, low, high), low);
        assert_eq!(Factor::from_ratio_within(u128::MAX, 1, low, high), high);
        assert_eq!(Factor::from_ratio_within(4, 3, low, high).get(), 1333);
    }

    #[test]
    fn numbers_are_shown_as_decimals() {
        assert_eq!(Factor::from_const(1050).to_string(), "1.050");
        assert_eq!(Weight(528_000).to_string(), "0.528000");
    }

    proptest! {
        #[test]
        fn the_order_of_factors_does_not_matter(mut factors in proptest::collection::vec(0u16..=4000, 0..8)) {
            let product = |fs: &[u16]| fs.iter().fold(Product::ONE, |p, f| p.times(Factor(*f))).weight();
            let forwards = product(&factors);
            factors.reverse();
            prop_assert_eq!(product(&factors), forwards);
        }

        #[test]
        fn no_product_overflows(weights in proptest::collection::vec(0u32..=WEIGHT_MAX, 0..60)) {
            let product = weights.iter().fold(Product::ONE, |p, w| p.times_weight(Weight(*w)));
            prop_assert!(product.weight().get() <= WEIGHT_MAX);
            prop_assert!(product.at_most_one().micro() <= Micro::ONE);
        }
    }
}
