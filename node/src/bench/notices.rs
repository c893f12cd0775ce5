//! How long a retraction takes to every node that holds the evidence.
//!
//! The clock is one for all nodes, since they run on one machine: what is measured is the time from the signing of the
//! notice to the transaction by which a node applied it, both as the nodes themselves wrote them down. The baseline of
//! the same run is a round trip between two nodes' processes: one command over a local socket.

use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use plumb_core::measure::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::cluster::Cluster;
use crate::cli::Context;
use crate::exit::Exit;
use crate::output;

/// The document that is retracted.
const TITLE: &str = "Gauge";

/// Retractions and the time that they take.
#[derive(Debug, Args)]
pub struct NoticesBench {
    /// How many nodes, as processes on this machine
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=200))]
    nodes: u16,
    /// How many retractions, one after the other
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    retractions: u16,
}

#[derive(Serialize)]
struct Figures {
    nodes: usize,
    retractions: u16,
    /// Times to apply, one for each holder and retraction.
    n: usize,
    p50_ms: u64,
    p95_ms: u64,
    max_ms: u64,
    /// One command to a node over its local socket, process start included.
    command_p50_ms: u64,
    /// Acknowledgements that the publisher holds, of those it waits for.
    acknowledged: String,
}

/// Measures.
pub fn run(cx: &Context, args: &NoticesBench) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let cluster = Cluster::start(usize::from(args.nodes), |n| {
        if n % 10 == 0 || n == usize::from(args.nodes) {
            output::remark(&format!("{n} of {} nodes run ({} s)", args.nodes, begun.elapsed().as_secs()));
        }
    })?;
    let (mut times, mut commands) = (Vec::new(), Vec::new());
    let (mut n_confirmed, mut n_owed) = (0, 0);
    for round in 0..args.retractions {
        let bundle = spread(&cluster, round).context("the evidence could not be handed on")?;
        output::remark(&format!("retraction {} of {}: {bundle} is held everywhere", round + 1, args.retractions));
        let name = format!("gauge-{round}.md");
        let notice = cluster.run(0, &["retract", &name, "--reason", "data-error", "--note", "bench"])?;
        let id = text(&notice, "/notice")?;
        let signed: Timestamp = text(&notice, "/issued_at")?.parse()?;
        for at in 1..cluster.len() {
            let applied: Timestamp = cluster
                .wait(at, &["notices", "list", "--limit", "100"], "a notice is applied", |all| {
                    let of_it = all.as_array()?.iter().find(|n| n["notice"] == *id)?;
                    of_it.pointer("/applied/at")?.as_str().map(str::to_string)
                })?
                .parse()?;
            times.push(applied.since(signed).0);
        }
        let asked = Instant::now();
        cluster.run(0, &["trust", "list"])?;
        commands.push(u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX));
        // Every other node imported it, so every other node is a holder. Whoever is none is missing in the figure.
        let n_holders = cluster.len() - 1;
        n_owed += n_holders;
        n_confirmed += cluster.wait(0, &["notices", "show", &id], "every holder has acknowledged", |n| {
            let done = n["receipts"].as_array()?.iter().filter(|r| r["state"] == "acknowledged").count();
            (done >= n_holders).then_some(done)
        })?;
    }
    times.sort_unstable();
    commands.sort_unstable();
    let figures = Figures {
        nodes: cluster.len(),
        retractions: args.retractions,
        n: times.len(),
        p50_ms: at(&times, 50),
        p95_ms: at(&times, 95),
        max_ms: at(&times, 100),
        command_p50_ms: at(&commands, 50),
        acknowledged: format!("{n_confirmed} of {n_owed}"),
    };
    output::emit(cx.json, &figures, || {
        format!(
            "{} nodes, {} retractions, {} times from signing to applied: p50 {} ms, p95 {} ms, max {} ms\n\
             one command to a node over its socket: p50 {} ms\nacknowledged: {}\n",
            figures.nodes,
            figures.retractions,
            figures.n,
            figures.p50_ms,
            figures.p95_ms,
            figures.max_ms,
            figures.command_p50_ms,
            figures.acknowledged
        )
    })?;
    Ok(Exit::Done)
}

/// The publisher writes something, and every other node imports it.
fn spread(cluster: &Cluster, round: u16) -> anyhow::Result<String> {
    let (file, car) = (cluster.path(&format!("gauge-{round}.md")), cluster.path(&format!("{round}.car")));
    std::fs::write(
        &file,
        format!("# {TITLE} {round}\n\nGauge number {round} of the bench stands at {round} metres.\n"),
    )?;
    cluster.run(0, &["ingest", &file, "--sensitivity", "public"])?;
    let question = format!("Where does gauge number {round} of the bench stand?");
    let answer = cluster.run(0, &["ask", &question, "--save", "--bundle", &car])?;
    for at in 1..cluster.len() {
        cluster.run(at, &["bundle", "import", &car])?;
    }
    text(&answer, "/bundle")
}

fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_string)
        .with_context(|| format!("no {pointer} in {value}"))
}

/// A percentile of sorted times.
fn at(sorted: &[u64], percent: usize) -> u64 {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0)
}
