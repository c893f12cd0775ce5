//! The text formats of TREC: judgments and runs. Judgments are also read as BEIR has them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::text::{lines, name, shown};
use super::{Fault, Qrels, ReadError, Run, Single};

/// Highest grade. Gains are summed, so there is a bound; the usual grades end at 4.
pub const GRADE_MAX: i32 = 1_000_000;

/// Reads judgments. A line of TREC is `query iteration document grade`, one of BEIR `query document grade` below the
/// heading `query-id corpus-id score`. A judgment that is repeated is one; a contradiction is an error.
pub fn read_qrels(text: &str) -> Result<Qrels, ReadError> {
    let mut qrels = Qrels::default();
    let mut first = true;
    for (number, line) in lines(text) {
        let line = line?;
        let heading = std::mem::take(&mut first) && line.starts_with("query-id");
        if !heading {
            read_judgment(line, &mut qrels).map_err(|fault| ReadError { line: number, fault })?;
        }
    }
    Ok(qrels)
}

fn read_judgment(line: &str, qrels: &mut Qrels) -> Result<(), Fault> {
    let columns: Vec<&str> = line.split_whitespace().take(8).collect();
    let (query, document, grade) = match columns[..] {
        [query, _, document, grade] | [query, document, grade] => (query, document, grade),
        _ => return Err(Fault::Columns { found: columns.len(), wanted: "judgments have 4 (TREC) or 3 (BEIR)" }),
    };
    let read = grade.parse().ok().filter(|grade| (-GRADE_MAX..=GRADE_MAX).contains(grade));
    let grade: i32 = read.ok_or_else(|| Fault::Grade(shown(grade)))?;
    let (query, document) = (name(query)?, name(document)?);
    match qrels.insert(query.clone(), document.clone(), grade) {
        Some(before) if before != grade => Err(Fault::Contradiction { query, document, before }),
        _ => Ok(()),
    }
}

/// Reads a run: `query Q0 document rank score tag` on each line. The order is that of the scores
/// ([`Run::from_scores`]); the rank is not looked at, as in `trec_eval`.
pub fn read_run(text: &str) -> Result<Run, ReadError> {
    let mut scores: BTreeMap<String, BTreeMap<String, Single>> = BTreeMap::new();
    for (number, line) in lines(text) {
        read_found(line?, &mut scores).map_err(|fault| ReadError { line: number, fault })?;
    }
    Ok(Run::from_scores(scores))
}

fn read_found(line: &str, scores: &mut BTreeMap<String, BTreeMap<String, Single>>) -> Result<(), Fault> {
    let columns: Vec<&str> = line.split_whitespace().take(8).collect();
    let [query, _, document, _, score, _] = columns[..] else {
        return Err(Fault::Columns { found: columns.len(), wanted: "a run has 6: query Q0 document rank score tag" });
    };
    let score = Single::read(score).ok_or_else(|| Fault::Score(shown(score)))?;
    let (query, document) = (name(query)?, name(document)?);
    match scores.entry(query).or_default().insert(document.clone(), score) {
        Some(_) => Err(Fault::Twice(document)),
        None => Ok(()),
    }
}

/// Writes a run whose scores say its order: the highest is that of the deepest list, and each rank has one less, so that
/// whoever reads it sees no tie.
pub fn write_run(run: &Run, tag: &str) -> String {
    let deepest = run.queries().map(|query| run.top(query, usize::MAX).len()).max().unwrap_or(0);
    let mut text = String::new();
    for query in run.queries() {
        for (document, at) in run.top(query, usize::MAX).iter().zip(0..) {
            let _ = writeln!(text, "{query} Q0 {document} {} {} {tag}", at + 1, deepest - at);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn judgments_are_read_in_both_layouts() {
        let trec = read_qrels("q1 0 d1 2\r\nq1 0 d2 -1\n\nq2\t0\td1\t0\n").unwrap();
        let beir = read_qrels("\u{feff}query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\nq2\td1\t0").unwrap();
        assert_eq!(trec, beir);
        assert_eq!((trec.grade("q1", "d1"), trec.grade("q1", "d2"), trec.n_queries()), (Some(2), Some(-1), 2));
        assert_eq!(read_qrels(""), Ok(Qrels::default()));
        assert_eq!(read_qrels("q 0 d 1\nq 0 d 1").unwrap().n_queries(), 1);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, error) in [
            ("q 0 d 1\nq 0", "line 2: it has 2 columns; judgments have 4 (TREC) or 3 (BEIR)"),
            ("\n\nq 0 d high", "line 3: `high` is no grade: it is a whole number from -1000000 to 1000000"),
            ("q 0 d 99999999999", "line 1: `99999999999` is no grade: it is a whole number from -1000000 to 1000000"),
            (
                "q 0 d 1\nq 0 d 2",
                "line 2: document `d` of query `q` was judged 1 before; keep one of the two judgments",
            ),
        ] {
            assert_eq!(read_qrels(text).unwrap_err().to_string(), error);
        }
        for (text, error) in [
            ("q Q0 d 1 2", "line 1: it has 5 columns; a run has 6: query Q0 document rank score tag"),
            (
                "q Q0 d 1 NaN t",
                "line 1: `NaN` is no score: it is a decimal number with at most 18 digits before the point",
            ),
            ("q Q0 d 1 2 t\nq Q0 d 2 1 t", "line 2: `d` was named before; keep one of the two lines"),
        ] {
            assert_eq!(read_run(text).unwrap_err().to_string(), error);
        }
        let long = format!("{} 0 d 1", "q".repeat(257));
        assert!(matches!(read_qrels(&long).unwrap_err().fault, Fault::Name(_)));
    }

    #[test]
    fn the_score_decides_and_not_the_rank() {
        let run = read_run("q Q0 a 1 0.5 t\nq Q0 b 2 7 t\nq Q0 c 3 7 t\n").unwrap();
        assert_eq!(run.top("q", 9), ["c", "b", "a"]);
    }

    proptest! {
        #[test]
        fn a_run_is_read_as_it_was_written(lists in prop::collection::btree_map("[a-z]{1,3}",
            prop::collection::btree_set("[a-z0-9]{1,4}", 1..20).prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle(), 0..5)) {
            let mut run = Run::default();
            for (query, list) in lists {
                run.insert(query, list);
            }
            prop_assert_eq!(read_run(&write_run(&run, "t")), Ok(run));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9 .\t\n\r\u{feff}é-]{0,80}") {
            let _ = (read_qrels(&text), read_run(&text));
        }
    }
}
