//! Questions, and texts cut into terms.

use std::collections::BTreeSet;

use plumb_core::content::{CHUNK_CHARS_MAX, chunk};
use plumb_core::retrieval::{QUERY_TERMS_MAX, Query, TERM_BYTES_MAX, TermStats, bm25, fold, is_word};
use plumb_core::verification::conflict;

use super::{Shape, Target};
use crate::seeds::stories;

pub(super) const TARGET: Target = Target { name: "query", run, seeds, input_bytes_max: 4 * 1024, shape: Shape::Bytes };

fn seeds() -> Vec<Vec<u8>> {
    let own = stories().into_iter().flat_map(|story| [vec![story.question], story.texts].concat());
    let odd = [
        "acl:confidential OR *",
        "NOT the",
        "pH 7.4 at 20°C",
        "מים חיים",
        "((((",
        "the \"safety valve\" of HTTPServer v1.2.3",
        "https://example.org/a_b/c.rs?x=1 経営者",
        "title:\"a b\"~2^3 [a TO z]",
    ];
    own.chain(odd.map(String::from)).map(String::into_bytes).collect()
}

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let query = Query::new(&text);
    assert!(query.terms.len() <= QUERY_TERMS_MAX);
    assert!(query.terms.iter().all(|term| !term.is_empty() && term.len() <= TERM_BYTES_MAX));
    let distinct: BTreeSet<&String> = query.terms.iter().collect();
    assert_eq!(distinct.len(), query.terms.len(), "a term is asked for twice");
    assert_eq!(Query::new(&query.text), query);

    let (tf, n_terms) = query.frequencies(&text);
    assert!(tf.iter().all(|tf| *tf > 0), "a text does not hold the terms that it was made of");
    let words = query.terms.iter().zip(&tf).filter(|(term, _)| is_word(term));
    assert!(words.map(|(_, tf)| u64::from(*tf)).sum::<u64>() <= n_terms);
    assert_eq!(fold(&fold(&text)), fold(&text), "folding twice is not folding once");
    // Statistics from the smallest collection to one as large as is read: a score is a number, and more of it is not less.
    for n in [1, 1 << 20, 1 << 48] {
        let stats = TermStats { n_docs: n, n_terms: n, doc_freq: vec![1; tf.len()] };
        let twice: Vec<u32> = tf.iter().map(|tf| tf.saturating_mul(2)).collect();
        assert!(bm25(&stats, &tf, n_terms) <= bm25(&stats, &twice, n_terms));
    }

    let spans = chunk(&text, &[]);
    let joined: String = spans.iter().map(|span| &text[span.start..span.end]).collect();
    assert_eq!(joined, text, "chunks do not tile the text");
    assert!(spans.iter().all(|span| text[span.start..span.end].chars().count() <= CHUNK_CHARS_MAX));

    // Two claims contradict each other or not, whichever comes first.
    if let Some((a, b)) = text.split_once('\n') {
        assert_eq!(conflict(a, b).is_some(), conflict(b, a).is_some(), "a conflict depends on who speaks first");
    }
}
