//! One partition on the disk: opening, adding, removing, committing, and being built beside the old one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use serde::{Deserialize, Serialize};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError};

use super::error::IndexError;
use super::fields::{Entry, Fields, INDEX_VERSION};
use crate::outbox::Position;

/// Share of deleted documents in a segment above which it is merged, so that it shrinks: deletions slow the
/// statistics down and keep the text's terms on the disk.
const DELETED_SHARE_MAX: f32 = 0.2;

/// What a commit says of itself, in tantivy's own metadata.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Payload {
    /// [`INDEX_VERSION`]
    version: u32,
    /// The store from which it was made.
    store: [u8; 16],
    /// The last outbox row that is in it.
    position: Position,
}

pub(super) struct Partition {
    class: Sensitivity,
    store: [u8; 16],
    fields: Fields,
    reader: IndexReader,
    writer: IndexWriter,
    committed: Position,
    /// Chunks added since the last commit, which the reader does not know yet.
    added: HashSet<Cid>,
    dirty: bool,
}

/// A partition as it was found.
pub(super) enum Found {
    Usable(Box<Partition>),
    /// It has to be built anew, for this reason.
    Unusable(String),
}

fn home(dir: &Path, class: Sensitivity) -> PathBuf {
    dir.join(class.as_str())
}

fn building(dir: &Path, class: Sensitivity) -> PathBuf {
    dir.join(format!("{class}.building"))
}

fn retired(dir: &Path, class: Sensitivity) -> PathBuf {
    dir.join(format!("{class}.retired"))
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> IndexError {
    |source| IndexError::Directory { path: path.to_path_buf(), source: Arc::new(source) }
}

fn remove(path: &Path) -> Result<(), IndexError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

/// Makes the directory and removes what an interrupted rebuild left in it.
pub(super) fn prepare(dir: &Path) -> Result<(), IndexError> {
    fs::create_dir_all(dir).map_err(at(dir))?;
    for class in Sensitivity::ALL {
        remove(&building(dir, class))?;
        remove(&retired(dir, class))?;
    }
    Ok(())
}

/// Whether every file of the partition has the checksum that it was written with.
pub(super) fn is_intact(dir: &Path, class: Sensitivity) -> Result<bool, IndexError> {
    let read = |source| IndexError::Read { partition: class, source };
    let index = Index::open_in_dir(home(dir, class)).map_err(read)?;
    Ok(index.validate_checksum().map_err(read)?.is_empty())
}

impl Partition {
    /// Opens the partition if it can go on from where it is: it is whole, of this version, of this store, and the
    /// outbox still has every row that it lacks.
    pub(super) fn open(
        dir: &Path,
        class: Sensitivity,
        store: [u8; 16],
        rows: std::ops::RangeInclusive<Position>,
        writer_bytes: usize,
    ) -> Found {
        match Partition::try_open(&home(dir, class), class, store, writer_bytes) {
            Err(reason) => Found::Unusable(reason),
            Ok(partition) if !rows.contains(&partition.committed) => Found::Unusable(format!(
                "it is at position {} and the store goes from {} to {}",
                partition.committed.0,
                rows.start().0,
                rows.end().0
            )),
            Ok(partition) => Found::Usable(Box::new(partition)),
        }
    }

    fn try_open(path: &Path, class: Sensitivity, store: [u8; 16], writer_bytes: usize) -> Result<Partition, String> {
        let (schema, fields) = Fields::new();
        let text = |error: TantivyError| error.to_string();
        let index = Index::open_in_dir(path).map_err(text)?;
        if index.schema() != schema {
            return Err("it has other fields".into());
        }
        let payload = index.load_metas().map_err(text)?.payload.unwrap_or_default();
        let payload: Payload =
            serde_json::from_str(&payload).map_err(|e| format!("its position cannot be read: {e}"))?;
        if payload.version != INDEX_VERSION {
            return Err(format!("it is of version {} and not {INDEX_VERSION}", payload.version));
        }
        if payload.store != store {
            return Err("it was made from another store".into());
        }
        Partition::over(index, class, store, fields, payload.position, writer_bytes).map_err(text)
    }

    /// Begins a new partition beside the one in use.
    pub(super) fn build(
        dir: &Path,
        class: Sensitivity,
        store: [u8; 16],
        position: Position,
        writer_bytes: usize,
    ) -> Result<Partition, IndexError> {
        let path = building(dir, class);
        remove(&path)?;
        fs::create_dir_all(&path).map_err(at(&path))?;
        let (schema, fields) = Fields::new();
        let mut partition = Index::create_in_dir(&path, schema)
            .and_then(|index| Partition::over(index, class, store, fields, position, writer_bytes))
            .map_err(|source| IndexError::Write { partition: class, source })?;
        partition.dirty = true;
        Ok(partition)
    }

    /// Puts the partition that was built in the place of the old one, which nobody writes any more. A crash in between
    /// leaves no partition in its place, and then it is built again.
    pub(super) fn replace(dir: &Path, class: Sensitivity) -> Result<(), IndexError> {
        let (home, retired, building) = (home(dir, class), retired(dir, class), building(dir, class));
        remove(&retired)?;
        if home.exists() {
            fs::rename(&home, &retired).map_err(at(&home))?;
        }
        fs::rename(&building, &home).map_err(at(&building))?;
        fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(at(dir))?;
        remove(&retired)
    }

    fn over(
        index: Index,
        class: Sensitivity,
        store: [u8; 16],
        fields: Fields,
        committed: Position,
        writer_bytes: usize,
    ) -> Result<Partition, TantivyError> {
        Fields::register(&index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let writer = index.writer_with_options(
            IndexWriterOptions::builder()
                .num_worker_threads(1)
                .num_merge_threads(1)
                .memory_budget_per_thread(writer_bytes)
                .build(),
        )?;
        let mut merges = LogMergePolicy::default();
        merges.set_del_docs_ratio_before_merge(DELETED_SHARE_MAX);
        writer.set_merge_policy(Box::new(merges));
        Ok(Partition { class, store, fields, reader, writer, committed, added: HashSet::new(), dirty: false })
    }

    pub(super) fn class(&self) -> Sensitivity {
        self.class
    }

    pub(super) fn committed(&self) -> Position {
        self.committed
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }

    pub(super) fn searcher(&self) -> tantivy::Searcher {
        self.reader.searcher()
    }

    /// Puts the chunk in, in place of what was indexed of it before.
    pub(super) fn add(&mut self, entry: &Entry, body: &str) -> Result<(), IndexError> {
        self.remove(&entry.chunk)?;
        self.writer.add_document(self.fields.document(entry, body)).map_err(|e| self.write_failed(e))?;
        self.added.insert(entry.chunk);
        self.dirty = true;
        Ok(())
    }

    /// Takes the chunk out, if it is in.
    pub(super) fn remove(&mut self, chunk: &Cid) -> Result<(), IndexError> {
        let term = self.fields.chunk_term(chunk);
        let is_in = self.added.contains(chunk)
            || self
                .reader
                .searcher()
                .doc_freq(&term)
                .map_err(|source| IndexError::Read { partition: self.class, source })?
                > 0;
        if is_in {
            self.writer.delete_term(term);
            self.dirty = true;
        }
        Ok(())
    }

    /// Makes everything up to this position durable and visible to new searchers.
    pub(super) fn commit(&mut self, position: Position) -> Result<(), IndexError> {
        let payload = Payload { version: INDEX_VERSION, store: self.store, position };
        let payload = serde_json::to_string(&payload).expect("a struct of numbers is always JSON");
        let committed = self.writer.prepare_commit().and_then(|mut prepared| {
            prepared.set_payload(&payload);
            prepared.commit()
        });
        committed.and_then(|_| self.reader.reload()).map_err(|e| self.write_failed(e))?;
        self.committed = position;
        self.added.clear();
        self.dirty = false;
        Ok(())
    }

    fn write_failed(&self, source: TantivyError) -> IndexError {
        IndexError::Write { partition: self.class, source }
    }
}
