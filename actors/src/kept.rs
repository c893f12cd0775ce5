//! What the rows of the store mean: their keys, their shapes, and how they are found.
//!
//! The store keeps bytes under keys; this room gives them types. One file per kind of row. Stored shapes are not the
//! types that callers see, so either can change without the other.

mod accounts;
mod answers;
mod logs;
mod notices;
mod sources;
mod teachings;
mod trust;

pub(crate) use accounts::{Token, tokens};
pub(crate) use answers::{SavedAnswer, answer, answers, answers_citing, put_answer, update_answer};
pub(crate) use logs::{
    LogHead, append_own, bundle_position, entries, forks, is_forked, log_head, log_heads, put_fork, put_log_head,
};
pub(crate) use notices::{
    KeptNotice, Obligation, RefusedNotice, all_holders, bar, forget_refused, holders, is_barred, notice, notice_key,
    notices, obligation, obligations, open_obligations, put_notice, put_obligation, put_receipt, put_refused, refused,
    refused_notices, standing_by_text, standing_on, standing_with,
};
pub(crate) use sources::{SourceRow, SourceState, current_of, put_source, retitle, source, sources_by_address};
pub(crate) use teachings::{
    Offered, Received, Sent, Standing, offered_teachings, put_offered, put_received, put_sent, received_teaching,
    received_teachings, sent_teaching, sent_to,
};
pub(crate) use trust::{delete_pin, put_decision, put_pin, put_position, put_revocation, put_rotation, roots};

use plumb_core::measure::Timestamp;

/// The shape of every row here that has had only one.
pub(crate) const SHAPE: u8 = 1;

/// A moment as key bytes that sort in its order.
pub(crate) fn time_key(at: Timestamp) -> [u8; 8] {
    // The sign bit is flipped so that times before 1970 sort before those after it.
    ((at.0 as u64) ^ (1 << 63)).to_be_bytes()
}
