//! Evaluating a run over HTTP (EVL-01): figures, the comparison with another run, and the release gate (EVL-02).
//!
//! A run and its judgments come in the request, as text in the formats of TREC; nothing of the node is read. `plumb eval` on
//! the command line has the same and no limit but memory, and asks a node of its own.

use actix_web::post;
use actix_web::web::{self, Json, ServiceConfig};
use plumb_core::evaluation::{
    Bootstrap, Gate, Judge, MEASURES, Measure, Report, compare, read_qrels, read_run, read_slices,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::eval::view::{ComparisonView, GateView, ReportView};
use crate::problem::Problem;
use crate::serve::{Asker, Body};

/// Most judged queries of one request. Ten thousand resamples of each slice are drawn, so time goes with their number.
const QUERIES_MAX: usize = 1000;
/// Most slices of one request.
const SLICES_MAX: usize = 16;

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(evaluate);
}

/// A run to be measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalRequest {
    /// The run: `query Q0 document rank score tag` on each line.
    pub run: String,
    /// The judgments: `query iteration document grade`, or without the iteration.
    pub qrels: String,
    /// The run that there was before: the run is compared with it, and passes the gate or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Sets of queries to look at apart: `query slice` on each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<String>,
    /// What to measure, such as `nDCG@10`; otherwise what `plumb eval` measures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<String>,
    /// What is drawn at random follows from it; otherwise 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// What was measured.
#[derive(Debug, Serialize, ToSchema)]
pub struct EvalView {
    /// The figures of the run.
    pub report: ReportView,
    /// How it differs from the one before, by measure.
    pub comparison: Vec<ComparisonView>,
    /// Whether it passes the gate against the one before.
    pub gate: Option<GateView>,
}

/// Measures a run against judgments, and against another run. At most 1,000 judged queries and 16 slices.
#[utoipa::path(
    tag = "evaluation",
    request_body = EvalRequest,
    responses((status = 200, body = EvalView), (status = 400, body = Problem), (status = 401, body = Problem))
)]
#[post("/v1/eval")]
async fn evaluate(_asker: Asker, body: Body<EvalRequest>) -> Result<Json<EvalView>, Problem> {
    let request = body.value;
    let view = web::block(move || measure(&request)).await;
    Ok(Json(view.map_err(|_| Problem::invalid("the evaluation was interrupted"))??))
}

fn measure(request: &EvalRequest) -> Result<EvalView, Problem> {
    let wrong =
        |what: &'static str| move |e: plumb_core::evaluation::ReadError| Problem::invalid(format!("{what}: {e}"));
    let qrels = read_qrels(&request.qrels).map_err(wrong("qrels"))?;
    let run = read_run(&request.run).map_err(wrong("run"))?;
    let base = request.base.as_deref().map(read_run).transpose().map_err(wrong("base"))?;
    let slices = request.slices.as_deref().map(read_slices).transpose().map_err(wrong("slices"))?.unwrap_or_default();
    if qrels.n_queries() == 0 {
        return Err(Problem::invalid("the qrels judge nothing"));
    }
    if qrels.n_queries() > QUERIES_MAX || slices.iter().count() > SLICES_MAX {
        return Err(Problem::invalid(format!(
            "at most {QUERIES_MAX} judged queries and {SLICES_MAX} slices; `plumb eval` on the command line takes more"
        )));
    }
    let measures = match request.measures.as_slice() {
        [] => MEASURES.to_vec(),
        named => named
            .iter()
            .map(|name| name.parse())
            .collect::<Result<Vec<Measure>, _>>()
            .map_err(|e| Problem::invalid(e.to_string()))?,
    };
    let judge = |run| Judge { qrels: &qrels, run, documents: None, primitive: None };
    let bootstrap = Bootstrap { seed: request.seed.unwrap_or(1), ..Bootstrap::default() };
    let report = Report::new(&judge(&run), &measures, &slices, Some(bootstrap));
    let mut comparison = Vec::new();
    let mut gate = None;
    if let Some(base) = &base {
        for measure in &measures {
            let (a, b) = (judge(base).each(*measure), judge(&run).each(*measure));
            if let Some(found) = compare(&a, &b, bootstrap.seed) {
                comparison.push(ComparisonView::new(*measure, [&a, &b], &found));
            }
        }
        let before = Report::new(&judge(base), &measures, &slices, None);
        gate = Some(GateView::new(&Gate::new(&before, &report)));
    }
    Ok(EvalView { report: ReportView::new(&report, bootstrap, None), comparison, gate })
}
