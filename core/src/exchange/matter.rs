//! Which question over which places: the id that two bundles share when they answer the same thing.
//!
//! A bundle's own name is its CID. As with the id of a portable context ([`super::session`], BUN-05), the id of its matter
//! is not over any text, so a text that changed keeps it; then two bundles on one matter say different things, and that is
//! a conflict to show, not one to resolve.

use std::collections::BTreeMap;
use std::fmt;

use cid::Cid;
use multibase::Base;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::bundle::{Bundle, block_of, chunk_of, source_of};
use crate::content::{ContentError, RawBlock};
use crate::grounding::{Answer, CITATIONS_MAX};

/// The matter of a bundle, and what the bundle says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Matter {
    /// SHA-256 over the question, the places of the evidence and the budget.
    pub id: [u8; 32],
    /// A digest of what was said: the texts behind the places, and the sentences. It does not depend on when.
    pub said: [u8; 32],
}

#[derive(Serialize)]
struct IdV1<'a> {
    query: &'a str,
    max_chunks: usize,
    /// `[source, uri, publisher, [headings]]`, in order.
    chunks: Vec<(String, String, String, Vec<String>)>,
}

impl Matter {
    /// The matter of a bundle whose blocks these are.
    pub fn of(bundle: &Cid, blocks: &BTreeMap<Cid, Vec<u8>>) -> Result<Matter, ContentError> {
        let bundle: Bundle = block_of(blocks, bundle)?.decode()?;
        let answer: Answer = block_of(blocks, &bundle.answer)?.decode()?;
        let mut places = Vec::new();
        for cited in &bundle.evidence {
            let (chunk, source) = (chunk_of(blocks, &cited.chunk)?, source_of(blocks, &cited.source)?);
            let instance = Base::Base16Lower.encode(&source.instance);
            places.push((instance, source.uri, source.publisher.to_string(), chunk.headings));
        }
        // The order of rank depends on statistics, and the same places are the same places.
        places.sort();
        let id = IdV1 { query: &bundle.query, max_chunks: CITATIONS_MAX, chunks: places };
        let id = serde_json_canonicalizer::to_vec(&id).map_err(|e| ContentError::Encode(e.to_string()))?;

        let mut texts: Vec<Cid> = bundle.evidence.iter().map(|cited| cited.chunk).collect();
        texts.sort();
        let sentences: Vec<&str> = answer.claims.iter().map(|claim| claim.text.as_str()).collect();
        let said = RawBlock::encode(&(answer.abstained, sentences, texts))?;
        Ok(Matter { id: Sha256::digest(id).into(), said: Sha256::digest(said.bytes).into() })
    }

    /// Whether two bundles answer the same question from the same places, and say different things.
    pub fn contradicts(&self, other: &Matter) -> bool {
        self.id == other.id && self.said != other.said
    }
}

/// `plumb-matter:` and the id in hexadecimal.
impl fmt::Display for Matter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plumb-matter:{}", Base::Base16Lower.encode(self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::SealedBundle;
    use crate::exchange::fixture::{NOW, sealed_over};
    use crate::measure::Duration;

    fn matter(sealed: &SealedBundle) -> Matter {
        Matter::of(&sealed.bundle, &sealed.blocks).unwrap()
    }

    #[test]
    fn a_changed_text_keeps_the_matter_and_contradicts() {
        let four = sealed_over("Pump 7 restarts at a pressure of 4 bar.", NOW, true);
        let five = sealed_over("Pump 7 restarts at a pressure of 5 bar.", NOW, true);
        assert_ne!(four.bundle, five.bundle);
        assert_eq!(matter(&four).id, matter(&five).id);
        assert!(matter(&four).contradicts(&matter(&five)) && matter(&five).contradicts(&matter(&four)));
        assert!(matter(&four).to_string().starts_with("plumb-matter:"));
    }

    #[test]
    fn the_same_said_again_contradicts_nothing() {
        let text = "Pump 7 restarts at a pressure of 4 bar.";
        let (once, again) = (sealed_over(text, NOW, true), sealed_over(text, NOW.plus(Duration::days(1)), false));
        assert_ne!(once.bundle, again.bundle);
        assert_eq!(matter(&once), matter(&again));
        assert!(!matter(&once).contradicts(&matter(&again)));
    }
}
