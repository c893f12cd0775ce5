//! The one list of ways in which a request fails: as problem documents (RFC 9457) over HTTP, and as exit codes.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use plumb_actors::NodeError;
use plumb_core::knowledge::WordError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::exit::Exit;

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// When to come back after an actor was started afresh, in milliseconds: long enough for it to open its store.
const RETRY_AFTER_CRASH_MS: u64 = 1000;

/// Why a request failed; the titles below say what each means. Programs hold on to [`Reason::as_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    InvalidRequest,
    Unauthenticated,
    Denied,
    NotFound,
    NotAuthentic,
    MethodNotAllowed,
    Conflict,
    NotCertified,
    PublishingStopped,
    TooLarge,
    UnsupportedMediaType,
    KeyReused,
    StorageFailed,
    Damaged,
    NetworkFailed,
    Busy,
    ActorFailed,
    Offline,
    DeadlinePassed,
    Internal,
    Failed,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 21] = [
        Reason::InvalidRequest,
        Reason::Unauthenticated,
        Reason::Denied,
        Reason::NotFound,
        Reason::NotAuthentic,
        Reason::MethodNotAllowed,
        Reason::Conflict,
        Reason::NotCertified,
        Reason::PublishingStopped,
        Reason::TooLarge,
        Reason::UnsupportedMediaType,
        Reason::KeyReused,
        Reason::StorageFailed,
        Reason::Damaged,
        Reason::NetworkFailed,
        Reason::Busy,
        Reason::ActorFailed,
        Reason::Offline,
        Reason::DeadlinePassed,
        Reason::Internal,
        Reason::Failed,
    ];

    /// Its word, its HTTP status and its title, in one place.
    const fn facts(self) -> (&'static str, u16, &'static str) {
        match self {
            Reason::InvalidRequest => ("invalid_request", 400, "The request makes no sense"),
            Reason::Unauthenticated => ("unauthenticated", 401, "A valid token is needed"),
            Reason::Denied => ("denied", 403, "Not allowed"),
            Reason::NotFound => ("not_found", 404, "Nothing here has that name"),
            Reason::MethodNotAllowed => ("method_not_allowed", 405, "Not with this method"),
            Reason::Conflict => ("conflict", 409, "It contradicts what is there"),
            Reason::NotCertified => ("not_certified", 409, "The node has no certificate"),
            Reason::PublishingStopped => ("publishing_stopped", 409, "The node publishes nothing at present"),
            Reason::TooLarge => ("too_large", 413, "More than is taken at once"),
            Reason::NotAuthentic => ("not_authentic", 422, "It is not what it says that it is"),
            Reason::UnsupportedMediaType => ("unsupported_media_type", 415, "Not a form that is read here"),
            Reason::KeyReused => ("key_reused", 422, "The idempotency key was used before"),
            Reason::StorageFailed => ("storage_failed", 500, "The store failed"),
            Reason::Damaged => ("damaged", 500, "What is stored cannot be read"),
            Reason::Internal => ("internal", 500, "The node failed"),
            Reason::Failed => ("failed", 500, "The command failed"),
            Reason::NetworkFailed => ("network_failed", 502, "The network failed"),
            Reason::Busy => ("busy", 503, "Too much at once"),
            Reason::ActorFailed => ("actor_failed", 503, "A part of the node was started afresh"),
            Reason::Offline => ("offline", 503, "No running node serves this home"),
            Reason::DeadlinePassed => ("deadline_passed", 504, "No answer in time"),
        }
    }

    /// A stable word for programs.
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    fn parse(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|r| r.as_str() == word)
    }
}

/// A problem document (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// `urn:plumbline:problem:` and the reason.
    #[serde(rename = "type")]
    pub kind: String,
    /// The reason in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time, and what to do.
    pub detail: String,
    /// A stable word for programs.
    pub reason: String,
    /// When to try again, in milliseconds, where that helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Problem {
    /// A problem of a known kind.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Problem {
        let (word, status, title) = reason.facts();
        Problem {
            kind: format!("urn:plumbline:problem:{word}"),
            title: title.to_string(),
            status,
            detail: detail.into(),
            reason: word.to_string(),
            retry_after_ms: None,
        }
    }

    /// The request makes no sense.
    pub fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(Reason::InvalidRequest, detail)
    }

    /// The same, with the moment to try again.
    pub fn retry_after(self, ms: u64) -> Problem {
        Problem { retry_after_ms: Some(ms), ..self }
    }

    /// The document for a command that ended with an error: the node's own, or one about what happened here.
    pub fn of_error(error: &anyhow::Error) -> Problem {
        if let Some(problem) = error.chain().find_map(|cause| cause.downcast_ref::<Problem>()) {
            return problem.clone();
        }
        let reason = match Exit::of_error(error) {
            Exit::Usage => Reason::InvalidRequest,
            Exit::Busy => Reason::Busy,
            _ => Reason::Failed,
        };
        Problem::new(reason, format!("{error:#}"))
    }

    /// How a command ends that met it.
    pub fn exit(&self) -> Exit {
        match Reason::parse(&self.reason) {
            Some(Reason::InvalidRequest | Reason::UnsupportedMediaType | Reason::TooLarge) => Exit::Usage,
            Some(Reason::Denied | Reason::Unauthenticated) => Exit::Denied,
            Some(Reason::NotAuthentic) => Exit::NotAuthentic,
            Some(Reason::Busy | Reason::ActorFailed | Reason::DeadlinePassed) => Exit::Busy,
            _ => Exit::Failed,
        }
    }
}

impl From<NodeError> for Problem {
    fn from(error: NodeError) -> Problem {
        let reason = Reason::parse(error.reason()).unwrap_or(Reason::Internal);
        let problem = Problem::new(reason, error.to_string());
        match error {
            NodeError::Busy { retry_after } => problem.retry_after(retry_after.0),
            NodeError::Crashed { .. } => problem.retry_after(RETRY_AFTER_CRASH_MS),
            _ => problem,
        }
    }
}

impl From<WordError> for Problem {
    fn from(error: WordError) -> Problem {
        Problem::invalid(error.to_string())
    }
}

impl From<plumb_core::identity::IdentityError> for Problem {
    fn from(error: plumb_core::identity::IdentityError) -> Problem {
        Problem::invalid(error.to_string())
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.content_type(MEDIA_TYPE);
        if let Some(ms) = self.retry_after_ms {
            // The header counts whole seconds (RFC 9110, 10.2.3); the document is exact.
            response.insert_header((header::RETRY_AFTER, ms.div_ceil(1000).max(1).to_string()));
        }
        if self.status == 401 {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        response.body(serde_json::to_vec(self).expect("strings and numbers always encode"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::measure::Duration;

    #[test]
    fn every_error_of_the_node_has_its_own_reason_here() {
        for error in [
            NodeError::Invalid(String::new()),
            NodeError::NotFound(String::new()),
            NodeError::Denied(String::new()),
            NodeError::Conflict(String::new()),
            NodeError::TooLarge(String::new()),
            NodeError::Stopped(String::new()),
            NodeError::Busy { retry_after: Duration(1) },
            NodeError::DeadlinePassed { after: Duration(1) },
            NodeError::Crashed { actor: "test" },
            NodeError::NotCertified,
            NodeError::Offline,
            NodeError::Damaged(String::new()),
        ] {
            let word = error.reason();
            assert_eq!(Problem::from(error).reason, word);
        }
        assert!(Reason::parse("storage_failed").is_some() && Reason::parse("network_failed").is_some());
    }

    #[test]
    fn words_and_statuses_are_stable() {
        let listed: Vec<String> = Reason::ALL.into_iter().map(|r| format!("{} {}", r.facts().1, r.as_str())).collect();
        assert_eq!(
            listed,
            [
                "400 invalid_request",
                "401 unauthenticated",
                "403 denied",
                "404 not_found",
                "405 method_not_allowed",
                "409 conflict",
                "409 not_certified",
                "409 publishing_stopped",
                "413 too_large",
                "415 unsupported_media_type",
                "422 key_reused",
                "500 storage_failed",
                "500 damaged",
                "502 network_failed",
                "503 busy",
                "503 actor_failed",
                "503 offline",
                "504 deadline_passed",
                "500 internal",
                "500 failed",
            ]
        );
    }

    #[test]
    fn a_busy_node_says_when_to_come_back() {
        let problem = Problem::from(NodeError::Busy { retry_after: Duration(250) });
        let response = problem.error_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers().get("retry-after").unwrap(), "1");
        assert_eq!(response.headers().get("content-type").unwrap(), MEDIA_TYPE);
        let text = serde_json::to_string(&problem).unwrap();
        assert!(text.contains("\"type\":\"urn:plumbline:problem:busy\""), "{text}");
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }

    #[test]
    fn without_a_token_the_answer_names_the_scheme() {
        let response = Problem::new(Reason::Unauthenticated, "no token").error_response();
        assert_eq!(response.headers().get("www-authenticate").unwrap(), "Bearer");
    }
}
