use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, ChunkTag, Fingerprint, RawBlock, SourceRecord, SourceTag};
use plumb_core::identity::SecretKey;
use plumb_core::retrieval::merge;
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp(1_760_000_000_000);
const ID: u64 = 42;

fn peer(n: u8) -> NodeId {
    SecretKey::from_seed([n; 32]).public()
}

/// One document of one source.
fn document(text: &str) -> (RawBlock, RawBlock) {
    let raw = RawBlock::raw(text.as_bytes().to_vec()).cid;
    let source = RawBlock::encode(&SourceRecord {
        tag: SourceTag,
        publisher: peer(0),
        scope: "department:department-laboratory".parse().unwrap(),
        uri: "file:notes.md".into(),
        instance: vec![0; 16],
        title: String::new(),
        media_type: "text/plain".into(),
        adapter: "text/1".into(),
        raw,
        text: raw,
        fingerprint: Fingerprint::of(text),
    })
    .unwrap();
    let chunk = RawBlock::encode(&Chunk {
        tag: ChunkTag,
        source: source.cid,
        ordinal: 0,
        start: 0,
        end: text.len() as u64,
        title: String::new(),
        headings: vec![],
        page: None,
        text: text.into(),
    })
    .unwrap();
    (chunk, source)
}

/// A node with documents, which answers as an honest one does.
struct Library(Vec<Chunk>);

impl Library {
    fn new(texts: &[String]) -> Library {
        Library(texts.iter().map(|text| document(text).0.decode().unwrap()).collect())
    }

    fn stats(&self, query: &Query) -> TermStats {
        let mut stats = TermStats::empty(query.terms.len());
        for chunk in &self.0 {
            let (tf, n_terms) = query.frequencies(&plumb_core::retrieval::body_of(chunk));
            stats.n_docs += 1;
            stats.n_terms += n_terms;
            tf.iter().zip(&mut stats.doc_freq).for_each(|(tf, df)| *df += u64::from(*tf > 0));
        }
        stats
    }

    fn hits(&self, query: &Query, stats: &TermStats) -> Vec<Hit> {
        let hit = |chunk: &Chunk| {
            let (block, source) = document(&chunk.text);
            Hit::new(query.score(chunk, stats), Sensitivity::Public, block, source).unwrap()
        };
        self.0.iter().map(hit).filter(|hit| hit.score() > 0).collect()
    }

    fn answer(&self, request: &SearchRequest) -> SearchResponse {
        match request {
            SearchRequest::Statistics(asked) => {
                SearchResponse::Statistics { id: asked.id, stats: self.stats(&asked.query) }
            }
            SearchRequest::Hits(asked) => {
                SearchResponse::Hits { id: asked.id, hits: self.hits(&asked.query, &asked.stats) }
            }
            SearchRequest::Summary { .. } | SearchRequest::Unknown(_) => panic!("it is not asked here"),
        }
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

fn start(peers: &[u8]) -> (FederatedSearch, Vec<Action>) {
    let query = Query::new("reservoir level");
    let own = TermStats { n_docs: 5, n_terms: 50, doc_freq: vec![1, 0] };
    FederatedSearch::start(ID, query, own, 10, peers.iter().map(|n| (peer(*n), Patience::default())), NOW, 1000)
        .unwrap()
}

fn requests(actions: &[Action]) -> Vec<(NodeId, SearchRequest)> {
    let ask = |action: &Action| match action {
        Action::Ask { peer, phase, request } => {
            let is_hits = matches!(request, SearchRequest::Hits(_));
            assert_eq!(*phase == Phase::Hits, is_hits);
            Some((*peer, request.clone()))
        }
        Action::Finish(_) => None,
    };
    actions.iter().filter_map(ask).collect()
}

fn outcome(actions: &[Action]) -> &Outcome {
    match actions.last() {
        Some(Action::Finish(outcome)) => outcome,
        other => panic!("it is not finished: {other:?}"),
    }
}

/// The answer to the question for which it is one.
fn answered(n: u8, response: SearchResponse) -> Event {
    let is_hits = matches!(response, SearchResponse::Hits { .. });
    answered_in(if is_hits { Phase::Hits } else { Phase::Statistics }, n, response)
}

fn answered_in(phase: Phase, n: u8, response: SearchResponse) -> Event {
    Event::Answered { peer: peer(n), phase, response: Ok(response) }
}

fn broke_off(phase: Phase, n: u8) -> Event {
    Event::Unreachable { peer: peer(n), phase }
}

fn after(ms: u64) -> Timestamp {
    NOW.plus(Duration(ms))
}

#[test]
fn nobody_to_ask_is_an_answer() {
    let (search, actions) = start(&[]);
    assert!(outcome(&actions).coverage.is_empty());
    assert_eq!(outcome(&actions).stats.n_docs, 5);
    assert_eq!(search.wake_at(), None);
}

#[test]
fn all_answer_and_the_scores_are_under_the_sum() {
    let libraries =
        [Library::new(&texts(&["the reservoir", "level two"])), Library::new(&texts(&["a reservoir level"]))];
    let (mut search, actions) = start(&[0, 1]);
    let first = requests(&actions);
    assert_eq!(first.len(), 2);
    assert!(search.handle(after(10), answered(0, libraries[0].answer(&first[0].1))).is_empty());
    let second = requests(&search.handle(after(20), answered(1, libraries[1].answer(&first[0].1))));
    assert_eq!(second.len(), 2, "both are counted, so hits are asked for before half the time is over");
    let SearchRequest::Hits(asked) = &second[0].1 else { panic!() };
    assert_eq!((asked.stats.n_docs, asked.stats.doc_freq.clone()), (8, vec![3, 2]));
    assert_eq!(asked.deadline_ms, 980);
    assert!(search.handle(after(30), answered(1, libraries[1].answer(&second[0].1))).is_empty());
    let actions = search.handle(after(40), answered(0, libraries[0].answer(&second[0].1)));
    let outcome = outcome(&actions);
    assert!(outcome.coverage.values().all(|state| *state == PeerState::Answered));
    assert_eq!((outcome.hits[&peer(0)].len(), outcome.hits[&peer(1)].len()), (2, 1));
    assert!(search.handle(after(50), Event::Tick).is_empty(), "nothing follows");
}

#[test]
fn each_way_not_to_answer_is_its_own() {
    let (mut search, actions) = start(&[0, 1, 2, 3, 4, 5, 6]);
    let first = requests(&actions)[0].1.clone();
    let library = Library::new(&texts(&["the reservoir"]));
    search.handle(after(1), answered(0, library.answer(&first)));
    search.handle(after(2), answered(1, SearchResponse::Denied { id: ID, reason: "no".into() }));
    search.handle(after(3), answered(2, SearchResponse::Busy { id: ID, retry_after_ms: 9 }));
    search.handle(after(4), broke_off(Phase::Statistics, 3));
    let impossible = TermStats { n_docs: 1, n_terms: 9, doc_freq: vec![2, 0] };
    search.handle(after(5), answered(4, SearchResponse::Statistics { id: ID, stats: impossible }));
    search.handle(after(6), answered(5, SearchResponse::Denied { id: ID + 1, reason: "no".into() }));
    // Peer 6 is silent; half of the time later its documents do not count.
    assert_eq!(search.wake_at(), Some(after(500)));
    assert!(search.handle(after(499), Event::Tick).is_empty());
    let second = requests(&search.handle(after(500), Event::Tick));
    // Whoever denied the first question might only withhold its statistics, and is asked the other one.
    let asked: std::collections::BTreeSet<NodeId> = second.iter().map(|(peer, _)| *peer).collect();
    assert_eq!(asked, [peer(0), peer(1)].into());
    search.handle(after(510), answered(6, library.answer(&first)));
    search.handle(after(511), answered_in(Phase::Hits, 1, SearchResponse::Denied { id: ID, reason: "no".into() }));
    let actions = search.handle(after(520), answered(0, library.answer(&second[0].1)));
    let coverage = &outcome(&actions).coverage;
    assert_eq!(coverage[&peer(0)], PeerState::Answered);
    assert_eq!(coverage[&peer(1)], PeerState::Denied { reason: "no".into() });
    assert_eq!(coverage[&peer(2)], PeerState::Busy { retry_after_ms: 9 });
    assert_eq!(coverage[&peer(3)], PeerState::Unreachable);
    assert!(matches!(coverage[&peer(4)], PeerState::Invalid { .. }));
    assert!(matches!(coverage[&peer(5)], PeerState::Invalid { .. }), "the answer to another question");
    assert_eq!(coverage[&peer(6)], PeerState::TimedOut);
    assert_eq!(outcome(&actions).stats.n_docs, 6, "impossible statistics are left out, whole");
}

#[test]
fn the_deadline_is_kept() {
    let (mut search, actions) = start(&[0]);
    let library = Library::new(&texts(&["the reservoir"]));
    let first = requests(&actions)[0].1.clone();
    let second = requests(&search.handle(after(1), answered(0, library.answer(&first))));
    assert_eq!(search.wake_at(), Some(after(1000)));
    // The answer comes with the deadline: too late.
    let actions = search.handle(after(1000), answered(0, library.answer(&second[0].1)));
    assert_eq!(outcome(&actions).coverage[&peer(0)], PeerState::TimedOut);
    assert!(outcome(&actions).hits.is_empty());
}

#[test]
fn a_boast_is_invalid() {
    let (mut search, actions) = start(&[0, 1]);
    let library = Library::new(&texts(&["the reservoir"]));
    let first = requests(&actions)[0].1.clone();
    search.handle(after(1), answered(0, library.answer(&first)));
    let second = requests(&search.handle(after(2), answered(1, library.answer(&first))));
    let SearchResponse::Hits { hits, .. } = library.answer(&second[0].1) else { panic!() };
    let (chunk, source) = document("the reservoir");
    let boast = Hit::new(hits[0].score() * 2, Sensitivity::Public, chunk, source).unwrap();
    search.handle(after(3), answered(0, SearchResponse::Hits { id: ID, hits: vec![boast] }));
    let actions = search.handle(after(4), answered(1, SearchResponse::Hits { id: ID, hits }));
    let outcome = outcome(&actions);
    assert!(matches!(&outcome.coverage[&peer(0)], PeerState::Invalid { reason, .. } if reason.contains("scores")));
    assert_eq!(outcome.hits.keys().collect::<Vec<_>>(), [&peer(1)]);
}

#[test]
fn own_statistics_are_for_the_question() {
    let query = Query::new("reservoir level");
    let own = TermStats::empty(3);
    assert!(FederatedSearch::start(ID, query, own, 10, [], NOW, 1000).is_err());
}

proptest! {
    /// A collection in parts, asked over the wire's machine, ranks as the whole.
    #[test]
    fn a_federated_ranking_is_that_of_one_index(
        words in proptest::collection::vec("[abcd]( [abcd]){0,6}", 1..16), n_peers in 1u8..5, question in "[abcd]( [abcd]){0,2}",
    ) {
        // The same text twice would be one chunk.
        let mut words = words;
        words.sort();
        words.dedup();
        let query = Query::new(&question);
        let central = Library::new(&words);
        let stats = central.stats(&query);
        let rank = |hits: Vec<Hit>| hits.into_iter().map(|h| (h.chunk_block().cid, h.score())).collect::<Vec<_>>();
        let expected = merge([(peer(99), rank(central.hits(&query, &stats)))], 100);

        let parts: Vec<Vec<String>> = (0..=n_peers)
            .map(|part| words.iter().skip(usize::from(part)).step_by(usize::from(n_peers) + 1).cloned().collect())
            .collect();
        let libraries: Vec<Library> = parts.iter().map(|part| Library::new(part)).collect();
        let own = &libraries[usize::from(n_peers)];
        let (mut search, actions) =
            FederatedSearch::start(ID, query.clone(), own.stats(&query), 64, (0..n_peers).map(|n| (peer(n), Patience::default())), NOW, 1000).unwrap();
        let mut queue = actions;
        let mut result = None;
        while let Some(action) = queue.pop() {
            match action {
                Action::Ask { peer: asked, phase, request } => {
                    let n = (0..n_peers).find(|n| peer(*n) == asked).unwrap();
                    let response = libraries[usize::from(n)].answer(&request);
                    // Over the wire and back.
                    let response = SearchResponse::decode(&response.encode());
                    queue.extend(search.handle(after(1), Event::Answered { peer: asked, phase, response }));
                }
                Action::Finish(outcome) => result = Some(outcome),
            }
        }
        let outcome = result.unwrap();
        prop_assert_eq!(&outcome.stats, &stats);
        let local = (peer(98), rank(own.hits(&query, &outcome.stats)));
        let remote = outcome.hits.into_iter().map(|(peer, hits)| (peer, rank(hits)));
        let merged = merge(remote.chain([local]), 100);
        let plain = |ranked: Vec<plumb_core::retrieval::Ranked>| ranked.into_iter().map(|r| (r.chunk, r.score)).collect::<Vec<_>>();
        prop_assert_eq!(plain(merged), plain(expected));
    }
}

#[test]
fn a_peer_that_withholds_its_statistics_is_fused_by_rank() {
    let (mut search, actions) = start(&[0, 1]);
    let (open, closed) =
        (Library::new(&texts(&["the reservoir"])), Library::new(&texts(&["level", "reservoir level"])));
    let first = requests(&actions)[0].1.clone();
    search.handle(after(1), answered(0, open.answer(&first)));
    let second =
        requests(&search.handle(after(2), answered(1, SearchResponse::Denied { id: ID, reason: "own".into() })));
    assert_eq!(second.len(), 2);
    search.handle(after(3), answered(0, open.answer(&second[0].1)));
    // It ranks as it likes: its order is kept, its scores are not.
    let boasted = |text: &str, score| {
        let (chunk, source) = document(text);
        Hit::new(score, Sensitivity::Public, chunk, source).unwrap()
    };
    let hits = vec![boasted("level", 9_999_999_999), boasted("reservoir level", 9_999_999_998)];
    let actions = search.handle(after(4), answered(1, SearchResponse::Hits { id: ID, hits }));
    let outcome = outcome(&actions);
    assert_eq!(outcome.stats.n_docs, 6, "its documents do not count");
    assert_eq!(outcome.coverage[&peer(1)], PeerState::FusedByRank { reason: "own".into() });
    let given: Vec<(&str, u64)> =
        outcome.by_rank[&peer(1)].iter().map(|h| (h.chunk().text.as_str(), h.score())).collect();
    let SearchRequest::Hits(asked) = &second[0].1 else { panic!() };
    let ours = closed.hits(&asked.query, &asked.stats);
    assert_eq!(given, [("level", ours[0].score()), ("reservoir level", ours[1].score())]);
}

#[test]
fn a_slow_peer_is_asked_once_more_in_each_phase_and_given_up_in_the_end() {
    let query = Query::new("reservoir level");
    let own = TermStats::empty(2);
    let patience = Patience { hedge_after: Some(Duration(50)), give_up_after: Some(Duration(300)) };
    let (mut search, actions) =
        FederatedSearch::start(ID, query, own, 10, [(peer(0), patience), (peer(1), patience)], NOW, 1000).unwrap();
    let library = Library::new(&texts(&["the reservoir"]));
    let first = requests(&actions)[0].1.clone();
    assert_eq!(search.wake_at(), Some(after(50)));
    assert_eq!(requests(&search.handle(after(50), Event::Tick)).len(), 2);
    assert!(requests(&search.handle(after(60), Event::Tick)).is_empty(), "once");
    assert_eq!(search.wake_at(), Some(after(300)));
    // One of two questions broke off: the other may still be answered.
    search.handle(after(70), broke_off(Phase::Statistics, 0));
    search.handle(after(80), answered(0, library.answer(&first)));
    let second = requests(&search.handle(after(300), Event::Tick));
    assert_eq!(second.iter().map(|(p, _)| *p).collect::<Vec<_>>(), [peer(0)], "the silent one is given up");
    assert_eq!(requests(&search.handle(after(350), Event::Tick)).len(), 1, "asked once more in the second phase too");
    search.handle(after(360), answered(0, library.answer(&first)));
    let actions = search.handle(after(370), answered(0, library.answer(&second[0].1)));
    let outcome = outcome(&actions);
    assert_eq!(outcome.coverage[&peer(0)], PeerState::Answered);
    assert_eq!(outcome.coverage[&peer(1)], PeerState::TimedOut);
    assert_eq!(outcome.stats.n_docs, 1, "a second copy of statistics does not count twice");
}

#[test]
fn dropped_hits_are_counted() {
    let (mut search, actions) = start(&[0]);
    let library = Library::new(&texts(&["the reservoir", "level"]));
    let second = requests(&search.handle(after(1), answered(0, library.answer(&requests(&actions)[0].1))));
    let SearchResponse::Hits { hits, .. } = library.answer(&second[0].1) else { panic!() };
    let (chunk, source) = document("level");
    let boast = Hit::new(u64::MAX, Sensitivity::Public, chunk, source).unwrap();
    let response = SearchResponse::Hits { id: ID, hits: vec![hits[0].clone(), boast] };
    let actions = search.handle(after(2), answered(0, response));
    assert!(matches!(outcome(&actions).coverage[&peer(0)], PeerState::Invalid { n_dropped: 2, .. }));
}

/// The clock is set back an hour while a question is on its way: it ends, and does not wait for the clock to catch up.
#[test]
fn a_clock_that_is_set_back_ends_a_question() {
    let earlier = Timestamp(NOW.0 - 3_600_000);
    let (mut search, actions) = start(&[0, 1]);
    let first = requests(&actions)[0].1.clone();
    search.handle(after(1), answered(0, Library::new(&texts(&["the reservoir"])).answer(&first)));
    let actions = search.handle(earlier, Event::Tick);
    assert!(outcome(&actions).coverage.values().all(|state| *state == PeerState::TimedOut));
    assert_eq!(search.wake_at(), None);
}

/// One peer, asked a second time after 50 ms in each phase.
fn hedged() -> (FederatedSearch, SearchRequest) {
    let patience = Patience { hedge_after: Some(Duration(50)), give_up_after: None };
    let (mut search, actions) = FederatedSearch::start(
        ID,
        Query::new("reservoir level"),
        TermStats::empty(2),
        10,
        [(peer(0), patience)],
        NOW,
        1000,
    )
    .unwrap();
    assert_eq!(requests(&search.handle(after(50), Event::Tick)).len(), 1);
    (search, requests(&actions)[0].1.clone())
}

/// How a copy of a question comes to nothing.
fn ways_to_nothing(phase: Phase) -> Vec<Event> {
    let said = |response| answered_in(phase, 0, response);
    vec![
        broke_off(phase, 0),
        said(SearchResponse::Busy { id: ID, retry_after_ms: 9 }),
        said(SearchResponse::Busy { id: ID + 1, retry_after_ms: 9 }),
        Event::Answered { peer: peer(0), phase, response: Err(WireError::Kind("nonsense".to_string())) },
    ]
}

/// Whichever copy comes to nothing, before or after the other one is answered, and in whichever phase: the answer counts.
#[test]
fn a_copy_that_comes_to_nothing_takes_no_answer_away() {
    let library = Library::new(&texts(&["the reservoir"]));
    let denied = SearchResponse::Denied { id: ID, reason: "no".into() };
    let n_ways = ways_to_nothing(Phase::Statistics).len();
    for (way, before) in (0..n_ways).flat_map(|way| [(way, true), (way, false)]) {
        let nothing = |phase| ways_to_nothing(phase).swap_remove(way);
        let (mut search, first) = hedged();
        let mut actions = Vec::new();
        if before {
            assert!(search.handle(after(60), nothing(Phase::Statistics)).is_empty(), "way {way}: it is waited for");
        }
        actions.extend(search.handle(after(70), answered(0, library.answer(&first))));
        if !before {
            actions.extend(search.handle(after(71), nothing(Phase::Statistics)));
        }
        // What is left of the first question counts for nothing in the second phase, a refusal no more than the others.
        actions.extend(search.handle(after(72), answered(0, denied.clone())));
        let second = requests(&actions);
        assert_eq!(second.len(), 1, "way {way}, before: {before}: it is asked for hits");
        assert_eq!(requests(&search.handle(after(130), Event::Tick)).len(), 1, "and asked for them again");
        assert!(search.handle(after(140), nothing(Phase::Hits)).is_empty(), "way {way}: it is waited for");
        let actions = search.handle(after(150), answered(0, library.answer(&second[0].1)));
        assert_eq!(outcome(&actions).coverage[&peer(0)], PeerState::Answered, "way {way}, before: {before}");
        assert_eq!(outcome(&actions).hits[&peer(0)].len(), 1);
    }
}

/// A peer that withholds its statistics says so twice if it is asked twice; its hits count.
#[test]
fn a_second_refusal_of_statistics_takes_no_hits_away() {
    let denied = || answered(0, SearchResponse::Denied { id: ID, reason: "own".into() });
    for is_asked_for_hits in [false, true] {
        // Another peer, still silent, keeps the first phase on.
        let patience = Patience { hedge_after: Some(Duration(50)), give_up_after: None };
        let peers = [(peer(0), patience), (peer(1), Patience::default())];
        let query = Query::new("reservoir level");
        let (mut search, _) = FederatedSearch::start(ID, query, TermStats::empty(2), 10, peers, NOW, 1000).unwrap();
        assert_eq!(requests(&search.handle(after(50), Event::Tick)).len(), 1);
        search.handle(after(60), denied());
        if !is_asked_for_hits {
            assert!(search.handle(after(70), denied()).is_empty());
        }
        let second = requests(&search.handle(after(80), broke_off(Phase::Statistics, 1)));
        assert_eq!(second.len(), 1, "it is asked for hits");
        if is_asked_for_hits {
            assert!(search.handle(after(90), denied()).is_empty());
        }
        let library = Library::new(&texts(&["reservoir level"]));
        let actions = search.handle(after(100), answered(0, library.answer(&second[0].1)));
        assert_eq!(outcome(&actions).coverage[&peer(0)], PeerState::FusedByRank { reason: "own".into() });
    }
}

/// When no copy is left, the last word stands.
#[test]
fn the_last_copy_that_comes_to_nothing_ends_it() {
    let (mut search, _) = hedged();
    assert!(search.handle(after(60), broke_off(Phase::Statistics, 0)).is_empty());
    let busy = SearchResponse::Busy { id: ID, retry_after_ms: 9 };
    let actions = search.handle(after(70), answered(0, busy));
    assert_eq!(outcome(&actions).coverage[&peer(0)], PeerState::Busy { retry_after_ms: 9 });
}
