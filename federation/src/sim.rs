//! The simulator: many nodes, one seed, no network.
//!
//! It runs the real [`LogSync`](crate::protocol::LogSync) and [`Delivery`](crate::protocol::Delivery) of each node, and
//! real frames between them, in a queue of `(time, occurrence)` whose order follows from the seed alone. Frames are lost,
//! delayed, doubled and overtaken; nodes are partitioned, crash with writes in flight, come back from what was on their
//! disk, and have clocks that are hours apart. Some lie ([`Behaviour`]).
//!
//! Checkers look at all nodes from outside, after every occurrence:
//!
//! | invariant | says |
//! | --- | --- |
//! | SIM-1 | what a node holds of a log is a beginning of what its publisher published |
//! | SIM-2 | what a node holds of a log never shrinks |
//! | SIM-3 | an acknowledged notice is applied at its holder |
//! | SIM-4 | nothing is delivered again after it was acknowledged |
//! | SIM-5 | nothing more is taken up from a publisher in quarantine |
//!
//! A [`Violation`] names the seed; the same seed and settings give the same run.

mod byzantine;
mod check;
mod network;
mod node;
mod packet;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::identity::{NodeId, SignedError};
use plumb_core::log::LogError;
use plumb_core::measure::{Duration, Timestamp};

use crate::protocol::Random;
use crate::protocol::log_sync::Fault;
use network::Network;
use node::{Effect, Node};
use packet::Packet;

pub use network::NetworkSettings;
pub use node::Behaviour;

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
    /// Neighbours of each node beside the two on the ring.
    pub n_chords: usize,
    /// What the network does to frames.
    pub network: NetworkSettings,
}

/// What a script makes happen.
#[derive(Clone, Debug)]
pub enum Command {
    /// A node publishes entries, about half of them notices, each with some holders.
    Publish {
        /// Which.
        node: usize,
        /// How many.
        n_entries: usize,
    },
    /// A node stops; writes in flight are lost.
    Crash {
        /// Which.
        node: usize,
    },
    /// A node comes back from its disk.
    Restart {
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
    Write {
        node: usize,
        life: u64,
        write: Box<node::Write>,
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
    queue: BTreeMap<(Timestamp, u64), Occurrence>,
    n_queued: u64,
    random: Random,
    checker: check::Checker,
    reports: Reports,
    n_occurrences: u64,
}

impl Simulation {
    /// Nodes that are up and connected, and know nothing yet.
    pub fn new(settings: &Settings) -> Result<Simulation, SimError> {
        let mut random = Random::from_seed(settings.seed);
        let mut nodes = Vec::new();
        for (at, behaviour) in settings.nodes.iter().enumerate() {
            let skew = random.below(SKEW_HOURS_MAX * 7_200_000 + 1);
            let skew = i64::try_from(skew).unwrap_or(0) - (SKEW_HOURS_MAX * 3_600_000).cast_signed();
            nodes.push(Node::new(at, *behaviour, skew, random.child())?);
        }
        let places = nodes.iter().enumerate().map(|(at, n)| (n.id, at)).collect();
        let n_chords = settings.n_chords;
        let network = Network::new(nodes.len(), n_chords, settings.network, random.child());
        let mut simulation = Simulation {
            seed: settings.seed,
            now: EPOCH,
            checker: check::Checker::default(),
            nodes,
            places,
            network,
            queue: BTreeMap::new(),
            n_queued: 0,
            random,
            reports: Reports::default(),
            n_occurrences: 0,
        };
        for node in 0..simulation.nodes.len() {
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

    /// One occurrence; false if there is none left.
    fn step(&mut self) -> Result<bool, SimError> {
        let Some(((at, _), occurrence)) = self.queue.pop_first() else {
            return Ok(false);
        };
        self.now = self.now.max(at);
        self.n_occurrences += 1;
        match occurrence {
            Occurrence::Tick { node, life } => {
                if self.node(node)?.lives(life) {
                    self.queue_in(TICK_EVERY, Occurrence::Tick { node, life });
                    self.act(node, |node, now| node.tick(now))?;
                }
            }
            Occurrence::Arrive { from, to, packet } => {
                let sender = self.node(from)?.id;
                if self.node(to)?.is_up() && self.network.is_open(from, to) {
                    self.act(to, |node, now| node.arrived(now, sender, packet))?;
                }
            }
            Occurrence::Write { node, life, write } => {
                if self.node(node)?.lives(life) {
                    self.act(node, |node, now| node.written(now, *write))?;
                }
            }
            Occurrence::Fail { node, life, peer, packet } => {
                let peer = self.node(peer)?.id;
                if self.node(node)?.lives(life) {
                    self.act(node, |node, now| node.failed(now, peer, packet))?;
                }
            }
            Occurrence::Admit { a, b } => self.admit(a, b)?,
            Occurrence::Lose { node, lost } => {
                // The lost one may have come back in the meantime.
                if !self.node(lost)?.is_up() {
                    let lost = self.node(lost)?.id;
                    self.act(node, |node, now| Ok(node.lost(now, lost)))?;
                }
            }
            Occurrence::Script(command) => self.script(command)?,
        }
        Ok(true)
    }

    fn node(&mut self, at: usize) -> Result<&mut Node, SimError> {
        self.nodes.get_mut(at).ok_or(SimError::NoSuchNode(at))
    }

    /// Lets a node do something, performs what it wants, and looks at it from outside.
    fn act(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Node, Timestamp) -> Result<Vec<Effect>, SimError>,
    ) -> Result<(), SimError> {
        let now = self.now;
        let node = self.node(at)?;
        let (life, local) = (node.life, node.clock(now));
        let effects = act(node, local)?;
        for effect in effects {
            match effect {
                Effect::Send { to, packet } => self.send(at, &to, packet),
                Effect::Publish { except, packet } => {
                    for to in self.network.neighbours(at) {
                        let to = self.node(to)?.id;
                        if except != Some(to) {
                            self.send(at, &to, packet.clone());
                        }
                    }
                }
                Effect::Write(write) => {
                    let wait = Duration(1 + self.random.below(WRITE_MS_MAX));
                    let node = at;
                    self.queue_in(wait, Occurrence::Write { node, life, write });
                }
                Effect::Convicted { publisher } => {
                    if let Some(publisher) = self.places.get(&publisher) {
                        self.reports.convictions.entry(*publisher).or_default().insert(at);
                    }
                }
                Effect::Blamed { peer, fault } => {
                    if let Some(peer) = self.places.get(&peer) {
                        self.reports.faults.entry(*peer).or_default().insert(fault);
                    }
                }
                Effect::Broke { invariant, what } => return Err(self.broke(at, invariant, what).into()),
            }
        }
        match self.checker.check(at, &self.nodes, &self.places) {
            Ok(()) => Ok(()),
            Err((invariant, what)) => Err(self.broke(at, invariant, what).into()),
        }
    }

    fn broke(&self, node: usize, invariant: &'static str, what: String) -> Violation {
        Violation { seed: self.seed, after_ms: self.elapsed().0, node, invariant, what }
    }

    fn send(&mut self, from: usize, to: &NodeId, packet: Packet) {
        let Some(to) = self.places.get(to).copied() else {
            return;
        };
        let copies = self.network.copies(from, to);
        // Whoever asked hears of a lost request, and of a lost answer, most of the time.
        if copies.is_empty() && self.random.chance(REPORTED_PER_MILLE) {
            let (node, peer) = if packet.is_answer() { (to, from) } else { (from, to) };
            let life = self.nodes.get(node).map_or(0, |node| node.life);
            let wait = Duration(self.random.below(FAILURE_MS_MAX));
            let packet = packet.clone();
            self.queue_in(wait, Occurrence::Fail { node, life, peer, packet });
        }
        for wait in copies {
            let packet = packet.clone();
            self.queue_in(wait, Occurrence::Arrive { from, to, packet });
        }
    }

    fn boot(&mut self, at: usize) -> Result<(), SimError> {
        let now = self.now;
        let seed = self.random.number();
        let node = self.node(at)?;
        node.boot(node.clock(now), seed)?;
        let life = node.life;
        let wait = Duration(self.random.below(TICK_EVERY.0));
        self.queue_in(wait, Occurrence::Tick { node: at, life });
        Ok(())
    }

    /// Two neighbours connect. Whoever thought the other lost or there hears that it is new.
    fn admit(&mut self, a: usize, b: usize) -> Result<(), SimError> {
        if !(self.node(a)?.is_up() && self.node(b)?.is_up()) {
            return Ok(());
        }
        for (at, other) in [(a, b), (b, a)] {
            let (peer, heads) = self.node(other)?.introduction();
            self.act(at, |node, now| {
                let mut effects = node.lost(now, peer);
                effects.extend(node.admitted(now, peer, heads)?);
                Ok(effects)
            })?;
        }
        Ok(())
    }

    fn script(&mut self, command: Command) -> Result<(), SimError> {
        match command {
            Command::Publish { node, n_entries } => {
                // Whoever got evidence from a node is connected with it.
                let mut holders = Vec::new();
                for neighbour in self.network.neighbours(node) {
                    let neighbour = self.node(neighbour)?;
                    if neighbour.behaviour == Behaviour::Honest {
                        holders.push(neighbour.id);
                    }
                }
                if self.node(node)?.is_up() {
                    let by = self.random.below(holders.len().max(1) as u64);
                    holders.rotate_left(usize::try_from(by).unwrap_or(0));
                    self.act(node, |node, now| node.publish(now, n_entries, &holders))?;
                }
            }
            Command::Crash { node } => {
                self.node(node)?.crash();
                for neighbour in self.network.neighbours(node) {
                    let wait = Duration(self.random.below(20_000));
                    let (node, lost) = (neighbour, node);
                    self.queue_in(wait, Occurrence::Lose { node, lost });
                }
            }
            Command::Restart { node } => {
                if !self.node(node)?.is_up() {
                    self.boot(node)?;
                    for neighbour in self.network.neighbours(node) {
                        let wait = Duration(self.random.below(2000));
                        let (a, b) = (node, neighbour);
                        self.queue_in(wait, Occurrence::Admit { a, b });
                    }
                }
            }
            Command::Part { side } => self.network.part(side),
            Command::Heal => self.network.heal(),
            Command::Lie => self.nodes.iter_mut().for_each(Node::begin_to_lie),
        }
        Ok(())
    }
}
