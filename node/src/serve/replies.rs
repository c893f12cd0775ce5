//! Idempotency keys: a write that is sent again under its key is answered again, not done again.
//!
//! Replies are kept in memory for a day or until the node restarts, at most [`REPLIES_MAX`] of them. That covers what
//! the key is for: a client that lost the answer and asks again. Across a restart the writes themselves protect: equal
//! sources are *unchanged*, and a second notice about a retracted source changes nothing more.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::{FromRequest, HttpRequest, HttpResponse, dev::Payload};
use cid::Cid;
use futures::future::{Ready, ready};
use plumb_actors::Caller;
use serde::Serialize;

use crate::problem::{Problem, Reason};

/// The header that carries the key.
const KEY_HEADER: &str = "idempotency-key";
/// Most replies that are kept. Past it the oldest goes.
const REPLIES_MAX: usize = 1024;
/// How long a reply is kept.
const KEPT_FOR: Duration = Duration::from_secs(86_400);
/// Longest key.
const KEY_BYTES_MAX: usize = 200;

/// The key of a request, if it has one.
pub struct Key(Option<String>);

impl FromRequest for Key {
    type Error = Problem;
    type Future = Ready<Result<Key, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let Some(value) = request.headers().get(KEY_HEADER) else {
            return ready(Ok(Key(None)));
        };
        ready(match value.to_str() {
            Ok(key) if (1..=KEY_BYTES_MAX).contains(&key.len()) => Ok(Key(Some(key.to_string()))),
            _ => Err(Problem::invalid(format!("an idempotency key has 1 to {KEY_BYTES_MAX} printable bytes"))),
        })
    }
}

/// Whose key, on which route, which key. Two callers may use the same key without meeting.
type Name = (String, &'static str, String);

struct Entry {
    digest: Cid,
    at: Instant,
    /// `None` while the first request is still worked on.
    reply: Option<(u16, Vec<u8>)>,
}

/// What was answered under which key.
#[derive(Clone, Default)]
pub struct Replies(Arc<Mutex<BTreeMap<Name, Entry>>>);

impl Replies {
    /// Does the work and answers; or, if this caller did it under this key before, answers as then.
    pub async fn once<T: Serialize>(
        &self,
        caller: &Caller,
        route: &'static str,
        key: Key,
        digest: Cid,
        work: impl Future<Output = Result<(StatusCode, T), Problem>>,
    ) -> Result<HttpResponse, Problem> {
        let Some(key) = key.0 else {
            let (status, value) = work.await?;
            return Ok(HttpResponse::build(status).json(value));
        };
        let name = (caller.label(), route, key);
        if let Some((status, body)) = self.begin(&name, digest)? {
            return Ok(answer(status, body));
        }
        // If the work fails or the caller goes away, the key is free again: nothing was promised under it.
        let guard = Unfinished { replies: self, name: &name };
        let (status, value) = work.await?;
        let body = serde_json::to_vec(&value)
            .map_err(|e| Problem::new(Reason::Internal, format!("the answer cannot be encoded: {e}")))?;
        std::mem::forget(guard);
        if let Some(entry) = self.entries().get_mut(&name) {
            entry.reply = Some((status.as_u16(), body.clone()));
        }
        Ok(answer(status.as_u16(), body))
    }

    fn begin(&self, name: &Name, digest: Cid) -> Result<Option<(u16, Vec<u8>)>, Problem> {
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.at.elapsed() < KEPT_FOR);
        if let Some(entry) = entries.get(name) {
            if entry.digest != digest {
                return Err(Problem::new(Reason::KeyReused, "this idempotency key was used with another body"));
            }
            return match &entry.reply {
                Some(reply) => Ok(Some(reply.clone())),
                None => Err(Problem::new(Reason::Conflict, "the first request with this key is still worked on")),
            };
        }
        if entries.len() >= REPLIES_MAX
            && let Some(oldest) = entries.iter().min_by_key(|(_, entry)| entry.at).map(|(name, _)| name.clone())
        {
            entries.remove(&oldest);
        }
        entries.insert(name.clone(), Entry { digest, at: Instant::now(), reply: None });
        Ok(None)
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Name, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Unfinished<'a> {
    replies: &'a Replies,
    name: &'a Name,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.replies.entries().remove(self.name);
    }
}

fn answer(status: u16, body: Vec<u8>) -> HttpResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    HttpResponse::build(status).content_type("application/json").body(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::content::RawBlock;
    use std::cell::Cell;

    fn caller(person: &str) -> Caller {
        Caller { person: person.parse().unwrap(), operator: false }
    }

    fn digest(text: &str) -> Cid {
        RawBlock::raw(text.as_bytes().to_vec()).cid
    }

    #[actix_web::test]
    async fn a_repeated_write_is_answered_and_not_done_again() {
        let (replies, n) = (Replies::default(), Cell::new(0));
        let send = async |who: &str, key: Option<&str>, body: &str, fails: bool| {
            let work = async {
                n.set(n.get() + 1);
                if fails { Err(Problem::invalid("no")) } else { Ok((StatusCode::ACCEPTED, n.get())) }
            };
            let key = Key(key.map(str::to_string));
            replies.once(&caller(who), "ingest", key, digest(body), work).await.map(|r| r.status().as_u16())
        };
        assert!(send("person-a", Some("k"), "x", true).await.is_err());
        assert_eq!(send("person-a", Some("k"), "x", false).await.unwrap(), 202, "a failure leaves the key free");
        assert_eq!(send("person-a", Some("k"), "x", false).await.unwrap(), 202);
        assert_eq!(n.get(), 2);
        assert_eq!(send("person-a", Some("k"), "y", false).await.unwrap_err().status, 422);
        assert_eq!(send("person-b", Some("k"), "y", false).await.unwrap(), 202, "keys of others do not matter");
        assert_eq!(send("person-a", None, "x", false).await.unwrap(), 202);
        assert_eq!(n.get(), 4);
    }

    #[actix_web::test]
    async fn the_first_is_waited_for_by_its_sender_only() {
        let replies = Replies::default();
        let name = (caller("person-a").label(), "ingest", "k".to_string());
        assert!(replies.begin(&name, digest("x")).unwrap().is_none());
        assert_eq!(replies.begin(&name, digest("x")).unwrap_err().status, 409);
    }

    #[actix_web::test]
    async fn the_number_of_replies_is_bounded() {
        let replies = Replies::default();
        for i in 0..REPLIES_MAX + 5 {
            let name = (caller("person-a").label(), "ingest", i.to_string());
            replies.begin(&name, digest("x")).unwrap();
        }
        assert_eq!(replies.entries().len(), REPLIES_MAX);
    }
}
