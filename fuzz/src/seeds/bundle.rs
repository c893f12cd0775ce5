//! Bundles, sealed here from a question and a few texts, as a node would.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Fingerprint, RawBlock, SourceRecord, SourceTag, chunks_of};
use plumb_core::exchange::{Contents, Head, ISSUED_MAX_AGE, LoggedAt, SealedBundle, seal};
use plumb_core::grounding::{Answer, Evidence, compose};
use plumb_core::identity::{SecretKey, Signed};
use plumb_core::log::{Checkpoint, CompactRange, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::retrieval::{Query, TermStats, body_of};
use plumb_core::trust::{Certificate, VALIDITY_DEFAULT, certify};
use plumb_federation::wire::log::public_origin;
use plumb_federation::wire::log_entry::LogEntry;

/// When the bundles of the seeds are sealed.
pub const SEALED_AT: Timestamp = Timestamp(1_900_000_000_000);

/// Who seals the bundles of the seeds.
pub fn node() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

/// A question, and the texts that are searched for an answer.
#[derive(Clone, Debug)]
pub struct Story {
    /// The question.
    pub question: String,
    /// The texts, each of its own source.
    pub texts: Vec<String>,
}

impl Story {
    fn new(question: &str, texts: &[&str]) -> Story {
        Story { question: question.into(), texts: texts.iter().map(ToString::to_string).collect() }
    }
}

/// Stories that end in an answer, in a conflict, and in an abstention.
pub fn stories() -> Vec<Story> {
    vec![
        Story::new(
            "At what pressure does pump 7 restart?",
            &["Pump 7 restarts at a pressure of 4 bar.", "The pump restart pressure of pump 7 is logged."],
        ),
        Story::new(
            "Was the reservoir full on Monday?",
            &["The reservoir was full on Monday.\n\nIt was 8 m deep.", "The reservoir was not full on Monday."],
        ),
        Story::new("Who approved the budget?", &["Water boils at 100 degrees."]),
        Story::new("何時に貯水池は満水か", &["貯水池は月曜日に満水だった。"]),
        Story::new("", &[]),
    ]
}

/// Evidence of a story in rank order, the statistics it was ranked under, and its blocks.
fn evidence_of(story: &Story) -> (Query, TermStats, Vec<Evidence>, BTreeMap<Cid, Vec<u8>>) {
    let query = Query::new(&story.question);
    let mut stats = TermStats::empty(query.terms.len());
    let mut blocks = BTreeMap::new();
    let mut evidence = Vec::new();
    for (i, text) in story.texts.iter().enumerate() {
        let source = source(&format!("{i}.md"), text);
        for chunk in chunks_of(source.cid, "", text, &[]) {
            let (tf, n_terms) = query.frequencies(&body_of(&chunk));
            stats.n_docs += 1;
            stats.n_terms += n_terms;
            stats.doc_freq.iter_mut().zip(tf).for_each(|(df, tf)| *df += u64::from(tf > 0));
            let block = RawBlock::encode(&chunk).expect("a chunk encodes");
            evidence.push(Evidence {
                cid: block.cid,
                chunk,
                uri: format!("file:{i}.md"),
                publisher: node().public(),
                score: 0,
                distance: u32::from(i > 0),
                sensitivity: if i == 0 { Sensitivity::Public } else { Sensitivity::Internal },
                caution: None,
                trust: None,
            });
            blocks.insert(block.cid, block.bytes);
        }
        blocks.insert(source.cid, source.bytes);
    }
    for found in &mut evidence {
        found.score = query.score(&found.chunk, &stats);
    }
    evidence.sort_by(|a, b| b.score.cmp(&a.score).then(a.cid.cmp(&b.cid)));
    (query, stats, evidence, blocks)
}

fn source(name: &str, text: &str) -> RawBlock {
    let raw = RawBlock::raw(text.as_bytes().to_vec());
    let record = SourceRecord {
        tag: SourceTag,
        publisher: node().public(),
        scope: "department:department-operations".parse().expect("a scope"),
        uri: format!("file:{name}"),
        instance: vec![0; 16],
        title: String::new(),
        media_type: "text/markdown".into(),
        adapter: "markdown/1".into(),
        raw: raw.cid,
        text: raw.cid,
        fingerprint: Fingerprint::of(text),
    };
    RawBlock::encode(&record).expect("a source record encodes")
}

/// The certificate of [`node`].
pub fn certificate() -> &'static Signed<Certificate> {
    static CERTIFICATE: OnceLock<Signed<Certificate>> = OnceLock::new();
    CERTIFICATE.get_or_init(|| {
        let department = "department-operations".parse().expect("an entity");
        let root = SecretKey::from_seed([1; 32]);
        certify(&root, "Northwater", node().public(), department, SEALED_AT, VALIDITY_DEFAULT).expect("it encodes")
    })
}

/// The head of [`node`]'s log that bundles carry.
fn head() -> &'static Head {
    static HEAD: OnceLock<Head> = OnceLock::new();
    HEAD.get_or_init(|| {
        let mut log = CompactRange::new();
        log.append(leaf_hash(b"entry"));
        let origin = node().public().to_string().parse().expect("a key is a name");
        let checkpoint = Checkpoint { origin, size: log.size(), root: log.root() }.sign(&node());
        Head { publisher: node().public(), checkpoint, as_of: SEALED_AT }
    })
}

/// The answer of a story, and the bundle around it.
pub fn sealed(story: &Story) -> (Answer, SealedBundle) {
    let (query, stats, evidence, blocks) = evidence_of(story);
    let answer = compose(&query, &stats, &evidence, SEALED_AT);
    let contents = Contents {
        answer: &answer,
        stats: &stats,
        evidence: &evidence,
        blocks: &blocks,
        heads: vec![head().clone()],
        certificate: certificate(),
        issued_at: SEALED_AT,
        max_age: ISSUED_MAX_AGE,
    };
    let bundle = seal(&contents, &node()).expect("what was composed is sealed");
    (answer, bundle)
}

/// The same bundle, logged as the first entry of its issuer's public log.
fn logged(bundle: SealedBundle) -> SealedBundle {
    let entry = LogEntry::Bundle { cid: bundle.bundle }.encode();
    let mut log = CompactRange::new();
    log.append(leaf_hash(&entry));
    let origin = public_origin(&node().public()).expect("a key is a name");
    let checkpoint = Checkpoint { origin, size: log.size(), root: log.root() }.sign(&node());
    bundle.with_log(&LoggedAt::last(&CompactRange::new(), entry, checkpoint)).expect("a seal encodes")
}

/// The bundles of [`stories`], and the first of them logged.
pub fn bundles() -> &'static [SealedBundle] {
    static BUNDLES: OnceLock<Vec<SealedBundle>> = OnceLock::new();
    BUNDLES.get_or_init(|| {
        let mut bundles: Vec<SealedBundle> = stories().iter().map(|story| sealed(story).1).collect();
        bundles.extend(bundles.first().cloned().map(logged));
        bundles
    })
}
