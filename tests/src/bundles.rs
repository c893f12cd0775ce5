//! Bundles: made by real nodes, and crafted with keys of our own to be what no node of today would make.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use cid::Cid;
use ipld_core::ipld::Ipld;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Fingerprint, RawBlock, SourceRecord, SourceTag, chunks_of};
use plumb_core::exchange::{BundleFile, Contents, Head, ISSUED_MAX_AGE, Seal, SealTag, seal, write_car};
use plumb_core::grounding::{Evidence, compose};
use plumb_core::identity::{Domain, SecretKey};
use plumb_core::log::{Checkpoint, CompactRange, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::retrieval::{Query, TermStats, body_of};
use plumb_core::trust::{VALIDITY_DEFAULT, certify};
use tempfile::TempDir;

use crate::{Home, Organisation};

/// What is asked.
pub const PUMP_QUESTION: &str = "At what pressure is pump 7 restarted?";
/// The sentence that answers it.
pub const PUMP_SENTENCE: &str = "Pump 7 is restarted at a pressure of 4 bar.";

/// Two organisations that trust each other, with no node running.
pub struct Pair {
    /// Where everything lies.
    pub scratch: TempDir,
    /// A home of `Alder`.
    pub issuer: Home,
    /// A home of `Birch`.
    pub reader: Home,
}

impl Pair {
    /// Founds both.
    #[expect(clippy::new_without_default, reason = "it writes to the disk and runs commands")]
    pub fn new() -> Pair {
        let scratch = TempDir::new().expect("a directory can be made");
        let (a, b) = (Organisation::found(scratch.path(), "Alder"), Organisation::found(scratch.path(), "Birch"));
        let issuer = a.node(scratch.path(), "works", "person-issuer");
        let reader = b.node(scratch.path(), "office", "person-reader");
        issuer.trust(&b);
        reader.trust(&a);
        Pair { scratch, issuer, reader }
    }

    /// A bundle that the issuer sealed over one document of this sensitivity, as a CAR file.
    #[track_caller]
    pub fn bundle(&self, sensitivity: &str) -> PathBuf {
        let document = self.scratch.path().join("pump.md");
        std::fs::write(&document, format!("# Pump 7\n\n{PUMP_SENTENCE}\n")).expect("a document can be written");
        let sensitivity = ["--sensitivity".as_ref(), sensitivity.as_ref()];
        self.issuer.ok(&[&["ingest".as_ref(), document.as_os_str()], &sensitivity[..]].concat());
        let file = self.scratch.path().join("answer.car");
        let args = ["ask".as_ref(), PUMP_QUESTION.as_ref(), "--save".as_ref(), "--bundle".as_ref(), file.as_os_str()];
        let answer = self.issuer.ok(&args);
        assert!(answer["answer"]["answer"].to_string().contains(PUMP_SENTENCE), "{answer:#}");
        file
    }

    /// A home that knows nobody.
    pub fn nowhere(&self) -> Home {
        Home::at(self.scratch.path(), &self.scratch.path().join("no-home"))
    }
}

/// A bundle made with keys of our own: as old as we like, over any text, with fields of a version to come.
pub struct Crafted {
    /// What its one source says.
    pub sentence: String,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When the log of its publisher was confirmed, if it says so at all.
    pub as_of: Option<Timestamp>,
    /// Fields that are signed with the bundle.
    pub fields: Vec<(String, Ipld)>,
}

impl Crafted {
    /// One that was issued now and says this.
    pub fn saying(sentence: &str) -> Crafted {
        let now = now();
        Crafted { sentence: sentence.to_string(), issued_at: now, as_of: Some(now), fields: Vec::new() }
    }

    /// The root key of the organisation that crafted bundles are of, as a `did:key`.
    pub fn organisation() -> String {
        root_key().public().to_string()
    }

    /// The CAR file.
    pub fn to_car(&self) -> Vec<u8> {
        let node = node_key();
        let publisher = node.public();
        let raw = RawBlock::raw(self.sentence.as_bytes().to_vec());
        let source = SourceRecord {
            tag: SourceTag,
            publisher,
            scope: "department:department-works".parse().expect("a scope"),
            uri: "file:pump.md".into(),
            instance: vec![0; 16],
            title: "Pump 7".into(),
            media_type: "text/markdown".into(),
            adapter: "markdown/1".into(),
            raw: raw.cid,
            text: raw.cid,
            fingerprint: Fingerprint::of(&self.sentence),
        };
        let source = encoded(&source);
        let chunk = chunks_of(source.cid, "Pump 7", &self.sentence, &[]).remove(0);
        let block = encoded(&chunk);
        let query = Query::new(PUMP_QUESTION);
        let (tf, n_terms) = query.frequencies(&body_of(&chunk));
        let stats = TermStats { n_docs: 1, n_terms, doc_freq: tf.iter().map(|tf| u64::from(*tf > 0)).collect() };
        let score = query.score(&chunk, &stats);
        let blocks = BTreeMap::from([(source.cid, source.bytes), (block.cid, block.bytes)]);
        let evidence = [Evidence {
            cid: block.cid,
            chunk,
            uri: "file:pump.md".into(),
            publisher,
            score,
            distance: 0,
            sensitivity: Sensitivity::Public,
            caution: None,
            trust: None,
        }];
        let mut log = CompactRange::new();
        log.append(leaf_hash(b"entry"));
        let origin = publisher.to_string().parse().expect("a did is an origin");
        let checkpoint = Checkpoint { origin, size: log.size(), root: log.root() }.sign(&node);
        let department = "department-works".parse().expect("a department");
        let certificate = certify(&root_key(), "Cedar", publisher, department, self.issued_at, VALIDITY_DEFAULT);
        let contents = Contents {
            answer: &compose(&query, &stats, &evidence, self.issued_at),
            stats: &stats,
            evidence: &evidence,
            blocks: &blocks,
            heads: self.as_of.map(|as_of| Head { publisher, checkpoint, as_of }).into_iter().collect(),
            certificate: &certificate.expect("a root can certify"),
            issued_at: self.issued_at,
            max_age: ISSUED_MAX_AGE,
        };
        let mut blocks = seal(&contents, &node).expect("a bundle can be sealed");
        if !self.fields.is_empty() {
            blocks = with_fields(blocks, &self.fields);
        }
        blocks.to_car()
    }
}

/// Signs the bundle again with more fields in it.
fn with_fields(
    mut sealed: plumb_core::exchange::SealedBundle,
    fields: &[(String, Ipld)],
) -> plumb_core::exchange::SealedBundle {
    let old = RawBlock::checked(sealed.bundle, sealed.blocks[&sealed.bundle].clone()).expect("a block of ours");
    let mut bundle: BTreeMap<String, Ipld> = old.decode().expect("a map");
    bundle.extend(fields.iter().cloned());
    let bundle = encoded(&bundle);
    let node = node_key();
    let signature = node.sign(Domain::Bundle, &bundle.cid);
    let seal = encoded(&Seal { tag: SealTag, bundle: bundle.cid, signer: node.public(), signature, logged: None });
    for gone in [sealed.root, sealed.bundle] {
        sealed.blocks.remove(&gone);
    }
    (sealed.root, sealed.bundle) = (seal.cid, bundle.cid);
    sealed.blocks.extend([(seal.cid, seal.bytes), (bundle.cid, bundle.bytes)]);
    sealed
}

/// A CAR file with another seal, and with other blocks. Nobody signs a seal, so anybody can make one.
pub fn resealed(car: &[u8], change: impl FnOnce(&mut BTreeMap<String, Ipld>, &mut BTreeMap<Cid, Vec<u8>>)) -> Vec<u8> {
    let BundleFile { root, mut blocks, .. } = BundleFile::read(car).expect("a bundle file");
    let old = RawBlock::checked(root, blocks.remove(&root).expect("the seal is in it")).expect("a block of ours");
    let mut seal = old.decode().expect("a map");
    change(&mut seal, &mut blocks);
    let seal = encoded(&seal);
    blocks.insert(seal.cid, seal.bytes);
    write_car(seal.cid, &blocks)
}

fn encoded<T: serde::Serialize>(value: &T) -> RawBlock {
    RawBlock::encode(value).expect("it encodes")
}

fn root_key() -> SecretKey {
    SecretKey::from_seed([1; 32])
}

fn node_key() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

/// The time of this machine.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
