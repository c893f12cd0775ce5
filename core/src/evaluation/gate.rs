//! The release gate: a candidate may be released if no slice of the queries is served worse than before (EVL-02).

use std::collections::BTreeSet;

use super::{Fixed, Measure, Report};

/// A drop of more than this, 0.01, fails.
pub const DROP_MAX: Fixed = Fixed::from_units(10_000_000_000_000_000);
/// Places of a drop that are compared: what is behind them is rounding of the means.
const PLACES: u32 = 12;

/// What became of one figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Of which slice.
    pub slice: String,
    /// Of which measure.
    pub measure: Measure,
    /// What it was.
    pub base: Fixed,
    /// What it is; nothing if the candidate has no such figure.
    pub candidate: Option<Fixed>,
}

impl Change {
    /// Whether this alone keeps the candidate from being released. A figure that is missing does: what is not measured
    /// may be anything.
    pub fn fails(&self) -> bool {
        self.candidate.is_none_or(|candidate| self.base.minus(candidate).rounded(PLACES) > DROP_MAX)
    }
}

/// The gate, after both runs were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Every figure that the base has, by slice and measure.
    pub changes: Vec<Change>,
    /// Slices without a judged query: nothing can be told of them.
    pub empty: BTreeSet<String>,
}

impl Gate {
    /// Compares two reports over the same judgments and slices.
    pub fn new(base: &Report, candidate: &Report) -> Gate {
        let mut changes = Vec::new();
        for (slice, report) in &base.slices {
            for (measure, figure) in &report.figures {
                changes.push(Change {
                    slice: slice.clone(),
                    measure: *measure,
                    base: figure.value,
                    candidate: candidate.figure(slice, *measure).map(|f| f.value),
                });
            }
        }
        let slices = base.slices.iter().chain(&candidate.slices);
        let empty = slices.filter(|(_, report)| report.n_queries == 0).map(|(name, _)| name.clone()).collect();
        Gate { changes, empty }
    }

    /// What keeps the candidate from being released.
    pub fn failures(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.fails())
    }

    /// Whether the candidate may be released: something was compared, nothing dropped, and no slice is empty.
    pub fn passes(&self) -> bool {
        !self.changes.is_empty() && self.empty.is_empty() && self.failures().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Judge, Qrels, Run, Slices};

    const MEASURES: [Measure; 2] = [Measure::Rr, Measure::Precision(1)];

    /// A hundred queries with one relevant document each; the run has it on top for these.
    fn report(right: impl Fn(usize) -> bool, slices: &Slices) -> Report {
        let (mut qrels, mut run) = (Qrels::default(), Run::default());
        for at in 0..100 {
            qrels.insert(format!("q{at}"), "good".into(), 1);
            run.insert(format!("q{at}"), [if right(at) { "good" } else { "bad" }.to_string()]);
        }
        let judge = Judge { qrels: &qrels, run: &run, documents: None, primitive: None };
        Report::new(&judge, &MEASURES, slices, None)
    }

    fn slices() -> Slices {
        let mut slices = Slices::default();
        for at in 0..100 {
            slices.insert(if at < 10 { "short" } else { "long" }.into(), format!("q{at}"));
        }
        slices
    }

    #[test]
    fn a_drop_of_one_hundredth_passes_and_more_does_not() {
        let none = Slices::default();
        let base = report(|at| at < 60, &none);
        for (n_right, passes) in [(60, true), (61, true), (59, true), (58, false), (0, false)] {
            let gate = Gate::new(&base, &report(|at| at < n_right, &none));
            assert_eq!(gate.passes(), passes, "{n_right}");
            assert_eq!(gate.failures().count(), if passes { 0 } else { 2 });
        }
    }

    #[test]
    fn one_bad_slice_fails_all() {
        // One of the ten short ones is lost, ten of the long ones are won: the whole has gained.
        let base = report(|at| at < 60, &slices());
        let candidate = report(|at| (1..70).contains(&at), &slices());
        let gate = Gate::new(&base, &candidate);
        assert!(candidate.figure("all", Measure::Rr).unwrap().value > base.figure("all", Measure::Rr).unwrap().value);
        assert!(!gate.passes());
        assert!(gate.failures().all(|change| change.slice == "short"), "{gate:?}");
    }

    #[test]
    fn what_is_not_measured_does_not_pass() {
        let mut with_empty = slices();
        with_empty.insert("unjudged".into(), "q1000".into());
        let base = report(|_| true, &with_empty);
        let gate = Gate::new(&base, &base);
        assert!(!gate.passes() && gate.empty.contains("unjudged"));
        let missing = Gate::new(&report(|_| true, &slices()), &report(|_| true, &Slices::default()));
        assert!(!missing.passes());
        assert!(missing.failures().any(|change| change.slice == "long" && change.candidate.is_none()));
    }
}
