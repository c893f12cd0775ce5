//! The figures of a run: each measure over all judged queries, and over each slice of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bootstrap, Fixed, Interval, Judge, Measure, Slices};

/// The slice of all judged queries. No other may have its name.
pub const ALL: &str = "all";

/// The figures of a run by slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// By name; [`ALL`] is always there.
    pub slices: BTreeMap<String, SliceReport>,
    /// The value of each query for each measure that a single query has.
    pub each: BTreeMap<Measure, BTreeMap<String, Fixed>>,
}

/// The figures of one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceReport {
    /// Its judged queries.
    pub n_queries: usize,
    /// What could be told of it.
    pub figures: BTreeMap<Measure, Figure>,
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The mean over the queries; of coverage the share itself.
    pub value: Fixed,
    /// Queries that have a value.
    pub n: usize,
    /// Where the mean over other such queries may be; coverage, which is no mean, has none.
    pub interval: Option<Interval>,
}

impl Report {
    /// Measures a run. Queries of a slice that are not judged do not count.
    pub fn new(judge: &Judge<'_>, measures: &[Measure], slices: &Slices, bootstrap: Option<Bootstrap>) -> Report {
        let each: BTreeMap<Measure, BTreeMap<String, Fixed>> = measures
            .iter()
            .map(|measure| (*measure, judge.each(*measure)))
            .filter(|(_, values)| !values.is_empty())
            .collect();
        let all: BTreeSet<&str> = judge.qrels.queries().collect();
        let named = slices.iter().filter(|(name, _)| *name != ALL).map(|(name, queries)| {
            let judged = queries.iter().map(String::as_str).filter(|query| all.contains(query)).collect();
            (name.to_string(), judged)
        });
        let sets: Vec<(String, BTreeSet<&str>)> = named.chain([(ALL.to_string(), all.clone())]).collect();
        let of_slice = |queries: &BTreeSet<&str>| {
            let mut figures = BTreeMap::new();
            for measure in measures {
                let figure = match measure {
                    Measure::Coverage(k) => judge.coverage(*k, queries.iter().copied()).map(|value| Figure {
                        value,
                        n: queries.len(),
                        interval: None,
                    }),
                    _ => each.get(measure).and_then(|values| mean_of(values, queries, bootstrap)),
                };
                figures.extend(figure.map(|figure| (*measure, figure)));
            }
            SliceReport { n_queries: queries.len(), figures }
        };
        let slices = sets.iter().map(|(name, queries)| (name.clone(), of_slice(queries))).collect();
        Report { slices, each }
    }

    /// A figure of a slice.
    pub fn figure(&self, slice: &str, measure: Measure) -> Option<Figure> {
        self.slices.get(slice)?.figures.get(&measure).copied()
    }
}

fn mean_of(values: &BTreeMap<String, Fixed>, queries: &BTreeSet<&str>, bootstrap: Option<Bootstrap>) -> Option<Figure> {
    let values: Vec<Fixed> = queries.iter().filter_map(|query| values.get(*query)).copied().collect();
    let value = Fixed::mean(values.iter().copied())?;
    Some(Figure { value, n: values.len(), interval: bootstrap.and_then(|b| b.interval(&values)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Qrels, Run, read_qrels, read_run};

    /// What `ir-measures` printed of the same files, in `fixtures/eval`: every query, and the mean.
    #[test]
    fn figures_are_those_of_ir_measures_to_the_last_digit() {
        let qrels = read_qrels(include_str!("../../../fixtures/eval/qrels.trec")).unwrap();
        let run = read_run(include_str!("../../../fixtures/eval/run.trec")).unwrap();
        let judge = Judge { qrels: &qrels, run: &run, documents: None, primitive: None };
        let mut n = 0;
        for line in include_str!("../../../fixtures/eval/ir-measures.txt").lines() {
            let [measure, query, value] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let measure: Measure = measure.parse().unwrap();
            let report = Report::new(&judge, &[measure], &Slices::default(), None);
            let ours = match query {
                ALL => report.figure(ALL, measure).unwrap().value,
                query => report.each[&measure][query],
            };
            assert_eq!(ours.to_string(), value, "{line}");
            n += 1;
        }
        assert_eq!(n, 8 * 41);
    }

    #[test]
    fn a_slice_counts_its_judged_queries_only() {
        let (mut qrels, mut run, mut slices) = (Qrels::default(), Run::default(), Slices::default());
        for (query, found) in [("q1", "good"), ("q2", "bad"), ("q3", "good")] {
            qrels.insert(query.into(), "good".into(), 1);
            run.insert(query.into(), [found.to_string()]);
        }
        for query in ["q1", "q2", "q9"] {
            slices.insert("some".into(), query.into());
        }
        let judge = Judge { qrels: &qrels, run: &run, documents: None, primitive: None };
        let measures = [Measure::Rr, Measure::Coverage(1), Measure::Diversity(2), Measure::Serendipity(1)];
        let report = Report::new(&judge, &measures, &slices, Some(Bootstrap::default()));
        let some = &report.slices["some"];
        assert_eq!((some.n_queries, some.figures.len()), (2, 1), "the others cannot be told without documents");
        let figure = report.figure("some", Measure::Rr).unwrap();
        assert_eq!((figure.value, figure.n), (Fixed::ratio(1, 2), 2));
        assert_eq!(report.figure(ALL, Measure::Rr).unwrap().value, Fixed::ratio(2, 3));
        assert!(figure.interval.unwrap().low < figure.value);
    }
}
