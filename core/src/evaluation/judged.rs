//! What is judged, and what was found.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Single;

/// A grade of at least this is relevant.
pub const RELEVANT_FROM: i32 = 1;

/// Judgments: for each query, the grade of each document that somebody looked at. What is not judged counts as not
/// relevant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qrels {
    grades: BTreeMap<String, BTreeMap<String, i32>>,
}

impl Qrels {
    /// Sets a grade; gives the one that was there.
    pub fn insert(&mut self, query: String, document: String, grade: i32) -> Option<i32> {
        self.grades.entry(query).or_default().insert(document, grade)
    }

    /// The queries with at least one judgment: those that count.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.grades.keys().map(String::as_str)
    }

    /// How many queries count.
    pub fn n_queries(&self) -> usize {
        self.grades.len()
    }

    /// Whether a query has a judgment.
    pub fn judges(&self, query: &str) -> bool {
        self.grades.contains_key(query)
    }

    /// The grades of a query's documents.
    pub fn of(&self, query: &str) -> impl Iterator<Item = (&str, i32)> {
        self.grades.get(query).into_iter().flatten().map(|(document, grade)| (document.as_str(), *grade))
    }

    /// The grade of a document.
    pub fn grade(&self, query: &str, document: &str) -> Option<i32> {
        self.grades.get(query)?.get(document).copied()
    }
}

/// What a system found: for each query, documents in order, best first, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    lists: BTreeMap<String, Vec<String>>,
}

impl Run {
    /// A run of scored documents, in the order of `trec_eval`: by score in single precision, the highest first; among
    /// equals the document whose name is last in the order of bytes comes first. Ranks that a file gives are ignored.
    pub fn from_scores(scores: BTreeMap<String, BTreeMap<String, Single>>) -> Run {
        let lists = scores.into_iter().map(|(query, documents)| {
            let mut list: Vec<(String, Single)> = documents.into_iter().collect();
            list.sort_by(|(a, a_score), (b, b_score)| (Reverse(a_score), b).cmp(&(Reverse(b_score), a)));
            (query, list.into_iter().map(|(document, _)| document).collect())
        });
        Run { lists: lists.collect() }
    }

    /// A run in an order that somebody else has made. Of a document that is named twice the first place counts.
    pub fn insert(&mut self, query: String, documents: impl IntoIterator<Item = String>) {
        let mut seen = BTreeSet::new();
        let list = documents.into_iter().filter(|document| seen.insert(document.clone())).collect();
        self.lists.insert(query, list);
    }

    /// The queries that were asked.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.lists.keys().map(String::as_str)
    }

    /// The first `k` documents of a query; none if it was not asked.
    pub fn top(&self, query: &str, k: usize) -> &[String] {
        let list = self.lists.get(query).map_or(&[][..], Vec::as_slice);
        list.get(..k).unwrap_or(list)
    }
}

/// Named sets of queries that are looked at apart. A query may be in several, or in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    sets: BTreeMap<String, BTreeSet<String>>,
}

impl Slices {
    /// Puts a query into a slice.
    pub fn insert(&mut self, slice: String, query: String) {
        self.sets.entry(slice).or_default().insert(query);
    }

    /// The slices by name, with their queries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.sets.iter().map(|(name, queries)| (name.as_str(), queries))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

/// The documents of a collection as the sets of their terms: what coverage and diversity are measured against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    terms: BTreeMap<String, BTreeSet<String>>,
}

impl Documents {
    /// Adds a document.
    pub fn insert(&mut self, document: String, terms: BTreeSet<String>) {
        self.terms.insert(document, terms);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms of a document.
    pub fn terms(&self, document: &str) -> Option<&BTreeSet<String>> {
        self.terms.get(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_the_name_that_is_last() {
        let score = |text: &str| Single::read(text).unwrap();
        let list = [("d10", "2"), ("d9", "2.00000000001"), ("a", "3"), ("z", "-1")];
        let documents = list.into_iter().map(|(document, s)| (document.to_string(), score(s))).collect();
        let run = Run::from_scores(BTreeMap::from([("q".to_string(), documents)]));
        assert_eq!(run.top("q", 9), ["a", "d9", "d10", "z"]);
        assert_eq!(run.top("q", 1), ["a"]);
        assert!(run.top("other", 3).is_empty());
    }

    #[test]
    fn a_document_has_one_place() {
        let mut run = Run::default();
        run.insert("q".into(), ["a", "b", "a", "c"].map(String::from));
        assert_eq!(run.top("q", 9), ["a", "b", "c"]);
    }
}
