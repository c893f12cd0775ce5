//! Stories of the simulator, each from a seed: under loss, delay, partition, crash and lies everybody ends with the same
//! state, every obligation is acknowledged, and liars are found out and not believed.
//!
//! `PLUMB_SIM_SEED=17` begins with that seed, `PLUMB_SIM_SEEDS=500` runs so many. A failure prints the command that
//! repeats it.

use std::collections::BTreeMap;

use plumb_federation::sim::bench::{Outcome, run_many, run_one};
use plumb_federation::sim::{Plan, Scenario, Wish};

/// Seeds of one run of the tests.
const SEEDS: u64 = 240;

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

fn n_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn run_seeds(n: u64, wish: &Wish) -> Vec<Outcome> {
    let first = first_seed();
    println!("seeds {first}..={}", first + n - 1);
    let outcomes = run_many(first..=first + n - 1, wish, n_threads(), |done| {
        if done.is_multiple_of(500) {
            eprintln!("{done} of {n}");
        }
    });
    outcomes.unwrap_or_else(|failure| {
        panic!("{}\nrepeat: plumb bench sim --seed {}", failure.error, failure.seed);
    })
}

#[test]
fn every_seed_keeps_the_invariants() {
    let outcomes = run_seeds(number("PLUMB_SIM_SEEDS").unwrap_or(SEEDS), &Wish::default());
    let mut by_scenario: BTreeMap<Scenario, (u64, u64, u64)> = BTreeMap::new();
    for outcome in &outcomes {
        let (n, n_checks, n_obligations) = by_scenario.entry(outcome.scenario).or_default();
        *n += 1;
        *n_checks += outcome.n_checks;
        *n_obligations += outcome.n_obligations as u64;
    }
    for (scenario, (n, n_checks, n_obligations)) in &by_scenario {
        println!("{}: {n} seeds, {n_checks} checks, {n_obligations} obligations", scenario.as_str());
    }
}

#[test]
#[ignore = "minutes: one story, PLUMB_SIM_NODES=10000"]
fn one_large_network() {
    let n_nodes = number("PLUMB_SIM_NODES").and_then(|n| usize::try_from(n).ok());
    let wish = Wish { n_nodes, n_publishers: Some(8), loss_per_mille: Some(50), delay_ms_max: Some(200), scenario: Some(Scenario::Heal) };
    let began = std::time::Instant::now();
    let outcome = run_one(number("PLUMB_SIM_SEED").unwrap_or(1), &wish).unwrap();
    println!("{outcome:#?} in {:?}", began.elapsed());
}
