//! `plumb eval`: how well a node finds, over a judged collection. Nothing of the node at home is read or changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use plumb_core::evaluation::{
    Bootstrap, Documents, Gate, Judge, MEASURES, Measure, Qrels, Report, Run, Slices, compare, write_run,
};

use crate::cli::Context;
use crate::eval::asking::{Asked, ask};
use crate::eval::files::{self, Collection, Elsewhere};
use crate::eval::plot::bars;
use crate::eval::view::{ComparisonView, GateView, NodeView, ReportView, show_comparisons};
use crate::exit::Exit;
use crate::output;

/// How a run of this program is called in its file.
const TAG: &str = "plumb";

/// Evaluates.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb eval run scifact --run plumb.trec --svg scifact.svg   a folder in the layout of BEIR or TREC\n  \
    plumb eval score bm25.trec --qrels qrels.trec               a run that another system made\n  \
    plumb eval compare bm25.trec plumb.trec --qrels qrels.trec  is the second better, and by chance?\n  \
    plumb eval gate old.trec new.trec --qrels qrels.trec        exit code 1 if anything dropped by more than 0.01\n\n\
    The figures are those of trec_eval and ir-measures, to the last digit they print. Gain is linear.")]
pub struct EvalArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Take a collection into a throw-away home, ask every judged query, and measure what is found
    Run(RunArgs),
    /// Measure a run that was made elsewhere
    Score(ScoreArgs),
    /// Say whether the second of two runs is better, and how likely the difference is by chance
    Compare(TwoArgs),
    /// Let a candidate pass unless any slice of any measure dropped by more than 0.01 (exit code 1)
    Gate(TwoArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The folder: corpus.jsonl, queries.jsonl, qrels/test.tsv or qrels.trec, and slices.tsv if there are any
    dir: PathBuf,
    /// The queries, if they lie elsewhere
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// The judgments, if they lie elsewhere
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// The model that finds by meaning: embedded, off, or the file, folder or wheel of one that could be added
    #[arg(long, value_name = "MODEL", default_value = "embedded")]
    model: String,
    /// Write what was found as a TREC run
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
struct ScoreArgs {
    /// The run, in the format of TREC
    run: PathBuf,
    /// The judgments, in the format of TREC or of BEIR
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// The documents, for coverage and diversity: corpus.jsonl or its folder
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
struct TwoArgs {
    /// The run that there was before, in the format of TREC
    base: PathBuf,
    /// The run that shall be better
    candidate: PathBuf,
    /// The judgments, in the format of TREC or of BEIR
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// The documents, for coverage and diversity: corpus.jsonl or its folder
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

/// How is measured.
#[derive(Debug, Args)]
struct How {
    /// What to measure, such as nDCG@10,AP@10,R@100,P@10,RR,Coverage@10,Diversity@10,Serendipity@10; otherwise these,
    /// as far as they can be told
    #[arg(long = "measure", value_name = "NAME", value_delimiter = ',')]
    measures: Vec<Measure>,
    /// Sets of queries to look at apart: a query and the name of a slice on each line
    #[arg(long, value_name = "FILE")]
    slices: Option<PathBuf>,
    /// The run of a primitive system, for serendipity: what it has too is expected
    #[arg(long, value_name = "FILE")]
    primitive: Option<PathBuf>,
    /// What is drawn at random follows from it
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Where figures go besides standard output.
#[derive(Debug, Args)]
struct Shown {
    /// Write the figures as a Markdown table
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Draw them as bars
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Evaluates.
pub async fn run(cx: &Context, args: EvalArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Run(args) => examine(cx, &args).await,
        Verb::Score(args) => score(cx, &args),
        Verb::Compare(args) => compare_two(cx, &args),
        Verb::Gate(args) => gate(cx, &args),
    }
}

async fn examine(cx: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let elsewhere = Elsewhere {
        queries: args.queries.as_deref(),
        qrels: args.qrels.as_deref(),
        slices: args.how.slices.as_deref(),
    };
    let collection = Collection::open(&args.dir, &elsewhere)?;
    let primitive = args.how.primitive()?;
    let asked = ask(&collection, &args.model).await?;
    if let Some(file) = &args.run {
        write(file, &write_run(&asked.run, TAG))?;
    }
    let documents = collection.documents();
    let judge =
        Judge { qrels: &collection.qrels, run: &asked.run, documents: Some(&documents), primitive: primitive.as_ref() };
    let node = node_view(&asked, &collection);
    args.how.report(cx, &judge, &collection.slices, Some(node), &args.shown)
}

fn node_view(asked: &Asked, collection: &Collection) -> NodeView {
    let n = asked.times.len();
    // The smallest time that so many of a hundred queries did not exceed.
    let of_hundred = |share: usize| (n * share).div_ceil(100).max(1) - 1;
    let time = |share: usize| asked.times.get(of_hundred(share)).map_or(0, Duration::as_micros);
    NodeView {
        documents: collection.records.len(),
        chunks: asked.job.chunks,
        parked: asked.job.parked.len(),
        model: asked.model.clone(),
        intake_ms: asked.intake.as_millis(),
        query_us_p50: time(50),
        query_us_p95: time(95),
        query_us_max: time(100),
    }
}

fn score(cx: &Context, args: &ScoreArgs) -> anyhow::Result<Exit> {
    let (qrels, run) = (files::judgments(&args.qrels)?, files::run(&args.run)?);
    let documents = args.corpus.as_deref().map(files::corpus).transpose()?;
    let primitive = args.how.primitive()?;
    let judge = Judge { qrels: &qrels, run: &run, documents: documents.as_ref(), primitive: primitive.as_ref() };
    args.how.report(cx, &judge, &args.how.slices()?, None, &args.shown)
}

/// Two runs and what they are measured against.
struct Two {
    qrels: Qrels,
    base: Run,
    candidate: Run,
    documents: Option<Documents>,
    primitive: Option<Run>,
}

impl Two {
    fn open(args: &TwoArgs) -> anyhow::Result<Two> {
        Ok(Two {
            qrels: files::judgments(&args.qrels)?,
            base: files::run(&args.base)?,
            candidate: files::run(&args.candidate)?,
            documents: args.corpus.as_deref().map(files::corpus).transpose()?,
            primitive: args.how.primitive()?,
        })
    }

    fn judges(&self) -> [Judge<'_>; 2] {
        [&self.base, &self.candidate].map(|run| Judge {
            qrels: &self.qrels,
            run,
            documents: self.documents.as_ref(),
            primitive: self.primitive.as_ref(),
        })
    }
}

fn compare_two(cx: &Context, args: &TwoArgs) -> anyhow::Result<Exit> {
    let two = Two::open(args)?;
    let [base, candidate] = two.judges();
    let view = |measure: &Measure| {
        let (a, b) = (base.each(*measure), candidate.each(*measure));
        let comparison = compare(&a, &b, args.how.seed)?;
        Some(ComparisonView::new(*measure, [&a, &b], &comparison))
    };
    let views: Vec<ComparisonView> = args.how.measures().iter().filter_map(view).collect();
    output::emit(cx.json, &views, || show_comparisons(&views))?;
    Ok(Exit::Done)
}

fn gate(cx: &Context, args: &TwoArgs) -> anyhow::Result<Exit> {
    let (two, slices) = (Two::open(args)?, args.how.slices()?);
    let [base, candidate] = two.judges().map(|judge| Report::new(&judge, args.how.measures(), &slices, None));
    let gate = Gate::new(&base, &candidate);
    let view = GateView::new(&gate);
    output::emit(cx.json, &view, || view.show())?;
    Ok(if gate.passes() { Exit::Done } else { Exit::Failed })
}

impl How {
    fn measures(&self) -> &[Measure] {
        if self.measures.is_empty() { &MEASURES } else { &self.measures }
    }

    fn primitive(&self) -> anyhow::Result<Option<Run>> {
        self.primitive.as_deref().map(files::run).transpose()
    }

    fn slices(&self) -> anyhow::Result<Slices> {
        Ok(self.slices.as_deref().map(files::slices).transpose()?.unwrap_or_default())
    }

    fn report(
        &self,
        cx: &Context,
        judge: &Judge<'_>,
        slices: &Slices,
        node: Option<NodeView>,
        shown: &Shown,
    ) -> anyhow::Result<Exit> {
        let bootstrap = Bootstrap { seed: self.seed, ..Bootstrap::default() };
        let report = Report::new(judge, self.measures(), slices, Some(bootstrap));
        if let Some(measure) = self.measures.iter().find(|m| report.figure("all", **m).is_none()) {
            match measure {
                Measure::Serendipity(_) => bail!("{measure} needs --primitive FILE, the run of a primitive system"),
                _ => bail!("{measure} cannot be told: it needs --corpus PATH, and lists of more than one document"),
            }
        }
        let view = ReportView::new(&report, bootstrap, node);
        if let Some(file) = &shown.markdown {
            write(file, &view.markdown())?;
        }
        if let Some(file) = &shown.svg {
            write(file, &bars(&view))?;
        }
        output::emit(cx.json, &view, || view.show())?;
        Ok(Exit::Done)
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}
