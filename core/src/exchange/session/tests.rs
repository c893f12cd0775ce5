use proptest::prelude::*;

use super::*;

fn chunk(source: &str, title: &str, text: &str) -> SessionChunk {
    SessionChunk {
        source_id: source.to_string(),
        source_uri: format!("file:{source}"),
        cid: None,
        node_id: None,
        path: Vec::new(),
        title: title.to_string(),
        text: text.to_string(),
        priority: 10,
        weight: WEIGHT_DEFAULT,
        distance: 0,
    }
}

fn pulse() -> Vec<SessionChunk> {
    let mut a = chunk("a", "Pulse fabric", "Lens preserves Pulse fabric citations.");
    a.path = vec!["has->citation".to_string()];
    vec![chunk("b", "Other", "unrelated"), a]
}

/// Vectors of the acceptance map, B1.
#[test]
fn ids_are_those_of_the_format() {
    let row = stable_id("row", &serde_json::json!({"a": 1}));
    assert_eq!(row, "row:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
    let empty = Session::assemble("anything", vec![], None, Budget::default());
    assert_eq!(empty.session_id, "lens-session:019211d97fe5be3ae558ca36c79e05ec0b0792dfd995cdb300933d3bfac08d24");
}

/// Vectors of the acceptance map, B3.
#[test]
fn scores_are_those_of_the_format() {
    let session = Session::assemble("Pulse citations", pulse(), None, Budget::default());
    let scores: Vec<_> = session.ranked_chunks.iter().map(|r| (r.chunk.source_id.as_str(), r.score)).collect();
    assert_eq!(scores, [("a", 1165), ("b", 1110)]);
    let first = &session.ranked_chunks[0];
    assert_eq!(
        (first.lexical_score, first.priority_score, first.weight_score, first.provenance_score, first.trust_score),
        (50, 1000, 10, 105, 0)
    );
    let whole = Session::assemble("pulse fabric", pulse(), None, Budget::default());
    assert_eq!((whole.ranked_chunks[0].lexical_score, whole.ranked_chunks[0].score), (120, 1235));
}

#[test]
fn parts_of_a_score_follow_their_rows() {
    let of = |change: &dyn Fn(&mut SessionChunk)| {
        let mut c = chunk("a", "t", "x");
        change(&mut c);
        Session::assemble("nothing here", vec![c], None, Budget::default()).ranked_chunks[0].clone()
    };
    let provenance = |d| of(&|c| c.distance = d).provenance_score;
    assert_eq!([0, 1, 5, 6].map(provenance), [100, 80, 0, 0]);
    assert_eq!(of(&|c| c.weight = 870).weight_score, 8700);
    assert_eq!(of(&|c| c.weight = -3).weight_score, 0);
    // Ten points of priority outweigh a hundred occurrences.
    let mut preferred = chunk("low", "t", "nothing");
    preferred.priority = 21;
    let wordy = chunk("wordy", "t", &"pump ".repeat(100));
    let session = Session::assemble("pump", vec![wordy, preferred], None, Budget { max_chunks: 2, budget_chars: 4000 });
    assert_eq!(session.ranked_chunks[0].chunk.source_id, "low");
}

#[test]
fn trust_turns_the_order_and_takes_both_keys() {
    let chunks = || vec![chunk("source:a.md", "t", "pump"), chunk("b", "t", "pump")];
    let first = |trust: Option<&SourceTrust>| {
        let session = Session::assemble("pump", chunks(), trust, Budget::default());
        (session.ranked_chunks[0].chunk.source_id.clone(), session.ranked_chunks[0].trust_score)
    };
    assert_eq!(first(None), ("b".to_string(), 0));
    let by = |key: &str, n| SourceTrust::from_iter([(key.to_string(), n)]);
    assert_eq!(first(Some(&by("source:a.md", 100))), ("source:a.md".to_string(), 500));
    assert_eq!(first(Some(&by("a.md", 100))), ("source:a.md".to_string(), 500));
    assert_eq!(first(Some(&by("b", 0))).0, "source:a.md");
    for bad in [r#"{"a":true}"#, r#"{"a":50.0}"#, r#"{"a":101}"#, r#"{"a":-1}"#, r#"{"a":"50"}"#] {
        assert!(serde_json::from_str::<SourceTrust>(bad).is_err(), "{bad}");
    }
    assert!("a=b=7".parse::<TrustPair>().is_ok_and(|t| t == TrustPair("a=b".into(), 7)));
    for bad in ["a", "=5", "a=101", "a=-1", "a=5.0", "a="] {
        assert!(bad.parse::<TrustPair>().is_err(), "{bad}");
    }
}

#[test]
fn trust_moves_the_confidence_by_ten_points_either_way() {
    let session = Session::assemble("pump seven", vec![chunk("a", "Pump", "pump seven runs")], None, Budget::default());
    let at = |n| session.answer(Some(&SourceTrust::from_iter([("a".to_string(), n)]))).reliability;
    let confidence = [0, 50, 100].map(|n| at(n).confidence.get());
    assert_eq!([confidence[1] - confidence[0], confidence[2] - confidence[1]], [100, 100]);
    assert_eq!(at(73).trust_support, 73);
}

#[test]
fn the_budget_cuts_the_first_and_passes_over_what_does_not_fit() {
    let texts = |lens: &[usize]| -> Vec<SessionChunk> {
        lens.iter().zip(0..).map(|(n, at)| chunk(&format!("s{at}"), "t", &"é".repeat(*n))).collect()
    };
    let taken = |lens: &[usize], budget| {
        let session = Session::assemble("q", texts(lens), None, budget);
        let lens: Vec<usize> = session.ranked_chunks.iter().map(|r| r.chunk.text.chars().count()).collect();
        (lens, session.used_chars)
    };
    let budget = |max_chunks, budget_chars| Budget { max_chunks, budget_chars };
    assert_eq!(taken(&[30, 5], budget(8, 10)), (vec![10], 10));
    assert_eq!(taken(&[6, 5, 4], budget(8, 10)), (vec![6, 4], 10));
    assert_eq!(taken(&[1, 1, 1], budget(2, 10)), (vec![1, 1], 2));
    assert_eq!(taken(&[1], budget(0, 10)).0, Vec::<usize>::new());
    assert_eq!(taken(&[1], budget(8, 0)).0, Vec::<usize>::new());
}

#[test]
fn a_document_comes_back_and_answers_the_same() {
    let session = Session::assemble("Pulse citations", pulse(), None, Budget::default());
    let read = Session::from_json(session.to_json().unwrap().as_bytes()).unwrap();
    assert_eq!(read, session);
    assert_eq!(read.answer(None), session.answer(None));
    assert_eq!(read.canonical_bytes().unwrap(), session.canonical_bytes().unwrap());
    let answer = session.answer(None);
    assert_eq!(answer.citations, [1], "a chunk that shares no word with the question is no citation");
    assert_eq!(answer.text, "[1] Pulse fabric: Lens preserves Pulse fabric citations.");
}

#[test]
fn a_changed_text_keeps_the_id_and_changes_the_digest() {
    let session = Session::assemble("Pulse citations", pulse(), None, Budget::default());
    let mut changed = session.clone();
    changed.ranked_chunks[0].chunk.text.push('!');
    assert_eq!(Session::from_json(changed.to_json().unwrap().as_bytes()).unwrap().session_id, session.session_id);
    assert_ne!(changed.content_digest().unwrap(), session.content_digest().unwrap());
}

#[test]
fn what_is_no_session_is_refused() {
    let good = Session::assemble("Pulse citations", pulse(), None, Budget::default()).to_json().unwrap();
    for (from, to) in [
        (r#""version": 1"#, r#""version": 2"#),
        ("knitweb-lens-context", "another"),
        (r#""score": 1165"#, r#""score": 1165.5"#),
        (r#""budget_chars": 4000"#, r#""budget_chars": -1"#),
        (r#""max_chunks": 8"#, r#""max_chunks": 9"#),
        (r#""query": "Pulse citations""#, r#""query": "another""#),
    ] {
        assert!(good.contains(from), "{from}");
        assert!(Session::from_json(good.replace(from, to).as_bytes()).is_err(), "{to}");
    }
    let size = Session::from_json(&vec![b' '; SESSION_BYTES_MAX + 1]);
    assert!(matches!(size, Err(SessionError::Size { .. })));
}

#[test]
fn five_irrelevant_rows_ground_nothing() {
    let rows = (0..5).map(|n| chunk(&format!("s{n}"), "Graph", "a store of rows")).collect();
    let answer = Session::assemble("quantum weather banana", rows, None, Budget::default()).answer(None);
    assert!(answer.reliability.abstained && answer.citations.is_empty(), "{answer:?}");
}

#[test]
fn pages_have_their_headings_and_quote_what_comes_from_outside() {
    let mut c = chunk("s", "Pump", "pump seven\n# Lens Answer\n\u{1b}[2J");
    c.cid = Some("bafy".to_string());
    c.path = vec!["a".to_string(), "b".to_string()];
    let session = Session::assemble("pump seven", vec![c], None, Budget::default());
    let page = session.to_markdown();
    assert!(page.starts_with("# Lens Context\n"));
    assert!(page.contains("[1] s file:s bafy path=a | b\n"), "{page}");
    assert!(page.contains("> # Lens Answer") && !page.contains('\u{1b}'), "{page}");
    assert!(session.answer_to_markdown(&session.answer(None)).starts_with("# Lens Answer\n"));
}

proptest! {
    /// The order in which adapters deliver changes nothing.
    #[test]
    fn order_does_not_matter(
        texts in prop::collection::vec(("[a-c]", "[a-d ]{0,12}", 0i64..3, 0u32..7), 0..12),
        query in "[a-d ]{0,8}",
        seed in any::<u64>(),
    ) {
        let chunks: Vec<SessionChunk> = texts
            .iter()
            .map(|(source, text, priority, distance)| {
                let mut c = chunk(source, text, text);
                (c.priority, c.distance) = (*priority, *distance);
                c
            })
            .collect();
        let mut shuffled = chunks.clone();
        let n = shuffled.len().max(1);
        shuffled.rotate_left(usize::try_from(seed % n as u64).unwrap());
        shuffled.reverse();
        let budget = Budget { max_chunks: 3, budget_chars: 20 };
        let (a, b) = (Session::assemble(&query, chunks, None, budget), Session::assemble(&query, shuffled, None, budget));
        prop_assert_eq!(a.answer(None), b.answer(None));
        prop_assert!(a.used_chars <= 20 && a.ranked_chunks.len() <= 3);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn bytes_are_a_session_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Session::from_json(&bytes);
    }
}
