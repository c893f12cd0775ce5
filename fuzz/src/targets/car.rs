//! CAR files.

use std::collections::BTreeSet;

use plumb_core::content::RawBlock;
use plumb_core::exchange::{CAR_BLOCKS_MAX, CAR_BYTES_MAX, read_car, write_car};

use super::{Shape, Target};
use crate::laws;
use crate::seeds::bundles;

pub(super) const TARGET: Target = Target { name: "car", run, seeds, input_bytes_max: 4 * 1024, shape: Shape::Bytes };

/// Files of one and of several blocks, the empty block among them.
fn seeds() -> Vec<Vec<u8>> {
    let file = |contents: &[&[u8]]| {
        let blocks: Vec<RawBlock> = contents.iter().map(|bytes| RawBlock::raw(bytes.to_vec())).collect();
        write_car(blocks[0].cid, &blocks.iter().map(|block| (block.cid, block.bytes.clone())).collect())
    };
    let mut files = vec![file(&[b""]), file(&[b"evidence"]), file(&[b"a", b"", &[7; 200]])];
    files.extend(bundles().iter().map(|bundle| bundle.to_car()).filter(|car| car.len() < 4 * 1024));
    files
}

fn run(bytes: &[u8]) {
    let (root, blocks) = match read_car(bytes) {
        Ok(read) => read,
        Err(error) => return laws::short(&error),
    };
    assert!(bytes.len() <= CAR_BYTES_MAX && blocks.len() <= CAR_BLOCKS_MAX);
    for (cid, block) in &blocks {
        assert!(RawBlock::checked(*cid, block.clone()).is_ok(), "a block is not what its name says");
    }
    let again = write_car(root, &blocks);
    assert_eq!(read_car(&again).as_ref(), Ok(&(root, blocks)), "what is written reads otherwise");
    // Order and repetition are free; the sections themselves have one form only.
    assert_eq!(sections(&again), sections(bytes), "a section has two forms");
}

/// The header and the sections, each once: told apart by their lengths alone, and not by the code under test.
fn sections(car: &[u8]) -> BTreeSet<&[u8]> {
    let mut sections = BTreeSet::new();
    let mut rest = car;
    while !rest.is_empty() {
        let (mut length, mut n_bytes) = (0usize, 0);
        while let Some(byte) = rest.get(n_bytes) {
            length |= usize::from(byte & 0x7f) << (7 * n_bytes);
            n_bytes += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (section, behind) = rest.split_at(n_bytes + length);
        sections.insert(section);
        rest = behind;
    }
    sections
}
