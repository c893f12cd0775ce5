//! What can be seen of a simulation from outside.

use plumb_core::identity::NodeId;
use plumb_core::log::{Hash, empty_root};
use plumb_core::measure::Duration;
use sha2::{Digest, Sha256};

use super::{EPOCH, Node, Reports, Simulation, Spread, Traffic, Violation};

impl Simulation {
    /// Simulated time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.now.since(EPOCH)
    }

    /// How much has happened.
    pub fn n_occurrences(&self) -> u64 {
        self.n_occurrences
    }

    /// How often an invariant was looked at.
    pub fn n_checks(&self) -> u64 {
        self.checker.n_checks()
    }

    /// What nodes said of others.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }

    /// From the issue of a notice to each node, in milliseconds: for notices issued after the network healed.
    pub fn since_issue(&self) -> Spread {
        self.spread.since_issue()
    }

    /// From the healing of the network to each node that lacked something, in milliseconds.
    pub fn since_heal(&self) -> Spread {
        self.spread.since_heal()
    }

    /// How often notices were passed on until they came to each node.
    pub fn passes(&self) -> Spread {
        self.spread.passes()
    }

    /// Messages and bytes that each node sent.
    pub fn per_node(&self) -> (Spread, Spread) {
        self.spread.per_node()
    }

    /// What was sent as gossip, as heads, as pages of entries, and as notices with their answers.
    pub fn by_kind(&self) -> [Traffic; 4] {
        self.spread.by_kind()
    }

    fn honest(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_honest())
    }

    fn honest_and_up(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.honest().filter(|(_, node)| node.is_up())
    }

    /// How far each honest publisher's log goes: what it has on its own disk, or, if it has left, what others have.
    fn logs(&self) -> Vec<(NodeId, u64)> {
        let size = |of: &Node| {
            if !of.is_gone {
                return of.disk.size(&of.id);
            }
            self.honest_and_up().map(|(_, node)| node.disk.size(&of.id)).max().unwrap_or(0)
        };
        let all = self.honest().map(|(_, publisher)| (publisher.id, size(publisher)));
        all.filter(|(_, size)| 0 < *size).collect()
    }

    /// Whether every honest node that is up holds all that every honest publisher published.
    pub fn logs_agree(&self) -> bool {
        let logs = self.logs();
        self.honest_and_up().all(|(_, node)| logs.iter().all(|(of, size)| node.disk.size(of) == *size))
    }

    /// Obligations of honest nodes that are up to honest nodes that have not left, and that are not acknowledged.
    pub fn n_unacknowledged(&self) -> usize {
        self.open().count()
    }

    fn open(&self) -> impl Iterator<Item = (usize, usize)> {
        let can_answer = |holder: &NodeId| {
            let place = *self.places.get(holder)?;
            let holder = self.nodes.get(place)?;
            (holder.is_honest() && !holder.is_gone).then_some(place)
        };
        self.honest_and_up().flat_map(move |(at, node)| {
            node.open_obligations().filter_map(move |(_, holder)| can_answer(holder)).map(move |holder| (at, holder))
        })
    }

    /// Whether everybody knows everything, and everything is acknowledged: SIM-10.
    pub fn is_settled(&self) -> bool {
        let is_idle = |(_, node): (usize, &Node)| node.queue.is_empty();
        self.logs_agree() && self.n_unacknowledged() == 0 && self.honest_and_up().all(is_idle)
    }

    /// What broke if a run did not settle, or settled in two states (SIM-10, SIM-11).
    pub fn conclusion(&self) -> Result<(), Violation> {
        if !self.is_settled() {
            let found = self.differences();
            let n = found.len();
            let first: Vec<String> = found.into_iter().take(8).collect();
            return Err(self.broke(0, "SIM-10", format!("{n} things are not as they should be: {}", first.join("; "))));
        }
        let mut states = self.honest_and_up().map(|(at, node)| (at, self.state_of(node)));
        let Some((_, first)) = states.next() else {
            return Ok(());
        };
        match states.find(|(_, state)| *state != first) {
            Some((at, _)) => Err(self.broke(at, "SIM-11", "its state is not that of the others".to_string())),
            None => Ok(()),
        }
    }

    /// A hash of what a node holds of honest publishers: the logs with their roots, the notices, and what stands against
    /// what they name.
    fn state_of(&self, node: &Node) -> Hash {
        let mut hasher = Sha256::new();
        let is_honest = |id: &NodeId| {
            let place = self.places.get(id).and_then(|place| self.nodes.get(*place));
            place.is_some_and(Node::is_honest)
        };
        for log in node.disk.logs().filter(|log| is_honest(&log.publisher)) {
            hasher.update(log.publisher.as_bytes());
            hasher.update(log.range.size().to_be_bytes());
            hasher.update(if log.range.size() == 0 { empty_root() } else { log.range.root() });
        }
        hasher.update(node.disk.shelf.digest(is_honest));
        hasher.finalize().into()
    }

    /// What is not yet as it should be, for a person who looks into a failure.
    pub fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        let logs = self.logs();
        for (at, node) in self.honest_and_up() {
            for (of, size) in &logs {
                let held = node.disk.size(of);
                if held != *size {
                    found.push(format!("node {at} holds {held} of {size} of node {:?}", self.places.get(of)));
                }
            }
        }
        found.extend(self.open().map(|(at, holder)| format!("node {holder} has not acknowledged to node {at}")));
        found
    }

    /// How many nodes are up and honest.
    pub fn n_honest_and_up(&self) -> usize {
        self.honest_and_up().count()
    }

    /// How many nodes hold all that a node published.
    pub fn n_holding(&self, publisher: usize) -> usize {
        let Some(publisher) = self.nodes.get(publisher) else {
            return 0;
        };
        let size = publisher.disk.size(&publisher.id);
        self.nodes.iter().filter(|node| node.disk.size(&publisher.id) == size).count()
    }

    /// How many obligations there are.
    pub fn n_obligations(&self) -> usize {
        self.nodes.iter().map(|node| node.disk.obligations.len()).sum()
    }

    /// How many entries a node holds of another's log.
    pub fn n_held(&self, node: usize, publisher: usize) -> usize {
        let held = self.nodes.get(node).zip(self.nodes.get(publisher));
        held.map_or(0, |(node, publisher)| node.disk.entries(&publisher.id).len())
    }

    /// Whether a node has convicted another.
    pub fn has_convicted(&self, node: usize, publisher: usize) -> bool {
        let publisher = self.nodes.get(publisher).map(|node| node.id);
        publisher.is_some_and(|publisher| self.checker.has_convicted(node, &publisher))
    }
}
