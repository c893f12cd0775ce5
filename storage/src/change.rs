//! A change: everything that becomes true together, with the audit event that says so.
//!
//! A change cannot be made without an event, so the audit log cannot miss one. Its conditions are checked by the one
//! writer, under which nothing else moves: of two changes that both expect a key to be absent, one wins and the other
//! is told.

use cid::Cid;
use plumb_core::content::{RawBlock, check_cid};
use plumb_core::knowledge::KnowledgeUnit;
use serde::Serialize;

use crate::audit::AuditEvent;
use crate::error::StorageError;
use crate::keyspace::{KEY_BYTES_MAX, Keyspace};
use crate::outbox::IndexOp;
use crate::stored;
use crate::units;

/// Most bytes in one change. A change is held in memory several times on its way, and the writer does nothing else
/// meanwhile; the largest document that is taken in fits with room to spare.
pub const CHANGE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// One step of a change. Keys are whole, with their keyspace.
#[derive(Debug)]
pub(crate) enum Step {
    Put { key: Vec<u8>, value: Vec<u8> },
    Delete { key: Vec<u8> },
    Release { cid: Vec<u8>, holder: Vec<u8> },
}

/// Something that must hold when the change is made.
#[derive(Debug)]
pub(crate) struct Condition {
    pub keyspace: Keyspace,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// What becomes true together. Made in memory, then given to [`Records::commit`](crate::Records::commit).
#[derive(Debug)]
pub struct Change {
    events: Vec<AuditEvent>,
    conditions: Vec<Condition>,
    steps: Vec<Step>,
    index: Vec<IndexOp>,
    /// The first thing that cannot be done. It is reported by `commit`, so that building stays a plain sequence.
    refused: Option<StorageError>,
}

/// A change in the form in which the writer takes it: all that can be checked and encoded without the store is.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub leaves: Vec<Vec<u8>>,
    pub conditions: Vec<Condition>,
    pub steps: Vec<Step>,
    pub index_rows: Vec<Vec<u8>>,
    pub bytes: usize,
}

impl Change {
    /// A change that does what this event says.
    pub fn new(event: AuditEvent) -> Change {
        Change { events: vec![event], conditions: Vec::new(), steps: Vec::new(), index: Vec::new(), refused: None }
    }

    /// Says more of what is done.
    pub fn audit(&mut self, event: AuditEvent) -> &mut Change {
        self.events.push(event);
        self
    }

    /// Requires that the row has this value, or is absent.
    pub fn expect(&mut self, keyspace: Keyspace, key: &[u8], value: Option<Vec<u8>>) -> &mut Change {
        self.conditions.push(Condition { keyspace, key: key.to_vec(), value });
        self
    }

    /// Requires that the row is absent.
    pub fn expect_absent(&mut self, keyspace: Keyspace, key: &[u8]) -> &mut Change {
        self.expect(keyspace, key, None)
    }

    /// Writes a row.
    pub fn put(&mut self, keyspace: Keyspace, key: &[u8], value: Vec<u8>) -> &mut Change {
        if self.accepts(keyspace, key) {
            self.steps.push(Step::Put { key: keyspace.key(key), value });
        }
        self
    }

    /// Writes a row whose value is a struct of the given shape.
    pub fn put_value<T: Serialize + ?Sized>(
        &mut self,
        keyspace: Keyspace,
        shape: u8,
        key: &[u8],
        value: &T,
    ) -> &mut Change {
        match stored::encode(keyspace, shape, value) {
            Ok(bytes) => self.put(keyspace, key, bytes),
            Err(error) => self.refuse(error),
        }
    }

    /// Deletes a row, if it is there.
    pub fn delete(&mut self, keyspace: Keyspace, key: &[u8]) -> &mut Change {
        if self.accepts(keyspace, key) {
            self.steps.push(Step::Delete { key: keyspace.key(key) });
        }
        self
    }

    /// Stores a block. The same block twice is one block; a damaged copy is replaced.
    pub fn put_block(&mut self, block: RawBlock) -> &mut Change {
        let cid = block.cid;
        match RawBlock::checked(cid, block.bytes) {
            Ok(block) => {
                self.steps.push(Step::Put { key: Keyspace::Blocks.key(&cid.to_bytes()), value: block.bytes });
                self
            }
            Err(e) => self.refuse(StorageError::Damaged { cid, source: Box::new(e) }),
        }
    }

    /// Notes that `holder` needs the block.
    pub fn hold(&mut self, cid: &Cid, holder: &[u8]) -> &mut Change {
        let key = hold_key(&cid.to_bytes(), holder);
        if self.fits(Keyspace::Holds, &key) {
            self.steps.push(Step::Put { key: Keyspace::Holds.key(&key), value: Vec::new() });
        }
        self
    }

    /// Notes that `holder` needs the block no more. With the last holder the block goes; a block that nobody ever
    /// held stays.
    pub fn release(&mut self, cid: &Cid, holder: &[u8]) -> &mut Change {
        self.steps.push(Step::Release { cid: cid.to_bytes(), holder: holder.to_vec() });
        self
    }

    /// Deletes a block whoever holds it: for erasure, where the bytes must go.
    pub fn erase_block(&mut self, cid: &Cid) -> &mut Change {
        self.steps.push(Step::Delete { key: Keyspace::Blocks.key(&cid.to_bytes()) });
        self
    }

    /// Asks something of the text index.
    pub fn index(&mut self, op: IndexOp) -> &mut Change {
        if let Err(e) = check_cid(op.chunk()) {
            return self.refuse(StorageError::Damaged { cid: *op.chunk(), source: Box::new(e) });
        }
        self.index.push(op);
        self
    }

    /// Writes a unit and asks of the text index what follows from it.
    pub fn put_unit(&mut self, unit: &KnowledgeUnit) -> &mut Change {
        self.put_value(Keyspace::Units, units::SHAPE, &units::key(&unit.chunk), unit).index(IndexOp::of(unit))
    }

    /// Deletes a unit and takes it out of the text index.
    pub fn delete_unit(&mut self, chunk: &Cid) -> &mut Change {
        self.delete(Keyspace::Units, &units::key(chunk)).index(IndexOp::Remove { chunk: *chunk })
    }

    fn refuse(&mut self, error: StorageError) -> &mut Change {
        self.refused.get_or_insert(error);
        self
    }

    fn fits(&mut self, keyspace: Keyspace, key: &[u8]) -> bool {
        if key.len() > KEY_BYTES_MAX {
            self.refuse(StorageError::KeyTooLong { keyspace, bytes: key.len() });
            return false;
        }
        true
    }

    fn accepts(&mut self, keyspace: Keyspace, key: &[u8]) -> bool {
        if keyspace.is_reserved() {
            self.refuse(StorageError::Reserved(keyspace));
            return false;
        }
        self.fits(keyspace, key)
    }

    pub(crate) fn prepare(self) -> Result<Prepared, StorageError> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        let leaves = self.events.iter().map(AuditEvent::to_leaf).collect::<Result<Vec<_>, _>>()?;
        let index_rows = self.index.iter().map(IndexOp::to_row).collect::<Result<Vec<_>, _>>()?;
        let of_steps = self.steps.iter().map(|step| match step {
            Step::Put { key, value } => key.len() + value.len(),
            Step::Delete { key } => key.len(),
            Step::Release { cid, holder } => cid.len() + holder.len(),
        });
        let bytes = of_steps.chain(leaves.iter().chain(&index_rows).map(Vec::len)).sum();
        if bytes > CHANGE_BYTES_MAX {
            return Err(StorageError::TooLarge { bytes, max: CHANGE_BYTES_MAX });
        }
        Ok(Prepared { leaves, conditions: self.conditions, steps: self.steps, index_rows, bytes })
    }
}

/// The key of a hold. A CID says where it ends, so no separator is needed.
pub(crate) fn hold_key(cid: &[u8], holder: &[u8]) -> Vec<u8> {
    [cid, holder].concat()
}
