//! Gravity: plans what independent corroboration would let rise. The plan is made on a schedule and on demand, and kept
//! for whoever asks; executing it comes with the boundary engine that must guard it.

mod messages;

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::content::{Chunk, Fingerprint};
use plumb_core::gravity::{Body, Held, Step, plan};
use plumb_storage::{Blocks, all_units};

use crate::error::NodeError;
use crate::premises::{Premises, blocking};

pub use messages::*;

/// GRAVITY_INTERVAL_MS of the design (GRV-13): six hours.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(21_600_000);

/// Lets knowledge rise.
pub struct Gravity {
    premises: Arc<Premises>,
    last: Option<GravityView>,
}
crate::living!(Gravity, "gravity");

impl Gravity {
    pub(crate) fn new(premises: Arc<Premises>) -> Gravity {
        Gravity { premises, last: None }
    }
}

impl Actor for Gravity {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(INTERVAL, |_, ctx| ctx.notify(Planned(None)));
    }
}

/// A plan was made, or is due.
#[derive(Message)]
#[rtype(result = "()")]
struct Planned(Option<GravityView>);

impl Handler<Planned> for Gravity {
    type Result = ();

    fn handle(&mut self, planned: Planned, ctx: &mut Context<Self>) {
        if let Some(view) = planned.0 {
            self.last = Some(view);
            return;
        }
        let (premises, me) = (self.premises.clone(), ctx.address());
        actix::spawn(async move {
            match blocking(move || make(&premises)).await {
                Ok(view) => me.do_send(Planned(Some(view))),
                Err(error) => tracing::error!(%error, "gravity could not plan"),
            }
        });
    }
}

impl Handler<PlanPromotions> for Gravity {
    type Result = ResponseFuture<Result<GravityView, NodeError>>;

    fn handle(&mut self, ask: PlanPromotions, _: &mut Context<Self>) -> Self::Result {
        if let (false, Some(view)) = (ask.fresh, self.last.clone()) {
            return Box::pin(async move { Ok(view) });
        }
        let premises = self.premises.clone();
        Box::pin(blocking(move || make(&premises)))
    }
}

fn make(premises: &Premises) -> Result<GravityView, NodeError> {
    let mut bodies = Vec::new();
    for unit in all_units(&premises.store) {
        let unit = unit?;
        if !unit.is_active() || unit.origin.publisher != premises.node() {
            continue;
        }
        let Some(block) = premises.store.block(&unit.chunk)? else { continue };
        let chunk: Chunk = block.decode()?;
        bodies.push(Body {
            chunk: unit.chunk,
            source: unit.source,
            says: Fingerprint::of(&chunk.text),
            kind: unit.kind,
            level: unit.scope.level,
            sensitivity: unit.sensitivity,
            creator: unit.origin.creator,
        });
    }
    let steps = plan(&bodies).iter().map(view).collect();
    Ok(GravityView { planned_at: premises.now().to_string(), units: bodies.len() as u64, steps })
}

fn view(step: &Step) -> StepView {
    StepView {
        chunk: step.chunk.to_string(),
        from: step.from.to_string(),
        corroborations: step.corroborations,
        score: step.score.get(),
        held: step.held.map(|held| {
            match held {
                Held::Sensitive => "only public and internal knowledge rises",
                Held::Corroborations => "too few independent corroborations",
                Held::Score => "the score is too low",
            }
            .to_string()
        }),
    }
}
