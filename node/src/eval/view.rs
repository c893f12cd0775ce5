//! What `plumb eval` prints: JSON for programs, a table for people, Markdown for documents.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use plumb_core::evaluation::{ALL, Bootstrap, Comparison, Fixed, Gate, Measure, Report};
use serde::Serialize;
use utoipa::ToSchema;

use crate::output::Table;

/// The figures of a run. Numbers are text with four places, as they are published.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportView {
    /// Seed of the intervals.
    pub seed: u64,
    /// Resamples behind each interval.
    pub resamples: usize,
    /// How many of a thousand intervals shall hold the true mean.
    pub level_milli: u16,
    /// The slices; `all` is the first.
    pub slices: Vec<SliceView>,
    /// How the node was examined, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeView>,
}

/// The figures of a slice.
#[derive(Debug, Serialize, ToSchema)]
pub struct SliceView {
    /// Its name.
    pub slice: String,
    /// Its judged queries.
    pub queries: usize,
    /// Its figures.
    pub figures: Vec<FigureView>,
}

/// A figure.
#[derive(Debug, Serialize, ToSchema)]
pub struct FigureView {
    /// Of which measure.
    pub measure: String,
    /// The mean.
    pub value: String,
    /// Lower bound of the interval.
    pub low: Option<String>,
    /// Upper bound.
    pub high: Option<String>,
    /// Queries that have a value.
    pub queries: usize,
    #[serde(skip)]
    pub(super) drawn: Drawn,
}

/// A figure for the plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) value: Fixed,
    pub(super) low: Fixed,
    pub(super) high: Fixed,
}

/// How a node was examined.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeView {
    /// Documents of the collection.
    pub documents: usize,
    /// Chunks they were cut into.
    pub chunks: u64,
    /// Documents that could not be read.
    pub parked: usize,
    /// The model whose vectors took part, if one did.
    pub model: Option<String>,
    /// How long taking them in took, in milliseconds.
    pub intake_ms: u128,
    /// Half of the queries took no longer than this, in microseconds.
    pub query_us_p50: u128,
    /// 19 of 20.
    pub query_us_p95: u128,
    /// All.
    pub query_us_max: u128,
}

/// What is aimed at for 19 of 20 queries (EVL-13).
const QUERY_AIM: Duration = Duration::from_millis(150);

impl ReportView {
    /// For showing.
    pub fn new(report: &Report, bootstrap: Bootstrap, node: Option<NodeView>) -> ReportView {
        let names = report.slices.keys().filter(|name| *name != ALL);
        let order = std::iter::once(ALL).chain(names.map(String::as_str));
        let slices = order.filter_map(|name| Some((name, report.slices.get(name)?))).map(|(name, slice)| SliceView {
            slice: name.to_string(),
            queries: slice.n_queries,
            figures: slice
                .figures
                .iter()
                .map(|(measure, figure)| FigureView {
                    measure: measure.to_string(),
                    value: figure.value.to_string(),
                    low: figure.interval.map(|i| i.low.to_string()),
                    high: figure.interval.map(|i| i.high.to_string()),
                    queries: figure.n,
                    drawn: Drawn {
                        value: figure.value,
                        low: figure.interval.map_or(figure.value, |i| i.low),
                        high: figure.interval.map_or(figure.value, |i| i.high),
                    },
                })
                .collect(),
        });
        ReportView {
            seed: bootstrap.seed,
            resamples: bootstrap.n_resamples,
            level_milli: bootstrap.level_milli,
            slices: slices.collect(),
            node,
        }
    }

    /// The names of the measures, in the order of the first slice.
    pub(super) fn measures(&self) -> Vec<&str> {
        self.slices.first().map(|s| s.figures.iter().map(|f| f.measure.as_str()).collect()).unwrap_or_default()
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for measure in self.measures() {
            for slice in &self.slices {
                if let Some(figure) = slice.figures.iter().find(|f| f.measure == measure) {
                    let interval =
                        figure.low.iter().zip(&figure.high).map(|(low, high)| format!("{low}–{high}")).next();
                    rows.push(vec![
                        measure.to_string(),
                        slice.slice.clone(),
                        figure.queries.to_string(),
                        figure.value.clone(),
                        interval.unwrap_or_default(),
                    ]);
                }
            }
        }
        rows
    }

    fn headings(&self) -> [String; 5] {
        let level = format!("{} % interval", self.level_milli / 10);
        ["measure".into(), "slice".into(), "queries".into(), "value".into(), level]
    }

    /// As a table.
    pub fn show(&self) -> String {
        let headings = self.headings();
        let mut table = Table::new(&headings.each_ref().map(String::as_str));
        self.rows().into_iter().for_each(|row| table.row(row));
        format!("{}{}{}", table.show("nothing could be measured"), self.method(), self.examined())
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.headings());
        text.push_str("| --- | --- | ---: | ---: | --- |\n");
        for row in self.rows() {
            text.push_str(&line(&row.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>()));
        }
        format!("{text}\n{}{}", self.method(), self.examined())
    }

    fn method(&self) -> String {
        format!(
            "Linear gain; intervals by bootstrap over the queries ({} resamples, seed {}).\n",
            self.resamples, self.seed
        )
    }

    fn examined(&self) -> String {
        let Some(node) = &self.node else { return String::new() };
        let ms = |us: u128| format!("{}.{:01} ms", us / 1000, us % 1000 / 100);
        let aim = if node.query_us_p95 < QUERY_AIM.as_micros() { "within" } else { "above" };
        format!(
            "{} documents in {} chunks, {} parked, taken in within {}.{} s.\n\
             A query took {} (half), {} (19 of 20, {aim} the aim of {} ms), {} (all).\n",
            node.documents,
            node.chunks,
            node.parked,
            node.intake_ms / 1000,
            node.intake_ms % 1000 / 100,
            ms(node.query_us_p50),
            ms(node.query_us_p95),
            QUERY_AIM.as_millis(),
            ms(node.query_us_max),
        )
    }
}

/// How two runs differ in one measure.
#[derive(Debug, Serialize, ToSchema)]
pub struct ComparisonView {
    /// The measure.
    pub measure: String,
    /// Mean of the first.
    pub a: String,
    /// Mean of the second.
    pub b: String,
    /// Second less first.
    pub difference: String,
    /// Queries that the second does better.
    pub better: usize,
    /// Queries that it does worse.
    pub worse: usize,
    /// Queries that were compared.
    pub queries: usize,
    /// How likely such a difference is by chance.
    pub p: String,
    /// Exchanges it was found from.
    pub exchanges: u64,
    /// Whether these are all there are.
    pub exact: bool,
}

impl ComparisonView {
    /// For showing.
    pub fn new(measure: Measure, values: [&BTreeMap<String, Fixed>; 2], comparison: &Comparison) -> ComparisonView {
        let [a, b] = values.map(|v| Fixed::mean(v.values().copied()).unwrap_or_default().to_string());
        ComparisonView {
            measure: measure.to_string(),
            a,
            b,
            difference: comparison.difference.to_string(),
            better: comparison.n_better,
            worse: comparison.n_worse,
            queries: comparison.n_queries,
            p: comparison.p.decimal(5),
            exchanges: comparison.n_exchanges,
            exact: comparison.exact,
        }
    }
}

/// The comparisons as a table.
pub fn show_comparisons(views: &[ComparisonView]) -> String {
    let mut table = Table::new(&["measure", "A", "B", "B − A", "better", "worse", "p", "exchanges"]);
    for v in views {
        let exchanges = format!("{}{}", v.exchanges, if v.exact { " (all)" } else { "" });
        table.row([
            v.measure.clone(),
            v.a.clone(),
            v.b.clone(),
            v.difference.clone(),
            v.better.to_string(),
            v.worse.to_string(),
            v.p.clone(),
            exchanges,
        ]);
    }
    format!("{}p: paired randomisation test of the mean, two-sided.\n", table.show("nothing could be compared"))
}

/// The gate.
#[derive(Debug, Serialize, ToSchema)]
pub struct GateView {
    /// Whether the candidate may be released.
    pub passes: bool,
    /// A drop of more than this fails.
    pub drop_max: String,
    /// Slices without a judged query.
    pub empty: Vec<String>,
    /// Every figure.
    pub changes: Vec<ChangeView>,
}

/// What became of a figure.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeView {
    /// Of which slice.
    pub slice: String,
    /// Of which measure.
    pub measure: String,
    /// What it was.
    pub base: String,
    /// What it is.
    pub candidate: Option<String>,
    /// Whether this alone keeps the candidate back.
    pub fails: bool,
}

impl GateView {
    /// For showing.
    pub fn new(gate: &Gate) -> GateView {
        let change = |c: &plumb_core::evaluation::Change| ChangeView {
            slice: c.slice.clone(),
            measure: c.measure.to_string(),
            base: c.base.to_string(),
            candidate: c.candidate.map(|v| v.to_string()),
            fails: c.fails(),
        };
        GateView {
            passes: gate.passes(),
            drop_max: plumb_core::evaluation::DROP_MAX.decimal(2),
            empty: gate.empty.iter().cloned().collect(),
            changes: gate.changes.iter().map(change).collect(),
        }
    }

    /// As a table of what fails, or of everything if nothing does.
    pub fn show(&self) -> String {
        let mut table = Table::new(&["slice", "measure", "base", "candidate", ""]);
        for c in self.changes.iter().filter(|c| self.passes || c.fails) {
            let candidate = c.candidate.clone().unwrap_or_else(|| "missing".to_string());
            let verdict = if c.fails { "fails" } else { "" };
            table.row([c.slice.clone(), c.measure.clone(), c.base.clone(), candidate, verdict.to_string()]);
        }
        let mut text = if self.changes.is_empty() { String::new() } else { table.show("") };
        for slice in &self.empty {
            let _ = writeln!(text, "slice {slice} has no judged query, so nothing can be told of it");
        }
        let _ = match self.passes {
            true => writeln!(text, "The candidate passes: nothing dropped by more than {}.", self.drop_max),
            false => writeln!(text, "The candidate fails: a drop of more than {} on any slice does.", self.drop_max),
        };
        text
    }
}
