//! The routes: one file per group, each a thin translation between HTTP and one message to one actor.

pub mod answers;
pub mod asking;
pub mod audit;
pub mod bundles;
pub mod care;
pub mod did;
pub mod docs;
pub mod entities;
pub mod envelope;
pub mod eval;
pub mod feedback;
pub mod gravity;
pub mod health;
pub mod ingest;
pub mod jobs;
pub mod log;
pub mod model;
pub mod notices;
pub mod peers;
pub mod search;
pub mod sources;
pub mod teachings;
pub mod tokens;
pub mod trust;

use actix_web::web::ServiceConfig;
use plumb_core::measure::Duration;
use plumb_core::retrieval::QUERY_BYTES_MAX;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// How long an actor has for what lies at hand.
pub const QUICK: Duration = Duration::seconds(10);
/// How long an actor has for a search or an answer, beyond what its peers have.
pub const WORK: Duration = Duration::seconds(30);
/// How long an actor has for what goes over the whole store.
pub const LONG: Duration = Duration::seconds(3500);

/// How long peers have where nobody says otherwise.
pub const PEERS_MS_DEFAULT: u64 = 3_000;
/// Longest time that peers are given.
pub const PEERS_MS_MAX: u64 = 25_000;

/// Items of a list where nobody says how many.
const LIMIT_DEFAULT: usize = 50;
/// Most items of one list.
const LIMIT_MAX: usize = 1000;

/// Every route.
pub fn routes(config: &mut ServiceConfig) {
    config
        .configure(health::routes)
        .configure(ingest::routes)
        .configure(jobs::routes)
        .configure(sources::routes)
        .configure(search::routes)
        .configure(answers::routes)
        .configure(bundles::routes)
        .configure(did::routes)
        .configure(notices::routes)
        .configure(peers::routes)
        .configure(teachings::routes)
        .configure(trust::routes)
        .configure(audit::routes)
        .configure(log::routes)
        .configure(feedback::routes)
        .configure(eval::routes)
        .configure(gravity::routes)
        .configure(entities::routes)
        .configure(tokens::routes)
        .configure(care::routes)
        .configure(model::routes)
        .configure(docs::routes);
}

/// How much of a list.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
pub struct Page {
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

impl Page {
    fn limit(self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX)
    }
}

/// Something was done, and there is nothing more to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// Always true.
    pub done: bool,
}

/// Refuses a question that is longer than any question.
fn check_query(query: &str) -> Result<(), Problem> {
    if query.len() <= QUERY_BYTES_MAX {
        Ok(())
    } else {
        Err(Problem::invalid(format!("the question has {} bytes; at most {QUERY_BYTES_MAX} are taken", query.len())))
    }
}

/// How long peers have.
fn peers_deadline(ms: Option<u64>) -> Result<Duration, Problem> {
    match ms.unwrap_or(PEERS_MS_DEFAULT) {
        ms @ 1..=PEERS_MS_MAX => Ok(Duration(ms)),
        ms => Err(Problem::invalid(format!("peers are given 1 to {PEERS_MS_MAX} ms, not {ms}"))),
    }
}

/// How long an actor has that first waits for peers.
fn with_peers(deadline: Duration) -> Duration {
    Duration(WORK.0 + deadline.0)
}
