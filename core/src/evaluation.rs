//! How well a system finds: judged queries, the measures of a run, and whether one run is better than another.
//!
//! A *run* is what a system found for each query, *judgments* (qrels) say what is relevant, and a [`Report`] has the
//! figures of a run over all judged queries and over each *slice* of them, with [`Bootstrap`] intervals. Two runs are
//! compared query by query ([`compare`]), and the [`Gate`] says whether one may replace the other.
//!
//! The figures are those of `trec_eval` and `ir-measures` to the last digit that they print, so every convention is
//! theirs: gain is linear in the grade; what is not judged is not relevant; ties are broken by name, the last first, and
//! scores are compared in single precision; the mean is over every query that has a judgment, whether or not the run
//! has it. All of it is integers ([`Fixed`]), so two machines print the same.
//!
//! [`lens`] judges answers instead of lists: what was cited, what was made up, and when it was right to abstain.

mod bootstrap;
mod collection;
mod correlation;
mod draw;
mod fixed;
mod gate;
mod judged;
pub mod lens;
mod measure;
mod report;
mod significance;
mod single;
mod text;
mod trec;

pub use bootstrap::{Bootstrap, Interval, RESAMPLES_MAX};
pub use collection::{JudgedQuery, Record, read_corpus, read_queries, read_slices};
pub use correlation::spearman;
pub use fixed::{Fixed, log2};
pub use gate::{Change, DROP_MAX, Gate};
pub use judged::{Documents, Qrels, RELEVANT_FROM, Run, Slices};
pub use measure::{CUTOFF_MAX, Judge, Measure, MeasureError};
pub use report::{ALL, Figure, Report, SliceReport};
pub use significance::{Comparison, DRAWS, EXACT_UP_TO, compare};
pub use single::Single;
pub use text::{Fault, ID_BYTES_MAX, LINE_BYTES_MAX, ReadError};
pub use trec::{GRADE_MAX, read_qrels, read_run, write_run};

/// The measures of EVL-01, and two more that are asked for: what is printed unless somebody names others.
pub const MEASURES: [Measure; 8] = [
    Measure::Ndcg(10),
    Measure::Ap(10),
    Measure::Recall(100),
    Measure::Precision(10),
    Measure::Rr,
    Measure::Coverage(10),
    Measure::Diversity(10),
    Measure::Serendipity(10),
];
