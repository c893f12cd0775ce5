//! The simulator: many nodes, one seed, no network.
//!
//! It runs the real [`LogSync`](crate::protocol::LogSync) and [`Delivery`](crate::protocol::Delivery) of each node, real
//! frames between them, and the real rule of what stands against evidence ([`plumb_core::lifecycle`]), in a queue of
//! `(time, occurrence)` whose order follows from the seed alone. Frames are lost, delayed, doubled and overtaken; nodes
//! are partitioned, come late, leave for good, crash with writes in flight (a beginning of which has reached the disk),
//! come back from what was on it, and have clocks that are hours apart and jump. Some lie ([`Behaviour`]).
//!
//! Checkers look at all nodes from outside, with everything that happens:
//!
//! | invariant | says |
//! | --- | --- |
//! | SIM-1 | what a node holds of a log is a beginning of *one* history of its publisher: never two roots of one size |
//! | SIM-2 | what was stored never shrinks, also over a crash; what was published is never lost; no log forks by itself |
//! | SIM-3 | an acknowledged notice is applied, on disk, at whoever acknowledged it |
//! | SIM-4 | nothing is delivered again after its acknowledgement was heard, also after a restart once that was on disk |
//! | SIM-5 | nothing more is taken up from a publisher in quarantine |
//! | SIM-6 | a notice that is applied was issued by its publisher or by that one's organisation |
//! | SIM-7 | evidence is shown if and only if the notices that are known let it, after each notice, import and restart |
//! | SIM-8 | no honest node is blamed or convicted by an honest one |
//! | SIM-9 | what a node remembers is bounded, whatever its neighbours make up |
//! | SIM-10 | after the network healed, every honest node holds every log, and every obligation is acknowledged |
//! | SIM-11 | then all honest nodes have the same state, whatever came to them in which order |
//!
//! A [`Violation`] names the seed; the same seed and settings give the same run. [`Plan`] makes a whole story from a
//! seed, [`mod@bench`] runs many of them, and [`plot`] draws what they cost.
//!
//! **What is shared.** Ten thousand nodes read the same frame; it is decoded once, by the real decoder, and the result is
//! remembered with its bytes. Likewise a checkpoint remembers that its signature was checked
//! ([`plumb_core::log::SignedCheckpoint`], here and in a node alike). Nothing is taken for granted that a node checks.

pub mod bench;
pub mod plot;
pub mod shelf;

mod byzantine;
mod check;
mod measure;
mod network;
mod node;
mod packet;
mod plan;
mod run;
mod script;
mod truth;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::identity::{NodeId, SignedError};
use plumb_core::log::LogError;
use plumb_core::measure::{Duration, Timestamp};

use crate::protocol::Random;
use crate::protocol::log_sync::Fault;
use network::Network;
use node::Node;
use packet::{Message, Packet, Post};
use truth::Truth;

pub use measure::{Spread, Traffic};
pub use network::NetworkSettings;
pub use node::Behaviour;
pub use plan::{Plan, Scenario, Wish};

/// How often each node's machines are given the time.
const TICK_EVERY: Duration = Duration::seconds(1);

/// Longest time that a write takes to reach the disk.
const WRITE_MS_MAX: u64 = 25;

/// Failures that the transport reports, out of a thousand. The others are silence.
const REPORTED_PER_MILLE: u64 = 700;

/// Longest time until it does.
const FAILURE_MS_MAX: u64 = 15_000;

/// Most hours that a clock is off, either way.
const SKEW_HOURS_MAX: u64 = 3;

/// When a simulation begins.
const EPOCH: Timestamp = Timestamp(1_760_000_000_000);

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Everything random follows from it.
    pub seed: u64,
    /// How the nodes behave, one entry for each.
    pub nodes: Vec<Behaviour>,
    /// Those that are not there at the beginning: a [`Command::Restart`] brings them.
    pub late: BTreeSet<usize>,
    /// Those that may leave for good. The others are connected without them.
    pub leaving: BTreeSet<usize>,
    /// Neighbours of each node beside those on the rings.
    pub n_chords: usize,
    /// What the network does to frames.
    pub network: NetworkSettings,
}

/// What a script makes happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A node publishes evidence.
    Publish {
        /// Which.
        node: usize,
        /// How many sources.
        n: usize,
    },
    /// A node passes a source that it holds on to a neighbour, which owes it a receipt.
    Share {
        /// Which.
        node: usize,
    },
    /// A node takes a text that it holds in anew, as its own.
    Copy {
        /// Which.
        node: usize,
    },
    /// A node says something of its evidence: one of the seven kinds.
    Notice {
        /// Which.
        node: usize,
    },
    /// A node stops; of the writes in flight, a beginning has reached the disk.
    Crash {
        /// Which.
        node: usize,
    },
    /// A node comes back from its disk, or for the first time.
    Restart {
        /// Which.
        node: usize,
    },
    /// A node leaves for good, as soon as somebody else holds all that it published.
    Leave {
        /// Which.
        node: usize,
    },
    /// Somebody sets a node's clock to another hour.
    SetClock {
        /// Which.
        node: usize,
    },
    /// From now on nothing crosses between these nodes and the others.
    Part {
        /// One side.
        side: BTreeSet<usize>,
    },
    /// Everything crosses again.
    Heal,
    /// Nodes that are made to lie begin to.
    Lie,
}

/// Why a simulation could not be set up or carried on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A value could not be signed.
    #[error("a value of the simulation could not be signed")]
    Signed(#[from] SignedError),
    /// A log could not be read.
    #[error("a log of the simulation is broken")]
    Log(#[from] LogError),
    /// A name is not one.
    #[error("a name of the simulation is broken: {0}")]
    Name(String),
    /// There is no such node.
    #[error("there is no node {0}")]
    NoSuchNode(usize),
    /// An invariant broke.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// An invariant that broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant} broke in seed {seed} after {after_ms} ms at node {node}: {what}")]
pub struct Violation {
    /// Repeats the run.
    pub seed: u64,
    /// Simulated time since the beginning.
    pub after_ms: u64,
    /// Where.
    pub node: usize,
    /// Which, such as `SIM-1`.
    pub invariant: &'static str,
    /// What was found.
    pub what: String,
}

/// What nodes said of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Which nodes have convicted a publisher, by publisher.
    pub convictions: BTreeMap<usize, BTreeSet<usize>>,
    /// Faults that honest nodes saw, by whoever they blame.
    pub faults: BTreeMap<usize, BTreeSet<Fault>>,
}

/// Something that happens at a time.
#[derive(Clone, Debug)]
enum Occurrence {
    Tick {
        node: usize,
        life: u64,
    },
    Arrive {
        from: usize,
        to: usize,
        packet: Packet,
    },
    /// The transport reports that a request came to nothing.
    Fail {
        node: usize,
        life: u64,
        peer: usize,
        packet: Packet,
    },
    /// The next write of a node has reached the disk.
    Flush {
        node: usize,
        life: u64,
    },
    Admit {
        a: usize,
        b: usize,
    },
    Lose {
        node: usize,
        lost: usize,
    },
    Script(Command),
}

/// A run.
#[derive(Debug)]
pub struct Simulation {
    seed: u64,
    now: Timestamp,
    nodes: Vec<Node>,
    places: BTreeMap<NodeId, usize>,
    network: Network,
    post: Post,
    queue: BTreeMap<(Timestamp, u64), Occurrence>,
    n_queued: u64,
    random: Random,
    truth: Truth,
    checker: check::Checker,
    reports: Reports,
    spread: measure::Measure,
    n_occurrences: u64,
}

impl Simulation {
    /// Nodes that are up and connected, and know nothing yet.
    pub fn new(settings: &Settings) -> Result<Simulation, SimError> {
        let mut random = Random::from_seed(settings.seed);
        let mut nodes = Vec::new();
        for (at, behaviour) in settings.nodes.iter().enumerate() {
            let skew = skew(&mut random);
            nodes.push(Node::new(at, *behaviour, skew, random.child())?);
        }
        let places = nodes.iter().enumerate().map(|(at, n)| (n.id, at)).collect();
        let is_reliable =
            |at: &usize| settings.nodes.get(*at) == Some(&Behaviour::Honest) && !settings.leaving.contains(at);
        let reliable: Vec<usize> = (0..nodes.len()).filter(is_reliable).collect();
        let network = Network::new(nodes.len(), &reliable, settings.n_chords, settings.network, random.child());
        let mut simulation = Simulation {
            seed: settings.seed,
            now: EPOCH,
            checker: check::Checker::default(),
            truth: Truth::new(&nodes),
            spread: measure::Measure::new(nodes.len()),
            nodes,
            places,
            network,
            post: Post::default(),
            queue: BTreeMap::new(),
            n_queued: 0,
            random,
            reports: Reports::default(),
            n_occurrences: 0,
        };
        for node in (0..simulation.nodes.len()).filter(|node| !settings.late.contains(node)) {
            simulation.boot(node)?;
        }
        for (a, b) in simulation.network.links() {
            let wait = Duration(simulation.random.below(1000));
            simulation.queue_in(wait, Occurrence::Admit { a, b });
        }
        Ok(simulation)
    }

    /// Has something happen so long after the beginning.
    pub fn schedule(&mut self, after: Duration, command: Command) {
        self.queue_at(EPOCH.plus(after), Occurrence::Script(command));
    }

    /// Has something happen next.
    pub fn command(&mut self, command: Command) -> Result<(), SimError> {
        self.script(command)
    }

    /// Runs until something holds, and at most so long after the beginning. Says whether it came to hold.
    pub fn run_until(&mut self, limit: Duration, is_reached: impl Fn(&Simulation) -> bool) -> Result<bool, SimError> {
        let mut checked_at = Timestamp(i64::MIN);
        while self.elapsed() <= limit {
            // The condition may look at every node, so it is asked once in a simulated second.
            if TICK_EVERY <= self.now.since(checked_at) {
                checked_at = self.now;
                if is_reached(self) {
                    return Ok(true);
                }
            }
            if !self.step()? {
                break;
            }
        }
        Ok(is_reached(self))
    }

    fn queue_at(&mut self, at: Timestamp, occurrence: Occurrence) {
        self.n_queued += 1;
        self.queue.insert((at, self.n_queued), occurrence);
    }

    fn queue_in(&mut self, wait: Duration, occurrence: Occurrence) {
        self.queue_at(self.now.plus(wait), occurrence);
    }

    fn node(&mut self, at: usize) -> Result<&mut Node, SimError> {
        self.nodes.get_mut(at).ok_or(SimError::NoSuchNode(at))
    }
}

/// How far a clock is off, in milliseconds.
fn skew(random: &mut Random) -> i64 {
    let skew = random.below(SKEW_HOURS_MAX * 7_200_000 + 1);
    i64::try_from(skew).unwrap_or(0) - (SKEW_HOURS_MAX * 3_600_000).cast_signed()
}
