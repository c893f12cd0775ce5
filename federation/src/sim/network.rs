//! The network of a simulation: who is connected with whom, and what happens to a frame on the way.

use std::collections::BTreeSet;

use plumb_core::measure::Duration;

use crate::protocol::Random;

/// What the network does to frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    neighbours: Vec<Vec<usize>>,
    /// One side of a partition.
    parted: BTreeSet<usize>,
    settings: NetworkSettings,
    random: Random,
}

impl Network {
    /// A ring of all, a ring of those on whom one can rely, and chords across: about four to six neighbours each, whatever
    /// the number of nodes, as gossipsub keeps its mesh. The second ring says what is assumed: the honest nodes that stay
    /// are connected without the others' help. Without that nothing could be promised.
    pub(super) fn new(
        n_nodes: usize,
        reliable: &[usize],
        n_chords: usize,
        settings: NetworkSettings,
        mut random: Random,
    ) -> Network {
        let mut links = BTreeSet::new();
        let mut link = |a: usize, b: usize| {
            if a != b {
                links.insert((a.min(b), a.max(b)));
            }
        };
        for a in 0..n_nodes {
            link(a, (a + 1) % n_nodes);
            for _ in 0..n_chords {
                link(a, usize::try_from(random.below(n_nodes as u64)).unwrap_or(a));
            }
        }
        for (at, a) in reliable.iter().enumerate() {
            link(*a, reliable.get(at + 1).or(reliable.first()).copied().unwrap_or(*a));
        }
        let mut neighbours = vec![Vec::new(); n_nodes];
        for (a, b) in links {
            for (of, other) in [(a, b), (b, a)] {
                if let Some(list) = neighbours.get_mut(of) {
                    list.push(other);
                }
            }
        }
        Network { neighbours, parted: BTreeSet::new(), settings, random }
    }

    /// Each link once.
    pub(super) fn links(&self) -> Vec<(usize, usize)> {
        let of = |(a, list): (usize, &Vec<usize>)| -> Vec<(usize, usize)> {
            list.iter().filter(|b| a < **b).map(|b| (a, *b)).collect()
        };
        self.neighbours.iter().enumerate().flat_map(of).collect()
    }

    pub(super) fn neighbours(&self, of: usize) -> &[usize] {
        self.neighbours.get(of).map_or(&[], |list| list)
    }

    pub(super) fn part(&mut self, side: BTreeSet<usize>) {
        self.parted = side;
    }

    pub(super) fn heal(&mut self) {
        self.parted.clear();
    }

    pub(super) fn is_open(&self, a: usize, b: usize) -> bool {
        self.neighbours(a).contains(&b) && self.parted.contains(&a) == self.parted.contains(&b)
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
