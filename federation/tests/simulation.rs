//! Stories of the simulator, each from a seed: under loss, delay, partition, crash and lies everybody ends with the same
//! state, every obligation is acknowledged, and liars are found out and not believed.
//!
//! `PLUMB_SIM_SEED=17` begins with that seed, `PLUMB_SIM_SEEDS=500` runs so many. A failure prints the command that
//! repeats it.

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::measure::Duration;
use plumb_federation::sim::bench::{Outcome, run_many};
use plumb_federation::sim::plot::{By, growth};
use plumb_federation::sim::{Behaviour, Command, NetworkSettings, Scenario, Settings, SimError, Simulation, Wish};

/// Seeds of one run of the tests.
const SEEDS: u64 = 240;

/// A bad day: one frame in five is lost, one in twenty comes twice, one in thirty comes seconds late.
const BAD_NETWORK: NetworkSettings =
    NetworkSettings { loss_per_mille: 200, double_per_mille: 50, straggle_per_mille: 30, delay_ms_max: 200 };

fn seconds(n: u64) -> Duration {
    Duration::seconds(n)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The first seed: as asked, or another one each time.
fn first_seed() -> u64 {
    number("PLUMB_SIM_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |since| since.as_secs() * 1000)
    })
}

fn run_seeds(first: u64, n: u64, wish: &Wish) -> Vec<Outcome> {
    println!("seeds {first}..={}, {n} of them", first + n - 1);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let outcomes = run_many(first..=first + n - 1, wish, n_threads, |done| {
        if done.is_multiple_of(200) {
            eprintln!("{done} of {n}");
        }
    });
    outcomes.unwrap_or_else(|failure| {
        let nodes = wish.n_nodes.map(|n| format!(" --nodes {n}")).unwrap_or_default();
        panic!("{}\nrepeat: plumb bench sim{nodes} --seed {}", failure.error, failure.seed);
    })
}

/// SIM-1 to SIM-11, over networks of 5 to 200 nodes in which everything goes wrong that can.
#[test]
fn every_seed_keeps_the_invariants() {
    let outcomes = run_seeds(first_seed(), number("PLUMB_SIM_SEEDS").unwrap_or(SEEDS), &Wish::default());
    let mut by_scenario: BTreeMap<Scenario, [u64; 4]> = BTreeMap::new();
    for outcome in &outcomes {
        let sums = by_scenario.entry(outcome.scenario).or_default();
        let more = [1, outcome.n_nodes as u64, outcome.n_checks, outcome.n_obligations as u64];
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    for (scenario, [n, n_nodes, n_checks, n_obligations]) in &by_scenario {
        let name = scenario.as_str();
        println!("{name}: {n} seeds, {n_nodes} nodes, {n_checks} checks, {n_obligations} obligations");
        assert!(0 < *n_obligations, "somebody owed somebody something");
    }
}

fn bad_day(behaviours: Vec<Behaviour>, seed: u64) -> Result<Simulation, SimError> {
    Simulation::new(&Settings {
        seed,
        nodes: behaviours,
        late: BTreeSet::new(),
        leaving: BTreeSet::new(),
        n_chords: 2,
        network: BAD_NETWORK,
    })
}

/// Of twelve nodes some forge whatever they pass on. Nothing of it is applied (SIM-1, SIM-6), they are blamed, nobody else
/// is (SIM-8), and the logs of the others agree all the same.
#[test]
fn forgers_are_blamed_and_not_believed() {
    for seed in 1..=8 {
        let mut behaviours = vec![Behaviour::Honest; 12];
        behaviours[3] = Behaviour::Forger;
        behaviours[7] = Behaviour::Forger;
        let mut sim = bad_day(behaviours, seed).unwrap();
        // The forgers publish too, so that they have something to twist.
        for (at, node, n) in [(2, 3, 4), (2, 7, 4), (5, 0, 2), (12, 0, 3), (20, 5, 300), (30, 0, 1), (40, 9, 7)] {
            sim.schedule(seconds(at), Command::Publish { node, n });
        }
        for (at, node) in [(6, 3), (7, 7), (25, 0), (26, 3), (27, 7), (35, 0), (45, 9)] {
            sim.schedule(seconds(at), Command::Notice { node });
        }
        sim.schedule(seconds(10), Command::Lie);
        assert!(!sim.run_until(seconds(60), |_| false).unwrap());
        assert!(sim.run_until(seconds(900), Simulation::is_settled).unwrap(), "seed {seed}: {:#?}", sim.differences());
        let is_blamed = |sim: &Simulation| sim.reports().faults.keys().copied().collect::<Vec<_>>() == [3, 7];
        assert!(sim.run_until(seconds(1800), is_blamed).unwrap(), "seed {seed}: {:?}", sim.reports().faults);
        assert!(sim.reports().convictions.is_empty(), "no publisher is taken for one that lies");
    }
}

/// One of twelve nodes shows half of the others another history. Everybody convicts it, with a proof that holds, and
/// takes up nothing more of it (SIM-5), also after a restart.
#[test]
fn an_equivocator_is_convicted_by_all() {
    for seed in 1..=8 {
        let liar = 4;
        let mut behaviours = vec![Behaviour::Honest; 12];
        behaviours[liar] = Behaviour::Equivocator;
        let mut sim = bad_day(behaviours, seed).unwrap();
        for (at, node, n) in [(2, liar, 3), (4, 0, 2)] {
            sim.schedule(seconds(at), Command::Publish { node, n });
        }
        assert!(!sim.run_until(seconds(5), |_| false).unwrap());
        assert!(sim.run_until(seconds(300), |sim| sim.n_holding(liar) == 12).unwrap(), "it was one like others");
        sim.command(Command::Lie).unwrap();
        for (node, n) in [(liar, 2), (8, 3)] {
            sim.command(Command::Publish { node, n }).unwrap();
        }
        let others = || (0..12).filter(|at| *at != liar);
        let all_know = |sim: &Simulation| others().all(|at| sim.has_convicted(at, liar));
        assert!(sim.run_until(seconds(900), all_know).unwrap(), "seed {seed}");
        // What was on its way to the disks gets there.
        let soon = Duration(sim.elapsed().0 + 1_000);
        assert!(!sim.run_until(soon, |_| false).unwrap());
        let held: Vec<usize> = others().map(|at| sim.n_held(at, liar)).collect();
        sim.command(Command::Crash { node: 0 }).unwrap();
        sim.command(Command::Restart { node: 0 }).unwrap();
        sim.command(Command::Publish { node: liar, n: 2 }).unwrap();
        let limit = Duration(sim.elapsed().0 + 120_000);
        assert!(!sim.run_until(limit, |_| false).unwrap());
        let still: Vec<usize> = others().map(|at| sim.n_held(at, liar)).collect();
        assert_eq!(held, still, "what is held stays, and nothing is added");
        assert!(sim.run_until(seconds(1800), Simulation::logs_agree).unwrap(), "{:#?}", sim.differences());
        assert_eq!(sim.reports().convictions.keys().collect::<Vec<_>>(), [&liar]);
    }
}

/// Once every obligation is acknowledged, the protocol of notices is silent: over minutes, over lost connections, over
/// restarts of whoever published and whoever holds.
#[test]
fn an_acknowledgement_closes_for_ever() {
    for seed in 1..=4 {
        let mut sim = bad_day(vec![Behaviour::Honest; 9], seed).unwrap();
        sim.schedule(seconds(2), Command::Publish { node: 0, n: 1 });
        for at in 3..9 {
            sim.schedule(seconds(at), Command::Share { node: 0 });
        }
        (40..44).for_each(|at| sim.schedule(seconds(at), Command::Notice { node: 0 }));
        assert!(!sim.run_until(seconds(60), |_| false).unwrap());
        assert!(sim.run_until(seconds(900), Simulation::is_settled).unwrap(), "seed {seed}: {:#?}", sim.differences());
        assert!(0 < sim.n_obligations());
        // Late copies of what was sent before come to their end.
        let quiet = Duration(sim.elapsed().0 + 60_000);
        assert!(!sim.run_until(quiet, |_| false).unwrap());
        let [.., notices] = sim.by_kind();
        for node in 0..9 {
            sim.command(Command::Crash { node }).unwrap();
            sim.command(Command::Restart { node }).unwrap();
        }
        let limit = Duration(sim.elapsed().0 + 600_000);
        assert!(!sim.run_until(limit, |_| false).unwrap());
        let [.., after] = sim.by_kind();
        assert_eq!(after, notices, "seed {seed}: nothing was said of notices again");
    }
}

/// The same seed gives the same run.
#[test]
fn a_run_repeats() {
    let wish = Wish { n_nodes: Some(12), scenario: Some(Scenario::All), ..Wish::default() };
    let (once, again) = (run_seeds(99, 3, &wish), run_seeds(99, 3, &wish));
    assert_eq!(once, again);
}

/// The long run: `PLUMB_SIM_SEEDS=10000 PLUMB_SIM_SEED=1`.
#[test]
#[ignore = "long: the numbers of docs/simulation.md; .ci/run has a short one"]
fn long_run() {
    let began = std::time::Instant::now();
    let outcomes = run_seeds(first_seed(), number("PLUMB_SIM_SEEDS").unwrap_or(10_000), &Wish::default());
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    for scenario in Scenario::ALL {
        let n = outcomes.iter().filter(|outcome| outcome.scenario == scenario).count();
        println!("{}: {n} seeds", scenario.as_str());
    }
    println!(
        "{} networks, {} nodes, {} checks, {} occurrences, {} obligations, {:?}",
        outcomes.len(),
        sum(|outcome| outcome.n_nodes as u64),
        sum(|outcome| outcome.n_checks),
        sum(|outcome| outcome.n_occurrences),
        sum(|outcome| outcome.n_obligations as u64),
        began.elapsed()
    );
}

/// How time and traffic grow: `PLUMB_SIM_NODES=10,100,1000` or `PLUMB_SIM_PUBLISHERS=…`, and the drawing into
/// `PLUMB_SIM_PLOT`.
#[test]
#[ignore = "long: the figures of docs/simulation.md; .ci/run has a short one"]
fn growth_series() {
    let numbers = |name: &str| -> Vec<usize> {
        let text = std::env::var(name).unwrap_or_default();
        text.split(',').filter_map(|n| n.trim().parse().ok()).collect()
    };
    let (nodes, publishers) = (numbers("PLUMB_SIM_NODES"), numbers("PLUMB_SIM_PUBLISHERS"));
    let by = if 1 < publishers.len() { By::Publishers } else { By::Nodes };
    let mut all = Vec::new();
    for n_nodes in if nodes.is_empty() { vec![10, 30, 100] } else { nodes } {
        for n_publishers in if publishers.is_empty() { vec![8] } else { publishers.clone() } {
            let wish = Wish {
                n_nodes: Some(n_nodes),
                n_publishers: Some(n_publishers),
                loss_per_mille: Some(50),
                delay_ms_max: Some(200),
                scenario: Some(Scenario::Heal),
            };
            let began = std::time::Instant::now();
            let n = number("PLUMB_SIM_SEEDS").unwrap_or(1);
            for o in run_seeds(number("PLUMB_SIM_SEED").unwrap_or(1), n, &wish) {
                println!(
                    "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:?} |",
                    o.n_nodes,
                    o.n_publishers,
                    o.issue_to_node_ms.p50,
                    o.issue_to_node_ms.p95,
                    o.issue_to_node_ms.max,
                    o.passes.max,
                    o.heal_to_node_ms.p50,
                    o.heal_to_node_ms.p95,
                    o.heal_to_node_ms.max,
                    o.messages_per_node.p50,
                    o.bytes_per_node.p50 / 1024,
                    o.heads.n_bytes / o.n_nodes as u64,
                    o.n_checks,
                    began.elapsed()
                );
                all.push(o);
            }
        }
    }
    if let Ok(file) = std::env::var("PLUMB_SIM_PLOT") {
        std::fs::write(file, growth(&all, by)).unwrap();
    }
}
