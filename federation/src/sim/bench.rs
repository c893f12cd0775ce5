//! Many stories, and what they cost.

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;

use super::{Plan, Scenario, SimError, Spread, Traffic, Wish};
use crate::protocol::log_sync::HEADS_EVERY;

/// What one story came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Repeats it.
    pub seed: u64,
    /// How many nodes there were.
    pub n_nodes: usize,
    /// How many of them published.
    pub n_publishers: usize,
    /// What went wrong.
    pub scenario: Scenario,
    /// Until everybody knew everything, and everything was acknowledged: simulated milliseconds.
    pub settled_ms: u64,
    /// From the issue of a notice to each node, for notices issued in a whole network.
    pub issue_to_node_ms: Spread,
    /// How often such a notice was passed on until it came to each node.
    pub passes: Spread,
    /// From the healing of the network to each node that lacked something.
    pub heal_to_node_ms: Spread,
    /// Messages that each node sent.
    pub messages_per_node: Spread,
    /// Bytes that each node sent.
    pub bytes_per_node: Spread,
    /// Gossip of all nodes.
    pub gossip: Traffic,
    /// Heads and summaries of all nodes.
    pub heads: Traffic,
    /// Entries, and refusals to give them, of all nodes.
    pub pages: Traffic,
    /// Notices, receipts and acknowledgements of all nodes.
    pub notices: Traffic,
    /// Notices that somebody owed to a holder.
    pub n_obligations: usize,
    /// How often an invariant was looked at.
    pub n_checks: u64,
    /// How much happened.
    pub n_occurrences: u64,
}

impl Outcome {
    /// How many exchanges of heads a node has had from the healing of the network until the last knew.
    pub fn heal_rounds(&self) -> u64 {
        self.heal_to_node_ms.max.div_ceil(HEADS_EVERY.0)
    }
}

/// Runs one story.
pub fn run_one(seed: u64, wish: &Wish) -> Result<Outcome, SimError> {
    let plan = Plan::new(seed, wish);
    let simulation = plan.run()?;
    let (messages_per_node, bytes_per_node) = simulation.per_node();
    let [gossip, heads, pages, notices] = simulation.by_kind();
    Ok(Outcome {
        seed,
        n_nodes: plan.settings.nodes.len(),
        n_publishers: plan.n_publishers,
        scenario: plan.scenario,
        settled_ms: simulation.elapsed().0,
        issue_to_node_ms: simulation.since_issue(),
        passes: simulation.passes(),
        heal_to_node_ms: simulation.since_heal(),
        messages_per_node,
        bytes_per_node,
        gossip,
        heads,
        pages,
        notices,
        n_obligations: simulation.n_obligations(),
        n_checks: simulation.n_checks(),
        n_occurrences: simulation.n_occurrences(),
    })
}

/// A story that went wrong.
#[derive(Debug)]
pub struct Failure {
    /// Which.
    pub seed: u64,
    /// What broke.
    pub error: SimError,
}

/// Runs the stories of a range of seeds on so many threads, up to the first that goes wrong. `done` hears how many are.
/// The outcomes come in the order of their seeds, whatever the threads do.
pub fn run_many(
    seeds: RangeInclusive<u64>,
    wish: &Wish,
    n_threads: usize,
    done: impl Fn(u64) + Sync,
) -> Result<Vec<Outcome>, Failure> {
    let next = AtomicU64::new(*seeds.start());
    let stop = AtomicBool::new(false);
    let results: Mutex<(Vec<Outcome>, Option<Failure>)> = Mutex::new((Vec::new(), None));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                break;
            }
            let outcome = run_one(seed, wish);
            let Ok(mut results) = results.lock() else { break };
            match outcome {
                Ok(outcome) => {
                    results.0.push(outcome);
                    done(results.0.len() as u64);
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    results.1.get_or_insert(Failure { seed, error });
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..n_threads.max(1) {
            scope.spawn(work);
        }
    });
    let (mut outcomes, failure) = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| outcome.seed);
    match failure {
        Some(failure) => Err(failure),
        None => Ok(outcomes),
    }
}
