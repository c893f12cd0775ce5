//! Golden bytes, round trips, and damage, for every message alike.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, ChunkTag, Fingerprint, RawBlock, SourceRecord, SourceTag};
use plumb_core::identity::{EntityId, SecretKey, Signed};
use plumb_core::knowledge::KnowledgeType;
use plumb_core::log::{Checkpoint, CompactRange, Cosignature, SignedCheckpoint, consistency_proof, leaf_hash, root_of};
use plumb_core::measure::{Duration, Milli, Timestamp};
use plumb_core::notice::{
    Acknowledgement, AcknowledgementTag, Notice, NoticeKind, NoticeTag, Reason, Receipt, ReceiptTag, SealedNotice,
};
use plumb_core::propagation::{Reply, Taught, Teaching, TeachingTag};
use plumb_core::retrieval::{CollectionSummary, Query, TermStats};
use plumb_core::trust::{
    Assertion, AssertionTag, Capability, Certificate, Revocation, RevocationReason, RevocationTag, Rotation, Terms,
    certify, certify_under,
};
use proptest::prelude::*;

use super::blocks::{Blocks, BlocksRequest, BlocksResponse};
use super::gossip::Gossip;
use super::hello::{Hello, HelloResponse};
use super::log::summary::{BUCKETS_MAX, BUCKETS_MIN, Held, Summary, buckets};
use super::log::{AddCheckpoint, Conflict, Face, Fork, Head, Heads, LogRequest, LogResponse, Page, public_origin};
use super::log_entry::LogEntry;
use super::log_state::LogState;
use super::notice::{NoticeRequest, NoticeResponse};
use super::search::{Hit, HitsAsked, SearchRequest, SearchResponse, StatisticsAsked, check_hits, rescore};
use super::teach::{Offer, TeachRequest, TeachResponse};
use super::{Unknown, WireError};

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn certificate() -> Signed<Certificate> {
    let department: EntityId = "department-laboratory".parse().unwrap();
    let (root, node) = (key(1), key(2).public());
    certify(&root, "Northwater", node, department, Timestamp(0), Duration::days(365)).unwrap()
}

fn rotation() -> Rotation {
    Rotation::seal(key(1).public(), &key(1), &key(5), Timestamp(7)).unwrap()
}

fn certificate_after_rotation() -> Signed<Certificate> {
    let terms = Terms {
        department: "department-laboratory".parse().unwrap(),
        capabilities: Some(["search", "notices", "later"].map(|c| Capability::from(c.to_string())).into()),
        succeeds: vec![key(3).public()],
        validity: Duration::days(365),
    };
    certify_under(&key(5), &[rotation()], "Northwater", key(2).public(), terms, Timestamp(0)).unwrap()
}

fn revocation() -> Signed<Revocation> {
    let value = Revocation {
        tag: RevocationTag,
        org: key(1).public(),
        node: key(2).public(),
        certificate: Some(certificate().cid()),
        reason: RevocationReason::KeyCompromise,
        note: "The machine was stolen.".into(),
        log_size: Some(12),
        at: Timestamp(8),
    };
    Signed::seal(value, &key(5)).unwrap()
}

fn checkpoint_over(entries: &[&[u8]]) -> SignedCheckpoint {
    let leaves: Vec<_> = entries.iter().map(|e| leaf_hash(e)).collect();
    let origin = public_origin(&key(2).public()).unwrap();
    let size = leaves.len() as u64;
    Checkpoint { origin, size, root: root_of(&leaves) }.sign(&key(2))
}

fn notice() -> Signed<Notice> {
    let notice = Notice {
        tag: NoticeTag,
        kind: NoticeKind::Retraction,
        reason: Reason::DataError,
        note: "The flow meter was read in the wrong unit.".into(),
        targets: vec![source().cid],
        fingerprints: vec![Fingerprint::of("flow")],
        undoes: None,
        chunks: Vec::new(),
        superseded_by: None,
        audience: None,
        publisher: key(2).public(),
        org: key(1).public(),
        issued_at: Timestamp(1_700_000_000_000),
    };
    Signed::seal(notice, &key(2)).unwrap()
}

fn sealed_notice() -> SealedNotice {
    SealedNotice::seal(&notice(), [8; 32], [9; 24]).unwrap()
}

fn source() -> RawBlock {
    RawBlock::encode(&SourceRecord {
        tag: SourceTag,
        publisher: key(2).public(),
        scope: "department:department-laboratory".parse().unwrap(),
        uri: "file:report.md".into(),
        instance: vec![7; 16],
        title: "Report".into(),
        media_type: "text/markdown".into(),
        adapter: "markdown/1".into(),
        raw: RawBlock::raw(b"raw".to_vec()).cid,
        text: RawBlock::raw(TEXT.as_bytes().to_vec()).cid,
        fingerprint: Fingerprint::of(TEXT),
    })
    .unwrap()
}

const TEXT: &str = "The reservoir was full on Monday.";

fn chunk() -> RawBlock {
    RawBlock::encode(&Chunk {
        tag: ChunkTag,
        source: source().cid,
        ordinal: 0,
        start: 0,
        end: TEXT.len() as u64,
        title: "Report".into(),
        headings: vec!["Levels".into()],
        page: None,
        text: TEXT.into(),
    })
    .unwrap()
}

fn question() -> (Query, TermStats) {
    let query = Query::new("Was the reservoir full?");
    let stats = TermStats { n_docs: 10, n_terms: 120, doc_freq: vec![1; query.terms.len()] };
    (query, stats)
}

fn assertion() -> Signed<Assertion> {
    let assertion = Assertion {
        tag: AssertionTag,
        org: key(1).public(),
        departments: vec!["department-laboratory".parse().unwrap()],
        role: "member".into(),
        person: None,
        purpose: Some("shutdown planning".into()),
        audience: key(3).public(),
        request: 9,
        nonce: vec![7; 16],
        issued_at: Timestamp(1_700_000_000_000),
        expires_at: Timestamp(1_700_000_030_000),
    };
    Signed::seal(assertion, &key(2)).unwrap()
}

fn summary(by: &SecretKey) -> Signed<CollectionSummary> {
    let terms = [("reservoir", 4), ("full", 2)].map(|(term, df)| (term.to_string(), df));
    let summary =
        CollectionSummary::of(key(2).public(), 10, 120, terms, Timestamp(1_700_000_000_000), Duration::days(1));
    Signed::seal(summary, by).unwrap()
}

/// Messages with a field that may be absent: where its name is damaged, what is read is the message without it.
const WITH_OPTIONAL_FIELDS: [&str; 3] = ["search_ask_statistics_asserted", "search_ask_hits_asserted", "log_conflict"];

fn hit(score: u64) -> Hit {
    Hit::new(score, Sensitivity::Public, chunk(), source()).unwrap()
}

/// What the hit scored when its golden bytes were written. The message carries a number, whatever terms were then.
const GOLDEN_SCORE: u64 = 4_614_048;

fn true_hit() -> Hit {
    let (query, stats) = question();
    hit(query.score(hit(0).chunk(), &stats))
}

fn fork() -> Fork {
    Fork {
        publisher: key(2).public(),
        size: 2,
        a: Face::whole(checkpoint_over(&[b"a", b"b"])),
        b: Face {
            checkpoint: checkpoint_over(&[b"a", b"c", b"d"]),
            root: root_of(&[leaf_hash(b"a"), leaf_hash(b"c")]),
            proof: consistency_proof(&[leaf_hash(b"a"), leaf_hash(b"c"), leaf_hash(b"d")], 2).unwrap(),
        },
    }
}

fn heads_summary() -> Summary {
    let held = Held::Whole { size: 2, root: leaf_hash(b"root") };
    let (other, third) = (key(2).public(), key(5).public());
    let buckets = buckets(77, BUCKETS_MIN, [(&other, held), (&third, Held::Forked)]);
    Summary { salt: 77, buckets, own: heads().heads.into_iter().next() }
}

fn heads() -> Heads {
    let checkpoint = checkpoint_over(&[b"a", b"b"]);
    Heads { heads: vec![Head { publisher: key(2).public(), checkpoint }], forks: vec![fork()] }
}

fn page() -> Page {
    let leaves = [leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")];
    Page {
        publisher: key(2).public(),
        from: 1,
        root: root_of(&leaves[..1]),
        extends: consistency_proof(&leaves, 1).unwrap(),
        entries: vec![b"b".to_vec()],
        rest: consistency_proof(&leaves, 2).unwrap(),
        checkpoint: checkpoint_over(&[b"a", b"b", b"c"]),
        certificate: certificate(),
    }
}

fn add_checkpoint() -> AddCheckpoint {
    let proof = consistency_proof(&[leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")], 2).unwrap();
    AddCheckpoint { old: 2, proof, checkpoint: checkpoint_over(&[b"a", b"b", b"c"]) }
}

fn cosignature() -> Cosignature {
    Cosignature::sign(&add_checkpoint().checkpoint, Timestamp(1_700_000_000_000), &key(3)).unwrap()
}

fn conflict() -> Conflict {
    Conflict { size: 2, checkpoint: Some(checkpoint_over(&[b"a", b"b"])) }
}

fn state() -> LogState {
    let mut range = CompactRange::new();
    range.append(leaf_hash(b"a"));
    range.append(leaf_hash(b"b"));
    LogState {
        publisher: key(2).public(),
        range,
        checkpoint: checkpoint_over(&[b"a", b"b"]),
        proof: vec![],
        certificate: certificate(),
    }
}

fn receipt() -> Receipt {
    Receipt {
        tag: ReceiptTag,
        bundle: RawBlock::raw(b"bundle".to_vec()).cid,
        sources: vec![source().cid],
        importer: key(3).public(),
        from: key(2).public(),
        may_share: true,
        at: Timestamp(5),
    }
}

fn acknowledgement() -> Acknowledgement {
    Acknowledgement {
        tag: AcknowledgementTag,
        notice: notice().cid(),
        by: key(3).public(),
        n_units: 4,
        n_answers: 1,
        at: Timestamp(6),
    }
}

fn offer() -> Offer {
    let teaching = Teaching {
        tag: TeachingTag,
        chunk: chunk().cid,
        source: source().cid,
        kind: KnowledgeType::Decision,
        sensitivity: Sensitivity::Internal,
        confidence: Milli::new(920).unwrap(),
        validated: true,
        seen: 3,
        at: Timestamp(7),
    };
    let teaching = Signed::seal(teaching, &key(2)).unwrap();
    let taught = Taught::begin(teaching, &key(2), key(3).public(), Timestamp(8)).unwrap();
    let taught = taught.pass_on(&key(3), key(4).public(), Timestamp(9)).unwrap();
    Offer { taught, chunk: chunk(), source: source() }
}

/// One kind of message, seen from outside: whether bytes are one, and what they are encoded as.
type Reread = fn(&[u8]) -> Result<Vec<u8>, WireError>;

/// Name of the golden file, the frame, its decoder.
fn all() -> Vec<(&'static str, Vec<u8>, Reread)> {
    let hello = Hello { certificate: certificate(), agent: "plumb/0.1.0".into(), heads: heads().heads };
    let (query, stats) = question();
    let hits_asked = HitsAsked { id: 9, query, stats: stats.clone(), k: 10, deadline_ms: 1500, assertion: None };
    let asked = StatisticsAsked::new(9, "Was the reservoir full?", 3000).unwrap();
    let asked_for = |request: SearchRequest| request.asserted(assertion()).encode();
    let asserted_statistics = asked_for(SearchRequest::Statistics(asked.clone()));
    let asserted_hits = asked_for(SearchRequest::Hits(hits_asked.clone()));
    let block = RawBlock::raw(b"evidence".to_vec());
    let blocks = Blocks { blocks: vec![block.clone()], missing: vec![source().cid] };
    let denied = || "content is not shared with this organisation".to_string();
    let publisher = key(2).public();
    let gossip = Gossip {
        publisher,
        index: 1,
        entry: b"b".to_vec(),
        checkpoint: checkpoint_over(&[b"a", b"b"]),
        certificate: certificate(),
    };
    let request_hello: Reread = |b| Hello::decode(b).map(|m| m.encode());
    let response_hello: Reread = |b| HelloResponse::decode(b).map(|m| m.encode());
    let request_search: Reread = |b| SearchRequest::decode(b).map(|m| m.encode());
    let response_search: Reread = |b| SearchResponse::decode(b).map(|m| m.encode());
    let request_blocks: Reread = |b| BlocksRequest::decode(b).map(|m| m.encode());
    let response_blocks: Reread = |b| BlocksResponse::decode(b).map(|m| m.encode());
    let request_log: Reread = |b| LogRequest::decode(b).map(|m| m.encode());
    let response_log: Reread = |b| LogResponse::decode(b).map(|m| m.encode());
    let request_notice: Reread = |b| NoticeRequest::decode(b).map(|m| m.encode());
    let response_notice: Reread = |b| NoticeResponse::decode(b).map(|m| m.encode());
    let request_teach: Reread = |b| TeachRequest::decode(b).map(|m| m.encode());
    let response_teach: Reread = |b| TeachResponse::decode(b).map(|m| m.encode());
    let waits = Reply::PendingReview { against: chunk().cid };
    let gossiped: Reread = |b| Gossip::decode(b).map(|m| m.encode());
    let entry: Reread = |b| LogEntry::decode(b).map(|m| m.encode());
    let stored: Reread = |b| LogState::decode(b).map(|m| m.encode());
    let proof: Reread = |b| Fork::decode(b).map(|m| m.encode());
    vec![
        ("hello", hello.encode(), request_hello),
        ("hello_response", HelloResponse::Hello(hello).encode(), response_hello),
        ("hello_refused", HelloResponse::Refused { reason: denied(), code: None }.encode(), response_hello),
        ("search_ask_statistics", SearchRequest::Statistics(asked).encode(), request_search),
        ("search_ask_hits", SearchRequest::Hits(hits_asked).encode(), request_search),
        ("search_ask_statistics_asserted", asserted_statistics, request_search),
        ("search_ask_hits_asserted", asserted_hits, request_search),
        ("search_ask_summary", SearchRequest::Summary { id: 9 }.encode(), request_search),
        (
            "search_summary",
            SearchResponse::Summary { id: 9, summary: Box::new(summary(&key(2))) }.encode(),
            response_search,
        ),
        ("search_statistics", SearchResponse::Statistics { id: 9, stats }.encode(), response_search),
        ("search_hits", SearchResponse::Hits { id: 9, hits: vec![hit(GOLDEN_SCORE)] }.encode(), response_search),
        ("search_denied", SearchResponse::Denied { id: 9, reason: denied() }.encode(), response_search),
        ("search_busy", SearchResponse::Busy { id: 9, retry_after_ms: 250 }.encode(), response_search),
        ("blocks_ask", BlocksRequest::new([block.cid, source().cid]).encode(), request_blocks),
        ("blocks", BlocksResponse::Blocks(blocks).encode(), response_blocks),
        ("blocks_denied", BlocksResponse::Denied { reason: denied() }.encode(), response_blocks),
        ("blocks_busy", BlocksResponse::Busy { retry_after_ms: 250 }.encode(), response_blocks),
        ("log_ask_entries", LogRequest::Entries { publisher, from: 1, limit: 256 }.encode(), request_log),
        ("log_ask_heads", LogRequest::Heads(heads()).encode(), request_log),
        ("log_ask_summary", LogRequest::Summary(heads_summary()).encode(), request_log),
        ("log_page", LogResponse::Page(page()).encode(), response_log),
        ("log_heads", LogResponse::Heads(heads()).encode(), response_log),
        ("log_missing", LogResponse::Missing { publisher }.encode(), response_log),
        ("log_add_checkpoint", LogRequest::AddCheckpoint(add_checkpoint()).encode(), request_log),
        ("log_cosigned", LogResponse::Cosigned(cosignature()).encode(), response_log),
        ("log_conflict", LogResponse::Conflict(conflict()).encode(), response_log),
        ("log_refused", LogResponse::Refused { reason: denied() }.encode(), response_log),
        ("log_busy", LogResponse::Busy { retry_after_ms: 250 }.encode(), response_log),
        (
            "notice_deliver",
            NoticeRequest::Deliver { notice: notice(), certificate: certificate() }.encode(),
            request_notice,
        ),
        ("notice_receipt", NoticeRequest::Receipt(Signed::seal(receipt(), &key(3)).unwrap()).encode(), request_notice),
        (
            "notice_acknowledged",
            NoticeResponse::Acknowledged(Signed::seal(acknowledgement(), &key(3)).unwrap()).encode(),
            response_notice,
        ),
        ("notice_accepted", NoticeResponse::Accepted.encode(), response_notice),
        ("notice_refused", NoticeResponse::Refused { reason: denied() }.encode(), response_notice),
        ("notice_busy", NoticeResponse::Busy { retry_after_ms: 250 }.encode(), response_notice),
        ("teach_offer", TeachRequest::Offer(offer()).encode(), request_teach),
        ("teach_reply", TeachResponse::Reply { reply: waits, n_pending: 7 }.encode(), response_teach),
        ("teach_busy", TeachResponse::Busy { retry_after_ms: 250 }.encode(), response_teach),
        ("gossip", gossip.encode(), gossiped),
        ("log_entry_notice", LogEntry::Notice(notice()).encode(), entry),
        ("log_entry_sealed", LogEntry::Sealed(sealed_notice()).encode(), entry),
        ("log_entry_bundle", LogEntry::Bundle { cid: block.cid }.encode(), entry),
        ("log_entry_certificate", LogEntry::Certificate(certificate()).encode(), entry),
        ("log_entry_certificate_terms", LogEntry::Certificate(certificate_after_rotation()).encode(), entry),
        ("log_entry_rotation", LogEntry::Rotation(rotation()).encode(), entry),
        ("log_entry_revocation", LogEntry::Revocation(revocation()).encode(), entry),
        ("log_state", state().encode(), stored),
        ("log_fork", fork().encode(), proof),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A frame that was once sent is read for ever, and what is sent today is what was sent then.
///
/// A new message gets its file with `PLUMB_GOLDEN=write`; a file that is there is never changed.
#[test]
fn golden_bytes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire");
    for (name, frame, reread) in all() {
        let path = folder.join(format!("{name}.v1.hex"));
        if !path.exists() && std::env::var("PLUMB_GOLDEN").as_deref() == Ok("write") {
            std::fs::write(&path, format!("{}\n", hex(&frame))).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert_eq!(hex(&frame), golden.trim(), "{name}");
        assert_eq!(reread(&frame).map(|again| hex(&again)), Ok(hex(&frame)), "{name}");
    }
}

/// A refusal has a code since certificates have four answers; one without is read as before.
#[test]
fn a_refusal_may_have_a_code() {
    let refused = HelloResponse::Refused { reason: "no more".into(), code: Some("revoked".into()) };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire/hello_refused_code.v1.hex");
    if !path.exists() && std::env::var("PLUMB_GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&path, format!("{}\n", hex(&refused.encode()))).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    assert_eq!(hex(&refused.encode()), golden.trim());
    assert_eq!(HelloResponse::decode(&refused.encode()), Ok(refused));
    let long = HelloResponse::Refused { reason: "no".into(), code: Some("c".repeat(33)) };
    assert!(matches!(HelloResponse::decode(&long.encode()), Err(WireError::Limit { what: "bytes of code", .. })));
}

/// The longest certificate that a root can sign is one that everybody reads.
#[test]
fn the_longest_certificate_fits() {
    use plumb_core::trust::{CAPABILITIES_MAX, ROTATIONS_MAX, SUCCEEDS_MAX};
    let keys: Vec<SecretKey> = (1..).map(key).take(ROTATIONS_MAX + 1).collect();
    let rotate =
        |pair: &[SecretKey]| Rotation::seal(keys[0].public(), &pair[0], &pair[1], Timestamp(i64::MAX)).unwrap();
    let line: Vec<Rotation> = keys.windows(2).map(rotate).collect();
    let terms = Terms {
        department: format!("department-{}", "d".repeat(180)).parse().unwrap(),
        capabilities: Some((0..CAPABILITIES_MAX).map(|i| Capability::from(format!("{i:032}"))).collect()),
        succeeds: vec![key(3).public(); SUCCEEDS_MAX],
        validity: Duration::days(365),
    };
    let name = "n".repeat(200);
    let longest =
        certify_under(keys.last().unwrap(), &line, &name, key(2).public(), terms, Timestamp(1 << 50)).unwrap();
    assert!(plumb_core::trust::is_signed_by_its_root(&longest));
    let entry = LogEntry::Certificate(longest).encode();
    assert!(matches!(LogEntry::decode(&entry), Ok(LogEntry::Certificate(_))), "{} bytes", entry.len());
}

#[derive(serde::Deserialize)]
struct Header {
    r#type: String,
}

#[test]
fn another_version_is_refused() {
    for (name, mut frame, reread) in all() {
        let header: Header = serde_ipld_dagcbor::from_slice(&frame).unwrap();
        // The version is the last byte of the type; the byte before the type is its length.
        let field = [b"dtype", &[0x60 + header.r#type.len() as u8][..], header.r#type.as_bytes()].concat();
        let tag = frame.windows(field.len()).position(|w| w == field).unwrap() + field.len() - 1;
        frame[tag] = b'2';
        assert!(matches!(reread(&frame), Err(WireError::Version { .. })), "{name}: {:?}", reread(&frame));
    }
}

#[test]
fn damage_is_refused_and_never_panics() {
    for (name, frame, reread) in all() {
        for end in 0..frame.len() {
            assert!(reread(&frame[..end]).is_err(), "{name} cut at {end}");
        }
        let longer = [&frame[..], &[0]].concat();
        assert!(matches!(reread(&longer), Err(WireError::Malformed { .. })), "{name} with a byte left over");
    }
}

#[test]
fn messages_are_not_taken_for_those_of_another_protocol() {
    let frames = all();
    for (name, frame, _) in &frames {
        for (other, _, reread) in &frames {
            let protocol = |name: &str| name.split('_').next().unwrap().to_string();
            // A log entry, a log state and a log message are three things, so they are compared by their own names.
            let of = |name: &str| match name {
                n if n.starts_with("log_entry") => "log_entry".to_string(),
                n if n.starts_with("log_state") => "log_state".to_string(),
                n if n.starts_with("log_fork") => "log_fork".to_string(),
                n => protocol(n),
            };
            if of(name) != of(other) {
                assert!(matches!(reread(frame), Err(WireError::Version { .. })), "{name} as {other}");
            }
        }
    }
}

#[test]
fn a_kind_of_the_future_is_kept() {
    let body = BTreeMap::from([("type", super::log::PROTOCOL), ("kind", "cosign")]);
    let bytes = serde_ipld_dagcbor::to_vec(&body).unwrap();
    let unknown = Unknown { kind: "cosign".into(), bytes: bytes.clone() };
    assert_eq!(LogRequest::decode(&bytes), Ok(LogRequest::Unknown(unknown.clone())));
    assert_eq!(LogResponse::decode(&bytes), Ok(LogResponse::Unknown(unknown.clone())));
    assert_eq!(LogRequest::Unknown(unknown).encode(), bytes);
    assert!(matches!(Hello::decode(&bytes), Err(WireError::Version { .. })));
    let body = BTreeMap::from([("type", super::hello::PROTOCOL), ("kind", "cosign")]);
    let bytes = serde_ipld_dagcbor::to_vec(&body).unwrap();
    assert_eq!(Hello::decode(&bytes), Err(WireError::Kind("cosign".into())));
}

#[test]
fn a_field_of_the_future_is_passed_over() {
    #[derive(serde::Serialize)]
    struct Newer {
        r#type: &'static str,
        kind: &'static str,
        retry_after_ms: u64,
        why: Vec<&'static str>,
    }
    let newer = Newer { r#type: super::log::PROTOCOL, kind: "busy", retry_after_ms: 5, why: vec!["load"] };
    let bytes = serde_ipld_dagcbor::to_vec(&newer).unwrap();
    assert_eq!(LogResponse::decode(&bytes), Ok(LogResponse::Busy { retry_after_ms: 5 }));
}

#[test]
fn a_hit_scores_what_its_chunk_scores() {
    let (query, stats) = question();
    let honest = true_hit();
    assert_eq!(check_hits(std::slice::from_ref(&honest), &query, &stats, 10), Ok(()));
    let boasted = hit(honest.score() + 1);
    assert!(matches!(check_hits(&[boasted], &query, &stats, 10), Err(WireError::Score { .. })));
    let twice = [honest.clone(), honest.clone()];
    assert!(matches!(check_hits(&twice, &query, &stats, 10), Err(WireError::Unasked(_))));
    assert!(matches!(check_hits(&[honest], &query, &stats, 0), Err(WireError::Limit { .. })));
}

/// A signature that does not hold is found while the frame is read, before anybody is asked who signed.
#[test]
fn a_changed_assertion_is_refused() {
    let frame = SearchRequest::Statistics(StatisticsAsked::new(9, "full?", 3000).unwrap()).asserted(assertion());
    let bytes = frame.encode();
    let name = b"shutdown planning";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    let mut changed = bytes.clone();
    changed[at] = b'S';
    assert!(matches!(SearchRequest::decode(&changed), Err(WireError::Signed { what: "assertion", .. })));
    assert_eq!(SearchRequest::decode(&bytes), Ok(frame));
}

#[test]
fn a_full_summary_fits_its_frame() {
    let terms = (0..10_000).map(|i| (format!("{i:0>36}"), 1u64));
    let full = CollectionSummary::of(key(2).public(), 10_000, 120_000, terms, Timestamp(0), Duration::days(1));
    assert!(full.terms.len() > 4000, "{}", full.terms.len());
    let summary = Box::new(Signed::seal(full, &key(2)).unwrap());
    let frame = SearchResponse::Summary { id: 1, summary };
    assert_eq!(SearchResponse::decode(&frame.encode()), Ok(frame));
}

/// A node that withholds its statistics may order its hits as it likes; their scores are ours, and what has none of the
/// question's terms is no hit.
#[test]
fn hits_in_an_order_of_their_own_are_scored_again() {
    let (query, stats) = question();
    let honest = true_hit();
    let rescored = rescore(vec![hit(honest.score() + 9)], &query, &stats, 10).unwrap();
    assert_eq!(rescored, [honest]);
    assert!(rescore(vec![hit(1), hit(2)], &query, &stats, 10).is_err(), "twice");
    let other = Query::new("volcano");
    let none = rescore(vec![hit(7)], &other, &TermStats::empty(other.terms.len()), 10);
    assert!(matches!(none, Err(WireError::Unasked(_))));
}

#[test]
fn a_hit_is_a_chunk_of_its_source() {
    let value: Chunk = chunk().decode().unwrap();
    let of = |chunk: Chunk| Hit::new(0, Sensitivity::Public, RawBlock::encode(&chunk).unwrap(), source());
    let foreign = RawBlock::raw(b"other".to_vec()).cid;
    assert!(matches!(of(Chunk { source: foreign, ..value.clone() }), Err(WireError::Source(_))));
    assert!(matches!(of(Chunk { end: 3, ..value.clone() }), Err(WireError::Contradiction(_))));
    assert!(matches!(of(Chunk { start: 9, end: 3, ..value }), Err(WireError::Contradiction(_))));
    assert!(
        matches!(Hit::new(0, Sensitivity::Public, source(), source()), Err(WireError::Block(_))),
        "a source is no chunk"
    );
}

#[test]
fn only_blocks_that_were_asked_for_are_taken_once() {
    let (a, b) = (RawBlock::raw(b"a".to_vec()), RawBlock::raw(b"b".to_vec()));
    let asked = BlocksRequest::new([a.cid]);
    let answer = |blocks: &[&RawBlock], missing: &[cid::Cid]| Blocks {
        blocks: blocks.iter().map(|b| (*b).clone()).collect(),
        missing: missing.to_vec(),
    };
    assert_eq!(answer(&[&a], &[]).check_asked(&asked), Ok(()));
    assert_eq!(answer(&[], &[a.cid]).check_asked(&asked), Ok(()));
    assert_eq!(answer(&[], &[]).check_asked(&asked), Ok(()), "it did not fit");
    assert_eq!(answer(&[&b], &[]).check_asked(&asked), Err(WireError::Unasked(b.cid)));
    assert_eq!(answer(&[&a, &a], &[]).check_asked(&asked), Err(WireError::Unasked(a.cid)));
    assert_eq!(answer(&[&a], &[a.cid]).check_asked(&asked), Err(WireError::Unasked(a.cid)));

    let forged = RawBlock { cid: a.cid, bytes: b"c".to_vec() };
    let frame = BlocksResponse::Blocks(answer(&[&forged], &[])).encode();
    assert!(matches!(BlocksResponse::decode(&frame), Err(WireError::Block(_))));
}

#[test]
fn what_does_not_fit_into_one_answer_is_left_for_the_next() {
    let large = RawBlock::raw(vec![1; super::blocks::BLOCK_BYTES_MAX]);
    let small = RawBlock::raw(b"small".to_vec());
    let asked = BlocksRequest::new([large.cid, small.cid]);
    let held = |cid: &cid::Cid| [&large, &small].into_iter().find(|b| b.cid == *cid).map(|b| b.bytes.clone());
    let first = Blocks::gather(&asked, held);
    assert_eq!((first.blocks.len(), first.missing.len()), (1, 0));
    let frame = BlocksResponse::Blocks(first).encode();
    assert!(frame.len() <= super::blocks::RESPONSE_BYTES_MAX);
    assert!(BlocksResponse::decode(&frame).is_ok());
}

#[test]
fn a_fork_convicts_only_with_proof() {
    let good = fork();
    assert_eq!(good.check(), Ok(()));
    let same = Fork { b: good.a.clone(), ..good.clone() };
    assert!(same.check().is_err());
    let mut other_root = good.clone();
    other_root.b.root = leaf_hash(b"x");
    assert!(other_root.check().is_err(), "the proof does not lead there");
    let other_key = Fork { publisher: key(9).public(), ..good.clone() };
    assert!(other_key.check().is_err());
    assert_eq!(good.equivocation(), None, "the heads are of two sizes");
    let plain = Fork { b: Face::whole(checkpoint_over(&[b"a", b"c"])), ..good };
    assert_eq!(plain.check(), Ok(()));
    assert_eq!(plain.equivocation().unwrap().check(&key(2).public()), Ok(()));
}

#[test]
fn words_are_signed_by_whoever_says_them() {
    let by_other = Signed::seal(acknowledgement(), &key(4)).unwrap();
    let frame = NoticeResponse::Acknowledged(by_other).encode();
    assert!(matches!(NoticeResponse::decode(&frame), Err(WireError::Signer { .. })));
    let by_other = SearchResponse::Summary { id: 9, summary: Box::new(summary(&key(4))) }.encode();
    assert!(matches!(SearchResponse::decode(&by_other), Err(WireError::Signer { .. })));
    let by_other = Signed::seal(receipt(), &key(4)).unwrap();
    let frame = NoticeRequest::Receipt(by_other).encode();
    assert!(matches!(NoticeRequest::decode(&frame), Err(WireError::Signer { .. })));
}

#[test]
fn a_page_and_a_gossip_do_not_contradict_themselves() {
    let beyond = Page { from: 3, ..page() };
    assert!(matches!(LogResponse::decode(&LogResponse::Page(beyond).encode()), Err(WireError::Contradiction(_))));
    let gossip = Gossip {
        publisher: key(2).public(),
        index: 0,
        entry: vec![],
        checkpoint: checkpoint_over(&[b"a", b"b"]),
        certificate: certificate(),
    };
    assert!(matches!(Gossip::decode(&gossip.encode()), Err(WireError::Contradiction(_))));
}

#[test]
fn a_conflict_is_about_the_head_that_it_shows() {
    let other = Conflict { size: 3, ..conflict() };
    assert!(matches!(LogResponse::decode(&LogResponse::Conflict(other).encode()), Err(WireError::Contradiction(_))));
    let first = LogResponse::Conflict(Conflict { size: 0, checkpoint: None });
    assert_eq!(LogResponse::decode(&first.encode()), Ok(first));
}

#[test]
fn a_stored_state_is_one_that_its_checkpoint_proves() {
    let mut other = state();
    other.checkpoint = checkpoint_over(&[b"a", b"c"]);
    assert!(matches!(LogState::decode(&other.encode()), Err(WireError::Checkpoint(_))));
}

#[test]
fn limits_of_lists_and_texts_hold() {
    fn limit<T: Debug>(read: Result<T, WireError>) -> &'static str {
        match read {
            Err(WireError::Limit { what, .. }) => what,
            other => panic!("{other:?}"),
        }
    }
    let head = &heads().heads[0];
    let many = Heads { heads: vec![head.clone(); super::log::HEADS_MAX + 1], forks: vec![] };
    assert_eq!(limit(LogRequest::decode(&LogRequest::Heads(many).encode())), "heads");
    let many = Heads { heads: vec![], forks: vec![fork(); super::log::FORKS_MAX + 1] };
    assert_eq!(limit(LogRequest::decode(&LogRequest::Heads(many).encode())), "forks");
    let many = Summary { buckets: vec![[0; 8]; BUCKETS_MAX + 1], ..heads_summary() };
    assert_eq!(limit(LogRequest::decode(&LogRequest::Summary(many).encode())), "bytes of buckets");
    let few = Summary { buckets: vec![[0; 8]; BUCKETS_MIN - 1], ..heads_summary() };
    let few = LogRequest::decode(&LogRequest::Summary(few).encode());
    assert!(matches!(few, Err(WireError::Contradiction(_))));
    let many = Page { entries: vec![vec![]; super::log::PAGE_ENTRIES_MAX + 1], ..page() };
    assert_eq!(limit(LogResponse::decode(&LogResponse::Page(many).encode())), "entries");
    let long = Hello { certificate: certificate(), agent: "a".repeat(129), heads: vec![] };
    assert_eq!(limit(Hello::decode(&long.encode())), "bytes of agent");
    assert_eq!(limit(StatisticsAsked::new(1, &"a".repeat(17_000), 1)), "bytes of question");
    let hits = vec![true_hit(); super::search::HITS_MAX as usize + 1];
    assert_eq!(limit(SearchResponse::decode(&SearchResponse::Hits { id: 1, hits }.encode())), "hits");
    let huge = vec![0x80; super::log::FRAME_BYTES_MAX + 1];
    assert_eq!(limit(LogRequest::decode(&huge)), "bytes");
    // A reason is cut by whoever gives it.
    let refused = HelloResponse::Refused { reason: "ü".repeat(1000), code: None }.encode();
    let HelloResponse::Refused { reason, .. } = HelloResponse::decode(&refused).unwrap() else {
        panic!("another kind")
    };
    assert_eq!(reason.len(), super::REASON_BYTES_MAX);
}

/// The largest messages that our own side makes stay within what the other side reads.
#[test]
fn full_messages_fit_their_frames() {
    let mut heads = Heads { heads: vec![], forks: vec![fork(); super::log::FORKS_MAX] };
    while heads.push(Head { publisher: key(2).public(), checkpoint: checkpoint_over(&[b"a"]) }) {}
    assert_eq!(heads.heads.len(), super::log::HEADS_MAX);
    assert!(LogRequest::decode(&LogRequest::Heads(heads.clone()).encode()).is_ok());
    let hello = Hello { certificate: certificate(), agent: "plumb".into(), heads: heads.heads };
    assert!(Hello::decode(&hello.encode()).is_ok());
}

proptest! {
    /// Total: whatever arrives is read or refused.
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for (_, _, reread) in all() {
            prop_assert!(reread(&bytes).is_err());
        }
    }

    #[test]
    fn changed_frames_never_panic(which in any::<proptest::sample::Index>(), at in any::<proptest::sample::Index>(), to in any::<u8>()) {
        let frames = all();
        let (name, mut frame, reread) = frames[which.index(frames.len())].clone();
        let at = at.index(frame.len());
        let is_changed = frame[at] != to;
        frame[at] = to;
        if let Ok(again) = reread(&frame)
            && !WITH_OPTIONAL_FIELDS.contains(&name)
        {
            prop_assert_eq!(hex(&again), hex(&frame), "what is read is what is written, {} changed: {}", name, is_changed);
        }
    }
}
