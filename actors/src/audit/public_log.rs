//! The public log as others read it: tiles, entries, proofs; and how it stands.

use actix::prelude::*;
use multibase::Base;
use plumb_core::identity::NodeId;
use plumb_core::log::{
    Hash, TilePath, VerifierKey, bundle_of, consistency_proof_from, inclusion_proof_from, root_from, witness_name,
};
use plumb_core::measure::Timestamp;
use plumb_federation::wire::log::{Fork, public_origin};

use super::{
    Audit, ConsistencyView, EntryName, ExportFork, ForkView, HeldLogView, InclusionView, ListForks, LogStatusView,
    OwnLogView, ProveConsistency, ProveInclusion, ReadEntry, ReadTile, ShowLog, WitnessView,
};
use crate::error::NodeError;
use crate::kept::{self, LogHead, Tree};
use crate::premises::{Premises, blocking};

fn base64(hash: &Hash) -> String {
    Base::Base64Pad.encode(hash)
}

fn all(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(base64).collect()
}

fn own_head(premises: &Premises) -> Result<LogHead, NodeError> {
    let own = premises.node();
    let head = kept::log_head(&premises.store, &own, &own)?;
    head.ok_or_else(|| NodeError::NotFound("checkpoint of an empty log".to_string()))
}

fn own_tree(premises: &Premises) -> Tree<'_> {
    let own = premises.node();
    Tree::of(&premises.store, &own, &own)
}

impl Handler<ReadTile> for Audit {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: ReadTile, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let absent = || NodeError::NotFound(format!("tile/{}", ask.path));
            let size = own_head(&premises)?.state.range.size();
            let first = ask.path.first().filter(|_| ask.path.is_within(size)).ok_or_else(absent)?;
            match ask.path.level {
                Some(level) => tile(&premises, level, &ask.path),
                None => bundle(&premises, first, &ask.path),
            }
        }))
    }
}

fn tile(premises: &Premises, level: u8, path: &TilePath) -> Result<Vec<u8>, NodeError> {
    let mut tree = own_tree(premises);
    let hashes = tree.tile(level, path.index)?;
    // A width is at most 256.
    let wanted = hashes.get(..path.width.hashes() as usize);
    let damaged = || NodeError::Damaged(format!("tile/{path} has only {} hashes", hashes.len()));
    Ok(wanted.ok_or_else(damaged)?.concat())
}

fn bundle(premises: &Premises, first: u64, path: &TilePath) -> Result<Vec<u8>, NodeError> {
    let own = premises.node();
    let entries = kept::entries(&premises.store, &own, &own, first, path.width.hashes() as usize)?;
    if entries.len() as u64 != path.width.hashes() {
        return Err(NodeError::Damaged(format!("tile/{path} has only {} entries", entries.len())));
    }
    bundle_of(entries.iter().map(Vec::as_slice))
        .map_err(|e| NodeError::TooLarge(format!("{e}: GET /v1/log/entry/N, where this bundle begins at N = {first}")))
}

impl Handler<ReadEntry> for Audit {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: ReadEntry, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let own = premises.node();
            let entry = kept::entry(&premises.store, &own, &own, ask.index)?;
            entry.ok_or_else(|| NodeError::NotFound(format!("entry {}", ask.index)))
        }))
    }
}

impl Handler<ProveInclusion> for Audit {
    type Result = ResponseFuture<Result<InclusionView, NodeError>>;

    fn handle(&mut self, ask: ProveInclusion, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let whole = own_head(&premises)?.state.range.size();
            let size = within(ask.size, whole)?;
            let index = match ask.entry {
                EntryName::Index(index) => index,
                EntryName::Leaf(leaf) => {
                    let index = kept::index_of(&premises.store, &leaf)?;
                    index.ok_or_else(|| NodeError::NotFound(format!("leaf {}", base64(&leaf))))?
                }
            };
            let mut tree = own_tree(&premises);
            let mut node = |level, index| tree.node(level, index);
            let proof = inclusion_proof_from(size, index, &mut node)?;
            let root = root_from(size, &mut node)?;
            let leaf = node(0, index)?;
            Ok(InclusionView { index, leaf: base64(&leaf), size, root: base64(&root), proof: all(&proof) })
        }))
    }
}

impl Handler<ProveConsistency> for Audit {
    type Result = ResponseFuture<Result<ConsistencyView, NodeError>>;

    fn handle(&mut self, ask: ProveConsistency, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let to = within(ask.to, own_head(&premises)?.state.range.size())?;
            let mut tree = own_tree(&premises);
            let mut node = |level, index| tree.node(level, index);
            let proof = consistency_proof_from(to, ask.from, &mut node)?;
            let from_root = base64(&root_from(ask.from, &mut node)?);
            let to_root = base64(&root_from(to, &mut node)?);
            Ok(ConsistencyView { from: ask.from, from_root, to, to_root, proof: all(&proof) })
        }))
    }
}

/// The size that is asked for, which is one that the log has or had.
fn within(size: Option<u64>, whole: u64) -> Result<u64, NodeError> {
    match size {
        None => Ok(whole),
        Some(size) if size <= whole => Ok(size),
        Some(size) => Err(NodeError::Invalid(format!("the log has {whole} entries, not {size}"))),
    }
}

impl Handler<ShowLog> for Audit {
    type Result = ResponseFuture<Result<LogStatusView, NodeError>>;

    fn handle(&mut self, _: ShowLog, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || Ok(LogStatusView { own: own_log(&premises)?, others: held_logs(&premises)? })))
    }
}

fn own_log(premises: &Premises) -> Result<OwnLogView, NodeError> {
    let own = premises.node();
    let origin = public_origin(&own)?;
    let range = kept::log_head(&premises.store, &own, &own)?.map(|h| h.state.range).unwrap_or_default();
    let stopped = kept::stopped(&premises.store, &own)?;
    let witness = |cosigned: kept::Cosigned| -> Result<WitnessView, NodeError> {
        let at_s = i64::try_from(cosigned.cosignature.at_s()).unwrap_or(i64::MAX / 1000);
        Ok(WitnessView {
            node: cosigned.witness.to_string(),
            vkey: VerifierKey::of_witness(&witness_name(&cosigned.witness)?, &cosigned.witness).to_string(),
            size: cosigned.size,
            at: Timestamp(at_s.saturating_mul(1000)).to_string(),
        })
    };
    Ok(OwnLogView {
        vkey: VerifierKey::of_log(&origin, &own).to_string(),
        origin: origin.to_string(),
        size: range.size(),
        root: base64(&range.root()),
        stopped: stopped.as_ref().map(|s| s.text()),
        stopped_since: stopped.map(|s| s.since.to_string()),
        witnesses: kept::cosigned(&premises.store)?.into_iter().map(witness).collect::<Result<_, _>>()?,
    })
}

fn held_logs(premises: &Premises) -> Result<Vec<HeldLogView>, NodeError> {
    let own = premises.node();
    let mut views = Vec::new();
    for head in kept::log_heads(&premises.store, &own)? {
        let publisher = head.state.publisher;
        if publisher == own {
            continue;
        }
        views.push(HeldLogView {
            publisher: publisher.to_string(),
            organisation: head.state.certificate.value().org_name.clone(),
            size: head.state.range.size(),
            as_of: head.confirmed().map(|as_of| as_of.to_string()),
            cosigned: kept::witnessed(&premises.store, &publisher)?.map_or(0, |c| c.checkpoint().size),
            quarantined: kept::is_forked(&premises.store, &publisher)?,
        });
    }
    Ok(views)
}

impl Handler<ListForks> for Audit {
    type Result = ResponseFuture<Result<Vec<ForkView>, NodeError>>;

    fn handle(&mut self, _: ListForks, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let open = kept::forks(&premises.store)?.into_iter().map(|fork| (fork, false));
            let decided = kept::decided_forks(&premises.store)?.into_iter().map(|fork| (fork, true));
            open.chain(decided).map(|(fork, decided)| view(&premises, &fork, decided)).collect()
        }))
    }
}

fn view(premises: &Premises, fork: &Fork, decided: bool) -> Result<ForkView, NodeError> {
    let head = kept::log_head(&premises.store, &premises.node(), &fork.publisher)?;
    Ok(ForkView {
        publisher: fork.publisher.to_string(),
        organisation: head.map(|h| h.state.certificate.value().org_name.clone()),
        size: fork.size,
        a: fork.a.checkpoint.as_str().to_string(),
        b: fork.b.checkpoint.as_str().to_string(),
        decided,
    })
}

impl Handler<ExportFork> for Audit {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: ExportFork, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || Ok(export(&premises, &ask.publisher)?.encode())))
    }
}

/// The proof for which a publisher is in quarantine; or else the last on which the operator has decided.
fn export(premises: &Premises, publisher: &NodeId) -> Result<Fork, NodeError> {
    let decided = || -> Result<Option<Fork>, NodeError> {
        Ok(kept::decided_forks(&premises.store)?.into_iter().rfind(|fork| fork.publisher == *publisher))
    };
    let fork = match kept::fork(&premises.store, publisher)? {
        Some(fork) => Some(fork),
        None => decided()?,
    };
    fork.ok_or_else(|| NodeError::NotFound(publisher.to_string()))
}
