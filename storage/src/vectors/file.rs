//! The vectors of one partition in a file: a header, then slots of equal size.
//!
//! A slot is written in place and, when its chunk is deleted, overwritten with zeros: what is gone from the store does not
//! stay here as a vector, from which much of a text can be guessed (Morris et al., "Text Embeddings Reveal (Almost) As
//! Much As Text", EMNLP 2023). Every slot ends in a checksum, so one that was half written when the machine stopped is an
//! empty one. Losing it costs an embedding and no knowledge.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Error, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cid::Cid;
use plumb_core::vector::{ModelId, Quantised};

const MAGIC: &[u8; 8] = b"plumbvec";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
/// CIDv1 of a DAG-CBOR block under SHA-256, as every chunk has.
const CID_BYTES: usize = 36;
const CHECKSUM_BYTES: usize = 4;

pub(super) struct SlotFile {
    file: File,
    slot_bytes: usize,
    /// Whether something was written since it was last synced.
    dirty: AtomicBool,
}

/// What a slot holds.
pub(super) type Slot = Option<(Cid, Quantised)>;

impl SlotFile {
    /// Opens the file and reads its slots. One of another model, store or version is emptied.
    pub(super) fn open(path: &Path, model: &ModelId, store: [u8; 16]) -> Result<(SlotFile, Vec<Slot>)> {
        let slot_bytes = CID_BYTES + model.dims() + CHECKSUM_BYTES;
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let expected = header(model, store);
        let mut found = [0; HEADER_BYTES];
        let is_ours = match file.read_exact(&mut found) {
            Ok(()) => found == expected,
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => false,
            Err(error) => return Err(error),
        };
        if !is_ours {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&expected)?;
            file.sync_data()?;
        }
        let slots = read(&file, model, slot_bytes)?;
        // Half a slot at the end is what a stop in the middle of writing leaves.
        file.set_len(place(slots.len(), slot_bytes)?)?;
        Ok((SlotFile { file, slot_bytes, dirty: AtomicBool::new(false) }, slots))
    }

    /// Writes a slot, which may be the one behind the last.
    pub(super) fn write(&mut self, slot: usize, chunk: &Cid, vector: &Quantised) -> Result<()> {
        let mut bytes = chunk.to_bytes();
        if bytes.len() != CID_BYTES {
            return Err(Error::other(format!("`{chunk}` is no name of a chunk")));
        }
        bytes.extend(vector.to_bytes());
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_le_bytes());
        self.write_at(slot, &bytes)
    }

    /// Overwrites a slot.
    pub(super) fn erase(&mut self, slot: usize) -> Result<()> {
        self.write_at(slot, &vec![0; self.slot_bytes])
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        if self.dirty.swap(false, Ordering::AcqRel) { self.file.sync_data() } else { Ok(()) }
    }

    fn write_at(&mut self, slot: usize, bytes: &[u8]) -> Result<()> {
        self.dirty.store(true, Ordering::Release);
        self.file.seek(SeekFrom::Start(place(slot, self.slot_bytes)?))?;
        self.file.write_all(bytes)
    }
}

fn header(model: &ModelId, store: [u8; 16]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..32].copy_from_slice(&store);
    header[32..].copy_from_slice(&model.digest().0);
    header
}

fn place(slot: usize, slot_bytes: usize) -> Result<u64> {
    let place = slot.checked_mul(slot_bytes).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
    place.and_then(|place| u64::try_from(place).ok()).ok_or_else(|| Error::other("the file of vectors is full"))
}

/// The slots from here to the end.
fn read(file: &File, model: &ModelId, slot_bytes: usize) -> Result<Vec<Slot>> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut slots = Vec::new();
    let mut bytes = vec![0; slot_bytes];
    loop {
        match reader.read_exact(&mut bytes) {
            Ok(()) => slots.push(slot(&bytes, model)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(slots),
            Err(error) => return Err(error),
        }
    }
}

fn slot(bytes: &[u8], model: &ModelId) -> Slot {
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (chunk, coords) = content.split_at_checked(CID_BYTES)?;
    Some((Cid::try_from(chunk).ok()?, Quantised::from_bytes(model, coords).ok()?))
}
