//! Random numbers from a seed that is passed in: SplitMix64.
//!
//! They spread load and break ties; nothing secret comes from here. Steele, Lea, Flood, "Fast splittable pseudorandom
//! number generators" (2014).

/// A generator. Equal seeds give equal numbers on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub const fn from_seed(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if there is none. The bias is below 2⁻³² for every `n` that is used here.
    pub fn below(&mut self, n: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(n);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// One of a list.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let at = self.below(list.len() as u64);
        list.get(usize::try_from(at).ok()?)
    }

    /// Whether something happens that happens `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// A generator of its own for one part, so that one more draw there shifts nothing here.
    pub fn child(&mut self) -> Random {
        Random(self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // The first outputs of the reference implementation (Vigna, splitmix64.c) for the seed 1234567.
        let mut random = Random::from_seed(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.number()).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::from_seed(1);
        let mut seen = [false; 7];
        for _ in 0..200 {
            seen[usize::try_from(random.below(7)).unwrap()] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
