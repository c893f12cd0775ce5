//! The HTTP server: one set of routes behind two doors, the local socket and TCP.
//!
//! Who comes through the socket is the operator: only their own user may open it. Who comes over TCP shows a token.
//! Everything else is the same, so a test over either door tests both.

mod body;
mod caller;
mod gate;
mod replies;
mod trace;

use std::any::Any;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer, rt, web};
use plumb_actors::Node;
use plumb_core::identity::{DidWeb, EntityId, NodeId};

use crate::api;
use crate::config::Limits;
use crate::metrics::Metrics;
use crate::problem::{Problem, Reason};

pub use body::{Body, Bundle, Words};
pub use caller::{AS_HEADER, Asker, Entrance, Operator};
pub use replies::{Key, Replies};

/// Bytes that a source grows when it travels as base64 inside JSON, with room for the rest of the request.
const fn as_base64(bytes: usize) -> usize {
    bytes / 3 * 4 + 64 * 1024
}

/// How long a request over the local socket may take: a rebuild or an audit of a large store is such a request.
const LOCAL_REQUEST_MAX: Duration = Duration::from_secs(3600);

/// What all requests share.
pub struct Served {
    /// The node.
    pub node: Node,
    /// Its name.
    pub id: NodeId,
    /// The name that it goes by in JSON bundles, instead of its key.
    pub did_web: Option<DidWeb>,
    /// Who may ask.
    pub people: BTreeSet<EntityId>,
    /// For whom the operator asks, unless they say otherwise.
    pub person: EntityId,
    /// What requests may cost.
    pub limits: Limits,
    /// Largest source, in bytes.
    pub source_bytes_max: usize,
    /// What is counted.
    pub metrics: Metrics,
    /// What was answered under an idempotency key.
    pub replies: Replies,
}

impl Served {
    /// How long a request may take that came through this door.
    pub fn request_max(&self, entrance: Entrance) -> Duration {
        match entrance {
            Entrance::Socket => LOCAL_REQUEST_MAX,
            Entrance::Tcp => Duration::from_millis(self.limits.request_ms_max),
        }
    }

    /// How large a body may be that came through this door.
    pub fn body_max(&self, entrance: Entrance) -> usize {
        match entrance {
            Entrance::Socket => as_base64(self.source_bytes_max).max(self.limits.body_bytes_max),
            Entrance::Tcp => self.limits.body_bytes_max,
        }
    }
}

/// The application: gate, routes, and problem documents for what has no route.
pub fn app(
    served: web::Data<Served>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody>,
        Error = Error,
        InitError = (),
    >,
> {
    App::new()
        .app_data(served)
        .app_data(web::QueryConfig::default().error_handler(|e, _| Problem::invalid(e.to_string()).into()))
        .app_data(web::PathConfig::default().error_handler(|e, _| Problem::invalid(e.to_string()).into()))
        .configure(api::routes)
        .default_service(web::to(no_route))
        .wrap(from_fn(gate::pass))
}

/// No route: a method that a known path does not take, or no such path.
async fn no_route(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let known = request.resource_map().match_pattern(request.path()).is_some();
    if known && request.method() != Method::HEAD {
        return Err(Problem::new(
            Reason::MethodNotAllowed,
            format!("{} does not take {}; /docs lists what does", request.path(), request.method()),
        ));
    }
    Err(Problem::new(Reason::NotFound, "there is no such route; /docs lists those that there are"))
}

/// Begins to answer. The server runs until its handle stops it.
pub fn listen(
    served: web::Data<Served>,
    socket: UnixListener,
    tcp: Option<TcpListener>,
    workers: usize,
) -> std::io::Result<Server> {
    let limits = served.limits;
    let mut server = HttpServer::new(move || app(served.clone()))
        .workers(workers)
        .max_connections(limits.connections_max.div_ceil(workers))
        .shutdown_timeout(limits.drain_ms_max.div_ceil(1000))
        .disable_signals()
        .on_connect(note_entrance)
        .listen_uds(socket)?;
    if let Some(tcp) = tcp {
        server = server.listen(tcp)?;
    }
    Ok(server.run())
}

/// Notes for every request of a connection through which door it came. What is neither counts as TCP: fewer rights.
fn note_entrance(io: &dyn Any, extensions: &mut Extensions) {
    let entrance = if io.is::<rt::net::UnixStream>() { Entrance::Socket } else { Entrance::Tcp };
    extensions.insert(entrance);
}
