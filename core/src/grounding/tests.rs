use super::*;
use crate::content::{ChunkTag, RawBlock};
use crate::identity::SecretKey;
use crate::retrieval::{Query, TermStats, body_of};
use proptest::prelude::*;

fn evidence(n: u8, title: &str, text: &str) -> Evidence {
    Evidence {
        cid: RawBlock::raw(vec![n]).cid,
        chunk: Chunk {
            tag: ChunkTag,
            source: RawBlock::raw(vec![n, n]).cid,
            ordinal: 0,
            start: 0,
            end: text.len() as u64,
            title: title.into(),
            headings: vec![],
            page: None,
            text: text.into(),
        },
        uri: format!("file:{n}.md"),
        publisher: SecretKey::from_seed([1; 32]).public(),
        score: 0,
        distance: 0,
        sensitivity: Sensitivity::Internal,
        caution: None,
        trust: None,
    }
}

fn stats_of(query: &Query, evidence: &[Evidence]) -> TermStats {
    let mut stats = TermStats::empty(query.terms.len());
    for e in evidence {
        let (tf, n) = query.frequencies(&body_of(&e.chunk));
        stats.n_docs += 1;
        stats.n_terms += n;
        stats.doc_freq.iter_mut().zip(tf).for_each(|(df, tf)| *df += u64::from(tf > 0));
    }
    stats
}

fn ask(question: &str, evidence: &[Evidence]) -> Answer {
    let query = Query::new(question);
    compose(&query, &stats_of(&query, evidence), evidence, Timestamp(0))
}

#[test]
fn an_answer_is_sentences_of_its_sources() {
    let all = [
        evidence(1, "Pump 7", "Pump 7 was serviced.\nPump 7 restarts at 4 bar after a pressure drop."),
        evidence(2, "Canteen", "The canteen opens at noon."),
    ];
    let answer = ask("At what pressure does pump 7 restart?", &all);
    assert!(!answer.abstained);
    assert_eq!(answer.claims[0].text, "Pump 7 restarts at 4 bar after a pressure drop.");
    assert_eq!(answer.grounding_state, GroundingState::Partial);
    assert_eq!(answer.citations.len(), 1, "the canteen answers nothing");
    let place = &answer.citations[0];
    assert_eq!(&all[0].chunk.text[place.start as usize..place.end as usize], answer.claims[0].text);
    assert!(answer.answer.ends_with("[1] Plumbline asserts nothing beyond these sources."));
}

#[test]
fn a_note_of_one_sentence_is_cited_though_it_is_its_own_title() {
    let text = "Pump 7 restarts at 4 bar.";
    assert_eq!(ask("When does pump 7 restart?", &[evidence(1, text, text)]).claims[0].text, text);
    let heading =
        ask("restart of pump 7", &[evidence(1, "Restart of pump 7", "# Restart of pump 7\n\nOpen the valve.")]);
    assert!(heading.claims.iter().all(|c| !c.text.contains('#')));
}

#[test]
fn irrelevant_rows_ground_nothing() {
    let rows: Vec<Evidence> =
        (0..5).map(|n| evidence(n, "Row", "The weather was mild and the road was dry.")).collect();
    let answer = ask("Who discovered the moons of Saturn?", &rows);
    assert!(answer.abstained && answer.citations.is_empty());
    assert_eq!(answer.grounding_state, GroundingState::Ungrounded);
}

#[test]
fn blank_questions_abstain() {
    for question in ["", "  "] {
        let answer = ask(question, &[evidence(1, "a", "b.")]);
        assert!(answer.abstained);
        assert_eq!(answer.grounding_state, GroundingState::Abstained);
    }
}

#[test]
fn states_follow_the_count() {
    for (n, state, confidence) in [
        (1, GroundingState::Partial, Confidence::Cautious),
        (2, GroundingState::Partial, Confidence::Cautious),
        (3, GroundingState::Grounded, Confidence::Grounded),
        (4, GroundingState::Grounded, Confidence::Grounded),
    ] {
        let rows: Vec<Evidence> =
            (0..n).map(|n| evidence(n, "Turbidity", &format!("Turbidity limit number {n} holds."))).collect();
        let answer = ask("turbidity limit", &rows);
        assert_eq!((answer.grounding_state, answer.confidence), (state, confidence), "{n}");
    }
}

#[test]
fn equal_sentences_are_said_once_and_claimed_twice() {
    let text = "The residual limit is 0.5 mg/L.";
    let answer = ask("residual limit", &[evidence(1, "A", text), evidence(2, "B", text)]);
    assert_eq!(answer.claims.len(), 2);
    assert_eq!(answer.answer.matches(text).count(), 1);
    assert!(answer.answer.contains("[1] [2]"));
}

#[test]
fn the_label_is_the_strictest_of_the_evidence() {
    let mut secret = evidence(2, "B", "The gate code of the depot is long.");
    secret.sensitivity = Sensitivity::Confidential;
    let answer = ask("gate code depot", &[evidence(1, "A", "The depot gate has a code."), secret]);
    assert_eq!(answer.sensitivity, Sensitivity::Confidential);
}

proptest! {
    /// GRD-05, GRD-06, GRD-19: deterministic, verbatim, and the map equals the claims.
    #[test]
    fn whatever_is_asked_the_answer_holds_to_its_evidence(
        texts in proptest::collection::vec("([a-f]{1,3}[ .\\n]){0,40}", 0..6), question in "([a-f]{1,3} ){0,6}",
    ) {
        let all: Vec<Evidence> = texts.iter().enumerate().map(|(i, t)| evidence(i as u8, "abc", t)).collect();
        let answer = ask(&question, &all);
        prop_assert_eq!(&answer, &ask(&question, &all));
        // What a bundle carries gives the same answer as everything that was found.
        let query = Query::new(&question);
        let stats = stats_of(&query, &all);
        let carried = rests_on(&query, &stats, &all);
        prop_assert_eq!(&answer, &compose(&query, &stats, &carried, Timestamp(0)));
        prop_assert!(answer.abstained || carried.len() == answer.citations.len());
        for claim in &answer.claims {
            prop_assert_eq!(&answer.citation_map[&claim.id], &claim.citations);
            for id in &claim.citations {
                let citation = answer.citations.iter().find(|c| c.id == *id).unwrap();
                let chunk = &all.iter().find(|e| e.cid == citation.chunk).unwrap().chunk;
                prop_assert_eq!(&chunk.text[citation.start as usize..citation.end as usize], &claim.text);
            }
        }
        prop_assert_eq!(answer.citation_map.len(), answer.claims.len());
        prop_assert_eq!(answer.abstained, answer.claims.is_empty());
    }
}
