//! HTTP over the local socket of a node.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use plumb_core::identity::EntityId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::exit::BusyError;
use crate::problem::Problem;
use crate::serve::AS_HEADER;

/// A way to a node.
pub struct Client {
    socket: PathBuf,
    person: Option<EntityId>,
}

impl Client {
    /// A client at a socket that asks for a person, or for whom the node takes it.
    pub fn new(socket: PathBuf, person: Option<EntityId>) -> Client {
        Client { socket, person }
    }

    /// `GET`, with a JSON answer.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        decode(&self.send(Method::GET, path, None).await?)
    }

    /// `GET`, with the answer as it is.
    pub async fn get_bytes(&self, path: &str) -> anyhow::Result<Bytes> {
        self.send(Method::GET, path, None).await
    }

    /// `POST` of JSON, with a JSON answer.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        let body = Bytes::from(serde_json::to_vec(body)?);
        decode(&self.send(Method::POST, path, Some(("application/json", body))).await?)
    }

    /// `POST` of JSON, with the answer as it is.
    pub async fn post_for_bytes(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Bytes> {
        let body = Bytes::from(serde_json::to_vec(body)?);
        self.send(Method::POST, path, Some(("application/json", body))).await
    }

    /// `PATCH` with JSON, with a JSON answer.
    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        let body = Bytes::from(serde_json::to_vec(body)?);
        decode(&self.send(Method::PATCH, path, Some(("application/json", body))).await?)
    }

    /// `POST` of nothing, with a JSON answer.
    pub async fn act<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        decode(&self.send(Method::POST, path, None).await?)
    }

    /// `POST` of a file, with a JSON answer.
    pub async fn post_file<T: DeserializeOwned>(
        &self,
        path: &str,
        media_type: &'static str,
        bytes: Vec<u8>,
    ) -> anyhow::Result<T> {
        decode(&self.send(Method::POST, path, Some((media_type, bytes.into()))).await?)
    }

    /// `DELETE`, with a JSON answer.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        decode(&self.send(Method::DELETE, path, None).await?)
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&'static str, Bytes)>) -> anyhow::Result<Bytes> {
        let (status, body) = self.exchange(method, path, body).await.map_err(|error| gone(&self.socket, &error))?;
        if status.is_success() {
            return Ok(body);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(problem.into()),
            Err(_) => Err(anyhow!("the node answered {status} without saying why")),
        }
    }

    /// One request on one connection: commands send few, and the socket is near.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let stream = UnixStream::connect(&self.socket).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(HOST, "plumb");
        if let Some(person) = &self.person {
            request = request.header(AS_HEADER, person.to_string());
        }
        let body = match body {
            Some((media_type, body)) => {
                request = request.header(CONTENT_TYPE, media_type);
                body
            }
            None => Bytes::new(),
        };
        let response = sender.send_request(request.body(Full::new(body))?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        connection.abort();
        Ok((status, body))
    }
}

/// The node ended while it worked on this, or just before: whether it was done can only be seen by looking.
fn gone(socket: &Path, error: &anyhow::Error) -> anyhow::Error {
    BusyError(format!("the node at {} ended meanwhile ({error:#}); try again", socket.display())).into()
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> anyhow::Result<T> {
    serde_json::from_slice(body).context("the node's answer cannot be understood; is it of another version?")
}

/// A path with a name in it that somebody typed: everything that has a meaning in an address is escaped.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// A path with its query, of those parameters that have a value.
pub fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut address = path.to_string();
    for (name, value) in parameters {
        if let Some(value) = value {
            address.push(if address.contains('?') { '&' } else { '?' });
            address.push_str(&format!("{name}={}", escape(value)));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        assert_eq!(escape("did:key:z6Mk/ü"), "did%3Akey%3Az6Mk%2F%C3%BC");
        assert_eq!(
            with_query("/v1/audit", &[("action", None), ("before", Some("7".into())), ("q", Some("a&b".into()))]),
            "/v1/audit?before=7&q=a%26b"
        );
    }
}
