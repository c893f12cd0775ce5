//! What notices changed here, for consumers that derive something from it.
//!
//! A consumer asks for what came after the last event that it has worked off. It may get one twice, when it died before
//! it wrote down how far it was; the id is the same then. Nothing is left out, and nothing is deleted.

use plumb_core::boundary::readable;
use plumb_storage::unit;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;
use crate::grounding::may_read_answer;
use crate::kept::{self, KeptEvent};
use crate::premises::Premises;

/// Events read at once while looking for those that the caller may see.
const PAGE: usize = 256;

/// Lists what notices changed, oldest first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EventsView, NodeError>")]
pub struct ListEvents {
    /// Who asks.
    pub caller: Caller,
    /// The id of the last event that was worked off.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// What notices changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsView {
    /// The events, oldest first.
    pub events: Vec<EventView>,
}

/// Something that a notice changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Its name: the same whenever the same change is told. Give it as `after` to hear what came next.
    pub id: String,
    /// The notice.
    pub notice: String,
    /// `source`, `answer`, `claim` or `export`.
    pub what: String,
    /// The source record, or the bundle of the answer, claim or export.
    pub subject: String,
    /// Which claim of the answer.
    pub claim: Option<String>,
    /// How it stands now. Of a source: `withdrawn`, `withdrawn_in_part`, `superseded`, `narrowed`, `caution`, `active`. Of a
    /// claim: `supported`, `weakened`, `unsupported`. Of an answer or an export also `unsupported_in_part` and `noted`.
    pub state: String,
    /// When.
    pub at: String,
}

/// Events that the caller may see.
pub(super) fn list(premises: &Premises, ask: &ListEvents) -> Result<EventsView, NodeError> {
    let mut from = match &ask.after {
        None => 0,
        Some(id) => {
            let absent = || NodeError::NotFound(id.clone());
            let (number, event) = kept::event_at(&premises.store, id)?.ok_or_else(absent)?;
            if !may_see(premises, &ask.caller, &event)? {
                return Err(absent());
            }
            number + 1
        }
    };
    let mut events = Vec::new();
    while events.len() < ask.limit {
        let page = kept::events_after(&premises.store, from, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        from = last + 1;
        for (_, event) in page {
            if events.len() < ask.limit && may_see(premises, &ask.caller, &event)? {
                events.push(view(&event));
            }
        }
    }
    Ok(EventsView { events })
}

/// Whoever may read a source or an answer may know what became of it.
fn may_see(premises: &Premises, caller: &Caller, event: &KeptEvent) -> Result<bool, NodeError> {
    if event.what != "source" {
        let answer = kept::answer(&premises.store, &event.subject)?;
        return answer.map_or(Ok(false), |answer| may_read_answer(premises, caller, &answer));
    }
    let requester = premises.requester(caller)?;
    let Some(row) = kept::source(&premises.store, &event.subject)? else { return Ok(false) };
    let Some(first) = row.chunks.first() else { return Ok(false) };
    Ok(unit(&premises.store, first)?.is_some_and(|u| readable(&requester, &u, premises.policy).is_ok()))
}

fn view(event: &KeptEvent) -> EventView {
    EventView {
        id: event.id(),
        notice: event.notice.to_string(),
        what: event.what.clone(),
        subject: event.subject.to_string(),
        claim: event.claim.clone(),
        state: event.state.clone(),
        at: event.at.to_string(),
    }
}
