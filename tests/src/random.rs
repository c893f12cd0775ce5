//! Random numbers that can be repeated.

use std::time::SystemTime;

/// SplitMix64. Small, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator from this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// A generator from `PLUMB_SEED`, else from the clock. Prints the command line that repeats it.
    pub fn announced(test: &str) -> Rng {
        let given = std::env::var("PLUMB_SEED").ok().map(|s| s.parse().expect("PLUMB_SEED is a number"));
        let seed = given.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is past 1970");
            since.as_millis() as u64
        });
        println!("seed: PLUMB_SEED={seed} cargo test -p plumb-tests {test}");
        Rng(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::with_capacity(n + 8);
        while bytes.len() < n {
            bytes.extend(self.next_u64().to_le_bytes());
        }
        bytes.truncate(n);
        bytes
    }
}
