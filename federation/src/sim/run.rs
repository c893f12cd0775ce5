//! What happens, one occurrence after the other.

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};

use super::measure::Kind;
use super::node::{Effect, Fact, Leaf, taking_up};
use super::packet::About;
use super::{
    Command, FAILURE_MS_MAX, Message, Node, Occurrence, Packet, REPORTED_PER_MILLE, SimError, Simulation, TICK_EVERY,
    Violation, WRITE_MS_MAX,
};

impl Simulation {
    /// One occurrence; false if there is none left.
    pub(super) fn step(&mut self) -> Result<bool, SimError> {
        let Some(((at, _), occurrence)) = self.queue.pop_first() else {
            return Ok(false);
        };
        self.now = self.now.max(at);
        self.n_occurrences += 1;
        match occurrence {
            Occurrence::Tick { node, life } => {
                if self.node(node)?.lives(life) {
                    self.queue_in(TICK_EVERY, Occurrence::Tick { node, life });
                    self.act(node, |node, now| Ok(node.tick(now)))?;
                    let n_neighbours = self.network.neighbours(node).len();
                    if let Some(ticked) = self.nodes.get(node)
                        && let Err((invariant, what)) = self.checker.bounded(ticked, self.nodes.len(), n_neighbours)
                    {
                        return Err(self.broke(node, invariant, what).into());
                    }
                }
            }
            Occurrence::Arrive { from, to, packet } => self.arrive(from, to, &packet)?,
            Occurrence::Flush { node, life } => {
                if self.node(node)?.lives(life) {
                    self.act(node, Node::flushed)?;
                }
            }
            Occurrence::Fail { node, life, peer, packet } => {
                let peer = self.node(peer)?.id;
                if self.node(node)?.lives(life) {
                    let asked = if packet.is_answer() { None } else { self.post.read(&packet).ok() };
                    self.act(node, |node, now| Ok(node.failed(now, peer, packet.about, asked)))?;
                }
            }
            Occurrence::Admit { a, b } => self.admit(a, b)?,
            Occurrence::Lose { node, lost } => {
                // The lost one may have come back in the meantime.
                if !self.node(lost)?.is_up() {
                    let lost = self.node(lost)?.id;
                    let now = self.now;
                    let node = self.node(node)?;
                    node.lost(node.clock(now), lost);
                }
            }
            Occurrence::Script(command) => self.script(command)?,
        }
        Ok(true)
    }

    fn arrive(&mut self, from: usize, to: usize, packet: &Packet) -> Result<(), SimError> {
        let sender = self.node(from)?.id;
        if self.network.is_open(from, to) && self.node(to)?.is_up() && self.node(to)?.is_news(packet) {
            let message: Result<Message, _> = self.post.read(packet);
            self.act(to, |node, now| Ok(node.arrived(now, sender, packet, message)))?;
        }
        Ok(())
    }

    /// Lets a node do something, performs what it wants, and looks at it from outside.
    pub(super) fn act(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Node, Timestamp) -> Result<Vec<Effect>, SimError>,
    ) -> Result<(), SimError> {
        let now = self.now;
        let node = self.node(at)?;
        let local = node.clock(now);
        let effects = act(node, local)?;
        for effect in effects {
            match effect {
                Effect::Send { to, packet } => {
                    if let Some(to) = self.places.get(&to).copied() {
                        self.send(at, to, packet);
                    }
                }
                Effect::Publish { except, packet } => {
                    let packet = self.post.shared(packet);
                    for to in self.network.neighbours(at).to_vec() {
                        if except.is_none() || except != self.nodes.get(to).map(|node| node.id) {
                            self.send(at, to, packet.clone());
                        }
                    }
                }
                Effect::Write(write) => self.write(at, *write)?,
                Effect::Store { from, entries, state, via } => {
                    let entries = entries.into_iter().map(|bytes| self.post.leaf(Leaf::new(bytes))).collect();
                    for write in taking_up(from, entries, *state, via) {
                        self.write(at, write)?;
                    }
                }
                Effect::Fact(fact) => self.fact(at, &fact)?,
            }
        }
        Ok(())
    }

    fn write(&mut self, at: usize, write: super::node::Write) -> Result<(), SimError> {
        let wait = Duration(1 + self.random.below(WRITE_MS_MAX));
        let now = self.now;
        let node = self.node(at)?;
        node.queue.push_back(write);
        // In order: the next is never on disk before the last.
        node.flushed_at = node.flushed_at.max(now.plus(wait));
        let (flushed_at, life) = (node.flushed_at, node.life);
        self.queue_at(flushed_at, Occurrence::Flush { node: at, life });
        Ok(())
    }

    /// Takes note of what happened, and looks whether it may.
    pub(super) fn fact(&mut self, at: usize, fact: &Fact) -> Result<(), SimError> {
        match fact {
            Fact::Published { notices, sources } => {
                if let Some(node) = self.nodes.get(at) {
                    self.truth.published(node, notices, sources);
                    notices.iter().for_each(|notice| self.spread.issued(notice.cid(), self.now));
                }
            }
            Fact::Applied { notice, via } => {
                let via = via.and_then(|via: NodeId| self.places.get(&via).copied());
                self.spread.applied(&notice.cid(), at, via, self.now);
            }
            Fact::Convicted { proof } => {
                if let Some(publisher) = self.places.get(&proof.publisher) {
                    self.reports.convictions.entry(*publisher).or_default().insert(at);
                }
            }
            Fact::Blamed { peer, fault } => {
                let is_honest = self.nodes.get(at).is_some_and(Node::is_honest);
                if let Some(peer) = self.places.get(peer).filter(|_| is_honest) {
                    self.reports.faults.entry(*peer).or_default().insert(*fault);
                }
            }
            _ => {}
        }
        let checked = self.checker.fact(at, fact, &self.nodes, &self.places, &self.truth);
        checked.map_err(|(invariant, what)| self.broke(at, invariant, what).into())
    }

    pub(super) fn broke(&self, node: usize, invariant: &'static str, what: String) -> Violation {
        Violation { seed: self.seed, after_ms: self.elapsed().0, node, invariant, what }
    }

    fn send(&mut self, from: usize, to: usize, packet: Packet) {
        let packet = match packet.about {
            // Each is its own; there is nothing to share.
            About::LogRequest | About::LogResponse(None) => packet,
            About::LogResponse(Some(_)) | About::NoticeRequest | About::NoticeResponse(_) => self.post.shared(packet),
            About::Gossip => packet,
        };
        let kind = match packet.about {
            About::LogRequest | About::LogResponse(None) => Kind::Heads,
            About::LogResponse(Some(_)) => Kind::Pages,
            About::NoticeRequest | About::NoticeResponse(_) => Kind::Notices,
            About::Gossip => Kind::Gossip,
        };
        self.spread.sent(from, kind, packet.n_bytes());
        let copies = self.network.copies(from, to);
        // Whoever asked hears of a lost request, and of a lost answer, most of the time.
        if copies.is_empty() && packet.about != About::Gossip && self.random.chance(REPORTED_PER_MILLE) {
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

    pub(super) fn boot(&mut self, at: usize) -> Result<(), SimError> {
        let now = self.now;
        let seed = self.random.number();
        let node = self.node(at)?;
        node.boot(node.clock(now), seed)?;
        let life = node.life;
        let wait = Duration(self.random.below(TICK_EVERY.0));
        self.queue_in(wait, Occurrence::Tick { node: at, life });
        let Some(node) = self.nodes.get(at) else {
            return Err(SimError::NoSuchNode(at));
        };
        let checked = self.checker.restarted(at, node, &self.truth);
        checked.map_err(|(invariant, what)| self.broke(at, invariant, what).into())
    }

    /// Two neighbours connect. Whoever thought the other lost or there hears that it is new.
    fn admit(&mut self, a: usize, b: usize) -> Result<(), SimError> {
        if !(self.node(a)?.is_up() && self.node(b)?.is_up()) {
            return Ok(());
        }
        for (at, other) in [(a, b), (b, a)] {
            let (peer, heads) = self.node(other)?.introduction();
            self.act(at, |node, now| {
                node.lost(now, peer);
                Ok(node.admitted(now, peer, heads))
            })?;
        }
        Ok(())
    }

    /// Something happens again a little later.
    pub(super) fn put_off(&mut self, command: Command) {
        self.queue_in(TICK_EVERY, Occurrence::Script(command));
    }
}
