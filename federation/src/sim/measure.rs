//! What a run cost, and how fast news got around.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::measure::Timestamp;
use serde::Serialize;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gossip,
    Heads,
    Pages,
    Notices,
}

/// Frames that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// How many.
    pub n_messages: u64,
    /// Their bytes, without those of the transport.
    pub n_bytes: u64,
}

impl Traffic {
    fn add(&mut self, n_bytes: usize) {
        self.n_messages += 1;
        self.n_bytes += n_bytes as u64;
    }
}

/// How long something took, over all nodes and notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many were measured.
    pub n: u64,
    /// Half took at most this long.
    pub p50: u64,
    /// Nineteen of twenty.
    pub p95: u64,
    /// All.
    pub max: u64,
}

impl Spread {
    /// The spread of some measurements.
    pub fn of(mut all: Vec<u64>) -> Spread {
        all.sort_unstable();
        let at = |per_cent: usize| {
            // The smallest value that this share does not exceed.
            let rank = (all.len() * per_cent).div_ceil(100).max(1);
            all.get(rank - 1).copied().unwrap_or(0)
        };
        Spread { n: all.len() as u64, p50: at(50), p95: at(95), max: at(100) }
    }
}

#[derive(Debug)]
struct Issued {
    at: Timestamp,
    /// How often it was passed on until it came to each node; 0 if it has not.
    passes: Vec<u8>,
}

/// Notes who heard of what when, and who sent how much.
#[derive(Debug)]
pub(super) struct Measure {
    n_nodes: usize,
    notices: BTreeMap<Cid, Issued>,
    healed_at: Option<Timestamp>,
    /// Of notices issued in a whole network: from there to each node.
    since_issue_ms: Vec<u64>,
    /// Of what was missing when the network healed: from there to each node.
    since_heal_ms: Vec<u64>,
    n_passes: Vec<u64>,
    by_node: Vec<Traffic>,
    by_kind: [Traffic; 4],
}

impl Measure {
    pub(super) fn new(n_nodes: usize) -> Measure {
        Measure {
            n_nodes,
            notices: BTreeMap::new(),
            healed_at: None,
            since_issue_ms: Vec::new(),
            since_heal_ms: Vec::new(),
            n_passes: Vec::new(),
            by_node: vec![Traffic::default(); n_nodes],
            by_kind: [Traffic::default(); 4],
        }
    }

    pub(super) fn issued(&mut self, notice: Cid, at: Timestamp) {
        let passes = vec![0; self.n_nodes];
        self.notices.insert(notice, Issued { at, passes });
    }

    pub(super) fn healed(&mut self, at: Timestamp) {
        self.healed_at = Some(at);
    }

    /// A node applied a notice that it has from another.
    pub(super) fn applied(&mut self, notice: &Cid, node: usize, via: Option<usize>, now: Timestamp) {
        let Some(issued) = self.notices.get_mut(notice) else {
            return;
        };
        let Some(via) = via else {
            return;
        };
        let passes = issued.passes.get(via).copied().unwrap_or(0).saturating_add(1);
        if let Some(own) = issued.passes.get_mut(node) {
            *own = passes;
        }
        match self.healed_at {
            Some(healed_at) if healed_at <= issued.at => {
                self.since_issue_ms.push(now.since(issued.at).0);
                self.n_passes.push(u64::from(passes));
            }
            Some(healed_at) => self.since_heal_ms.push(now.since(healed_at).0),
            None => {}
        }
    }

    pub(super) fn sent(&mut self, from: usize, kind: Kind, n_bytes: usize) {
        if let Some(node) = self.by_node.get_mut(from) {
            node.add(n_bytes);
        }
        self.by_kind[kind as usize].add(n_bytes);
    }

    pub(super) fn since_issue(&self) -> Spread {
        Spread::of(self.since_issue_ms.clone())
    }

    pub(super) fn since_heal(&self) -> Spread {
        Spread::of(self.since_heal_ms.clone())
    }

    pub(super) fn passes(&self) -> Spread {
        Spread::of(self.n_passes.clone())
    }

    /// What the nodes sent, in messages and in bytes.
    pub(super) fn per_node(&self) -> (Spread, Spread) {
        let of = |number: fn(&Traffic) -> u64| Spread::of(self.by_node.iter().map(number).collect());
        (of(|traffic| traffic.n_messages), of(|traffic| traffic.n_bytes))
    }

    /// What was sent as gossip, heads, pages and notices, and by how many nodes.
    pub(super) fn by_kind(&self) -> [Traffic; 4] {
        self.by_kind
    }
}
