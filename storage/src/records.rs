//! The ports: what the rooms above may ask of a store, whatever stands behind it.
//!
//! One suite (`conformance.rs`) holds every backend to the same behaviour.

use cid::Cid;
use plumb_core::content::RawBlock;
use serde::de::DeserializeOwned;

use crate::change::Change;
use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::outbox::Position;
use crate::stored;

/// A key (without its keyspace) and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Rows that an iterator reads at a time.
const PAGE: usize = 256;

/// Small values by key, changed atomically.
///
/// A read sees every change that was acknowledged. It may also see one that is applied and about to be acknowledged;
/// a scan is not a snapshot, and each call sees the store as it then is.
pub trait Records: Send + Sync {
    /// The value of a key.
    fn get(&self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Rows in ascending order of key: those whose key begins with `prefix`, from the key `from` on (inclusive), at
    /// most `limit`. Fewer than `limit` means that there are no more.
    fn scan(
        &self,
        keyspace: Keyspace,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StorageError>;

    /// Rows in descending order of key: those whose key begins with `prefix`, from the key `from` on (inclusive)
    /// downwards, at most `limit`.
    fn scan_back(
        &self,
        keyspace: Keyspace,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StorageError>;

    /// Makes the change, wholly or not at all, and returns when it is on the disk. It blocks: call it where that is
    /// allowed.
    fn commit(&self, change: Change) -> Result<Position, StorageError>;
}

/// Immutable blocks by CID.
pub trait Blocks: Send + Sync {
    /// The block of this name. Its bytes were compared with the name: a damaged block is an error, never served.
    fn block(&self, cid: &Cid) -> Result<Option<RawBlock>, StorageError>;

    /// Whether it is there. Its bytes are not looked at.
    fn has(&self, cid: &Cid) -> Result<bool, StorageError>;
}

/// Conveniences over any [`Records`].
pub trait RecordsExt: Records {
    /// The value of a key, decoded as the given shape.
    fn value<T: DeserializeOwned>(&self, keyspace: Keyspace, shape: u8, key: &[u8]) -> Result<Option<T>, StorageError> {
        self.get(keyspace, key)?.map(|bytes| stored::decode(keyspace, shape, &bytes)).transpose()
    }

    /// The last row whose key begins with `prefix`.
    fn last(&self, keyspace: Keyspace, prefix: &[u8]) -> Result<Option<Row>, StorageError> {
        Ok(self.scan_back(keyspace, prefix, None, 1)?.pop())
    }

    /// Every row whose key begins with `prefix`, read page by page.
    fn rows<'a>(&'a self, keyspace: Keyspace, prefix: &[u8]) -> Rows<'a, Self> {
        Rows {
            records: self,
            keyspace,
            prefix: prefix.to_vec(),
            next: Some(prefix.to_vec()),
            page: Vec::new().into_iter(),
        }
    }
}

impl<R: Records + ?Sized> RecordsExt for R {}

/// An iterator over rows. It ends after the first error.
pub struct Rows<'a, R: ?Sized> {
    records: &'a R,
    keyspace: Keyspace,
    prefix: Vec<u8>,
    /// Where the next page begins; nothing behind the last.
    next: Option<Vec<u8>>,
    page: std::vec::IntoIter<Row>,
}

impl<R: Records + ?Sized> Iterator for Rows<'_, R> {
    type Item = Result<Row, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.page.next() {
            return Some(Ok(row));
        }
        let from = self.next.take()?;
        match self.records.scan(self.keyspace, &self.prefix, Some(&from), PAGE) {
            Ok(rows) => {
                if rows.len() == PAGE {
                    // The smallest key behind the last one is that key with a zero appended.
                    self.next = rows.last().map(|(key, _)| [key.as_slice(), &[0]].concat());
                }
                self.page = rows.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}
