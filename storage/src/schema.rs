//! The schema version of the whole store, and the way from an older one to the present.
//!
//! The version covers what keyspaces exist and how their keys are made; the shape of a single value has its own number
//! ([`stored`](crate::stored)). A migration is one atomic batch that also raises the version, so a crash in the middle
//! leaves the store as it was.

use crate::engine::{Batch, Engine};
use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::stored;

/// The schema version that this program writes.
pub(crate) const SCHEMA: u32 = 1;

const KEY: &[u8] = b"schema";
const SHAPE: u8 = 1;

/// One step of the way: from `from` to `from + 1`.
pub(crate) struct Migration {
    pub from: u32,
    /// What it does, for the log.
    pub what: &'static str,
    pub run: fn(&dyn Engine) -> Result<Batch, StorageError>,
}

/// Every step, oldest first. There is one version so far, so there is none.
pub(crate) const MIGRATIONS: &[Migration] = &[];

/// Brings the store to version `target`, or refuses. An empty store becomes one of that version.
pub(crate) fn settle(engine: &dyn Engine, migrations: &[Migration], target: u32) -> Result<(), StorageError> {
    let key = Keyspace::Meta.key(KEY);
    let found: u32 = match engine.get(&key)? {
        Some(bytes) => stored::decode(Keyspace::Meta, SHAPE, &bytes)?,
        None if engine.is_empty()? => {
            return engine.apply(&Batch::from([(key, Some(version_row(target)?))]));
        }
        None => return Err(StorageError::Unversioned),
    };
    if found > target {
        return Err(StorageError::Newer { found, known: target });
    }
    for from in found..target {
        let step = migrations.iter().find(|m| m.from == from).ok_or(StorageError::TooOld { found, known: target })?;
        tracing::info!(from, to = from + 1, what = step.what, "migrating the store");
        let mut batch = (step.run)(engine)?;
        batch.insert(key.clone(), Some(version_row(from + 1)?));
        engine.apply(&batch)?;
    }
    Ok(())
}

fn version_row(version: u32) -> Result<Vec<u8>, StorageError> {
    stored::encode(Keyspace::Meta, SHAPE, &version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MemoryEngine;

    fn store_of_version(version: u32) -> MemoryEngine {
        let engine = MemoryEngine::default();
        engine
            .apply(&Batch::from([
                (Keyspace::Meta.key(KEY), Some(version_row(version).unwrap())),
                (Keyspace::Jobs.key(b"a"), Some(b"old".to_vec())),
            ]))
            .unwrap();
        engine
    }

    #[test]
    fn an_empty_store_gets_the_present_version() {
        let engine = MemoryEngine::default();
        settle(&engine, MIGRATIONS, SCHEMA).unwrap();
        settle(&engine, MIGRATIONS, SCHEMA).unwrap();
        assert_eq!(engine.get(&Keyspace::Meta.key(KEY)).unwrap(), Some(version_row(SCHEMA).unwrap()));
    }

    #[test]
    fn a_newer_store_is_refused_and_says_what_to_do() {
        let error = settle(&store_of_version(99), MIGRATIONS, SCHEMA).unwrap_err();
        assert!(matches!(error, StorageError::Newer { found: 99, known: 1 }));
        assert!(error.to_string().contains("use a newer version"));
    }

    #[test]
    fn data_without_a_version_is_refused() {
        let engine = MemoryEngine::default();
        engine.apply(&Batch::from([(Keyspace::Jobs.key(b"a"), Some(vec![1]))])).unwrap();
        assert!(matches!(settle(&engine, MIGRATIONS, SCHEMA), Err(StorageError::Unversioned)));
        assert!(matches!(
            settle(&store_of_version(0), MIGRATIONS, SCHEMA),
            Err(StorageError::TooOld { found: 0, known: 1 })
        ));
    }

    #[test]
    fn migrations_run_in_order_each_with_its_version() {
        fn rewrite(engine: &dyn Engine, to: &[u8]) -> Result<Batch, StorageError> {
            let key = Keyspace::Jobs.key(b"a");
            let value = [engine.get(&key)?.unwrap_or_default(), to.to_vec()].concat();
            Ok(Batch::from([(key, Some(value))]))
        }
        let chain = [
            Migration { from: 1, what: "one", run: |e| rewrite(e, b"+1") },
            Migration { from: 2, what: "two", run: |e| rewrite(e, b"+2") },
        ];
        let engine = store_of_version(1);
        settle(&engine, &chain, 3).unwrap();
        assert_eq!(engine.get(&Keyspace::Jobs.key(b"a")).unwrap().unwrap(), b"old+1+2");
        settle(&engine, &chain, 3).unwrap();
        assert_eq!(engine.get(&Keyspace::Jobs.key(b"a")).unwrap().unwrap(), b"old+1+2");
    }

    #[test]
    fn a_migration_that_fails_leaves_the_store_as_it_was() {
        let chain = [Migration { from: 1, what: "no", run: |_| Err(StorageError::Busy) }];
        let engine = store_of_version(1);
        assert!(settle(&engine, &chain, 2).is_err());
        assert_eq!(engine.get(&Keyspace::Meta.key(KEY)).unwrap(), Some(version_row(1).unwrap()));
        assert_eq!(engine.get(&Keyspace::Jobs.key(b"a")).unwrap().unwrap(), b"old");
    }
}
