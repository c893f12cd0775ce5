//! The organisations that are trusted, as an operator sees and changes them.

use actix::prelude::*;
use plumb_core::identity::{OrgId, Signed};
use plumb_core::trust::{Incoming, Outgoing, Pin, Roots};

use super::live::Turn;
use super::{DistrustOrganisation, Federation, ListTrusted, RemovedView, RevokedView, TrustOrganisation, TrustedView};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

/// Heaviest evidence.
const WEIGHT_MAX: u8 = 100;

impl Handler<TrustOrganisation> for Federation {
    type Result = ResponseFuture<Result<TrustedView, NodeError>>;

    fn handle(&mut self, ask: TrustOrganisation, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        Box::pin(async move {
            let view = blocking(move || {
                let pin = decided(&premises, &ask)?;
                premises.set_trust(&ask.by, ask.org, Some(pin))?;
                let roots = premises.roots();
                let pin = roots.all().find(|(org, _)| **org == ask.org).map(|(_, pin)| pin.clone());
                let pin = pin.ok_or_else(|| NodeError::NotFound(ask.org.to_string()))?;
                Ok(view(&roots, &ask.org, &pin, &premises.org()))
            })
            .await?;
            let _ = me.send(Turn::RootsChanged).await;
            let _ = me.send(Turn::LookAgain).await;
            Ok(view)
        })
    }
}

/// What was decided before, with what is decided now.
fn decided(premises: &Premises, ask: &TrustOrganisation) -> Result<Pin, NodeError> {
    let before = premises.roots().all().find(|(org, _)| **org == ask.org).map(|(_, pin)| pin.clone());
    let unnamed = || NodeError::NotFound(format!("a name for {}; `plumb trust add` takes one", ask.org));
    let name = ask.name.clone().or_else(|| before.as_ref().map(|pin| pin.name.clone())).ok_or_else(unnamed)?;
    let before = before.unwrap_or_else(|| Pin::full(&name));
    let weight = ask.weight.unwrap_or(before.weight);
    if weight > WEIGHT_MAX {
        return Err(NodeError::Invalid(format!("evidence weighs 0 to {WEIGHT_MAX}, not {weight}")));
    }
    let (incoming, outgoing) = (ask.incoming.unwrap_or(before.incoming), ask.outgoing.unwrap_or(before.outgoing));
    Ok(Pin { name, incoming, outgoing, weight })
}

impl Handler<DistrustOrganisation> for Federation {
    type Result = ResponseFuture<Result<RemovedView, NodeError>>;

    fn handle(&mut self, ask: DistrustOrganisation, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        Box::pin(async move {
            let view = blocking(move || distrust(&premises, &ask)).await?;
            let _ = me.send(Turn::RootsChanged).await;
            Ok(view)
        })
    }
}

fn distrust(premises: &Premises, ask: &DistrustOrganisation) -> Result<RemovedView, NodeError> {
    let mut holders = 0;
    for holder in kept::all_holders(&premises.store)? {
        holders += u64::from(premises.certificate_of(&holder)?.is_some_and(|c| c.value().org == ask.org));
    }
    let pin = premises.roots().all().find(|(org, _)| **org == ask.org).map(|(_, pin)| pin.clone());
    match pin {
        Some(pin) if holders > 0 && !ask.forget => {
            // Its notices are let in still: what it gave may be held here, too.
            let excluded = Pin { incoming: Incoming::Notices.min(pin.incoming), outgoing: Outgoing::None, ..pin };
            premises.set_trust(&ask.by, ask.org, Some(excluded))?;
            Ok(RemovedView { done: true, excluded: true, holders })
        }
        _ => {
            premises.set_trust(&ask.by, ask.org, None)?;
            Ok(RemovedView { done: true, excluded: false, holders })
        }
    }
}

impl Handler<ListTrusted> for Federation {
    type Result = Result<Vec<TrustedView>, NodeError>;

    fn handle(&mut self, _: ListTrusted, _: &mut Context<Self>) -> Self::Result {
        let (own, roots) = (self.premises.org(), self.premises.roots());
        let mut views: Vec<TrustedView> = roots.all().map(|(org, pin)| view(&roots, org, pin, &own)).collect();
        views.sort_by_key(|v| !v.own);
        Ok(views)
    }
}

fn view(roots: &Roots, org: &OrgId, pin: &Pin, own: &OrgId) -> TrustedView {
    let line = roots.line(org);
    let revoked = roots.history.revocations().filter(|r| r.statement.value().org == *org).map(|r| {
        let value = Signed::value(&r.statement);
        RevokedView {
            node: value.node.to_string(),
            certificate: value.certificate.map(|cid| cid.to_string()),
            reason: value.reason.to_string(),
            note: value.note.clone(),
            stands: r.stands_before,
        }
    });
    TrustedView {
        org: org.to_string(),
        name: pin.name.clone(),
        own: org == own,
        incoming: pin.incoming.as_str().to_string(),
        outgoing: pin.outgoing.as_str().to_string(),
        weight: pin.weight,
        revoked: revoked.collect(),
        roots: line.keys.iter().map(ToString::to_string).collect(),
        rivals: line.rivals.iter().map(ToString::to_string).collect(),
    }
}
