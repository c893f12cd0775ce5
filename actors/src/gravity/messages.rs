//! What the gravity actor answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;

/// Says what would rise, and what holds the rest.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<GravityView, NodeError>")]
pub struct PlanPromotions {
    /// Plan anew instead of giving the last plan of the schedule.
    pub fresh: bool,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GravityView {
    /// When it was made.
    pub planned_at: String,
    /// Units that were looked at.
    pub units: u64,
    /// A step for each unit that another lineage corroborates.
    pub steps: Vec<StepView>,
}

/// What would become of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepView {
    /// The unit, by its chunk.
    pub chunk: String,
    /// From which level it would rise.
    pub from: String,
    /// Independent corroborations.
    pub corroborations: u64,
    /// Promotion score in thousandths.
    pub score: u16,
    /// Why it stays, if it does.
    pub held: Option<String>,
}
