//! A story from a seed: who is there, who lies, what is published, and what goes wrong when.

use std::collections::BTreeSet;

use plumb_core::measure::Duration;
use serde::Serialize;

use super::{Behaviour, Command, NetworkSettings, Settings, SimError, Simulation};
use crate::protocol::Random;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scenario {
    /// The network parts and heals.
    Heal,
    /// Nodes crash, come back, come late, leave for good, and have their clocks set.
    Churn,
    /// One node in six lies, each in its own way.
    Byzantine,
    /// All of it.
    All,
}

impl Scenario {
    /// Every scenario.
    pub const ALL: [Scenario; 4] = [Scenario::Heal, Scenario::Churn, Scenario::Byzantine, Scenario::All];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scenario::Heal => "heal",
            Scenario::Churn => "churn",
            Scenario::Byzantine => "byzantine",
            Scenario::All => "all",
        }
    }
}

/// What is asked for. What is not said follows from the seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// How many nodes; otherwise 5 to 200, small numbers more often.
    pub n_nodes: Option<usize>,
    /// How many of them publish; otherwise 2 to 8.
    pub n_publishers: Option<usize>,
    /// Frames lost, out of a thousand; otherwise up to 250.
    pub loss_per_mille: Option<u64>,
    /// Longest usual time on the way; otherwise 20 to 800 ms.
    pub delay_ms_max: Option<u64>,
    /// What goes wrong; otherwise any of the four.
    pub scenario: Option<Scenario>,
}

/// A whole run: the nodes, and what happens to them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The nodes and the network.
    pub settings: Settings,
    /// What goes wrong.
    pub scenario: Scenario,
    /// Who publishes.
    pub n_publishers: usize,
    script: Vec<(Duration, Command)>,
}

/// Fewest and most nodes where nobody says how many.
const NODES: (u64, u64) = (5, 200);

/// When everybody is there and has published something.
const BEGUN_S: u64 = 15;

/// When what goes wrong is over.
const OVER_S: u64 = 75;

/// When the last notice is issued. The run is as long for every number of nodes, so what it costs can be compared.
const LAST_S: u64 = 90;

/// How long a run goes on at least.
const SHORTEST_S: u64 = 120;

/// How long it may take to settle.
const LIMIT_S: u64 = 1800;

/// How often a publisher enters hundreds of sources at once in a half, out of a thousand: more than a page holds.
const BURST_PER_MILLE: u64 = 60;

/// Notices of each publisher, in each of the two halves of a run.
const NOTICES: u64 = 2;

impl Plan {
    /// The story of a seed.
    pub fn new(seed: u64, wish: &Wish) -> Plan {
        // The simulation draws from the seed itself; the story has a generator of its own.
        let mut random = Random::from_seed(seed ^ 0x5f0e_11ed_5eed_0001);
        let n_nodes = wish.n_nodes.unwrap_or_else(|| some_nodes(&mut random)).max(2);
        let scenario = wish.scenario.or_else(|| random.pick(&Scenario::ALL).copied()).unwrap_or(Scenario::All);
        let n_publishers = wish.n_publishers.unwrap_or_else(|| 2 + at_most(&mut random, 6)).clamp(1, n_nodes);
        let network = NetworkSettings {
            loss_per_mille: wish.loss_per_mille.unwrap_or_else(|| random.below(251)).min(900),
            double_per_mille: random.below(80),
            straggle_per_mille: random.below(40),
            delay_ms_max: wish.delay_ms_max.unwrap_or_else(|| 20 + random.below(781)).max(1),
        };
        let mut plan = Plan {
            settings: Settings {
                seed,
                nodes: vec![Behaviour::Honest; n_nodes],
                late: BTreeSet::new(),
                leaving: BTreeSet::new(),
                n_chords: 2,
                network,
            },
            scenario,
            n_publishers,
            script: Vec::new(),
        };
        if matches!(scenario, Scenario::Byzantine | Scenario::All) {
            plan.liars(&mut random);
        }
        plan.publications(&mut random);
        if matches!(scenario, Scenario::Churn | Scenario::All) {
            plan.churn(&mut random);
        }
        if matches!(scenario, Scenario::Heal | Scenario::All) {
            plan.partition(&mut random);
        }
        // A network that never parted is whole from here on, too.
        plan.at(OVER_S * 1000, Command::Heal);
        plan
    }

    /// Runs it to its end. An error is a violation, or says what is broken.
    pub fn run(&self) -> Result<Simulation, SimError> {
        let mut simulation = Simulation::new(&self.settings)?;
        for (after, command) in &self.script {
            simulation.schedule(*after, command.clone());
        }
        simulation.run_until(Duration::seconds(SHORTEST_S), |_| false)?;
        simulation.run_until(Duration::seconds(LIMIT_S), Simulation::is_settled)?;
        simulation.conclusion()?;
        Ok(simulation)
    }

    fn at(&mut self, after_ms: u64, command: Command) {
        self.script.push((Duration(after_ms), command));
    }

    fn n_nodes(&self) -> usize {
        self.settings.nodes.len()
    }

    /// Publishers publish evidence, it is passed on from hand to hand and copied, and they say something of it.
    fn publications(&mut self, random: &mut Random) {
        for node in 0..self.n_publishers {
            self.at(2_000 + random.below(4_000), Command::Publish { node, n: 1 + at_most(random, 5) });
            for _ in 0..3 {
                self.at(7_000 + random.below(3_000), Command::Share { node });
            }
            for half in [BEGUN_S..OVER_S, OVER_S + 1..LAST_S] {
                let length_ms = (half.end - half.start) * 1000;
                for _ in 0..NOTICES {
                    self.at(half.start * 1000 + random.below(length_ms), Command::Notice { node });
                }
                if random.chance(BURST_PER_MILLE) {
                    let n = 1 + at_most(random, 400);
                    self.at(half.start * 1000 + random.below(length_ms), Command::Publish { node, n });
                }
            }
        }
        // From hand to hand, by anybody, before and after something was said of it.
        for _ in 0..self.n_publishers * 6 {
            let node = at_most(random, self.n_nodes());
            self.at(9_000 + random.below((LAST_S - 9) * 1000), Command::Share { node });
        }
        for _ in 0..self.n_publishers {
            let node = at_most(random, self.n_nodes());
            self.at(9_000 + random.below((LAST_S - 9) * 1000), Command::Copy { node });
        }
    }

    fn partition(&mut self, random: &mut Random) {
        let share = 100 + random.below(801);
        let side = (0..self.n_nodes()).filter(|_| random.chance(share)).collect();
        self.at(BEGUN_S * 1000 + random.below(10_000), Command::Part { side });
    }

    fn churn(&mut self, random: &mut Random) {
        let honest: Vec<usize> =
            (0..self.n_nodes()).filter(|at| self.settings.nodes.get(*at) == Some(&Behaviour::Honest)).collect();
        let n_some = (honest.len() / 8).clamp(1, 24);
        for _ in 0..n_some {
            let Some(node) = random.pick(&honest).copied() else { return };
            if self.n_publishers <= node {
                self.settings.late.insert(node);
                self.at(20_000 + random.below((OVER_S - 20) * 1000), Command::Restart { node });
            }
        }
        for _ in 0..2 * n_some {
            let Some(node) = random.pick(&honest).copied() else { return };
            if self.settings.late.contains(&node) {
                continue;
            }
            let down = 10_000 + random.below((OVER_S - 12) * 1000);
            let up = down + 500 + random.below(30_000);
            self.at(down, Command::Crash { node });
            self.at(up.min(OVER_S * 1000), Command::Restart { node });
        }
        for _ in 0..n_some {
            let Some(node) = random.pick(&honest).copied() else { return };
            self.at(10_000 + random.below((LAST_S - 10) * 1000), Command::SetClock { node });
        }
        // One that published leaves for good, in the middle of it.
        if 3 < honest.len()
            && let Some(node) = honest.first().copied()
        {
            self.settings.leaving.insert(node);
            self.at(40_000 + random.below(30_000), Command::Leave { node });
        }
    }

    fn liars(&mut self, random: &mut Random) {
        let n_liars = (self.n_nodes() / 6).clamp(1, 16);
        for _ in 0..n_liars {
            let at = at_most(random, self.n_nodes());
            let how = random.pick(&Behaviour::LIARS).copied();
            if let Some((node, how)) = self.settings.nodes.get_mut(at).zip(how) {
                *node = how;
            }
        }
        self.at((BEGUN_S - 2) * 1000, Command::Lie);
    }
}

/// A number below `n`, as a count.
fn at_most(random: &mut Random, n: usize) -> usize {
    usize::try_from(random.below(n as u64)).unwrap_or(0)
}

/// Small and large numbers alike: the exponent is drawn, and then the number.
fn some_nodes(random: &mut Random) -> usize {
    let (fewest, most) = NODES;
    let doublings = u64::from((most / fewest).ilog2()) + 1;
    let from = fewest << random.below(doublings);
    let n = from + random.below(from);
    usize::try_from(n.min(most)).unwrap_or(0)
}
