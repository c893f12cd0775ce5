//! Blocks: one target for each tag, and all alike.

use std::fmt::Debug;

use ipld_core::ipld::Ipld;
use plumb_core::content::{Chunk, RawBlock, SourceRecord};
use plumb_core::exchange::{Bundle, LoggedAt, Seal};
use plumb_core::grounding::Answer;
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Acknowledgement, Notice, Receipt};
use plumb_core::propagation::{Hop, Teaching};
use plumb_core::retrieval::{CollectionSummary, Query, body_of};
use plumb_core::trust::{Assertion, Certificate};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Shape, Target};
use crate::laws;
use crate::seeds::found;

/// A kind of block.
trait Block: Serialize + DeserializeOwned + PartialEq + Debug {
    /// The tag that it carries.
    const TAG: &'static str;
    /// What else must hold of it.
    fn check(&self) {}
}

impl Block for SourceRecord {
    const TAG: &'static str = "plumb/source/1";
    fn check(&self) {
        assert_eq!(self.scope.to_string().parse().as_ref(), Ok(&self.scope), "a scope has a text that is no scope");
    }
}

impl Block for Chunk {
    const TAG: &'static str = "plumb/chunk/1";
    fn check(&self) {
        let query = Query::new("Was the reservoir full?");
        let (tf, n_terms) = query.frequencies(&body_of(self));
        assert!(tf.iter().map(|tf| u64::from(*tf)).sum::<u64>() <= n_terms);
    }
}

impl Block for Answer {
    const TAG: &'static str = "plumb/answer/1";
}

impl Block for Bundle {
    const TAG: &'static str = "plumb/bundle/1";
}

impl Block for Seal {
    const TAG: &'static str = "plumb/seal/1";
}

impl Block for Certificate {
    const TAG: &'static str = "plumb/certificate/1";
    fn check(&self) {
        let text = self.department.to_string();
        assert_eq!(text.parse().as_ref(), Ok(&self.department));
    }
}

impl Block for Notice {
    const TAG: &'static str = "plumb/notice/1";
    fn check(&self) {
        if let Err(error) = Notice::check(self) {
            laws::short(&error);
        }
    }
}

impl Block for Receipt {
    const TAG: &'static str = "plumb/receipt/1";
}

impl Block for Acknowledgement {
    const TAG: &'static str = "plumb/acknowledgement/1";
}

impl Block for LoggedAt {
    const TAG: &'static str = "plumb/logged/1";
}

impl Block for CollectionSummary {
    const TAG: &'static str = "plumb/summary/1";
    fn check(&self) {
        for now in [self.issued_at, Timestamp(i64::MIN), Timestamp(i64::MAX)] {
            if let Err(error) = CollectionSummary::check(self, now) {
                laws::short(&error);
            }
        }
    }
}

impl Block for Assertion {
    const TAG: &'static str = "plumb/assertion/1";
}

impl Block for Teaching {
    const TAG: &'static str = "plumb/teaching/1";
}

impl Block for Hop {
    const TAG: &'static str = "plumb/hop/1";
}

fn block<B: Block>(bytes: &[u8]) {
    let value: B = match RawBlock::dag_cbor(bytes.to_vec()).decode() {
        Ok(value) => value,
        Err(error) => return laws::short(&error),
    };
    let given = laws::canonical(bytes);
    let Ipld::Map(fields) = &given else { panic!("a block is no map") };
    assert_eq!(fields.get("type"), Some(&Ipld::String(B::TAG.into())), "a block is taken for another kind");
    let again = RawBlock::encode(&value).expect("what was decoded encodes");
    assert!(laws::is_part_of(&laws::canonical(&again.bytes), &given), "a field was altered");
    assert_eq!(again.decode::<B>().as_ref(), Ok(&value), "what is written reads otherwise");
    value.check();
}

fn blocks<B: Block>() -> Vec<Vec<u8>> {
    let is_one = |bytes: &&Vec<u8>| RawBlock::dag_cbor((*bytes).clone()).decode::<B>().is_ok();
    found().blocks.iter().filter(is_one).cloned().collect()
}

const fn of<B: Block>(name: &'static str) -> Target {
    Target { name, run: block::<B>, seeds: blocks::<B>, input_bytes_max: 4 * 1024, shape: Shape::DagCbor }
}

pub(super) const SOURCE: Target = of::<SourceRecord>("block_source");
pub(super) const CHUNK: Target = of::<Chunk>("block_chunk");
pub(super) const ANSWER: Target = of::<Answer>("block_answer");
pub(super) const BUNDLE: Target = of::<Bundle>("block_bundle");
pub(super) const SEAL: Target = of::<Seal>("block_seal");
pub(super) const CERTIFICATE: Target = of::<Certificate>("block_certificate");
pub(super) const NOTICE: Target = of::<Notice>("block_notice");
pub(super) const RECEIPT: Target = of::<Receipt>("block_receipt");
pub(super) const ACKNOWLEDGEMENT: Target = of::<Acknowledgement>("block_acknowledgement");
pub(super) const LOGGED: Target = of::<LoggedAt>("block_logged");
pub(super) const SUMMARY: Target = of::<CollectionSummary>("block_summary");
pub(super) const ASSERTION: Target = of::<Assertion>("block_assertion");
pub(super) const TEACHING: Target = of::<Teaching>("block_teaching");
pub(super) const HOP: Target = of::<Hop>("block_hop");
