//! Numbers drawn from a seed that is given: the same seed resamples the same, on every machine.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, by multiplication (Lemire 2019). The bias, below n / 2⁶⁴, is smaller than what any number of
    /// resamples can show.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.bits()) * (n as u128);
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation (Vigna, splitmix64.c) for the seed 1234567.
    #[test]
    fn draws_are_those_of_the_reference() {
        let mut draw = Draw::new(1_234_567);
        let is = [draw.bits(), draw.bits(), draw.bits()];
        assert_eq!(is, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_number_below_is_drawn() {
        let mut draw = Draw::new(1);
        let mut counts = [0; 7];
        (0..7000).for_each(|_| counts[draw.below(7)] += 1);
        assert!(counts.iter().all(|n| (850..1150).contains(n)), "{counts:?}");
    }
}
