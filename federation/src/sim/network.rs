//! The network of a simulation: who is connected with whom, and what happens to a frame on the way.

use std::collections::BTreeSet;

use plumb_core::measure::Duration;

use crate::protocol::Random;

/// What the network does to frames.
#[derive(Clone, Copy, Debug)]
pub struct NetworkSettings {
    /// Frames lost, out of a thousand.
    pub loss_per_mille: u64,
    /// Frames that arrive twice, out of a thousand.
    pub double_per_mille: u64,
    /// Frames that arrive seconds late, behind later ones, out of a thousand.
    pub straggle_per_mille: u64,
    /// Longest usual time on the way.
    pub delay_ms_max: u64,
}

/// Longest time on the way of a frame that straggles.
const STRAGGLE_MS_MAX: u64 = 8_000;

#[derive(Clone, Debug)]
pub(super) struct Network {
    links: BTreeSet<(usize, usize)>,
    /// One side of a partition.
    parted: BTreeSet<usize>,
    settings: NetworkSettings,
    random: Random,
}

impl Network {
    /// A ring, so that everybody is reached, and chords across it.
    pub(super) fn new(n_nodes: usize, n_chords: usize, settings: NetworkSettings, mut random: Random) -> Network {
        let mut links = BTreeSet::new();
        for a in 0..n_nodes {
            let next = (a + 1) % n_nodes.max(1);
            let chords = (0..n_chords).map(|_| random.below(n_nodes as u64));
            let chords: Vec<usize> = chords.filter_map(|b| usize::try_from(b).ok()).collect();
            for b in chords.into_iter().chain([next]) {
                if a != b {
                    links.insert((a.min(b), a.max(b)));
                }
            }
        }
        Network { links, parted: BTreeSet::new(), settings, random }
    }

    pub(super) fn links(&self) -> Vec<(usize, usize)> {
        self.links.iter().copied().collect()
    }

    pub(super) fn neighbours(&self, of: usize) -> Vec<usize> {
        let other = |(a, b): &(usize, usize)| match of {
            of if of == *a => Some(*b),
            of if of == *b => Some(*a),
            _ => None,
        };
        self.links.iter().filter_map(other).collect()
    }

    pub(super) fn part(&mut self, side: BTreeSet<usize>) {
        self.parted = side;
    }

    pub(super) fn heal(&mut self) {
        self.parted.clear();
    }

    pub(super) fn is_open(&self, a: usize, b: usize) -> bool {
        let is_linked = self.links.contains(&(a.min(b), a.max(b)));
        is_linked && self.parted.contains(&a) == self.parted.contains(&b)
    }

    /// When the copies of a frame arrive: none if it is lost, two if it is doubled.
    pub(super) fn copies(&mut self, from: usize, to: usize) -> Vec<Duration> {
        let mut copies = Vec::new();
        if !self.is_open(from, to) || self.random.chance(self.settings.loss_per_mille) {
            return copies;
        }
        copies.push(self.delay());
        if self.random.chance(self.settings.double_per_mille) {
            copies.push(self.delay());
        }
        copies
    }

    fn delay(&mut self) -> Duration {
        let longest = if self.random.chance(self.settings.straggle_per_mille) {
            STRAGGLE_MS_MAX
        } else {
            self.settings.delay_ms_max
        };
        Duration(1 + self.random.below(longest))
    }
}
