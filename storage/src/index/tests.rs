//! The index against a plain reading of what it should do.

mod lifecycle;
mod ranking;

use std::collections::BTreeMap;
use std::time::Duration;

use cid::Cid;
use plumb_core::boundary::{Access, Sensitivity};
use plumb_core::content::Chunk;
use plumb_core::knowledge::KnowledgeUnit;
use plumb_core::retrieval::{TermStats, bm25, body_of, is_word, terms};

use super::{Candidate, IndexOptions, TextIndex};
use crate::fixture::{change, chunk, scratch, unit};
use crate::records::Records;
use crate::store::Store;

/// Commits happen only where a test asks for them.
fn by_hand() -> IndexOptions {
    IndexOptions {
        commit_every: Duration::from_secs(1_000_000),
        commit_rows: usize::MAX,
        writer_bytes: 15_000_000,
        ..IndexOptions::default()
    }
}

/// How often each term occurs in a text, and how many there are.
struct Body {
    frequencies: BTreeMap<String, u32>,
    n_terms: u64,
}

impl Body {
    fn of(text: &str) -> Body {
        let terms = terms(text);
        let n_terms = terms.iter().filter(|term| is_word(term)).count() as u64;
        let mut frequencies = BTreeMap::new();
        terms.into_iter().for_each(|term| *frequencies.entry(term).or_default() += 1);
        Body { frequencies, n_terms }
    }

    fn frequency(&self, term: &str) -> u32 {
        self.frequencies.get(term).copied().unwrap_or(0)
    }
}

/// A store, its index, and the same as plain maps.
struct World {
    dir: tempfile::TempDir,
    store: Store,
    index: Option<TextIndex>,
    units: BTreeMap<Cid, (KnowledgeUnit, Body)>,
    next: u32,
}

impl World {
    fn new() -> World {
        let dir = scratch();
        let store = Store::in_memory().unwrap();
        let index = TextIndex::open(dir.path(), &store, by_hand()).unwrap();
        World { dir, store, index: Some(index), units: BTreeMap::new(), next: 0 }
    }

    fn index(&self) -> &TextIndex {
        self.index.as_ref().unwrap()
    }

    fn close(&mut self) {
        self.index = None;
    }

    fn open(&mut self) {
        self.index = Some(TextIndex::open(self.dir.path(), &self.store, by_hand()).unwrap());
    }

    fn flush(&self) {
        self.index().flush_to(self.store.position()).unwrap();
    }

    fn add(&mut self, class: Sensitivity, team: &str, creator: Option<&str>, text: &str) -> Cid {
        self.next += 1;
        let (cid, block) = chunk(self.next, text);
        let unit = unit(cid, class, team, creator);
        let body = body_of(&block.decode::<Chunk>().unwrap());
        let mut put = change();
        put.put_block(block).put_unit(&unit);
        self.store.commit(put).unwrap();
        self.units.insert(cid, (unit, Body::of(&body)));
        cid
    }

    fn remove(&mut self, chunk: &Cid) {
        let mut delete = change();
        delete.delete_unit(chunk);
        self.store.commit(delete).unwrap();
        self.units.remove(chunk);
    }

    fn reclassify(&mut self, chunk: &Cid, class: Sensitivity) {
        let (unit, _) = self.units.get_mut(chunk).unwrap();
        unit.sensitivity = class;
        let mut put = change();
        put.put_unit(unit);
        self.store.commit(put).unwrap();
    }

    /// What the statistics should be.
    fn stats(&self, classes: &[Sensitivity], query: &[String]) -> TermStats {
        let inside = || self.units.values().filter(|(unit, _)| classes.contains(&unit.sensitivity));
        TermStats {
            n_docs: inside().count() as u64,
            n_terms: inside().map(|(_, body)| body.n_terms).sum(),
            doc_freq: query
                .iter()
                .map(|term| inside().filter(|(_, body)| body.frequency(term) > 0).count() as u64)
                .collect(),
        }
    }

    /// What a search should give: everything is scored.
    fn candidates(
        &self,
        class: Sensitivity,
        access: &Access,
        query: &[String],
        stats: &TermStats,
        limit: usize,
    ) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = self
            .units
            .values()
            .filter(|(unit, _)| unit.sensitivity == class)
            .filter(|(unit, _)| match access {
                Access::Whole => true,
                Access::Part(clause) => clause.admits(unit),
                Access::Closed => false,
            })
            .map(|(unit, body)| {
                let tf: Vec<u32> = query.iter().map(|term| body.frequency(term)).collect();
                Candidate { chunk: unit.chunk, score: bm25(stats, &tf, body.n_terms), tf, n_terms: body.n_terms }
            })
            .filter(|candidate| candidate.score > 0)
            .collect();
        all.sort_by(|a, b| b.score.cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        all.truncate(limit);
        all
    }

    fn check_ids(&self) {
        let searcher = self.index().searcher();
        for class in Sensitivity::ALL {
            let mut found: Vec<Cid> = searcher.ids(class).collect::<Result<_, _>>().unwrap();
            found.sort();
            let expected: Vec<Cid> =
                self.units.values().filter(|(u, _)| u.sensitivity == class).map(|(u, _)| u.chunk).collect();
            assert_eq!(found, expected, "{class}");
            assert_eq!(searcher.n_docs(class), expected.len() as u64);
            for cid in self.units.keys() {
                assert_eq!(searcher.contains(class, cid).unwrap(), expected.contains(cid));
            }
        }
    }
}

fn words(text: &str) -> Vec<String> {
    terms(text)
}
