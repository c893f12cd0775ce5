//! What a bundle file should hold, and what it lacks: a bundle may travel without its evidence, which is then fetched by
//! name from whoever has it. It is whole when every block that its manifest names is there, and each has its hash.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use super::bundle::{Bundle, Seal, block_of};
use super::car::{CAR_BLOCKS_MAX, CAR_BYTES_MAX, read_car, write_car};
use super::verify::BundleError;
use crate::content::RawBlock;
use crate::identity::{NodeId, OrgId, Signed};

/// A bundle file on its way to being whole. The signature over the manifest holds; nothing else is checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The bundle.
    pub bundle: Cid,
    /// Who issued it.
    pub issuer: NodeId,
    /// The organisation that it names.
    pub org: OrgId,
    root: Cid,
    evidence: BTreeSet<Cid>,
    blocks: BTreeMap<Cid, Vec<u8>>,
    bytes: usize,
}

impl Manifest {
    /// Reads a bundle file, whole or not. What is never left out must be there: seal, bundle, certificate, answer.
    pub fn read(car: &[u8]) -> Result<Manifest, BundleError> {
        let (root, blocks) = read_car(car)?;
        let seal: Seal = block_of(&blocks, &root)?.decode()?;
        let signed = Signed::<Bundle>::assemble(block_of(&blocks, &seal.bundle)?, seal.signer, seal.signature)?;
        let bundle = signed.value();
        if bundle.issuer != seal.signer {
            return Err(BundleError::Issuer { issuer: bundle.issuer, signer: seal.signer });
        }
        block_of(&blocks, &bundle.certificate)?;
        block_of(&blocks, &bundle.answer)?;
        let evidence = bundle.evidence.iter().flat_map(|c| [c.chunk, c.source]).collect();
        let bytes = blocks.values().map(Vec::len).sum();
        Ok(Manifest { bundle: seal.bundle, issuer: bundle.issuer, org: bundle.org, root, evidence, blocks, bytes })
    }

    /// Blocks of evidence that it names.
    pub fn n_named(&self) -> usize {
        self.evidence.len()
    }

    /// Blocks of evidence that are not there.
    pub fn missing(&self) -> BTreeSet<Cid> {
        self.evidence.iter().filter(|cid| !self.blocks.contains_key(cid)).copied().collect()
    }

    /// Adds a block, if the manifest names it, its bytes have that hash, and the file does not grow beyond any that is
    /// read. Says whether it did.
    pub fn add(&mut self, block: RawBlock) -> bool {
        let has_room = self.blocks.len() < CAR_BLOCKS_MAX && self.bytes + block.bytes.len() <= CAR_BYTES_MAX / 2;
        let is_named = self.evidence.contains(&block.cid) && !self.blocks.contains_key(&block.cid);
        if !is_named || !has_room {
            return false;
        }
        let Ok(checked) = RawBlock::checked(block.cid, block.bytes) else { return false };
        self.bytes += checked.bytes.len();
        self.blocks.insert(checked.cid, checked.bytes);
        true
    }

    /// The file as far as it is there.
    pub fn to_car(&self) -> Vec<u8> {
        write_car(self.root, &self.blocks)
    }

    /// The file without its evidence: small, and useless until the evidence is fetched.
    pub fn to_thin_car(&self) -> Vec<u8> {
        let kept = self.blocks.iter().filter(|(cid, _)| !self.evidence.contains(cid));
        write_car(self.root, &kept.map(|(cid, bytes)| (*cid, bytes.clone())).collect())
    }
}
