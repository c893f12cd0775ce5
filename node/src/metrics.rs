//! What `/metrics` shows, in OpenMetrics text.
//!
//! How the node works: requests, durations, actors, whether the index keeps up. Numbers that tell what the node *holds*
//! are shown to the operator only, because whoever else may read metrics need not be allowed to know of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use plumb_actors::supervisor::HealthView;
use plumb_core::boundary::Sensitivity;
use plumb_storage::{IndexCounters, StoreCounters};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The media type of OpenMetrics text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of durations, in seconds: from a list at hand to a federated answer at its deadline.
const BUCKETS: [f64; 10] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ActorLabels {
    actor: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PartitionLabels {
    sensitivity: String,
}

/// What is counted while the node runs.
#[derive(Clone)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    running: Arc<AtomicUsize>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            running: Arc::default(),
        }
    }
}

/// A place among the requests that are worked on. Given back when dropped.
pub struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Metrics {
    /// Takes a place, if one of `max` is free.
    pub fn enter(&self, max: usize) -> Option<Place> {
        let taken = self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < max).then_some(n + 1));
        taken.ok().map(|_| Place(self.running.clone()))
    }

    /// Notes an answered request.
    pub fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        // Anybody may send any method; only the known ones become labels, or strangers could fill the memory.
        let method = match method {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => method,
            _ => "other",
        };
        let labels = RequestLabels { method: method.to_string(), route: route.to_string(), status: status.into() };
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&RouteLabels { route: route.to_string() }).observe(took.as_secs_f64());
    }

    /// Everything that this reader may know, with how the actors, the store and the index are now.
    pub fn render(
        &self,
        health: &HealthView,
        store: &StoreCounters,
        index: &IndexCounters,
        operator: bool,
    ) -> Result<String, std::fmt::Error> {
        let mut registry = Registry::with_prefix("plumb");
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register("http_request_duration_seconds", "Time until the answer began", self.durations.clone());
        let running = self.running.load(Ordering::Acquire) as u64;
        gauge(&mut registry, "http_requests_running", "Requests that are worked on", running);
        gauge(&mut registry, "ready", "Whether the node takes work", health.ready.into());
        actors(&mut registry, health);
        gauge(&mut registry, "index_backlog", "Changes that cannot be found yet", index.backlog);
        let stalled = index.stalled.is_some().into();
        gauge(&mut registry, "index_stalled", "Whether the index writer stands still", stalled);
        gauge(&mut registry, "index_unreadable", "Chunks whose block is missing or damaged", index.unreadable);
        if operator {
            holdings(&mut registry, store, index);
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<i64, AtomicI64>::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}

fn actors(registry: &mut Registry, health: &HealthView) {
    let (alive, lives) = (Family::<ActorLabels, Gauge>::default(), Family::<ActorLabels, Gauge>::default());
    let (handled, refused) = (Family::<ActorLabels, Counter>::default(), Family::<ActorLabels, Counter>::default());
    for actor in &health.actors {
        let labels = ActorLabels { actor: actor.name.clone() };
        alive.get_or_create(&labels).set(actor.alive.into());
        lives.get_or_create(&labels).set(i64::try_from(actor.incarnation).unwrap_or(i64::MAX));
        handled.get_or_create(&labels).inc_by(actor.handled);
        refused.get_or_create(&labels).inc_by(actor.refused);
    }
    registry.register("actor_alive", "Whether the actor is alive", alive);
    registry.register("actor_lives", "How often the actor was started", lives);
    registry.register("actor_messages", "Messages that the actor took", handled);
    registry.register("actor_messages_refused", "Messages turned away because its mailbox was full", refused);
}

/// What the node holds, in numbers.
fn holdings(registry: &mut Registry, store: &StoreCounters, index: &IndexCounters) {
    let documents = Family::<PartitionLabels, Gauge>::default();
    for (sensitivity, n) in Sensitivity::ALL.into_iter().zip(index.n_docs) {
        let labels = PartitionLabels { sensitivity: sensitivity.to_string() };
        documents.get_or_create(&labels).set(i64::try_from(n).unwrap_or(i64::MAX));
    }
    registry.register("index_documents", "Documents in each partition of the index", documents);
    gauge(registry, "store_bytes", "Bytes of the store on the disk", store.disk_bytes);
    gauge(registry, "store_outbox_rows", "Changes that wait for the index", store.outbox_rows);
    gauge(registry, "audit_events", "Events in the audit log", store.audit_events);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_actors::supervisor::ActorView;
    use plumb_storage::Position;

    #[test]
    fn what_was_counted_is_shown() {
        let metrics = Metrics::default();
        metrics.request("GET", "/v1/jobs/{id}", 404, Duration::from_millis(3));
        let actor = ActorView { name: "Retrieval".into(), alive: true, incarnation: 2, handled: 7, refused: 1 };
        let health = HealthView { ready: true, publishing_stopped: None, actors: vec![actor] };
        let store = StoreCounters { position: Position::default(), outbox_rows: 1, audit_events: 9, disk_bytes: 4096 };
        let index = IndexCounters {
            position: Position::default(),
            backlog: 3,
            n_docs: [5, 6, 7, 8],
            unreadable: 0,
            rebuilt: 0,
            stalled: None,
        };
        let text = metrics.render(&health, &store, &index, false).unwrap();
        for line in [
            "plumb_http_requests_total{method=\"GET\",route=\"/v1/jobs/{id}\",status=\"404\"} 1",
            "plumb_http_request_duration_seconds_count{route=\"/v1/jobs/{id}\"} 1",
            "plumb_actor_messages_total{actor=\"Retrieval\"} 7",
            "plumb_actor_lives{actor=\"Retrieval\"} 2",
            "plumb_ready 1",
            "plumb_index_backlog 3",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));

        let own = metrics.render(&health, &store, &index, true).unwrap();
        for line in ["plumb_index_documents{sensitivity=\"confidential\"} 8", "plumb_audit_events 9"] {
            assert!(own.contains(line) && !text.contains(line), "{line} is the operator's");
        }
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let metrics = Metrics::default();
        let first = metrics.enter(1).unwrap();
        assert!(metrics.enter(1).is_none());
        drop(first);
        assert!(metrics.enter(1).is_some());
    }
}
