//! A group: the changes that are written together, as one batch that grows.

use std::collections::BTreeMap;

use plumb_core::log::{CompactRange, leaf_hash};

use super::Marks;
use crate::audit::{decode_range, encode_range};
use crate::change::{Condition, Prepared, Step, hold_key};
use crate::engine::{Batch, Engine, Order, range_of};
use crate::error::{StorageError, printable};
use crate::keyspace::Keyspace;
use crate::outbox::{Position, number_key, number_of};
use crate::stored;

/// Rows of `Meta` that the writer keeps.
const POSITION: &[u8] = b"position";
const TRIMMED: &[u8] = b"trimmed";
const AUDIT: &[u8] = b"audit";
const SHAPE: u8 = 1;

/// Outbox rows that one group lets go. More stay for the next.
const TRIM_ROWS: usize = 16 * 1024;

/// What the writer has to know of the store before its first group.
pub(super) fn load_marks(engine: &dyn Engine) -> Result<Marks, StorageError> {
    let number = |name: &[u8]| -> Result<Position, StorageError> {
        match engine.get(&Keyspace::Meta.key(name))? {
            Some(bytes) => stored::decode(Keyspace::Meta, SHAPE, &bytes),
            None => Ok(Position::default()),
        }
    };
    let audit = match engine.get(&Keyspace::Meta.key(AUDIT))? {
        Some(bytes) => decode_range(&bytes)?,
        None => CompactRange::new(),
    };
    Ok(Marks { position: number(POSITION)?, trimmed: number(TRIMMED)?, audit })
}

pub(super) struct Group<'a> {
    engine: &'a dyn Engine,
    batch: Batch,
    bytes: usize,
    position: Position,
    trimmed: Position,
    audit: CompactRange,
}

impl<'a> Group<'a> {
    pub(super) fn begin(engine: &'a dyn Engine, marks: &Marks) -> Group<'a> {
        Group {
            engine,
            batch: Batch::new(),
            bytes: 0,
            position: marks.position,
            trimmed: marks.trimmed,
            audit: marks.audit.clone(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a change in, wholly or not at all.
    pub(super) fn add(&mut self, change: Prepared) -> Result<Position, StorageError> {
        for condition in &change.conditions {
            self.check(condition)?;
        }
        // Steps are worked out beside the batch: one that cannot be leaves no trace.
        let mut steps = Batch::new();
        for step in change.steps {
            self.take(&mut steps, step)?;
        }
        self.batch.append(&mut steps);
        for row in change.index_rows {
            self.position.0 += 1;
            self.batch.insert(Keyspace::Outbox.key(&number_key(self.position.0)), Some(row));
        }
        for leaf in change.leaves {
            self.batch.insert(Keyspace::Audit.key(&number_key(self.audit.size())), Some(leaf.clone()));
            self.audit.append(leaf_hash(&leaf));
        }
        self.bytes += change.bytes;
        Ok(self.position)
    }

    fn check(&self, condition: &Condition) -> Result<(), StorageError> {
        let found = self.get(&Batch::new(), &condition.keyspace.key(&condition.key))?;
        if found == condition.value {
            Ok(())
        } else {
            Err(StorageError::Conflict { keyspace: condition.keyspace, key: printable(&condition.key) })
        }
    }

    /// The value of a key as it is once `steps` and the group are written.
    fn get(&self, steps: &Batch, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        match steps.get(key).or_else(|| self.batch.get(key)) {
            Some(value) => Ok(value.clone()),
            None => self.engine.get(key),
        }
    }

    fn take(&self, steps: &mut Batch, step: Step) -> Result<(), StorageError> {
        match step {
            Step::Put { key, value } => {
                // A block that is there already is not written again; one that is there damaged is.
                let is_block = key.first() == Some(&Keyspace::Blocks.prefix());
                if !is_block || self.get(steps, &key)?.as_ref() != Some(&value) {
                    steps.insert(key, Some(value));
                }
            }
            Step::Delete { key } => {
                steps.insert(key, None);
            }
            Step::Release { cid, holder } => {
                let hold = Keyspace::Holds.key(&hold_key(&cid, &holder));
                if self.get(steps, &hold)?.is_some() {
                    steps.insert(hold, None);
                    if !self.is_held(steps, &cid)? {
                        steps.insert(Keyspace::Blocks.key(&cid), None);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether anybody holds the block once `steps` and the group are written.
    fn is_held(&self, steps: &Batch, cid: &[u8]) -> Result<bool, StorageError> {
        let prefix = Keyspace::Holds.key(cid);
        let mut pending: BTreeMap<&[u8], bool> = BTreeMap::new();
        for layer in [&self.batch, steps] {
            let inside = layer.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
            pending.extend(inside.map(|(key, value)| (key.as_slice(), value.is_some())));
        }
        if pending.values().any(|is_there| *is_there) {
            return Ok(true);
        }
        // What is pending takes away only. One row more than that cannot all be taken away.
        let range = range_of(&prefix, None, Order::Ascending);
        let stored = self.engine.scan(range, Order::Ascending, pending.len() + 1)?;
        Ok(stored.iter().any(|(key, _)| !pending.contains_key(key.as_slice())))
    }

    /// Lets outbox rows up to this number go.
    pub(super) fn trim(&mut self, up_to: u64) -> Result<(), StorageError> {
        let range = range_of(&[Keyspace::Outbox.prefix()], None, Order::Ascending);
        for (key, _) in self.engine.scan(range, Order::Ascending, TRIM_ROWS)? {
            let number = number_of(Keyspace::Outbox, &key[1..])?;
            if number > up_to {
                break;
            }
            self.bytes += key.len();
            self.batch.insert(key, None);
            self.trimmed = self.trimmed.max(Position(number));
        }
        Ok(())
    }

    /// Writes the batch, with the marks that belong to it.
    pub(super) fn write(mut self) -> Result<Marks, StorageError> {
        if !self.batch.is_empty() {
            self.engine.check_room(self.bytes as u64)?;
            for (name, value) in [
                (POSITION, stored::encode(Keyspace::Meta, SHAPE, &self.position)?),
                (TRIMMED, stored::encode(Keyspace::Meta, SHAPE, &self.trimmed)?),
                (AUDIT, encode_range(&self.audit)?),
            ] {
                self.batch.insert(Keyspace::Meta.key(name), Some(value));
            }
            self.engine.apply(&self.batch)?;
        }
        Ok(Marks { position: self.position, trimmed: self.trimmed, audit: self.audit })
    }
}
