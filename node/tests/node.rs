//! The real program, from outside: what it prints, how it exits, what it answers over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

#[path = "node/bundles.rs"]
mod bundles;
#[path = "node/context.rs"]
mod context;
#[path = "node/homes.rs"]
mod homes;
#[path = "node/http.rs"]
mod http;
#[path = "node/running.rs"]
mod running;
#[path = "node/support.rs"]
mod support;
#[path = "node/verbs.rs"]
mod verbs;
