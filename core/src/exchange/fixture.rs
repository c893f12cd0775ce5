//! A small bundle over two sources, for tests.

use std::collections::BTreeMap;

use cid::Cid;

use super::{
    BundleError, Contents, Head, ISSUED_MAX_AGE, Knowledge, LoggedAt, SealedBundle, SourceStatus, Verdict, Verified,
    seal, verify,
};
use crate::boundary::Sensitivity;
use crate::content::{Fingerprint, RawBlock, SourceRecord, SourceTag, chunks_of};
use crate::grounding::{Evidence, compose};
use crate::identity::SecretKey;
use crate::log::{Checkpoint, CompactRange, leaf_hash};
use crate::measure::Timestamp;
use crate::retrieval::{Query, TermStats, body_of};
use crate::trust::{Roots, VALIDITY_DEFAULT, certify};

pub(super) const NOW: Timestamp = Timestamp(1_900_000_000_000);

pub(super) fn node() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

pub(super) fn root() -> SecretKey {
    SecretKey::from_seed([1; 32])
}

pub(super) fn roots() -> Roots {
    Roots::full([(root().public(), "Northwater".to_string())])
}

/// A sealed answer over two small sources.
pub(super) fn sealed(with_head: bool) -> SealedBundle {
    sealed_over("Pump 7 restarts at a pressure of 4 bar.", NOW, with_head)
}

/// The same at another time, where the first source says this.
pub(super) fn sealed_over(first: &str, now: Timestamp, with_head: bool) -> SealedBundle {
    let query = Query::new("At what pressure does pump 7 restart?");
    let mut blocks = BTreeMap::new();
    let mut found = Vec::new();
    for (name, text) in [("a.md", first), ("b.md", "The pump restart pressure of pump 7 is logged.")] {
        let raw = RawBlock::raw(text.as_bytes().to_vec());
        let source = SourceRecord {
            tag: SourceTag,
            publisher: node().public(),
            scope: "department:department-operations".parse().unwrap(),
            uri: format!("file:{name}"),
            instance: vec![0; 16],
            title: name.into(),
            media_type: "text/markdown".into(),
            adapter: "markdown/1".into(),
            raw: raw.cid,
            text: raw.cid,
            fingerprint: Fingerprint::of(text),
        };
        let source = RawBlock::encode(&source).unwrap();
        let chunk = chunks_of(source.cid, name, text, &[]).remove(0);
        let chunk_block = RawBlock::encode(&chunk).unwrap();
        blocks.insert(source.cid, source.bytes);
        blocks.insert(chunk_block.cid, chunk_block.bytes);
        found.push((chunk_block.cid, chunk));
    }
    let mut stats = TermStats::empty(query.terms.len());
    for (_, chunk) in &found {
        let (tf, n) = query.frequencies(&body_of(chunk));
        stats.n_docs += 1;
        stats.n_terms += n;
        stats.doc_freq.iter_mut().zip(tf).for_each(|(df, tf)| *df += u64::from(tf > 0));
    }
    let mut evidence: Vec<Evidence> = found
        .into_iter()
        .map(|(cid, chunk)| Evidence {
            score: query.score(&chunk, &stats),
            cid,
            uri: format!("file:{}", chunk.title),
            chunk,
            publisher: node().public(),
            distance: 0,
            sensitivity: Sensitivity::Public,
            caution: None,
            trust: None,
        })
        .collect();
    evidence.sort_by(|a, b| b.score.cmp(&a.score).then(a.cid.cmp(&b.cid)));
    let answer = compose(&query, &stats, &evidence, now);
    let certificate = certify(
        &root(),
        "Northwater",
        node().public(),
        "department-operations".parse().unwrap(),
        now,
        VALIDITY_DEFAULT,
    )
    .unwrap();
    let mut log = CompactRange::new();
    log.append(leaf_hash(b"entry"));
    let checkpoint =
        Checkpoint { origin: node().public().to_string().parse().unwrap(), size: log.size(), root: log.root() }
            .sign(&node());
    let head = Head { publisher: node().public(), checkpoint, as_of: now };
    let contents = Contents {
        answer: &answer,
        stats: &stats,
        evidence: &evidence,
        blocks: &blocks,
        heads: if with_head { vec![head] } else { vec![] },
        certificate: &certificate,
        issued_at: now,
        max_age: ISSUED_MAX_AGE,
    };
    seal(&contents, &node()).unwrap()
}

/// The entry that names a bundle, in the encoding of the public log.
pub(super) fn entry_of(bundle: &Cid) -> Vec<u8> {
    let entry = BTreeMap::from([
        ("type", ipld_core::ipld::Ipld::String("plumb/log-entry/1".into())),
        ("kind", ipld_core::ipld::Ipld::String("bundle".into())),
        ("cid", ipld_core::ipld::Ipld::Link(*bundle)),
    ]);
    RawBlock::encode(&entry).unwrap().bytes
}

/// Appends an entry to a log that already has so many, and proves it.
pub(super) fn logged_behind(n: u64, entry: Vec<u8>, key: &SecretKey) -> LoggedAt {
    let mut log = CompactRange::new();
    (0..n).for_each(|i| log.append(leaf_hash(&i.to_be_bytes())));
    let before = log.clone();
    log.append(leaf_hash(&entry));
    let origin = format!("{}/public", key.public()).parse().unwrap();
    LoggedAt::last(&before, entry, Checkpoint { origin, size: log.size(), root: log.root() }.sign(key))
}

/// The same bundle, in a log behind so many other entries.
pub(super) fn sealed_and_logged(n: u64) -> SealedBundle {
    let sealed = sealed(true);
    let logged = logged_behind(n, entry_of(&sealed.bundle), &node());
    sealed.with_log(&logged).unwrap()
}

/// Verifies where nothing is known.
pub(super) fn verified(bytes: &[u8]) -> Result<Verified, BundleError> {
    verify(bytes, &Knowledge { now: NOW, roots: &roots(), status: &|_, _| SourceStatus::Unknown, logged: &|_, _| None })
}

pub(super) fn judged(car: &[u8], now: Timestamp, status: SourceStatus) -> Result<Verdict, BundleError> {
    let roots = roots();
    let status = |_: &Cid, _: &SourceRecord| status;
    verify(car, &Knowledge { now, roots: &roots, status: &status, logged: &|_, _| None }).map(|v| v.verdict)
}
