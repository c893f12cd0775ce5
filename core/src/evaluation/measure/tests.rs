//! Lists whose measures were computed by hand, and laws.

use proptest::prelude::*;

use super::*;

/// Two judged queries, of which the second has nothing relevant.
fn qrels() -> Qrels {
    let mut qrels = Qrels::default();
    for (query, document, grade) in
        [("q1", "d1", 2), ("q1", "d2", 1), ("q1", "d3", 0), ("q1", "d9", 3), ("q1", "dn", -1), ("q2", "d1", 0)]
    {
        assert_eq!(qrels.insert(query.into(), document.into(), grade), None);
    }
    qrels
}

fn run(lists: &[(&str, &[&str])]) -> Run {
    let mut run = Run::default();
    for (query, list) in lists {
        run.insert((*query).to_string(), list.iter().map(ToString::to_string));
    }
    run
}

fn value(qrels: &Qrels, run: &Run, measure: &str, query: &str) -> String {
    let judge = Judge { qrels, run, documents: None, primitive: None };
    judge.each(measure.parse().unwrap())[query].decimal(9)
}

#[test]
fn lists_are_measured_as_by_hand() {
    let found = run(&[("q1", &["d3", "d2", "d1", "dn", "d9"])]);
    for (measure, by_hand) in [
        // (0 + 1/log₂3 + 2/2 + 0 + 3/log₂6) / (3 + 2/log₂3 + 1/2)
        ("nDCG@10", "0.586218088"),
        // 1/log₂3 / (3 + 2/log₂3)
        ("nDCG@2", "0.148040955"),
        // (1/2 + 2/3 + 3/5) / 3
        ("AP@10", "0.588888889"),
        ("AP@2", "0.166666667"),
        ("R@2", "0.333333333"),
        ("R@100", "1.000000000"),
        ("P@2", "0.500000000"),
        ("P@10", "0.300000000"),
        ("RR", "0.500000000"),
    ] {
        assert_eq!(value(&qrels(), &found, measure, "q1"), by_hand, "{measure}");
        assert_eq!(value(&qrels(), &found, measure, "q2"), "0.000000000", "{measure} without anything relevant");
    }
}

#[test]
fn a_query_that_was_not_asked_counts_and_one_that_is_not_judged_does_not() {
    let (qrels, run) = (qrels(), run(&[("q7", &["d1"])]));
    let judge = Judge { qrels: &qrels, run: &run, documents: None, primitive: None };
    let each = judge.each(Measure::Rr);
    assert_eq!(each.keys().collect::<Vec<_>>(), ["q1", "q2"]);
    assert!(each.values().all(|v| *v == Fixed::ZERO));
}

#[test]
fn what_goes_beyond_relevance_is_measured_as_by_hand() {
    let mut documents = Documents::default();
    for (id, terms) in [("d1", "a b"), ("d2", "b c"), ("d3", "x y"), ("d4", "z")] {
        documents.insert(id.into(), terms.split(' ').map(String::from).collect());
    }
    let (qrels, run, primitive) =
        (qrels(), run(&[("q1", &["d1", "d2", "d3"]), ("q2", &["d1"])]), run(&[("q1", &["d1", "d3", "d2"])]));
    let judge = Judge { qrels: &qrels, run: &run, documents: Some(&documents), primitive: Some(&primitive) };
    // Likeness 1/3 of the first pair, none of the two others.
    assert_eq!(judge.each(Measure::Diversity(3))["q1"].decimal(6), "0.888889");
    assert_eq!(judge.each(Measure::Diversity(2))["q1"].decimal(6), "0.666667");
    assert!(!judge.each(Measure::Diversity(3)).contains_key("q2"), "one document is no pair");
    // Of d1 and d2 the primitive system has d1 among its first two.
    assert_eq!(judge.each(Measure::Serendipity(2))["q1"].decimal(6), "0.500000");
    assert_eq!(judge.each(Measure::Serendipity(3))["q1"].decimal(6), "0.000000");
    assert_eq!(judge.coverage(2, ["q1", "q2"]), Some(Fixed::ratio(2, 4)));
    assert_eq!(judge.coverage(3, ["q1", "q2"]), Some(Fixed::ratio(3, 4)));
    assert_eq!(judge.coverage(3, ["q2"]), Some(Fixed::ratio(1, 4)));
}

#[test]
fn names_are_read_as_they_are_written() {
    for name in ["nDCG@10", "AP@10", "R@100", "P@1", "RR", "Coverage@10", "Diversity@5", "Serendipity@10000"] {
        assert_eq!(name.parse::<Measure>().unwrap().to_string(), name);
    }
    for name in ["", "ndcg@10", "nDCG", "nDCG@0", "AP@10001", "R@-1", "RR@10"] {
        assert!(name.parse::<Measure>().is_err(), "{name}");
    }
}

const EACH: [Measure; 5] = [Measure::Ndcg(4), Measure::Ap(4), Measure::Recall(4), Measure::Precision(4), Measure::Rr];

fn judged(grades: &[i32]) -> Qrels {
    let mut qrels = Qrels::default();
    for (at, grade) in grades.iter().enumerate() {
        qrels.insert("q".into(), format!("d{at}"), *grade);
    }
    qrels
}

fn of(qrels: &Qrels, order: &[usize], measure: Measure) -> Fixed {
    let mut run = Run::default();
    run.insert("q".into(), order.iter().map(|at| format!("d{at}")));
    Judge { qrels, run: &run, documents: None, primitive: None }.each(measure)["q"]
}

proptest! {
    #[test]
    fn a_measure_is_between_nothing_and_one(
        grades in prop::collection::vec(-1i32..4, 1..8),
        order in Just((0..8usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let qrels = judged(&grades);
        for measure in EACH {
            let value = of(&qrels, &order, measure);
            prop_assert!(Fixed::ZERO <= value && value <= Fixed::ONE, "{measure}: {value:?}");
        }
    }

    #[test]
    fn the_better_document_further_up_never_costs(
        grades in prop::collection::vec(0i32..4, 8),
        order in Just((0..8usize).collect::<Vec<_>>()).prop_shuffle(),
        upper in 0usize..7,
    ) {
        let qrels = judged(&grades);
        let mut better = order.clone();
        if grades[order[upper]] < grades[order[upper + 1]] {
            better.swap(upper, upper + 1);
        }
        for measure in EACH {
            prop_assert!(of(&qrels, &better, measure) >= of(&qrels, &order, measure), "{measure}");
        }
    }

    #[test]
    fn the_best_order_has_all_the_gain(grades in prop::collection::vec(0i32..4, 8)) {
        prop_assume!(grades.iter().any(|g| *g > 0));
        let mut order: Vec<usize> = (0..8).collect();
        order.sort_by_key(|at| -grades[*at]);
        let qrels = judged(&grades);
        prop_assert_eq!(of(&qrels, &order, Measure::Ndcg(4)), Fixed::ONE);
        prop_assert_eq!(of(&qrels, &order, Measure::Rr), Fixed::ONE);
    }
}
