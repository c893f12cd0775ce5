//! What a script makes happen.

use std::sync::Arc;

use plumb_core::measure::Duration;

use super::node::{Effect, Write};
use super::shelf::Source;
use super::{Command, Node, Occurrence, SimError, Simulation, skew};

impl Simulation {
    pub(super) fn script(&mut self, command: Command) -> Result<(), SimError> {
        match command {
            Command::Publish { node, n } => self.if_up(node, |node, _| Ok(node.publish_evidence(n))),
            Command::Copy { node } => self.if_up(node, |node, _| Ok(node.copy())),
            Command::Notice { node } => self.if_up(node, Node::publish_notice),
            Command::Share { node } => self.share(node),
            Command::Crash { node } => self.crash(node),
            Command::Restart { node } => self.restart(node),
            Command::Leave { node } => {
                if self.is_kept_elsewhere(node) {
                    self.node(node)?.is_gone = true;
                    self.crash(node)
                } else {
                    self.put_off(Command::Leave { node });
                    Ok(())
                }
            }
            Command::SetClock { node } => {
                let skew = skew(&mut self.random);
                self.node(node)?.set_clock(skew);
                Ok(())
            }
            Command::Part { side } => {
                self.network.part(side);
                Ok(())
            }
            Command::Heal => {
                self.network.heal();
                self.spread.healed(self.now);
                Ok(())
            }
            Command::Lie => {
                self.nodes.iter_mut().for_each(Node::begin_to_lie);
                Ok(())
            }
        }
    }

    fn if_up(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut Node, plumb_core::measure::Timestamp) -> Result<Vec<Effect>, SimError>,
    ) -> Result<(), SimError> {
        if self.node(node)?.is_up() { self.act(node, act) } else { Ok(()) }
    }

    /// A source passes from a node to one of its neighbours: by file, so also across a partition.
    fn share(&mut self, from: usize) -> Result<(), SimError> {
        let neighbours = self.network.neighbours(from).to_vec();
        let giver = self.node(from)?;
        let held: Vec<Arc<Source>> = giver.disk.shelf.held().map(|(source, _)| source.clone()).collect();
        let giver = giver.id;
        let source = self.random.pick(&held).cloned();
        let to = self.random.pick(&neighbours).copied();
        let (Some(source), Some(to)) = (source, to) else {
            return Ok(());
        };
        let is_new = self.node(to)?.disk.shelf.source(&source.cid).is_none();
        if is_new {
            let giver = Some(giver);
            self.if_up(to, |_, _| Ok(vec![Effect::Write(Box::new(Write::TakeIn { source, giver }))]))?;
        }
        Ok(())
    }

    fn crash(&mut self, at: usize) -> Result<(), SimError> {
        if !self.node(at)?.is_up() {
            return Ok(());
        }
        let mut queue = self.node(at)?.crash();
        let n_reached = self.random.below(queue.len() as u64 + 1);
        for _ in 0..n_reached {
            let Some(write) = queue.pop_front() else { break };
            for fact in self.node(at)?.reached(write)? {
                self.fact(at, &fact)?;
            }
        }
        for neighbour in self.network.neighbours(at).to_vec() {
            let wait = Duration(self.random.below(20_000));
            let (node, lost) = (neighbour, at);
            self.queue_in(wait, Occurrence::Lose { node, lost });
        }
        Ok(())
    }

    fn restart(&mut self, at: usize) -> Result<(), SimError> {
        let node = self.node(at)?;
        if node.is_up() || node.is_gone {
            return Ok(());
        }
        self.boot(at)?;
        for neighbour in self.network.neighbours(at).to_vec() {
            let wait = Duration(self.random.below(2000));
            let (a, b) = (at, neighbour);
            self.queue_in(wait, Occurrence::Admit { a, b });
        }
        Ok(())
    }

    /// Whether an honest node that stays holds all that a node published.
    fn is_kept_elsewhere(&self, at: usize) -> bool {
        let Some(leaving) = self.nodes.get(at) else {
            return true;
        };
        let is_ready = leaving.queue.is_empty();
        let size = leaving.disk.size(&leaving.id);
        let others = self.nodes.iter().filter(|node| node.id != leaving.id && node.is_honest() && node.is_up());
        is_ready && others.into_iter().any(|node| node.disk.size(&leaving.id) == size)
    }
}
