//! Bundles of an issuer who lies: whatever stands in them, every block hashes to its name and the seal holds.
//!
//! Bytes that are changed at random end at the first hash. So the input is the parts of a bundle, and here they are
//! linked, scored and sealed anew, as a malicious node with a valid certificate would do.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::content::{Chunk, RawBlock};
use plumb_core::exchange::{Bundle, Seal, SealTag, SealedBundle, replay, write_car};
use plumb_core::identity::Signed;
use plumb_core::measure::Timestamp;
use plumb_core::retrieval::{Query, TermStats};

use super::bundle::{holds, verified};
use super::{Shape, Target};
use crate::laws;
use crate::seeds::{bundles, certificate, node};

pub(super) const TARGET: Target =
    Target { name: "bundle_resealed", run, seeds, input_bytes_max: 8 * 1024, shape: Shape::Bytes };

/// Between two parts. No text holds it, because it is not UTF-8.
const CUT: &[u8] = b"\xff\xfe\xff\xfe";

/// Sources and chunks, then the answer, then the bundle.
fn seeds() -> Vec<Vec<u8>> {
    bundles().iter().map(|bundle| parts_of(bundle).join(CUT)).collect()
}

fn parts_of(sealed: &SealedBundle) -> Vec<Vec<u8>> {
    let block = |cid: &Cid| sealed.blocks.get(cid).cloned().expect("a sealed bundle holds its blocks");
    let bundle: Bundle = RawBlock::dag_cbor(block(&sealed.bundle)).decode().expect("a bundle");
    let mut sources: Vec<Cid> = bundle.evidence.iter().map(|cited| cited.source).collect();
    sources.sort();
    sources.dedup();
    let chunks = bundle.evidence.iter().map(|cited| cited.chunk);
    sources.into_iter().chain(chunks).chain([bundle.answer, sealed.bundle]).map(|cid| block(&cid)).collect()
}

fn run(bytes: &[u8]) {
    let parts = split(bytes);
    let [evidence @ .., answer, bundle] = parts.as_slice() else { return };
    let Ok(mut bundle) = RawBlock::dag_cbor(bundle.to_vec()).decode::<Bundle>() else { return };
    let mut blocks = BTreeMap::new();
    let renamed = rename(&bundle, evidence, &mut blocks);
    relink(&mut bundle, &renamed);
    rescore(&mut bundle, &blocks);

    // Once with the answer as it stands, and once with the one that this evidence gives.
    let answer = RawBlock::dag_cbor(answer.to_vec());
    if let Some(car) = sealed(&mut bundle, &blocks, answer) {
        judge(&car, bundle.issued_at);
        if let Ok(answer) = replay(&car)
            && let Some(car) = sealed(&mut bundle, &blocks, answer)
        {
            judge(&car, bundle.issued_at);
        }
    }
}

fn split(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some(at) = bytes.windows(CUT.len()).position(|window| window == CUT) {
        parts.push(&bytes[..at]);
        bytes = &bytes[at + CUT.len()..];
    }
    parts.push(bytes);
    parts
}

/// Names the evidence anew, in order: sources first, because chunks name them. Old names that stand in later parts are
/// replaced, so links hold. Gives the new name of each old one.
fn rename(bundle: &Bundle, evidence: &[&[u8]], blocks: &mut BTreeMap<Cid, Vec<u8>>) -> BTreeMap<Cid, Cid> {
    let mut old: Vec<Cid> = bundle.evidence.iter().map(|cited| cited.source).collect();
    old.sort();
    old.dedup();
    old.extend(bundle.evidence.iter().map(|cited| cited.chunk));
    let mut renamed: BTreeMap<Cid, Cid> = BTreeMap::new();
    for (part, old) in evidence.iter().zip(old) {
        let mut bytes = part.to_vec();
        for (from, to) in &renamed {
            replace(&mut bytes, &from.to_bytes(), &to.to_bytes());
        }
        let block = RawBlock::dag_cbor(bytes);
        renamed.insert(old, block.cid);
        blocks.insert(block.cid, block.bytes);
    }
    renamed
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from).map(|(i, _)| i).collect();
    for at in places {
        if let Some(place) = bytes.get_mut(at..at + to.len()) {
            place.copy_from_slice(to);
        }
    }
}

fn relink(bundle: &mut Bundle, renamed: &BTreeMap<Cid, Cid>) {
    let new = |cid: &Cid| renamed.get(cid).copied().unwrap_or(*cid);
    for cited in &mut bundle.evidence {
        (cited.chunk, cited.source) = (new(&cited.chunk), new(&cited.source));
    }
    let own = RawBlock::raw(certificate().to_bytes());
    (bundle.issuer, bundle.org, bundle.certificate) = (node().public(), certificate().value().org, own.cid);
}

/// Gives each chunk the score that it has, and puts them in the order of that.
fn rescore(bundle: &mut Bundle, blocks: &BTreeMap<Cid, Vec<u8>>) {
    let query = Query::new(&bundle.query);
    let stats = TermStats::from(&bundle.statistics);
    if stats.check(query.terms.len()).is_err() {
        return;
    }
    for cited in &mut bundle.evidence {
        let chunk = blocks.get(&cited.chunk).map(|bytes| RawBlock::dag_cbor(bytes.clone()).decode::<Chunk>());
        if let Some(Ok(chunk)) = chunk {
            cited.score = query.score(&chunk, &stats);
        }
    }
    bundle.evidence.sort_by(|a, b| b.score.cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
}

fn sealed(bundle: &mut Bundle, evidence: &BTreeMap<Cid, Vec<u8>>, answer: RawBlock) -> Option<Vec<u8>> {
    bundle.answer = answer.cid;
    let signed = Signed::seal(bundle.clone(), &node()).ok()?;
    let (signer, signature) = (*signed.signer(), *signed.signature());
    let seal = RawBlock::encode(&Seal { tag: SealTag, bundle: signed.cid(), signer, signature, logged: None }).ok()?;
    let mut blocks = evidence.clone();
    let root = seal.cid;
    for block in [answer, RawBlock::raw(certificate().to_bytes()), signed.block().clone(), seal] {
        blocks.insert(block.cid, block.bytes);
    }
    Some(write_car(root, &blocks))
}

fn judge(car: &[u8], issued_at: Timestamp) {
    for now in [issued_at, Timestamp(i64::MIN), Timestamp(i64::MAX)] {
        match verified(car, now) {
            Ok(verified) => holds(car, &verified),
            Err(error) => laws::short(&error),
        }
    }
}
