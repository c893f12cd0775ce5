//! Small values for the tests of this crate.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, ChunkTag, RawBlock};
use plumb_core::identity::{EntityId, SecretKey};
use plumb_core::knowledge::{KnowledgeType, KnowledgeUnit, Origin, Scope, SourceType, UnitState};
use plumb_core::measure::Timestamp;

use crate::audit::AuditEvent;
use crate::change::Change;

pub(crate) fn event(action: &str) -> AuditEvent {
    AuditEvent {
        at: Timestamp(1_700_000_000_000),
        actor: "person-mara-lindqvist".into(),
        action: action.into(),
        subject: "test".into(),
        outcome: "ok".into(),
        detail: String::new(),
    }
}

pub(crate) fn change() -> Change {
    Change::new(event("test.change"))
}

pub(crate) fn entity(text: &str) -> EntityId {
    text.parse().unwrap()
}

/// A directory for a test that is about logic and not about disks: in memory, where the system has such a place.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A chunk whose words are those of `text`. The ordinal makes chunks of equal text different blocks.
pub(crate) fn chunk(ordinal: u32, text: &str) -> (Cid, RawBlock) {
    let block = RawBlock::encode(&Chunk {
        tag: ChunkTag,
        source: RawBlock::raw(b"a source".to_vec()).cid,
        ordinal,
        start: 0,
        end: text.len() as u64,
        title: String::new(),
        headings: Vec::new(),
        page: None,
        text: text.into(),
    })
    .unwrap();
    (block.cid, block)
}

pub(crate) fn unit(chunk: Cid, sensitivity: Sensitivity, team: &str, creator: Option<&str>) -> KnowledgeUnit {
    let node = SecretKey::from_seed([1; 32]).public();
    KnowledgeUnit {
        chunk,
        source: RawBlock::raw(b"a source".to_vec()).cid,
        kind: KnowledgeType::Context,
        scope: Scope::of(entity(team)).unwrap(),
        sensitivity,
        origin: Origin {
            source_type: SourceType::Document,
            source_ref: "file:test".into(),
            creator: creator.map(entity),
            publisher: node,
            org: node,
            department: entity("department-operations"),
        },
        state: UnitState::Active,
    }
}
