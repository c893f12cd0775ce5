//! Who is behind a request.

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use futures::future::{LocalBoxFuture, Ready, ready};
use plumb_actors::audit::RecordAccess;
use plumb_actors::supervisor::Authenticate;
use plumb_actors::{Caller, NodeError};
use plumb_core::identity::EntityId;

use super::Served;
use crate::api::QUICK;
use crate::problem::{Problem, Reason};

/// The header by which the operator says for whom they ask. It is honoured on the local socket only.
pub const AS_HEADER: &str = "x-plumb-as";

/// Through which door a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// The local socket: the operator.
    Socket,
    /// TCP: whoever has a token.
    Tcp,
}

impl Entrance {
    /// The door of a request.
    pub fn of(request: &HttpRequest) -> Entrance {
        request.conn_data::<Entrance>().copied().unwrap_or(Entrance::Tcp)
    }
}

/// Finds out who asks. The gate does this before a handler or a body is looked at.
pub async fn identify(request: &HttpRequest, served: &Served) -> Result<Caller, Problem> {
    match Entrance::of(request) {
        Entrance::Socket => operator(request, served),
        Entrance::Tcp => bearer(request, served).await,
    }
}

fn operator(request: &HttpRequest, served: &Served) -> Result<Caller, Problem> {
    let Some(named) = request.headers().get(AS_HEADER) else {
        return Ok(Caller { person: served.person.clone(), operator: true });
    };
    let named = named.to_str().map_err(|_| Problem::invalid("the name of a person is plain text"))?;
    let known = || {
        let ids: Vec<String> = served.people.iter().map(ToString::to_string).collect();
        Problem::invalid(format!("this node knows no `{named}`; its plumb.toml lists {}", ids.join(", ")))
    };
    let person: EntityId = named.parse().map_err(|_| known())?;
    if served.people.contains(&person) { Ok(Caller { person, operator: true }) } else { Err(known()) }
}

async fn bearer(request: &HttpRequest, served: &Served) -> Result<Caller, Problem> {
    let refused = |why: &str| Problem::new(Reason::Unauthenticated, why);
    let token = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty())
        .map(|(_, token)| token.trim().to_string())
        .ok_or_else(|| refused("send `Authorization: Bearer TOKEN`; `plumb token create` makes one"))?;
    match served.node.supervisor.ask(Authenticate { token }, QUICK).await {
        // Whoever left the configuration has no rights left, whatever tokens they still hold.
        Ok(caller) if served.people.contains(&caller.person) => Ok(caller),
        Ok(_) | Err(NodeError::Denied(_)) => Err(refused("this token is unknown, expired or revoked")),
        Err(error) => Err(error.into()),
    }
}

fn identified(request: &HttpRequest) -> Result<Caller, Problem> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| Problem::new(Reason::Unauthenticated, "nobody was identified for this request"))
}

/// Whoever asks.
pub struct Asker(pub Caller);

impl FromRequest for Asker {
    type Error = Problem;
    type Future = Ready<Result<Asker, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(identified(request).map(Asker))
    }
}

/// The operator. Anybody else is denied, and the audit log hears of it.
pub struct Operator(pub Caller);

impl FromRequest for Operator {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Operator, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = identified(request);
        let subject = format!("{} {}", request.method(), request.match_pattern().unwrap_or_default());
        let served = request.app_data::<web::Data<Served>>().cloned();
        Box::pin(async move {
            let caller = caller?;
            if caller.operator {
                return Ok(Operator(caller));
            }
            if let Some(served) = served {
                let event = RecordAccess {
                    actor: caller.label(),
                    action: "http".to_string(),
                    subject,
                    outcome: "denied".to_string(),
                    detail: "only the operator may do this".to_string(),
                };
                if let Err(error) = served.node.audit.ask(event, QUICK).await {
                    tracing::error!(%error, "a denied request could not be written to the audit log");
                }
            }
            Err(Problem::new(Reason::Denied, "only the operator of the node may do this, through its local socket"))
        })
    }
}
