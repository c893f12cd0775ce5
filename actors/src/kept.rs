//! What the rows of the store mean: their keys, their shapes, and how they are found.
//!
//! The store keeps bytes under keys; this room gives them types. One file per kind of row. Stored shapes are not the
//! types that callers see, so either can change without the other.

mod accounts;
mod answers;
mod blocked;
mod confirmed;
mod events;
mod feedback;
mod forks;
mod graph;
mod logs;
mod notices;
mod sealed;
mod sources;
mod stopped;
mod teachings;
mod tree;
mod trust;
mod witness;
mod world;

pub(crate) use accounts::{Token, tokens};
pub(crate) use answers::{
    SavedAnswer, answer, answers, answers_citing, contradicting, matter, put_answer, put_given_out, put_matter,
    update_answer, was_given_out,
};
pub(crate) use blocked::{blocked, put_blocked};
pub(crate) use confirmed::{Confirmation, confirmation, put_carried};
pub(crate) use events::{KeptEvent, event_at, events_after, put_events};
pub(crate) use feedback::{feedback, forget_feedback, put_feedback};
pub(crate) use forks::{decide_fork, decided_forks, fork, forks, give_up, given_up, is_forked, put_fork};
pub(crate) use graph::{
    delete_edge, delete_entity, delete_unit_link, edges, entities, entity, put_edge, put_entity, put_unit_link,
    unit_links,
};
pub(crate) use logs::{
    Appended, LogHead, append_own, bundle_position, confirm, cosign_own, entries, entry, extend, log_head, log_heads,
    plan_append, put_append,
};
pub(crate) use notices::{
    Facts, KeptNotice, Obligation, RefusedNotice, all_holders, bar, forget_refused, holders, holds, is_barred, notice,
    notice_key, notices, obligation, obligations, open_obligations, put_notice, put_obligation, put_receipt,
    put_refused, refused, refused_notices, remark_obligation, standing_by_text, standing_on, standing_with,
};
pub(crate) use sealed::{
    SealedAt, forget_lock, is_any_laid_up, is_held, laid_up, lay_up, left_sealed, opens, own_sealed, put_held,
    put_own_sealed, sealed_at, take_down,
};
pub(crate) use sources::{
    SourceRow, SourceState, current_of, put_source, retitle, source, sources_by_address, sources_of_raw, vacate,
};
pub(crate) use stopped::{Cause, Stopped, end_stop, put_aside, put_stopped, republish, stop, stopped};
pub(crate) use teachings::{
    Offered, Received, Sent, Standing, n_waiting, offered_teachings, put_offered, put_received, put_sent,
    received_teaching, received_teachings, sent_teaching, sent_to,
};
pub(crate) use tree::{Tree, complete_trees, index_of};
pub(crate) use trust::{delete_pin, put_decision, put_pin, put_position, put_revocation, put_rotation, roots};
pub(crate) use witness::{Cosigned, cosigned, put_cosigned, put_witnessed, witnessed};
pub(crate) use world::{Applied, applied, doi_of, put_applied, put_doi, put_world_list, world_list};

use plumb_core::measure::Timestamp;

/// The shape of every row here that has had only one.
pub(crate) const SHAPE: u8 = 1;

/// A moment as key bytes that sort in its order.
pub(crate) fn time_key(at: Timestamp) -> [u8; 8] {
    // The sign bit is flipped so that times before 1970 sort before those after it.
    ((at.0 as u64) ^ (1 << 63)).to_be_bytes()
}
