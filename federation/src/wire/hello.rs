//! `/plumb/hello/1`: who a node is, before anything else is said.
//!
//! Each side sends its certificate and the heads of the logs that it holds. The one who is asked answers with its own, or
//! says why it will not talk. Only after that does any other protocol answer.
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | certificate, agent, heads |
//! | 1 | 0.1.0 | a refusal may have a code |

use plumb_core::identity::Signed;
use plumb_core::trust::Certificate;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::log::{HEADS_BYTES_MAX, HEADS_MAX, Head, head};
use super::scan::Limits;
use super::{CERTIFICATE_BYTES_MAX, Unknown, WireError, field, frame};

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/hello/1";

/// Longest name of a program, in bytes.
pub const AGENT_BYTES_MAX: usize = 128;

/// Longest code of a refusal, in bytes.
pub const CODE_BYTES_MAX: usize = 32;

/// Largest hello, in bytes: the heads, a certificate, and room for what a newer version adds.
pub const FRAME_BYTES_MAX: usize = HEADS_BYTES_MAX + CERTIFICATE_BYTES_MAX + 8 * 1024;

const LIMITS: Limits = Limits { bytes: FRAME_BYTES_MAX, items: HEADS_MAX * 8 + 64 };

/// Who a node is, and what it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// What its organisation says of it.
    pub certificate: Signed<Certificate>,
    /// Its program, such as `plumb/0.1.0`. For people.
    pub agent: String,
    /// The head of each public log that it holds whole.
    pub heads: Vec<Head>,
}

/// What is answered to a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloResponse {
    /// The other side's hello: whoever asked may ask more.
    Hello(Hello),
    /// It will not talk.
    Refused {
        /// Why.
        reason: String,
        /// Why, as a stable word: a [`TrustError::code`](plumb_core::trust::TrustError::code).
        code: Option<String>,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct HelloV1 {
    certificate: ByteBuf,
    agent: String,
    heads: Vec<head::HeadV1>,
}

#[derive(Serialize, Deserialize)]
struct RefusedV1 {
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

impl RefusedV1 {
    fn checked(self) -> Result<HelloResponse, WireError> {
        if let Some(code) = &self.code {
            field::at_most(code.len(), CODE_BYTES_MAX, "bytes of code")?;
        }
        Ok(HelloResponse::Refused { reason: field::reason(self.reason)?, code: self.code })
    }
}

impl From<&Hello> for HelloV1 {
    fn from(hello: &Hello) -> HelloV1 {
        HelloV1 {
            certificate: ByteBuf::from(hello.certificate.to_bytes()),
            agent: hello.agent.clone(),
            heads: hello.heads.iter().map(head::HeadV1::from).collect(),
        }
    }
}

impl TryFrom<HelloV1> for Hello {
    type Error = WireError;
    fn try_from(hello: HelloV1) -> Result<Hello, WireError> {
        field::at_most(hello.agent.len(), AGENT_BYTES_MAX, "bytes of agent")?;
        Ok(Hello {
            certificate: field::certificate(&hello.certificate)?,
            agent: hello.agent,
            heads: head::all(hello.heads)?,
        })
    }
}

impl Hello {
    /// The frame that asks.
    pub fn encode(&self) -> Vec<u8> {
        frame::encode(PROTOCOL, "hello", &HelloV1::from(self))
    }

    /// Reads the frame that asks.
    pub fn decode(bytes: &[u8]) -> Result<Hello, WireError> {
        let frame = frame::open(bytes, PROTOCOL, LIMITS)?;
        match frame.kind {
            "hello" => frame.body::<HelloV1>()?.try_into(),
            kind => Err(WireError::Kind(kind.to_string())),
        }
    }
}

impl HelloResponse {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            HelloResponse::Hello(hello) => hello.encode(),
            HelloResponse::Refused { reason, code } => {
                let (reason, code) = (super::reason(reason), code.clone());
                frame::encode(PROTOCOL, "refused", &RefusedV1 { reason, code })
            }
            HelloResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<HelloResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, LIMITS)?;
        Ok(match frame.kind {
            "hello" => HelloResponse::Hello(frame.body::<HelloV1>()?.try_into()?),
            "refused" => frame.body::<RefusedV1>()?.checked()?,
            _ => HelloResponse::Unknown(frame.unknown()),
        })
    }
}
