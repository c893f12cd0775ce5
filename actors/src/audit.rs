//! The audit: every access decision is written here; every change writes its own event with it. It also shows the
//! public log, with what proves it.

mod log_messages;
mod messages;
mod public_log;

use std::sync::Arc;

use actix::prelude::*;
use plumb_storage::{AuditEvent, Change, Records, StorageError};

use crate::error::NodeError;
use crate::premises::{Premises, blocking};

pub use log_messages::*;
pub use messages::*;

/// Events read at a time while one is looked for.
const PAGE: u64 = 512;

/// Writes down.
pub struct Audit {
    premises: Arc<Premises>,
}
crate::resident!(Audit, "audit");

impl Audit {
    pub(crate) fn new(premises: Arc<Premises>) -> Audit {
        Audit { premises }
    }
}

impl Handler<RecordAccess> for Audit {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, access: RecordAccess, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let event = premises.event(&access.actor, &access.action, &access.subject, &access.outcome, &access.detail);
            premises.store.commit(Change::new(event))?;
            Ok(())
        }))
    }
}

impl Handler<ListEvents> for Audit {
    type Result = ResponseFuture<Result<Vec<AuditEventView>, NodeError>>;

    fn handle(&mut self, ask: ListEvents, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let mut end = ask.before.unwrap_or(u64::MAX).min(premises.store.audit_head().size);
            let mut found = Vec::new();
            while end > 0 && found.len() < ask.limit {
                let from = end.saturating_sub(PAGE);
                let page = premises.store.audit_events(from, usize::try_from(end - from).unwrap_or(usize::MAX))?;
                let wanted = |e: &AuditEvent| ask.action.as_ref().is_none_or(|a| e.action.starts_with(a.as_str()));
                found.extend(page.into_iter().rev().filter(|(_, e)| wanted(e)).map(|(index, e)| view(index, e)));
                end = from;
            }
            found.truncate(ask.limit);
            Ok(found)
        }))
    }
}

fn view(index: u64, event: AuditEvent) -> AuditEventView {
    AuditEventView {
        index,
        at: event.at.to_string(),
        actor: event.actor,
        action: event.action,
        subject: event.subject,
        outcome: event.outcome,
        detail: event.detail,
    }
}

impl Handler<VerifyAudit> for Audit {
    type Result = ResponseFuture<Result<AuditVerdictView, NodeError>>;

    fn handle(&mut self, _: VerifyAudit, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let kept = premises.store.audit_head();
            let (head, problem) = match premises.store.audit_verify() {
                Ok(head) => (head, None),
                Err(error @ (StorageError::AuditBroken { .. } | StorageError::AuditHead(_))) => {
                    (kept, Some(error.to_string()))
                }
                Err(error) => return Err(error.into()),
            };
            Ok(AuditVerdictView {
                intact: problem.is_none(),
                size: head.size,
                root: head.root.iter().map(|b| format!("{b:02x}")).collect(),
                problem,
            })
        }))
    }
}
