//! What can be seen of a simulation from outside.

use plumb_core::measure::Duration;

use super::{Behaviour, EPOCH, Reports, Simulation};
use crate::protocol::delivery::Standing;

impl Simulation {
    /// Simulated time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.now.since(EPOCH)
    }

    /// How much has happened.
    pub fn n_occurrences(&self) -> u64 {
        self.n_occurrences
    }

    /// What nodes said of others.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Whether every honest node that is up holds all that every honest publisher published.
    pub fn logs_agree(&self) -> bool {
        let honest = || self.nodes.iter().filter(|node| node.behaviour == Behaviour::Honest);
        honest().filter(|node| node.is_up()).all(|node| {
            honest().all(|publisher| node.disk.entries(&publisher.id) == publisher.disk.entries(&publisher.id))
        })
    }

    /// How many nodes hold all that a node published.
    pub fn n_holding(&self, publisher: usize) -> usize {
        let Some(publisher) = self.nodes.get(publisher) else {
            return 0;
        };
        let all = publisher.disk.entries(&publisher.id);
        self.nodes.iter().filter(|node| node.disk.entries(&publisher.id) == all).count()
    }

    /// How many obligations of honest nodes are not acknowledged.
    pub fn n_unacknowledged(&self) -> usize {
        let honest = self.nodes.iter().filter(|node| node.behaviour == Behaviour::Honest);
        honest.map(|node| node.disk.n_unacknowledged()).sum()
    }

    /// What is not yet as it should be, for a person who looks into a failure.
    pub fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        let honest = || {
            let all = self.nodes.iter().enumerate();
            all.filter(|(_, node)| node.behaviour == Behaviour::Honest)
        };
        for (at, node) in honest() {
            for (publisher_at, publisher) in honest() {
                let (held, all) = (node.disk.entries(&publisher.id).len(), publisher.disk.entries(&publisher.id).len());
                if held != all {
                    found.push(format!("node {at} holds {held} of {all} of node {publisher_at}"));
                }
            }
            for ((notice, holder), standing) in &node.disk.obligations {
                let place = self.places.get(holder);
                if !matches!(standing, Standing::Acknowledged { .. }) {
                    found.push(format!("node {at}: {notice} at {place:?} is {standing:?}"));
                }
            }
        }
        found
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
}
