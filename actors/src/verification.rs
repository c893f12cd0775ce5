//! Verifying: publishes notices, applies those that arrive, and keeps the ledger of who is owed what.
//!
//! A notice changes exactly what depends on what it names, in one transaction with its audit events; applying it
//! twice changes nothing more.

mod apply;
mod authority;
mod closure;
mod events;
mod messages;
mod publish;
mod sealed;
mod statements;
mod views;
mod world;

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::content::RawBlock;
use plumb_core::identity::Signed;
use plumb_core::notice::{Acknowledgement, AcknowledgementTag};
use plumb_storage::{Change, Records};

use crate::door::Door;
use crate::error::NodeError;
use crate::federation::{Federation, ListPeers, LogGrew, LookAgain, RootsMoved};
use crate::kept::{self, KeptNotice, Obligation};
use crate::premises::{Premises, blocking};

pub(crate) use closure::claims_of;
pub use events::*;
pub use messages::*;
pub use plumb_sources::world::FILE_BYTES_MAX as WATCH_FILE_BYTES_MAX;
pub(crate) use publish::texts_of;
pub(crate) use sealed::{owe_newcomer, take_down, take_sealed, unseal, unseal_after, unseal_left};
pub(crate) use statements::settle_own;
pub use statements::{Statement, Taken};
pub(crate) use world::rematch;
pub use world::{MatchView, WatchView, WatchWorld};

/// Verifies.
pub struct Verification {
    premises: Arc<Premises>,
    federation: Door<Federation>,
}
crate::resident!(Verification, "verification");

impl Verification {
    pub(crate) fn new(premises: Arc<Premises>, federation: Door<Federation>) -> Verification {
        Verification { premises, federation }
    }
}

impl Handler<PublishNotice> for Verification {
    type Result = ResponseFuture<Result<NoticeView, NodeError>>;

    fn handle(&mut self, ask: PublishNotice, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let cid = {
                let premises = premises.clone();
                blocking(move || publish::publish(&premises, &ask)).await?
            };
            federation.ask(LogGrew, crate::DEADLINE).await?;
            // Whoever speaks for the node sees what was said, whatever its label.
            blocking(move || views::whole(&premises, &cid)).await
        })
    }
}

impl Handler<DraftNotice> for Verification {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: DraftNotice, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let notice = publish::draft_for_root(&premises, &ask.notice)?;
            Ok(RawBlock::encode(&notice)?.bytes)
        }))
    }
}

impl Handler<PublishSigned> for Verification {
    type Result = ResponseFuture<Result<NoticeView, NodeError>>;

    fn handle(&mut self, ask: PublishSigned, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let cid = {
                let premises = premises.clone();
                blocking(move || publish::publish_signed(&premises, &ask.caller, &ask.notice)).await?
            };
            federation.ask(LogGrew, crate::DEADLINE).await?;
            blocking(move || views::whole(&premises, &cid)).await
        })
    }
}

impl Handler<TakeUp> for Verification {
    type Result = ResponseFuture<Result<Taken, NodeError>>;

    fn handle(&mut self, ask: TakeUp, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let TakeUp { by, statement, place, admitted, is_ours } = ask;
            let taken =
                blocking(move || statements::take_up(&premises, &statement, &by, place, &admitted, is_ours)).await?;
            if taken.is_news {
                federation.ask(RootsMoved, crate::DEADLINE).await?;
            }
            if taken.is_published {
                federation.ask(LogGrew, crate::DEADLINE).await?;
            }
            Ok(taken)
        })
    }
}

impl Handler<SettleRoots> for Verification {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: SettleRoots, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            blocking(move || statements::decide(&premises, &ask.by, &ask.new)).await?;
            federation.ask(RootsMoved, crate::DEADLINE).await?;
            federation.ask(LookAgain, crate::DEADLINE).await
        })
    }
}

impl Handler<ApplyNotice> for Verification {
    type Result = ResponseFuture<Result<Signed<Acknowledgement>, NodeError>>;

    fn handle(&mut self, ask: ApplyNotice, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let (acknowledgement, passes_on) = blocking(move || {
                let ApplyNotice { notice, certificate, place, is_open } = &ask;
                let is_news = kept::notice(&premises.store, &notice.cid())?.is_none();
                let kept = apply::apply_arrived(&premises, notice, certificate.as_deref(), *place, *is_open)?;
                let passes_on = is_news && !kept::obligations(&premises.store, &notice.cid())?.is_empty();
                Ok((acknowledge(&premises, &ask.notice.cid(), &kept)?, passes_on))
            })
            .await?;
            // Whoever passed evidence on owes the notice to its own importers.
            if passes_on {
                federation.ask(LogGrew, crate::DEADLINE).await?;
            }
            Ok(acknowledgement)
        })
    }
}

fn acknowledge(
    premises: &Premises,
    notice: &cid::Cid,
    kept: &KeptNotice,
) -> Result<Signed<Acknowledgement>, NodeError> {
    let acknowledgement = Acknowledgement {
        tag: AcknowledgementTag,
        notice: *notice,
        by: premises.node(),
        n_units: kept.n_units,
        n_answers: kept.n_answers,
        at: kept.applied_at,
    };
    Ok(Signed::seal(acknowledgement, &premises.key)?)
}

impl Handler<NoteReceipt> for Verification {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: NoteReceipt, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let owes = blocking(move || note_receipt(&premises, &ask)).await?;
            if owes { federation.ask(LogGrew, crate::DEADLINE).await } else { Ok(()) }
        })
    }
}

/// Keeps a receipt for what is known here. A notice that already stands against it is owed at once. Returns whether one
/// is.
fn note_receipt(premises: &Premises, ask: &NoteReceipt) -> Result<bool, NodeError> {
    let receipt = ask.receipt.value();
    if *ask.receipt.signer() != receipt.importer || receipt.from != premises.node() {
        return Err(NodeError::Denied(
            "a receipt is signed by its importer and made out to whoever gave the evidence".into(),
        ));
    }
    if receipt.importer != ask.by {
        return Err(NodeError::Denied("an importer hands over its receipts itself".into()));
    }
    if receipt.sources.is_empty() || receipt.sources.len() > plumb_core::notice::RECEIPT_SOURCES_MAX {
        return Err(NodeError::Invalid("a receipt names some sources, and not too many".into()));
    }
    // A notice that is applied beside this would find no holder yet, and be missed here.
    let _guard = premises.ingest_lock();
    let mut known = Vec::new();
    for source in &receipt.sources {
        // Nothing is owed on what this node never had.
        if kept::is_held(&premises.store, source)? && !kept::holds(&premises.store, source, &receipt.importer)? {
            known.push(*source);
        }
    }
    if known.is_empty() {
        return Ok(false);
    }
    let mut change = Change::new(premises.event(
        &receipt.importer.to_string(),
        "receipt.note",
        receipt.bundle,
        "ok",
        format!("holds {} sources", known.len()),
    ));
    kept::put_receipt(&mut change, &ask.receipt, &known);
    let mut owes = false;
    for source in &known {
        for standing in kept::standing_on(&premises.store, source)?.into_iter().filter(|s| !s.is_local) {
            if kept::obligation(&premises.store, &standing.notice, &receipt.importer)?.is_none() {
                let obligation = Obligation::opened(premises.now());
                kept::put_obligation(&mut change, &standing.notice, &receipt.importer, &obligation);
                owes = true;
            }
        }
    }
    premises.store.commit(change)?;
    Ok(owes)
}

impl Handler<NoteAcknowledgement> for Verification {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: NoteAcknowledgement, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let value = ask.acknowledgement.value();
            if *ask.acknowledgement.signer() != value.by {
                return Err(NodeError::Denied("an acknowledgement is signed by the holder that it names".into()));
            }
            let Some(obligation) = kept::obligation(&premises.store, &value.notice, &value.by)? else {
                return Err(NodeError::NotFound(value.notice.to_string()));
            };
            if obligation.acknowledgement.is_some() {
                return Ok(());
            }
            let detail = format!("{} units, {} answers", value.n_units, value.n_answers);
            let event = premises.event(&value.by.to_string(), "notice.acknowledge", value.notice, "ok", detail);
            let mut change = Change::new(event);
            let closed = Obligation {
                acknowledgement: Some(serde_bytes::ByteBuf::from(ask.acknowledgement.to_bytes())),
                ..obligation
            };
            kept::put_obligation(&mut change, &value.notice, &value.by, &closed);
            premises.store.commit(change)?;
            Ok(())
        }))
    }
}

impl Handler<ListNotices> for Verification {
    type Result = ResponseFuture<Result<Vec<NoticeView>, NodeError>>;

    fn handle(&mut self, ask: ListNotices, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || views::list(&premises, &ask)))
    }
}

impl Handler<ShowNotice> for Verification {
    type Result = ResponseFuture<Result<NoticeView, NodeError>>;

    fn handle(&mut self, ask: ShowNotice, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            // Without a network nobody can be told from whoever is away.
            let peers = federation.ask(ListPeers, crate::DEADLINE).await.ok();
            blocking(move || views::view(&premises, &ask.caller, &ask.notice, peers.as_ref())).await
        })
    }
}

impl Handler<ListEvents> for Verification {
    type Result = ResponseFuture<Result<EventsView, NodeError>>;

    fn handle(&mut self, ask: ListEvents, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || events::list(&premises, &ask)))
    }
}

impl Handler<WatchWorld> for Verification {
    type Result = ResponseFuture<Result<WatchView, NodeError>>;

    fn handle(&mut self, ask: WatchWorld, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || world::watch(&premises, &ask)))
    }
}

impl Handler<ExportNotice> for Verification {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: ExportNotice, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let kept = kept::notice(&premises.store, &ask.notice)?;
            kept.map(|kept| kept.signed).ok_or_else(|| NodeError::NotFound(ask.notice.to_string()))
        }))
    }
}
