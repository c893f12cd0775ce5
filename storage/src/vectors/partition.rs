//! One partition of vectors: what is in its file, in memory, with the labels by which a reader's rights narrow a search.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use cid::Cid;
use plumb_core::boundary::{Access, Clause};
use plumb_core::identity::EntityId;
use plumb_core::vector::{ModelId, Quantised, Table, VectorError};

use super::file::SlotFile;
use crate::index::Entry;

/// Labels as numbers: there are few entities and many chunks.
#[derive(Default)]
struct Names(HashMap<EntityId, u32>);

impl Names {
    fn number(&mut self, name: &EntityId) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(name.clone()).or_insert(next)
    }

    fn known<'a>(&self, names: impl IntoIterator<Item = &'a EntityId>) -> HashSet<u32> {
        names.into_iter().filter_map(|name| self.0.get(name).copied()).collect()
    }
}

#[derive(Clone, Copy)]
struct Labels {
    scope: u32,
    department: u32,
    creator: Option<u32>,
}

struct Row {
    chunk: Cid,
    /// None as long as nobody has said that the chunk is still there: it is not found.
    labels: Option<Labels>,
}

/// Whether a reader may have a row.
type Admits<'a> = Box<dyn Fn(&Row, Labels) -> bool + 'a>;

pub(super) struct Partition {
    file: SlotFile,
    /// Row and slot have the same number.
    table: Table,
    rows: Vec<Option<Row>>,
    free: Vec<usize>,
    places: HashMap<Cid, usize>,
    names: Names,
}

impl Partition {
    pub(super) fn open(path: &Path, model: &ModelId, store: [u8; 16]) -> io::Result<Partition> {
        let (file, slots) = SlotFile::open(path, model, store)?;
        let mut partition = Partition {
            file,
            table: Table::new(model),
            rows: Vec::with_capacity(slots.len()),
            free: Vec::new(),
            places: HashMap::with_capacity(slots.len()),
            names: Names::default(),
        };
        let nothing = Quantised::new(model, vec![0; model.dims()]).map_err(io::Error::other)?;
        for (at, slot) in slots.into_iter().enumerate() {
            // A chunk that stands twice was being moved when the machine stopped; one place is enough.
            let slot = slot.filter(|(chunk, _)| !partition.places.contains_key(chunk));
            let vector = slot.as_ref().map_or(&nothing, |(_, vector)| vector);
            partition.table.push(vector).map_err(io::Error::other)?;
            match slot {
                Some((chunk, _)) => {
                    partition.places.insert(chunk, at);
                    partition.rows.push(Some(Row { chunk, labels: None }));
                }
                None => {
                    partition.free.push(at);
                    partition.rows.push(None);
                }
            }
        }
        Ok(partition)
    }

    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// Says under which labels a chunk is found. `false` if it has no vector here.
    pub(super) fn label(&mut self, entry: &Entry) -> bool {
        let Some(at) = self.places.get(&entry.chunk) else { return false };
        let labels = Labels {
            scope: self.names.number(&entry.scope),
            department: self.names.number(&entry.department),
            creator: entry.creator.as_ref().map(|creator| self.names.number(creator)),
        };
        if let Some(row) = &mut self.rows[*at] {
            row.labels = Some(labels);
        }
        true
    }

    pub(super) fn insert(&mut self, entry: &Entry, vector: &Quantised) -> io::Result<()> {
        let at = match (self.places.get(&entry.chunk), self.free.last()) {
            (Some(at), _) | (None, Some(at)) => *at,
            (None, None) => self.rows.len(),
        };
        self.file.write(at, &entry.chunk, vector)?;
        if at == self.rows.len() {
            self.table.push(vector).map_err(io::Error::other)?;
            self.rows.push(None);
        } else {
            self.table.set(at, vector).map_err(io::Error::other)?;
            self.free.pop_if(|last| *last == at);
        }
        self.rows[at] = Some(Row { chunk: entry.chunk, labels: None });
        self.places.insert(entry.chunk, at);
        self.label(entry);
        Ok(())
    }

    /// Erases a chunk and gives its vector, if it had one.
    pub(super) fn remove(&mut self, chunk: &Cid) -> io::Result<Option<Quantised>> {
        let Some(at) = self.places.remove(chunk) else { return Ok(None) };
        self.rows[at] = None;
        let vector = self.table.take(at);
        self.free.push(at);
        self.file.erase(at)?;
        Ok(vector)
    }

    /// The chunks of which nobody said that they are still there.
    pub(super) fn unlabelled(&self) -> Vec<Cid> {
        self.rows.iter().flatten().filter(|row| row.labels.is_none()).map(|row| row.chunk).collect()
    }

    pub(super) fn forget_labels(&mut self) {
        self.rows.iter_mut().flatten().for_each(|row| row.labels = None);
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// The nearest chunks among those that the access admits, with their dot products.
    pub(super) fn nearest(
        &self,
        access: &Access,
        question: &Quantised,
        limit: usize,
    ) -> Result<Vec<(Cid, i32)>, VectorError> {
        let Some(admits) = self.admits(access) else { return Ok(Vec::new()) };
        let readable =
            |row: usize| self.rows[row].as_ref().is_some_and(|row| row.labels.is_some_and(|l| admits(row, l)));
        let name = |row: usize| self.rows[row].as_ref().map(|row| row.chunk);
        let hits = self.table.nearest(question, limit, readable, name)?;
        Ok(hits.into_iter().filter_map(|hit| Some((hit.name?, hit.dot))).collect())
    }

    /// The dot products of those of these chunks that are here and that the access admits.
    pub(super) fn dots(
        &self,
        access: &Access,
        question: &Quantised,
        chunks: impl IntoIterator<Item = Cid>,
    ) -> Result<Vec<(Cid, i32)>, VectorError> {
        let Some(admits) = self.admits(access) else { return Ok(Vec::new()) };
        let mut dots = Vec::new();
        for chunk in chunks {
            let Some(at) = self.places.get(&chunk) else { continue };
            if self.rows[*at].as_ref().is_some_and(|row| row.labels.is_some_and(|l| admits(row, l))) {
                dots.push((chunk, self.table.dot(*at, question)?));
            }
        }
        Ok(dots)
    }

    /// Which rows an access admits; nothing where it is closed.
    fn admits<'a>(&'a self, access: &'a Access) -> Option<Admits<'a>> {
        match access {
            Access::Closed => None,
            Access::Whole => Some(Box::new(|_, _| true)),
            Access::Part(clause) => Some(self.clause(clause)),
        }
    }

    fn clause<'a>(&self, clause: &'a Clause) -> Admits<'a> {
        let scopes = self.names.known(&clause.scopes);
        let departments = self.names.known(&clause.departments);
        let creators = self.names.known(&clause.creator);
        Box::new(move |row, labels| {
            scopes.contains(&labels.scope)
                || departments.contains(&labels.department)
                || labels.creator.is_some_and(|creator| creators.contains(&creator))
                || clause.chunks.contains(&row.chunk)
        })
    }
}
