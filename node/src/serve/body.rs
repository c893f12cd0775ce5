//! Bodies of requests: read up to a limit, then understood.

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpRequest};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use plumb_core::content::RawBlock;
use plumb_core::exchange::BUNDLE_BYTES_MAX;
use plumb_core::notice::NOTICE_BYTES_MAX;
use serde::de::DeserializeOwned;

use super::{Entrance, Served};
use crate::problem::{Problem, Reason};

/// A JSON body.
pub struct Body<T> {
    /// What it says.
    pub value: T,
    /// Its digest, to tell whether a repeated request is the same.
    pub digest: cid::Cid,
}

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Body<T>, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            if !is_json(&request) {
                return Err(Problem::new(
                    Reason::UnsupportedMediaType,
                    "send JSON, with `Content-Type: application/json`",
                ));
            }
            let max = body_max(&request)?;
            let block = RawBlock::raw(read(&request, payload, max).await?.to_vec());
            let value = serde_json::from_slice(&block.bytes)
                .map_err(|e| Problem::invalid(format!("the body cannot be understood: {e}")))?;
            Ok(Body { value, digest: block.cid })
        })
    }
}

/// A bundle file as a body.
pub struct Bundle(pub Vec<u8>);

impl FromRequest for Bundle {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Bundle, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move { Ok(Bundle(read(&request, payload, BUNDLE_BYTES_MAX).await?.to_vec())) })
    }
}

/// Something signed, or to be signed, as a body: a notice or a statement about roots.
pub struct Words(pub Vec<u8>);

impl FromRequest for Words {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Words, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move { Ok(Words(read(&request, payload, NOTICE_BYTES_MAX).await?.to_vec())) })
    }
}

fn body_max(request: &HttpRequest) -> Result<usize, Problem> {
    let served = request
        .app_data::<Data<Served>>()
        .ok_or_else(|| Problem::new(Reason::Internal, "the server was put together without its state"))?;
    Ok(served.body_max(Entrance::of(request)))
}

/// Whether the request says that its body is JSON. Saying nothing is allowed; saying something else is not: so a page
/// in a browser cannot send a form here.
fn is_json(request: &HttpRequest) -> bool {
    let Some(value) = request.headers().get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Reads at most `max` bytes. What is announced as longer is refused before a byte is read.
async fn read(request: &HttpRequest, mut payload: Payload, max: usize) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(Reason::TooLarge, format!("the body is larger than {max} bytes"));
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<usize>().ok());
    if announced.is_some_and(|bytes| bytes > max) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(part) = payload.next().await {
        let part = part.map_err(|e| Problem::invalid(format!("the body ended early: {e}")))?;
        if body.len() + part.len() > max {
            return Err(too_large());
        }
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}
