//! The simulator run over many seeds: under loss, delay, partition and crash everybody ends with the same logs, every
//! obligation is acknowledged, and liars are found out and not believed.
//!
//! `PLUMB_SIM_SEEDS=500` runs more seeds; `PLUMB_SIM_SEED=17` runs that one. A failure prints the command that repeats it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plumb_core::measure::Duration;
use plumb_federation::sim::{Behaviour, Command, NetworkSettings, Settings, SimError, Simulation};

const SEEDS: u64 = 20;

/// A bad day: one frame in five is lost, one in twenty comes twice, one in thirty comes seconds late.
const BAD_NETWORK: NetworkSettings =
    NetworkSettings { loss_per_mille: 200, double_per_mille: 50, straggle_per_mille: 30, delay_ms_max: 200 };

fn seconds(n: u64) -> Duration {
    Duration::seconds(n)
}

fn seeds() -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    match number("PLUMB_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("PLUMB_SIM_SEEDS").unwrap_or(SEEDS)).collect(),
    }
}

/// Runs a scenario for each seed, and says how to repeat the one that fails.
fn for_each_seed(test: &str, scenario: impl Fn(u64) -> Result<(), SimError>) {
    for seed in seeds() {
        println!("seed {seed}");
        let outcome = catch_unwind(AssertUnwindSafe(|| scenario(seed)));
        let failure = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "see above".to_string(),
        };
        panic!("{failure}\nrepeat: PLUMB_SIM_SEED={seed} cargo test -p plumb-federation --test simulation {test}");
    }
}

fn honest(n: usize, seed: u64) -> Settings {
    Settings { seed, nodes: vec![Behaviour::Honest; n], n_chords: 2, network: BAD_NETWORK }
}

/// Twenty nodes, six publishers, a partition in which both sides publish, crashes, and a publisher that leaves as soon
/// as one other node holds what it said.
#[test]
fn all_logs_agree_and_all_obligations_are_acknowledged() {
    for_each_seed("all_logs_agree", |seed| {
        let mut sim = Simulation::new(&honest(20, seed))?;
        let publish = |node, n_entries| Command::Publish { node, n_entries };
        for (at, node, n_entries) in [(2, 0, 1), (3, 4, 3), (5, 8, 1), (12, 0, 2), (15, 12, 400), (16, 16, 1)] {
            sim.schedule(seconds(at), publish(node, n_entries));
        }
        sim.schedule(seconds(20), Command::Part { side: (0..10).collect() });
        for (at, node, n_entries) in [(25, 0, 1), (30, 12, 5), (31, 4, 1), (50, 16, 40), (60, 0, 1)] {
            sim.schedule(seconds(at), publish(node, n_entries));
        }
        for (down, up, node) in [(22, 40, 5), (33, 90, 12), (52, 53, 16), (70, 75, 0)] {
            sim.schedule(seconds(down), Command::Crash { node });
            sim.schedule(seconds(up), Command::Restart { node });
        }
        sim.schedule(seconds(120), Command::Heal);

        // The one that leaves: nobody can ask it any more, and everybody hears of what it said.
        assert!(!sim.run_until(seconds(130), |_| false)?);
        let leaver = 18;
        sim.command(publish(leaver, 2))?;
        assert!(sim.run_until(seconds(200), |sim| sim.n_holding(leaver) > 1)?, "somebody hears it");
        sim.command(Command::Crash { node: leaver })?;
        assert!(sim.run_until(seconds(600), Simulation::logs_agree)?, "{:#?}", sim.differences());
        assert_eq!(sim.n_holding(leaver), 20);

        // It alone delivers its notices.
        sim.command(Command::Restart { node: leaver })?;
        let limit = Duration(sim.elapsed().0 + 900_000);
        let is_done = |sim: &Simulation| sim.n_unacknowledged() == 0 && sim.logs_agree();
        assert!(sim.run_until(limit, is_done)?, "{:#?}", sim.differences());
        assert!(sim.n_obligations() > 0);
        assert!(sim.reports().faults.is_empty(), "nobody is blamed: {:?}", sim.reports().faults);
        assert!(sim.reports().convictions.is_empty());
        Ok(())
    });
}

/// Two of twelve nodes forge whatever they pass on. Nothing of it is applied (SIM-1), they are blamed and nobody else is,
/// and the logs of the others agree all the same.
#[test]
fn forgers_are_blamed_and_not_believed() {
    for_each_seed("forgers", |seed| {
        let mut settings = honest(12, seed);
        settings.nodes[3] = Behaviour::Forger;
        settings.nodes[7] = Behaviour::Forger;
        let mut sim = Simulation::new(&settings)?;
        // The forgers publish too, so that they have something to twist.
        for (at, node, n_entries) in [(2, 3, 4), (2, 7, 4), (5, 0, 2)] {
            sim.schedule(seconds(at), Command::Publish { node, n_entries });
        }
        sim.schedule(seconds(10), Command::Lie);
        for (at, node, n_entries) in [(12, 0, 3), (20, 5, 300), (30, 0, 1), (40, 9, 7), (50, 5, 1)] {
            sim.schedule(seconds(at), Command::Publish { node, n_entries });
        }
        assert!(!sim.run_until(seconds(60), |_| false)?);
        assert!(sim.run_until(seconds(900), Simulation::logs_agree)?, "{:#?}", sim.differences());
        assert!(sim.run_until(seconds(1800), |sim| sim.n_unacknowledged() == 0)?);
        let blamed: BTreeSet<usize> = sim.reports().faults.keys().copied().collect();
        assert_eq!(blamed, BTreeSet::from([3, 7]), "{:?}", sim.reports().faults);
        assert!(sim.reports().convictions.is_empty(), "no publisher is taken for one that lies");
        Ok(())
    });
}

/// One of twelve nodes shows half of the others another history. Everybody convicts it, with a proof that holds, and
/// takes up nothing more of it (SIM-5).
#[test]
fn an_equivocator_is_convicted_by_all() {
    for_each_seed("equivocator", |seed| {
        let liar = 4;
        let mut settings = honest(12, seed);
        settings.nodes[liar] = Behaviour::Equivocator;
        let mut sim = Simulation::new(&settings)?;
        for (at, node, n_entries) in [(2, liar, 3), (4, 0, 2)] {
            sim.schedule(seconds(at), Command::Publish { node, n_entries });
        }
        assert!(!sim.run_until(seconds(5), |_| false)?);
        assert!(sim.run_until(seconds(300), |sim| sim.n_holding(liar) == 12)?, "it was a publisher like others");
        sim.command(Command::Lie)?;
        for (node, n_entries) in [(liar, 2), (8, 3)] {
            sim.command(Command::Publish { node, n_entries })?;
        }
        let n_convinced = move |sim: &Simulation| {
            sim.reports().convictions.get(&liar).map_or(0, |by| by.iter().filter(|at| **at != liar).count())
        };
        assert!(sim.run_until(seconds(900), |sim| n_convinced(sim) == 11)?, "{} are convinced", n_convinced(&sim));
        let held: Vec<usize> = (0..12).filter(|at| *at != liar).map(|at| sim.n_held(at, liar)).collect();

        sim.command(Command::Crash { node: 0 })?;
        sim.command(Command::Restart { node: 0 })?;
        sim.command(Command::Publish { node: liar, n_entries: 2 })?;
        let limit = Duration(sim.elapsed().0 + 120_000);
        assert!(!sim.run_until(limit, |_| false)?);
        let still: Vec<usize> = (0..12).filter(|at| *at != liar).map(|at| sim.n_held(at, liar)).collect();
        assert_eq!(held, still, "what is held stays, and nothing is added");
        assert!(sim.logs_agree(), "{:#?}", sim.differences());
        assert_eq!(sim.reports().convictions.keys().collect::<Vec<_>>(), [&liar]);
        Ok(())
    });
}

/// The same seed gives the same run.
#[test]
fn a_run_repeats() {
    let run = || -> Result<(u64, usize, Duration), SimError> {
        let mut sim = Simulation::new(&honest(6, 99))?;
        sim.schedule(seconds(1), Command::Publish { node: 2, n_entries: 40 });
        sim.run_until(seconds(60), |_| false)?;
        Ok((sim.n_occurrences(), sim.n_holding(2), sim.elapsed()))
    };
    assert_eq!(run().unwrap(), run().unwrap());
}
