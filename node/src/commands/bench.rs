//! `plumb bench`: measurements that need whole nodes.

use clap::{Args, Subcommand};

use crate::bench::notices::{self, NoticesBench};
use crate::cli::Context;
use crate::exit::Exit;

/// Measurements.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb bench notices --nodes 50 --retractions 5    how long a retraction takes to fifty real nodes")]
pub struct BenchArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure how long a retraction takes from its signing to every node that holds the evidence
    Notices(NoticesBench),
}

/// Measures.
pub fn run(cx: &Context, args: &BenchArgs) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Notices(args) => notices::run(cx, args),
    }
}
