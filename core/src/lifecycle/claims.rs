//! What becomes of the claims of an answer when some of its evidence is withdrawn.
//!
//! A claim is a sentence with everything that carries it: equal sentences of several sources are one claim. With other
//! support it stays, with less; without any it is unsupported. Nothing else changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::grounding::{Answer, Citation};

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimState {
    /// All that carried it stands.
    Supported,
    /// Some of what carried it was withdrawn, and some stands.
    Weakened,
    /// Nothing that carried it stands.
    Unsupported,
}

impl ClaimState {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ClaimState::Supported => "supported",
            ClaimState::Weakened => "weakened",
            ClaimState::Unsupported => "unsupported",
        }
    }
}

/// The state of each claim of an answer, in the order of the answer.
pub fn claim_states(answer: &Answer, is_withdrawn: impl Fn(&Citation) -> bool) -> Vec<(String, ClaimState)> {
    let withdrawn: BTreeMap<&str, bool> =
        answer.citations.iter().map(|citation| (citation.id.as_str(), is_withdrawn(citation))).collect();
    // By sentence: how many citations carry it, and how many of these were withdrawn.
    let mut support: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for claim in &answer.claims {
        let (n, n_withdrawn) = support.entry(&claim.text).or_default();
        for citation in &claim.citations {
            *n += 1;
            *n_withdrawn += usize::from(withdrawn.get(citation.as_str()).copied().unwrap_or_default());
        }
    }
    let state = |text: &str| match support.get(text).copied().unwrap_or_default() {
        (_, 0) => ClaimState::Supported,
        (n, n_withdrawn) if n_withdrawn < n => ClaimState::Weakened,
        _ => ClaimState::Unsupported,
    };
    answer.claims.iter().map(|claim| (claim.id.clone(), state(&claim.text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use crate::grounding::{Claim, ClaimLabel, compose};
    use crate::identity::SecretKey;
    use crate::measure::{Milli, Timestamp};
    use crate::retrieval::{Query, TermStats};

    #[test]
    fn a_claim_keeps_what_else_carries_it() {
        let stats = TermStats { n_docs: 0, n_terms: 0, doc_freq: vec![0] };
        let mut answer = compose(&Query::new("chloramine"), &stats, &[], Timestamp(0));
        for (n, text) in [(1u8, "alone"), (2, "shared"), (1, "shared"), (2, "other")] {
            let k = answer.claims.len() + 1;
            answer.citations.push(Citation {
                id: format!("s{k}"),
                chunk: RawBlock::raw(vec![n, 0]).cid,
                source: RawBlock::raw(vec![n]).cid,
                uri: String::new(),
                title: String::new(),
                start: 0,
                end: 0,
                page: None,
                publisher: SecretKey::from_seed([1; 32]).public(),
                support: Milli::from_ratio(1, 2),
                caution: None,
            });
            answer.claims.push(Claim {
                id: format!("c{k}"),
                text: text.to_string(),
                label: ClaimLabel::Retrieved,
                citations: vec![format!("s{k}")],
            });
        }
        let first = RawBlock::raw(vec![1]).cid;
        let states: Vec<ClaimState> =
            claim_states(&answer, |c| c.source == first).into_iter().map(|(_, state)| state).collect();
        use ClaimState::{Supported, Unsupported, Weakened};
        assert_eq!(states, [Unsupported, Weakened, Weakened, Supported]);
        assert!(claim_states(&answer, |_| false).iter().all(|(_, state)| *state == Supported));
        assert!(claim_states(&answer, |_| true).iter().all(|(_, state)| *state == Unsupported));
    }
}
