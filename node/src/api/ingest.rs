//! Taking sources in.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::web::{Data, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, post};
use multibase::Base;
use plumb_actors::Caller;
use plumb_actors::ingestion::{IngestSources, Intake, JobState, JobView, ShowJob};
use plumb_core::boundary::Sensitivity;
use plumb_core::knowledge::Scope;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{QUICK, WORK};
use crate::problem::{Problem, Reason};
use crate::serve::{Asker, Body, Entrance, Key, Served};

/// Most documents or paths of one request.
const ITEMS_MAX: usize = 1000;
/// Longest name of a document.
const NAME_BYTES_MAX: usize = 1024;
/// How often a job is looked at while its caller waits.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What is kept of a request's time for the answer, when its caller waits for the job.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(ingest);
}

/// What to take in, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IngestRequest {
    /// Documents that come with the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Document>,
    /// Absolute paths of files and folders on the node's machine. Only through its local socket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Whose it shall be, such as `team:team-network`; otherwise the node's department.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// How sensitive it is: public, internal, restricted or confidential; otherwise internal. Detection may raise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<String>,
    /// Only this adapter, such as `markdown/1`; otherwise the one that fits the bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// A document that comes with the request, as text or as base64.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// A name for it, such as `minutes.md`. The same name later is the same source with a newer text.
    pub name: String,
    /// Media type or file ending, if known. The bytes themselves decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl Document {
    /// A document of these bytes.
    pub fn of_bytes(name: String, bytes: &[u8]) -> Document {
        Document { name, media_type: None, text: None, base64: Some(Base::Base64Pad.encode(bytes)) }
    }
}

/// Whether to wait.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Wait {
    /// Answer when the job has ended. If it takes longer than a request may, the job is answered as it stands (202).
    #[serde(default)]
    pub wait: bool,
}

/// Takes documents in, as a job. `Idempotency-Key` is honoured.
#[utoipa::path(
    tag = "ingest",
    params(Wait),
    request_body = IngestRequest,
    responses(
        (status = 200, description = "The job has ended", body = JobView),
        (status = 202, description = "The job has begun", body = JobView),
        (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 413, body = Problem), (status = 503, body = Problem),
    )
)]
#[post("/v1/ingest")]
async fn ingest(
    request: HttpRequest,
    served: Data<Served>,
    Asker(caller): Asker,
    key: Key,
    wait: Query<Wait>,
    body: Body<IngestRequest>,
) -> Result<HttpResponse, Problem> {
    let entrance = Entrance::of(&request);
    let until = Instant::now() + served.request_max(entrance).saturating_sub(ANSWER_WITHIN);
    let message = message(caller.clone(), body.value, entrance)?;
    let work = async {
        let job = served.node.ingestion.ask(message, WORK).await?;
        if wait.wait { wait_for(&served, &caller, job, until).await } else { Ok((StatusCode::ACCEPTED, job)) }
    };
    served.replies.once(&caller, "ingest", key, body.digest, work).await
}

async fn wait_for(
    served: &Served,
    caller: &Caller,
    mut job: JobView,
    until: Instant,
) -> Result<(StatusCode, JobView), Problem> {
    while job.state == JobState::Running {
        if Instant::now() >= until {
            return Ok((StatusCode::ACCEPTED, job));
        }
        tokio::time::sleep(LOOK_EVERY).await;
        let look = ShowJob { caller: caller.clone(), id: job.id.clone() };
        job = served.node.ingestion.ask(look, QUICK).await?;
    }
    Ok((StatusCode::OK, job))
}

fn message(caller: Caller, request: IngestRequest, entrance: Entrance) -> Result<IngestSources, Problem> {
    let n = request.documents.len() + request.paths.len();
    if n == 0 || n > ITEMS_MAX {
        return Err(Problem::invalid(format!("a request names 1 to {ITEMS_MAX} documents or paths, not {n}")));
    }
    if entrance == Entrance::Tcp && !request.paths.is_empty() {
        return Err(Problem::new(
            Reason::Denied,
            "paths are read on the node's own machine only; send the documents themselves",
        ));
    }
    let mut intake = Vec::with_capacity(n);
    for path in request.paths {
        let path = PathBuf::from(path);
        if !path.is_absolute() {
            return Err(Problem::invalid(format!("`{}` is not an absolute path", path.display())));
        }
        intake.push(Intake::Path(path));
    }
    for document in request.documents {
        intake.push(inline(document)?);
    }
    Ok(IngestSources {
        caller,
        intake,
        scope: request.scope.map(|s| s.parse::<Scope>()).transpose()?,
        sensitivity: request.sensitivity.map(|s| s.parse::<Sensitivity>()).transpose()?,
        adapter: request.adapter,
        dry_run: request.dry_run,
    })
}

fn inline(document: Document) -> Result<Intake, Problem> {
    let Document { name, media_type, text, base64 } = document;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Problem::invalid(format!("the name of a document has 1 to {NAME_BYTES_MAX} bytes on one line")));
    }
    let bytes = match (text, base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(base64)) => Base::Base64Pad
            .decode(base64)
            .map_err(|_| Problem::invalid(format!("the base64 of `{name}` cannot be read")))?,
        _ => {
            return Err(Problem::invalid(format!("`{name}` has either text or base64")));
        }
    };
    Ok(Intake::Inline { name, declared: media_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller { person: "person-a".parse().unwrap(), operator: false }
    }

    fn check(json: serde_json::Value, entrance: Entrance) -> Result<IngestSources, u16> {
        let request = serde_json::from_value(json).map_err(|_| 400u16)?;
        message(caller(), request, entrance).map_err(|p| p.status)
    }

    #[test]
    fn documents_are_text_or_base64() {
        let json = serde_json::json!({
            "documents": [{"name": "a.md", "text": "# A"}, {"name": "b", "base64": "AAE=", "media_type": "text/plain"}],
            "scope": "team:team-network", "sensitivity": "public"
        });
        let message = check(json, Entrance::Tcp).unwrap();
        assert!(matches!(&message.intake[0], Intake::Inline { bytes, .. } if bytes == b"# A"));
        assert!(matches!(&message.intake[1], Intake::Inline { bytes, declared: Some(_), .. } if bytes == &[0, 1]));
        assert_eq!(message.sensitivity, Some(Sensitivity::Public));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for json in [
            serde_json::json!({}),
            serde_json::json!({"documents": [{"name": "a"}]}),
            serde_json::json!({"documents": [{"name": "a", "text": "x", "base64": ""}]}),
            serde_json::json!({"documents": [{"name": "a\nb", "text": "x"}]}),
            serde_json::json!({"documents": [{"name": "a", "base64": "*"}]}),
            serde_json::json!({"documents": [{"name": "a", "text": "x"}], "scope": "everyone"}),
            serde_json::json!({"documents": [{"name": "a", "text": "x"}], "colour": "red"}),
        ] {
            assert_eq!(check(json.clone(), Entrance::Tcp).unwrap_err(), 400, "{json}");
        }
    }

    #[test]
    fn a_path_is_taken_on_this_machine_only() {
        let json = serde_json::json!({"paths": ["/tmp/x"]});
        assert_eq!(check(json.clone(), Entrance::Tcp).unwrap_err(), 403);
        assert!(check(json, Entrance::Socket).is_ok());
        assert_eq!(check(serde_json::json!({"paths": ["x"]}), Entrance::Socket).unwrap_err(), 400);
    }
}
