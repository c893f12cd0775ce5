//! From an envelope to everything that its commit writes. Nothing here touches the store.

use cid::Cid;
use plumb_core::boundary::{Sensitivity, classify, detect};
use plumb_core::content::{Chunk, ChunkTag, Fingerprint, RawBlock, SourceRecord, SourceTag};
use plumb_core::identity::EntityId;
use plumb_core::knowledge::{KnowledgeUnit, Origin, Scope, UnitState};
use plumb_sources::world::{Doi, own_doi};
use plumb_sources::{SignalEnvelope, SourceAdapter};

use crate::error::NodeError;
use crate::kept::{SourceRow, SourceState};
use crate::premises::Premises;

/// Findings that are named to the person whose source was raised; one is enough, three are plenty.
const FINDINGS_NAMED: usize = 3;

/// A source, ready to be committed.
pub(super) struct Prepared {
    pub row: SourceRow,
    pub fingerprint: Fingerprint,
    /// The DOI of the source itself, if it can be told.
    pub doi: Option<Doi>,
    pub chunks: Vec<Chunk>,
    pub units: Vec<KnowledgeUnit>,
    pub blocks: Vec<RawBlock>,
    /// What raised its label, if anything did.
    pub raised: Option<String>,
    /// Dates, links and the like that were found in it.
    pub n_findings: usize,
}

impl Prepared {
    /// Raises its label, if it is below this one.
    pub fn raise(&mut self, label: Sensitivity) {
        self.row.sensitivity = self.row.sensitivity.max(label);
        for unit in &mut self.units {
            unit.sensitivity = unit.sensitivity.max(label);
        }
    }

    /// Bytes that its commit writes, about.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|b| b.bytes.len()).sum()
    }
}

/// Chunks, labels and names a source.
pub(super) fn prepare(
    premises: &Premises,
    adapter: &dyn SourceAdapter,
    envelope: &SignalEnvelope,
    scope: &Scope,
    declared: Sensitivity,
    creator: &EntityId,
) -> Result<Prepared, NodeError> {
    let suggested = envelope.suggested_sensitivity.map_or(declared, |s| s.max(declared));
    // A title is as open as the text, so it is looked at too; one secret makes the whole document one.
    let looked_at = format!("{}\n{}", envelope.title, envelope.text);
    let sensitivity = classify(&looked_at, suggested);
    let raised = (sensitivity > suggested).then(|| why(&looked_at, suggested, sensitivity));

    let raw = RawBlock::raw(envelope.raw.to_vec());
    let text = RawBlock::raw(envelope.text.clone().into_bytes());
    let fingerprint = Fingerprint::of(&envelope.text);
    let record = SourceRecord {
        tag: SourceTag,
        publisher: premises.node(),
        scope: scope.clone(),
        uri: public_address(&envelope.address),
        instance: SourceRecord::instance_of(&premises.node(), &envelope.address),
        title: envelope.title.clone(),
        media_type: envelope.media_type.to_string(),
        adapter: adapter.name().to_string(),
        raw: raw.cid,
        text: text.cid,
        fingerprint,
    };
    let record_block = RawBlock::encode(&record)?;
    let source = record_block.cid;
    let origin = Origin {
        source_type: envelope.origin.source_type,
        source_ref: envelope.address.clone(),
        creator: Some(creator.clone()),
        publisher: premises.node(),
        org: premises.org(),
        department: premises.department().clone(),
    };
    let mut blocks = vec![raw, record_block];
    if text.cid != blocks[0].cid {
        blocks.push(text);
    }
    let (mut chunks, mut units) = (Vec::new(), Vec::new());
    for (span, ordinal) in adapter.chunk(envelope).into_iter().zip(0u32..) {
        let chunk = Chunk {
            tag: ChunkTag,
            source,
            ordinal,
            start: span.start as u64,
            end: span.end as u64,
            title: envelope.title.clone(),
            headings: span.headings,
            page: span.page,
            text: envelope.text[span.start..span.end].to_string(),
        };
        let block = RawBlock::encode(&chunk)?;
        units.push(KnowledgeUnit {
            chunk: block.cid,
            source,
            kind: envelope.suggested_type,
            scope: scope.clone(),
            sensitivity,
            origin: origin.clone(),
            state: UnitState::Active,
        });
        chunks.push(chunk);
        blocks.push(block);
    }
    let row = SourceRow {
        record: source,
        address: envelope.address.clone(),
        title: record.title,
        uri: record.uri,
        media_type: record.media_type,
        adapter: record.adapter,
        scope: scope.clone(),
        sensitivity,
        raw: record.raw,
        chunks: units.iter().map(|u| u.chunk).collect::<Vec<Cid>>(),
        publisher: premises.node(),
        org: premises.org(),
        department: premises.department().clone(),
        creator: Some(creator.clone()),
        state: SourceState::Active,
    };
    let n_findings = adapter.enrich(envelope).len();
    let doi = own_doi(envelope);
    Ok(Prepared { row, fingerprint, doi, chunks, units, blocks, raised, n_findings })
}

/// An address as others may see it: of a file its name, without the way to it.
fn public_address(address: &str) -> String {
    match address.strip_prefix("file:") {
        Some(path) => format!("file:{}", path.rsplit('/').next().unwrap_or(path)),
        None => address.to_string(),
    }
}

fn why(text: &str, suggested: Sensitivity, sensitivity: Sensitivity) -> String {
    let mut rules: Vec<&str> = detect(text).iter().map(|f| f.rule).collect();
    rules.dedup();
    rules.truncate(FINDINGS_NAMED);
    format!("{suggested} became {sensitivity}: {}", rules.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_file_stays_here() {
        assert_eq!(public_address("file:///srv/people/salaries/2031.md#p1"), "file:2031.md#p1");
        assert_eq!(public_address("https://example.org/a/b"), "https://example.org/a/b");
        assert_eq!(public_address("inline:minutes.md"), "inline:minutes.md");
    }
}
