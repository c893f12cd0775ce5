//! The real program, from outside: what it prints, how it exits, what it answers over HTTP.

#[path = "node/bundles.rs"]
mod bundles;
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
