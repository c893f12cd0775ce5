//! A question: its terms, its phrases, and what a text has of them.

use std::collections::{BTreeMap, BTreeSet};

use super::bm25::{TermStats, bm25};
use super::field::body_of;
use super::phrase;
use super::terms::cut::{Kind, cut};
use super::terms::{is_stop_word, terms};
use crate::content::Chunk;

/// Most distinct terms of a query that are looked up; what follows is ignored and said so.
pub const QUERY_TERMS_MAX: usize = 64;

/// Longest query in bytes. Whoever takes queries from outside refuses more.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;

/// A question as its distinct terms. Nothing in a user's text is an operator but quotes: it is all words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The text as it was asked.
    pub text: String,
    /// Distinct terms in order of first appearance, without stop words unless it has nothing else.
    pub terms: Vec<String>,
    /// What stands in quotes, each phrase as its words. A text in which the words do not follow each other has none of the
    /// query's terms.
    pub phrases: Vec<Vec<String>>,
}

impl Query {
    /// Reads a question.
    pub fn new(text: &str) -> Query {
        let mut seen = BTreeSet::new();
        let all: Vec<String> = terms(text).into_iter().filter(|t| seen.insert(t.clone())).collect();
        let content: Vec<String> = all.iter().filter(|t| !is_stop_word(t)).cloned().collect();
        let mut terms = if content.is_empty() { all } else { content };
        terms.truncate(QUERY_TERMS_MAX);
        Query { text: text.to_string(), terms, phrases: phrase::phrases(text) }
    }

    /// A text as a question for what is like it. Quotes in it ask for nothing.
    pub fn of_text(text: &str) -> Query {
        Query { phrases: Vec::new(), ..Query::new(text) }
    }

    /// How often each term of the query occurs in a text, and how many words the text has. A text without one of the
    /// query's phrases is as one without any of its terms.
    pub fn frequencies(&self, text: &str) -> (Vec<u32>, u64) {
        let (mut tf, n_terms) = self.occurrences(text);
        if !self.has_phrases(text) {
            tf.fill(0);
        }
        (tf, n_terms)
    }

    /// How often each term of the query occurs in a text, whatever its phrases are, and how many words the text has.
    pub fn occurrences(&self, text: &str) -> (Vec<u32>, u64) {
        let places: BTreeMap<&str, usize> = self.terms.iter().enumerate().map(|(i, t)| (t.as_str(), i)).collect();
        let mut tf = vec![0u32; self.terms.len()];
        let mut n_terms = 0;
        cut(text, &mut |kind, term| {
            n_terms += u64::from(matches!(kind, Kind::Word | Kind::Also));
            if let Some(i) = places.get(term) {
                tf[*i] = tf[*i].saturating_add(1);
            }
        });
        (tf, n_terms)
    }

    /// Whether every phrase of the query stands in the text.
    pub fn has_phrases(&self, text: &str) -> bool {
        if self.phrases.is_empty() {
            return true;
        }
        let words = phrase::words_in_order(text);
        self.phrases.iter().all(|phrase| phrase::contains(&words, phrase))
    }

    /// The terms that a text must have to be found: the words of the query's phrases.
    pub fn required(&self) -> BTreeSet<&str> {
        self.phrases.iter().flatten().map(String::as_str).collect()
    }

    /// The score of a chunk under these statistics.
    pub fn score(&self, chunk: &Chunk, stats: &TermStats) -> u64 {
        let (tf, n_terms) = self.frequencies(&body_of(chunk));
        bm25(stats, &tf, n_terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;

    #[test]
    fn operators_of_query_languages_are_plain_words() {
        assert_eq!(Query::new("acl:confidential OR *").terms, ["acl", "confidenti"]);
        assert_eq!(Query::new("NOT the").terms, terms("not"));
        assert_eq!(Query::new("the of").terms, ["the", "of"], "nothing but stop words is still a query");
        assert_eq!(Query::new("a:(^").terms, ["a"]);
        assert!(Query::new("((((  ").terms.is_empty());
        assert_eq!(Query::new(&format!("{}x{}", "(".repeat(10_000), ")".repeat(10_000))).terms, ["x"]);
    }

    /// What search engines of the shelf fail at: the question, a text that it must find, and one that it must rank lower or
    /// not find.
    #[test]
    fn stock_failures_are_found() {
        let commit = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
        let cid = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
        let in_text = |name: &str| format!("It was fixed in {name}, as they say.");
        for (question, hit, other) in [
            ("cafe", "Das Café am Fluss.", "A cave by the river."),
            ("CAFÉ", "the cafe by the river", "the river"),
            ("file", "a broken ﬁle", "a broken pile"),
            ("istanbul", "Die Wasserwerke von İstanbul.", "Ankara"),
            ("STRASSE", "Die Straße ist gesperrt.", "Die Strafe"),
            ("経営者", "この会社の経営者は交代した。", "経済を営む者の会社の話だ。"),
            ("ความปลอดภัย", "ระบบความปลอดภัยของเขื่อน", "น้ำ"),
            (commit, &in_text(commit), &in_text(&commit.replace('f', "e"))),
            (cid, &in_text(cid), &in_text(&cid.replace('k', "q"))),
            ("http", "struct HTTPServer {", "struct FtpServer {"),
            ("httpserver", "struct HTTPServer {", "a server"),
            ("read_dir", "std::fs::read_dir fails", "read the dir"),
            ("terms.rs", "see core/src/retrieval/terms.rs there", "the terms of rs there"),
            ("1.2.3", "since v1.2.3 it holds", "since v1.2.4 it holds"),
            ("20 mg", "a dose of 20mg daily", "a dose of 25ml daily"),
            ("שלום עולם", "אמר שָׁלוֹם לעולם: שלום עולם", "ערב טוב"),
            ("\"شبكة المياه\"", "تدير المدينة شَبَكَة المياه", "المياه في شبكة"),
            ("\"מי שתייה\"", "איכות מי שתייה בעיר", "שתייה של מי ברז"),
            ("\"safety valve\"", "the safety valves were shut", "the valve of safety"),
            (
                "https://example.org/a/b.html",
                "It says so (https://example.org/a/b.html).",
                "https://example.org/a/c.html",
            ),
            ("ops@example.org", "write to ops@example.org", "the ops of example, an org"),
        ] {
            let query = Query::new(question);
            let stats = TermStats { n_docs: 100, n_terms: 600, doc_freq: vec![1; query.terms.len()] };
            let score = |text: &str| {
                let (tf, n_terms) = query.frequencies(text);
                bm25(&stats, &tf, n_terms)
            };
            assert!(score(hit) > score(other), "{question}: {} {}", score(hit), score(other));
            assert!(!question.contains('"') || score(other) == 0, "{question} is a phrase");
        }
    }

    #[test]
    fn a_phrase_does_not_go_across_fields() {
        let chunk = |title: &str, text: &str| Chunk {
            tag: crate::content::ChunkTag,
            source: RawBlock::raw(vec![1]).cid,
            ordinal: 0,
            start: 0,
            end: text.len() as u64,
            title: title.into(),
            headings: Vec::new(),
            page: None,
            text: text.into(),
        };
        let query = Query::new("\"water works\"");
        let stats = TermStats::empty(query.terms.len());
        assert_eq!(query.score(&chunk("water", "works"), &stats), 0);
        assert!(query.score(&chunk("Other", "the water works"), &stats) > 0);
        assert!(query.score(&chunk("Water works", "closed"), &stats) > 0);
    }

    /// A name is as long as its words, so a text that names things is not pushed down.
    #[test]
    fn compounds_do_not_count() {
        let n = |text: &str| Query::new("x").frequencies(text).1;
        assert_eq!(n("core/src/lib.rs read_dir 経営者"), n("core src lib rs read dir 経 営 者"));
    }

    /// RET-18: the same term in the title beats the body.
    #[test]
    fn a_title_says_more_than_a_text() {
        let chunk = |title: &str, text: &str| Chunk {
            tag: crate::content::ChunkTag,
            source: RawBlock::raw(vec![1]).cid,
            ordinal: 0,
            start: 0,
            end: text.len() as u64,
            title: title.into(),
            headings: Vec::new(),
            page: None,
            text: text.into(),
        };
        let query = Query::new("chloramine");
        let stats = TermStats { n_docs: 10, n_terms: 100, doc_freq: vec![1] };
        let (titled, told) = (chunk("Chloramine", "What it is."), chunk("What it is", "Chloramine."));
        assert!(query.score(&titled, &stats) > query.score(&told, &stats));
    }
}
