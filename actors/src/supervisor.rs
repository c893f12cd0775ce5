//! Looking after the others: restarts actors that fail, examines the node, rebuilds its index, keeps its tokens.

mod examine;
mod messages;
mod tokens;

use std::sync::Arc;

use actix::prelude::*;
use plumb_storage::{Change, Records};

use crate::door::Late;
use crate::error::NodeError;
use crate::kept;
use crate::node::Node;
use crate::premises::{Premises, blocking};

pub use messages::*;

/// How often the actors are looked at.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(200);

/// Looks after the others.
pub struct Supervisor {
    premises: Arc<Premises>,
    /// Set once the whole node stands.
    node: Late<Node>,
}
crate::living!(Supervisor, "supervisor");

impl Supervisor {
    pub(crate) fn new(premises: Arc<Premises>, node: Late<Node>) -> Supervisor {
        Supervisor { premises, node }
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(LOOK_EVERY, |supervisor, _| {
            if let Some(node) = supervisor.node.get() {
                node.revive();
            }
        });
    }
}

impl Handler<ShowHealth> for Supervisor {
    type Result = Result<HealthView, NodeError>;

    fn handle(&mut self, _: ShowHealth, _: &mut Context<Self>) -> Self::Result {
        let actors = self.node.get().map(|n| n.actors()).unwrap_or_default();
        let publishing_stopped = kept::stopped(&self.premises.store, &self.premises.node())?.map(|s| s.text());
        Ok(HealthView { ready: !actors.is_empty() && actors.iter().all(|a| a.alive), publishing_stopped, actors })
    }
}

impl Handler<Examine> for Supervisor {
    type Result = ResponseFuture<Result<DoctorView, NodeError>>;

    fn handle(&mut self, _: Examine, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || examine::examine(&premises)))
    }
}

impl Handler<Compact> for Supervisor {
    type Result = ResponseFuture<Result<CompactView, NodeError>>;

    fn handle(&mut self, ask: Compact, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let (before, after) = premises.store.compact()?;
            let what = format!("{before} bytes became {after}");
            premises.store.commit(Change::new(premises.event(&ask.by, "store.compact", "store", "ok", what)))?;
            Ok(CompactView { before, after })
        }))
    }
}

impl Handler<Rebuild> for Supervisor {
    type Result = ResponseFuture<Result<RebuildView, NodeError>>;

    fn handle(&mut self, ask: Rebuild, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let event = premises.event(&ask.by, "index.rebuild", "index", "ok", "");
            premises.store.commit(Change::new(event))?;
            premises.index.rebuild()?;
            premises.reread_entities()?;
            Ok(RebuildView { indexed: premises.index.counters().n_docs.iter().sum() })
        }))
    }
}
