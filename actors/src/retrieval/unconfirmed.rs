//! Evidence whose status nobody could confirm: it may have been withdrawn, and this node would not know.

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::identity::NodeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::kept::{self, Confirmation};
use crate::premises::Premises;

/// A publisher that could not be asked lately whether its evidence still stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnconfirmedView {
    /// The publisher.
    pub publisher: String,
    /// The last confirmation that is known of, by this node or carried by a bundle; `null` if there never was one.
    pub since: Option<String>,
}

impl UnconfirmedView {
    /// It in a sentence.
    pub fn sentence(&self) -> String {
        match &self.since {
            Some(since) => format!("status not confirmed since {since} (publisher {})", self.publisher),
            None => format!("status never confirmed (publisher {})", self.publisher),
        }
    }
}

/// Those of some publishers that are not confirmed now.
pub(crate) fn unconfirmed_of(
    premises: &Premises,
    publishers: BTreeSet<NodeId>,
) -> Result<BTreeMap<NodeId, UnconfirmedView>, NodeError> {
    let (own, now) = (premises.node(), premises.now());
    let mut unconfirmed = BTreeMap::new();
    for publisher in publishers {
        if let Confirmation::Unconfirmed { since } = kept::confirmation(&premises.store, &own, &publisher, now)? {
            let since = since.map(|at| at.to_string());
            unconfirmed.insert(publisher, UnconfirmedView { publisher: publisher.to_string(), since });
        }
    }
    Ok(unconfirmed)
}
