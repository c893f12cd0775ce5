//! `plumb bench`: measurements, with whole nodes or with simulated ones. Nothing of the node at home is read or changed.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use plumb_federation::sim::bench::{Failure, Outcome, run_many};
use plumb_federation::sim::plot::{By, growth};
use plumb_federation::sim::{Scenario, Wish};
use serde::Serialize;

use crate::bench::notices::{self, NoticesBench};
use crate::cli::Context;
use crate::exit::Exit;
use crate::output;
use crate::output::Table;

/// Bench.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb bench sim --seeds 1..=1000                  a thousand networks of 5 to 200 nodes\n  \
    plumb bench sim --nodes 10000 --seed 1            one of ten thousand\n  \
    plumb bench sim --nodes 10,100,1000 --plot g.svg  how time and traffic grow\n  \
    plumb bench notices --nodes 50 --retractions 5    how long a retraction takes to fifty real nodes")]
pub struct BenchArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure how long a retraction takes from its signing to every node that holds the evidence
    Notices(NoticesBench),
    /// Simulate federations: real protocol, no network, everything from a seed; stops at the first broken invariant
    #[command(after_help = "A run that breaks an invariant ends with exit code 1 and the command that repeats it.")]
    Sim(SimArgs),
}

#[derive(Debug, Args)]
struct SimArgs {
    /// How many nodes; several numbers for a series. Otherwise 5 to 200, from the seed
    #[arg(long, value_delimiter = ',', value_name = "N")]
    nodes: Vec<usize>,
    /// One seed
    #[arg(long, value_name = "S", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// A range of seeds, such as 1..=500 or 1..501
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    seeds: Option<Seeds>,
    /// How many nodes publish; several numbers for a series. Otherwise 2 to 8, from the seed
    #[arg(long, value_delimiter = ',', value_name = "P")]
    publishers: Vec<usize>,
    /// Frames lost, out of a thousand. Otherwise up to 250, from the seed
    #[arg(long, value_name = "PER_MILLE", value_parser = clap::value_parser!(u64).range(0..=900))]
    loss: Option<u64>,
    /// Longest usual time of a frame on the way, in milliseconds. Otherwise 20 to 800, from the seed
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    delay: Option<u64>,
    /// What goes wrong. Otherwise one of them, from the seed
    #[arg(long)]
    scenario: Option<Trouble>,
    /// How many at a time. Otherwise as many as there are processors
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Draw how time and traffic grow
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Trouble {
    /// The network parts and heals
    Heal,
    /// Nodes crash, come late, leave for good, and have their clocks set
    Churn,
    /// One node in six lies
    Byzantine,
    /// All of it
    All,
}

impl From<Trouble> for Scenario {
    fn from(trouble: Trouble) -> Scenario {
        match trouble {
            Trouble::Heal => Scenario::Heal,
            Trouble::Churn => Scenario::Churn,
            Trouble::Byzantine => Scenario::Byzantine,
            Trouble::All => Scenario::All,
        }
    }
}

/// Seeds from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seeds(u64, u64);

fn seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("`{text}` is not a range of seeds such as 1..=500");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let from: u64 = from.parse().map_err(|_| wrong())?;
    let to = match to.strip_prefix('=') {
        Some(last) => last.parse().ok(),
        None => to.parse::<u64>().ok().and_then(|end| end.checked_sub(1)),
    };
    to.filter(|to| from <= *to && *to < u64::MAX).map(|to| Seeds(from, to)).ok_or_else(wrong)
}

/// Does it.
pub fn run(cx: &Context, args: BenchArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Notices(args) => notices::run(cx, &args),
        Verb::Sim(args) => simulate(cx, &args),
    }
}

#[derive(Serialize)]
struct SimView {
    n_runs: usize,
    n_checks: u64,
    runs: Vec<Outcome>,
}

#[derive(Serialize)]
struct BrokenView {
    seed: u64,
    reason: String,
    repeat: String,
}

fn simulate(cx: &Context, args: &SimArgs) -> anyhow::Result<Exit> {
    let Seeds(first, last) = args.seeds.unwrap_or_else(|| {
        let seed = args.seed.unwrap_or(1);
        Seeds(seed, seed)
    });
    let each = |numbers: &[usize]| -> Vec<Option<usize>> {
        if numbers.is_empty() { vec![None] } else { numbers.iter().copied().map(Some).collect() }
    };
    let n_threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (nodes, publishers) = (each(&args.nodes), each(&args.publishers));
    let n_runs = (last - first + 1) * (nodes.len() * publishers.len()) as u64;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} networks  {eta}")?;
    let bar = ProgressBar::new(n_runs).with_style(style);
    let mut runs = Vec::new();
    for n_nodes in nodes {
        for n_publishers in &publishers {
            let wish = Wish {
                n_nodes,
                n_publishers: *n_publishers,
                loss_per_mille: args.loss,
                delay_ms_max: args.delay,
                scenario: args.scenario.map(Scenario::from),
            };
            let before = runs.len() as u64;
            match run_many(first..=last, &wish, n_threads, |done| bar.set_position(before + done)) {
                Ok(outcomes) => runs.extend(outcomes),
                Err(failure) => {
                    bar.finish_and_clear();
                    return broken(cx, &failure, &wish);
                }
            }
        }
    }
    bar.finish_and_clear();
    if let Some(file) = &args.plot {
        let by = if 1 < args.publishers.len() { By::Publishers } else { By::Nodes };
        std::fs::write(file, growth(&runs, by)).with_context(|| format!("`{}` cannot be written", file.display()))?;
    }
    let n_checks = runs.iter().map(|run| run.n_checks).sum();
    let view = SimView { n_runs: runs.len(), n_checks, runs };
    output::emit(cx.json, &view, || show(&view))?;
    Ok(Exit::Done)
}

fn broken(cx: &Context, failure: &Failure, wish: &Wish) -> anyhow::Result<Exit> {
    let mut repeat = format!("plumb bench sim --seed {}", failure.seed);
    let mut say = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            repeat.push_str(&format!(" --{flag} {value}"));
        }
    };
    say("nodes", wish.n_nodes.map(|n| n.to_string()));
    say("publishers", wish.n_publishers.map(|n| n.to_string()));
    say("loss", wish.loss_per_mille.map(|n| n.to_string()));
    say("delay", wish.delay_ms_max.map(|n| n.to_string()));
    say("scenario", wish.scenario.map(|scenario| scenario.as_str().to_string()));
    let view = BrokenView { seed: failure.seed, reason: failure.error.to_string(), repeat };
    output::emit(cx.json, &view, || format!("{}\nrepeat: {}\n", view.reason, view.repeat))?;
    Ok(Exit::Failed)
}

/// Most runs that are listed one by one.
const LISTED_MAX: usize = 24;

fn show(view: &SimView) -> String {
    let seconds = |ms: u64| format!("{}.{} s", ms / 1000, ms % 1000 / 100);
    let mut table = Table::new(&[
        "seed",
        "nodes",
        "publish",
        "scenario",
        "to a node: half",
        "95 %",
        "all",
        "passes",
        "after heal: 95 %",
        "all",
        "rounds",
        "messages",
        "KiB per node",
    ]);
    for run in view.runs.iter().take(LISTED_MAX) {
        table.row([
            run.seed.to_string(),
            run.n_nodes.to_string(),
            run.n_publishers.to_string(),
            run.scenario.as_str().to_string(),
            seconds(run.issue_to_node_ms.p50),
            seconds(run.issue_to_node_ms.p95),
            seconds(run.issue_to_node_ms.max),
            run.passes.max.to_string(),
            seconds(run.heal_to_node_ms.p95),
            seconds(run.heal_to_node_ms.max),
            run.heal_rounds().to_string(),
            run.messages_per_node.p50.to_string(),
            (run.bytes_per_node.p50 / 1024).to_string(),
        ]);
    }
    let more = view.n_runs.saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!("and {more} more; --json lists them all\n") } else { String::new() };
    format!(
        "{}{more}{} checked {} times in {}: all hold\n",
        table.show("nothing"),
        "the invariants were",
        view.n_checks,
        output::count(view.n_runs as u64, "network", "networks"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_seeds_are_read() {
        assert_eq!(seeds("1..=500"), Ok(Seeds(1, 500)));
        assert_eq!(seeds("7..8"), Ok(Seeds(7, 7)));
        for wrong in ["7", "7..7", "9..=8", "a..b", "0..", "1..=18446744073709551615"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
