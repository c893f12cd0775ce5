//! What became of what a search showed, and what is learned from it (LRN-01 to LRN-05).
//!
//! Nothing is learned until somebody says something. What was learned counts for a reader only as far as they may read
//! everything that it was learned from, and every factor of it stands in `--explain`.

use std::collections::BTreeSet;

use actix::prelude::*;
use cid::Cid;
use plumb_core::boundary::{Sensitivity, readable};
use plumb_core::content::parse_cid;
use plumb_core::retrieval::QUERY_BYTES_MAX;
use plumb_core::retrieval::assembly::{FeedbackEvent, Help, Model, Shown, SourceKind, ceiling};
use plumb_storage::{Change, Records, unit};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::Retrieval;
use super::asked::Asked;
use super::rating::is_document;
use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

/// Says what became of what a question was answered with.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<FeedbackView, NodeError>")]
pub struct GiveFeedback {
    /// Who says so.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// CIDs of chunks, each with what became of it.
    pub shown: Vec<(String, Help)>,
}

/// Shows what was learned, as far as it counts for the caller.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<LearnedView, NodeError>")]
pub struct ShowLearned {
    /// Who asks.
    pub caller: Caller,
}

/// Forgets all feedback, and what was learned from it.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<u64, NodeError>")]
pub struct ForgetFeedback {
    /// Who: an operator.
    pub by: String,
}

/// Feedback as it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackView {
    /// What the question was after.
    pub intent: String,
    /// What it speaks of.
    pub units: Vec<ShownView>,
}

/// A unit that was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShownView {
    /// The chunk.
    pub chunk: String,
    /// `personal`, `team`, `department` or `organization`.
    pub level: String,
    /// From what kind of signal, such as `document`.
    pub source_type: String,
    /// What its scope counted for the question, in millionths.
    pub source_weight: u32,
    /// `used`, `passed_over` or `wrong`.
    pub help: String,
}

/// What was learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LearnedView {
    /// Intents and kinds of source of which something is known.
    pub kinds: Vec<LearnedKindView>,
}

/// What was learned of a kind of source under an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LearnedKindView {
    /// What a question is after.
    pub intent: String,
    /// `level:team`, `type:document` and the like.
    pub kind: String,
    /// How often it was used.
    pub helped: u64,
    /// How often it was shown; what was wrong counts twice.
    pub shown: u64,
    /// What weights are multiplied by, in thousandths: 500 to 2000.
    pub factor: u16,
}

/// What was learned, up to each sensitivity.
#[derive(Debug)]
pub(crate) struct Learned([Model; 4]);

impl Learned {
    /// Trained anew from everything that is kept.
    pub fn read(premises: &Premises) -> Result<Learned, NodeError> {
        let events = kept::feedback(&premises.store)?;
        Ok(Learned(Sensitivity::ALL.map(|ceiling| Model::train(&events, ceiling))))
    }

    /// What counts for a reader who may read everything up to this.
    pub fn up_to(&self, ceiling: Sensitivity) -> &Model {
        &self.0[ceiling as usize]
    }
}

/// What was learned from what this caller may read.
pub(super) fn learned_for(premises: &Premises, caller: &Caller) -> Result<Model, NodeError> {
    let requester = premises.requester(caller)?;
    Ok(premises.learned()?.up_to(ceiling(&premises.readable_set(&requester))).clone())
}

impl Handler<GiveFeedback> for Retrieval {
    type Result = ResponseFuture<Result<FeedbackView, NodeError>>;

    fn handle(&mut self, ask: GiveFeedback, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || give(&premises, &ask)))
    }
}

impl Handler<ShowLearned> for Retrieval {
    type Result = ResponseFuture<Result<LearnedView, NodeError>>;

    fn handle(&mut self, ask: ShowLearned, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let model = learned_for(&premises, &ask.caller)?;
            let kinds = model.table().map(|(intent, kind, learned)| LearnedKindView {
                intent: intent.to_string(),
                kind: match kind {
                    SourceKind::Level(level) => format!("level:{}", level),
                    SourceKind::Type(source_type) => format!("type:{}", source_type.as_str()),
                },
                helped: learned.kind.helped,
                shown: learned.kind.shown,
                factor: learned.factor.get(),
            });
            Ok(LearnedView { kinds: kinds.collect() })
        }))
    }
}

impl Handler<ForgetFeedback> for Retrieval {
    type Result = ResponseFuture<Result<u64, NodeError>>;

    fn handle(&mut self, ask: ForgetFeedback, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let mut change = Change::new(premises.event(&ask.by, "feedback.forget", "feedback", "ok", ""));
            let n = kept::forget_feedback(&premises.store, &mut change)?;
            premises.store.commit(change)?;
            premises.relearn();
            Ok(n)
        }))
    }
}

fn give(premises: &Premises, ask: &GiveFeedback) -> Result<FeedbackView, NodeError> {
    if ask.query.len() > QUERY_BYTES_MAX {
        return Err(NodeError::Invalid(format!("a question has at most {QUERY_BYTES_MAX} bytes")));
    }
    let requester = premises.requester(&ask.caller)?;
    let (mut asked, _) = Asked::understand(premises, &ask.caller, &ask.query)?;
    let mut named = BTreeSet::new();
    let mut shown = Vec::new();
    for (name, help) in &ask.shown {
        let absent = || NodeError::NotFound(name.clone());
        let chunk: Cid = parse_cid(name).map_err(|_| absent())?;
        if !named.insert(chunk) {
            return Err(NodeError::Invalid(format!("{chunk} is named twice; one thing became of it")));
        }
        let is_known = |unit: &_| readable(&requester, unit, premises.policy).is_ok();
        let unit = unit(&premises.store, &chunk)?.filter(is_known).ok_or_else(absent)?;
        let weight = asked.weight(premises, &unit.scope, is_document(&unit))?;
        shown.push(Shown {
            chunk,
            level: unit.scope.level,
            source_type: unit.origin.source_type,
            sensitivity: unit.sensitivity,
            source_weight: weight.weight,
            help: *help,
        });
    }
    let intent = asked.intent.intent;
    let event = FeedbackEvent::new(premises.now(), intent, shown).map_err(|e| NodeError::Invalid(e.to_string()))?;
    let said = |help: Help| event.shown().iter().filter(|shown| shown.help == help).count();
    let detail =
        format!("{} used, {} passed over, {} wrong", said(Help::Used), said(Help::PassedOver), said(Help::Wrong));
    let mut change = Change::new(premises.event(&ask.caller.label(), "feedback.give", intent, "ok", detail));
    kept::put_feedback(&premises.store, &mut change, &ask.caller.person, &ask.query, &event)?;
    premises.store.commit(change)?;
    premises.relearn();
    let units = event.shown().iter().map(|shown| ShownView {
        chunk: shown.chunk.to_string(),
        level: shown.level.to_string(),
        source_type: shown.source_type.as_str().to_string(),
        source_weight: shown.source_weight.get(),
        help: shown.help.as_str().to_string(),
    });
    Ok(FeedbackView { intent: intent.to_string(), units: units.collect() })
}
