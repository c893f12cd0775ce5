//! The graph of people, teams, departments, projects, systems, modules and topics, as a node keeps it.
//!
//! The rows of the store are the truth. What is held in memory is derived from them when the node starts, and replaced
//! as a whole with each change, so that whoever reads it has one moment's graph for as long as they need it. Everybody
//! of the organisation may read it: it says who works on what, and nothing of what they wrote. A unit that hangs on an
//! entity is shown to who may read the unit.

mod facts;
mod known;
mod messages;
mod views;

use std::sync::Arc;

use actix::prelude::*;
use cid::Cid;
use plumb_core::boundary::readable;
use plumb_core::graph::{EdgeKey, EdgeUpsert, Entity, LinkTarget, Relation, UnitLink, WEIGHT_DEFAULT, proximity_at};
use plumb_core::knowledge::KnowledgeUnit;
use plumb_sources::workspace::WorkspaceFacts;
use plumb_storage::unit;

use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

pub(crate) use known::{Draft, Known};
pub use messages::*;

/// Knows who and what there is.
pub struct Entities {
    premises: Arc<Premises>,
}
crate::resident!(Entities, "entities");

impl Entities {
    pub(crate) fn new(premises: Arc<Premises>) -> Entities {
        Entities { premises }
    }

    /// Does some work where blocking is allowed.
    fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Premises) -> Result<T, NodeError> + Send + 'static,
    ) -> ResponseFuture<Result<T, NodeError>> {
        let premises = self.premises.clone();
        Box::pin(blocking(move || work(&premises)))
    }
}

/// Refuses who is nobody here: the graph is the organisation's own.
fn member(premises: &Premises, caller: &Caller) -> Result<(), NodeError> {
    premises.requester(caller).map(drop)
}

impl Handler<ListEntities> for Entities {
    type Result = ResponseFuture<Result<Vec<EntityView>, NodeError>>;

    fn handle(&mut self, ask: ListEntities, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            member(premises, &ask.caller)?;
            let mut views = Vec::new();
            for entity in kept::entities(&premises.store, ask.kind) {
                let entity = entity?;
                if ask.after.as_ref().is_some_and(|after| entity.id().to_string() <= *after) {
                    continue;
                }
                if views.len() >= ask.limit {
                    break;
                }
                views.push(views::entity(&entity));
            }
            Ok(views)
        })
    }
}

impl Handler<ShowEntity> for Entities {
    type Result = ResponseFuture<Result<EntityPage, NodeError>>;

    fn handle(&mut self, ask: ShowEntity, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            member(premises, &ask.caller)?;
            let known = premises.entities();
            let id = known.find(&ask.name)?;
            let entity = kept::entity(&premises.store, &id)?.ok_or(NodeError::NotFound(ask.name))?;
            let now = premises.now();
            let edges = |edges: Vec<_>| edges.iter().map(|edge| views::edge(edge, now)).collect();
            let mut units = Vec::new();
            for link in known.links.to_entity(&id) {
                if let Some((unit, title)) = readable_unit(premises, &ask.caller, link.unit())? {
                    let (chunk, relation) = (unit.chunk.to_string(), link.relation().to_string());
                    units.push(LinkedUnitView { chunk, relation, title });
                }
            }
            Ok(EntityPage {
                entity: views::entity(&entity),
                edges: edges(known.graph.edges_from(&id)),
                edges_into: edges(known.graph.edges_into(&id)),
                departments: known.graph.departments_of(&id).iter().map(views::department).collect(),
                units,
            })
        })
    }
}

/// A unit that may be found and that the caller may read, with the title of its source. Any other is absent.
fn readable_unit(
    premises: &Premises,
    caller: &Caller,
    chunk: &Cid,
) -> Result<Option<(KnowledgeUnit, String)>, NodeError> {
    let requester = premises.requester(caller)?;
    let Some(unit) = unit(&premises.store, chunk)? else { return Ok(None) };
    if !unit.is_active() || readable(&requester, &unit, premises.policy).is_err() {
        return Ok(None);
    }
    let title = kept::source(&premises.store, &unit.source)?.map(|row| row.title).unwrap_or_default();
    Ok(Some((unit, title)))
}

impl Handler<AddEntity> for Entities {
    type Result = ResponseFuture<Result<EntityView, NodeError>>;

    fn handle(&mut self, ask: AddEntity, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            let details = views::details(ask.kind, ask.fields)?;
            let entity = match ask.id {
                Some(id) => Entity::with_id(id, &ask.name, details)?,
                None => Entity::new(&ask.name, details)?,
            };
            let now = premises.now();
            premises.change_entities(|draft| {
                if draft.known().graph.contains(entity.id()) {
                    return Err(NodeError::Conflict(format!(
                        "`{}` is there already; give the new one an id of its own, or rename or alias the old one",
                        entity.id()
                    )));
                }
                let (view, event) =
                    (views::entity(&entity), premises.event(&ask.by, "entity.add", entity.id(), "ok", ""));
                let edges = entity.implied_edges(now)?;
                draft.put(entity)?;
                edges.iter().try_for_each(|edge| draft.upsert(edge).map(drop))?;
                Ok((event, view))
            })
        })
    }
}

/// Changes one entity in place.
fn change(
    premises: &Premises,
    by: &str,
    action: &str,
    name: &str,
    detail: &str,
    work: impl FnOnce(&mut Entity) -> Result<(), plumb_core::graph::GraphError>,
) -> Result<EntityView, NodeError> {
    premises.change_entities(|draft| {
        let id = draft.known().find(name)?;
        let mut entity = draft.entity(&id)?.ok_or_else(|| NodeError::NotFound(name.to_string()))?;
        work(&mut entity)?;
        let view = views::entity(&entity);
        draft.put(entity)?;
        Ok((premises.event(by, action, id, "ok", detail), view))
    })
}

impl Handler<RenameEntity> for Entities {
    type Result = ResponseFuture<Result<EntityView, NodeError>>;

    fn handle(&mut self, ask: RenameEntity, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            change(premises, &ask.by, "entity.rename", &ask.entity, &ask.name, |entity| entity.rename(&ask.name))
        })
    }
}

impl Handler<AddAlias> for Entities {
    type Result = ResponseFuture<Result<EntityView, NodeError>>;

    fn handle(&mut self, ask: AddAlias, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            change(premises, &ask.by, "entity.alias", &ask.entity, &ask.alias, |entity| entity.add_alias(&ask.alias))
        })
    }
}

impl Handler<RemoveEntity> for Entities {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: RemoveEntity, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            premises.change_entities(|draft| {
                let id = draft.known().find(&ask.entity)?;
                draft.remove(&id);
                let detail = format!("with {} edges", draft.counts().1);
                Ok((premises.event(&ask.by, "entity.remove", id, "ok", detail), ()))
            })
        })
    }
}

/// What a link joins: two entities, or a unit and something that it can hang on.
enum Ends {
    Edge(EdgeKey),
    Unit(Cid, LinkTarget),
}

/// The ends that somebody named. A unit that they may not read is absent, and refused as such.
fn ends(
    premises: &Premises,
    caller: &Caller,
    known: &Known,
    (source, relation, target): (&str, Relation, &str),
) -> Result<Ends, NodeError> {
    let unit_of = |text: &str| -> Result<Option<Cid>, NodeError> {
        let Ok(chunk) = plumb_core::content::parse_cid(text) else { return Ok(None) };
        match readable_unit(premises, caller, &chunk)? {
            Some((unit, _)) => Ok(Some(unit.chunk)),
            None => Err(NodeError::NotFound(text.to_string())),
        }
    };
    let Some(unit) = unit_of(source)? else {
        return Ok(Ends::Edge(EdgeKey::new(known.find(source)?, relation, known.find(target)?)?));
    };
    let target = match unit_of(target)? {
        Some(other) => LinkTarget::Unit(other),
        None => LinkTarget::Entity(known.find(target)?),
    };
    Ok(Ends::Unit(unit, target))
}

impl Handler<LinkEntities> for Entities {
    type Result = ResponseFuture<Result<EdgeView, NodeError>>;

    fn handle(&mut self, ask: LinkEntities, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            let now = premises.now();
            let weight = ask.weight.unwrap_or(WEIGHT_DEFAULT);
            premises.change_entities(|draft| {
                let named = (ask.source.as_str(), ask.relation, ask.target.as_str());
                let (subject, view) = match ends(premises, &ask.caller, draft.known(), named)? {
                    Ends::Edge(key) => {
                        let upsert = match ask.role {
                            Some(role) => EdgeUpsert::set_role(key, weight, role, now)?,
                            None => EdgeUpsert::set(key, weight, now),
                        };
                        let edge = draft.upsert(&upsert)?;
                        (edge.key.to_string(), views::edge(&edge, now))
                    }
                    Ends::Unit(_, _) if ask.role.is_some() => {
                        return Err(plumb_core::graph::GraphError::Role(ask.relation).into());
                    }
                    Ends::Unit(unit, target) => {
                        let link = UnitLink::new(unit, ask.relation, target, weight)?;
                        let view = views::unit_link(&link);
                        draft.hang(link);
                        (unit.to_string(), view)
                    }
                };
                let detail = format!("{} {}, weight {}", view.relation, view.target, view.weight);
                Ok((premises.event(&ask.caller.label(), "entity.link", subject, "ok", detail), view))
            })
        })
    }
}

impl Handler<UnlinkEntities> for Entities {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: UnlinkEntities, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            premises.change_entities(|draft| {
                let named = (ask.source.as_str(), ask.relation, ask.target.as_str());
                let absent = || NodeError::NotFound(format!("{} {} {}", ask.source, ask.relation, ask.target));
                let subject = match ends(premises, &ask.caller, draft.known(), named)? {
                    Ends::Edge(key) => match draft.unlink(&key) {
                        true => key.to_string(),
                        false => return Err(absent()),
                    },
                    Ends::Unit(unit, target) => {
                        let links = draft.known().links.of_unit(&unit);
                        let is_it = |link: &UnitLink| link.relation() == ask.relation && *link.target() == target;
                        draft.unhang(links.into_iter().find(is_it).ok_or_else(absent)?);
                        format!("{unit} {} {target}", ask.relation)
                    }
                };
                Ok((premises.event(&ask.caller.label(), "entity.unlink", subject, "ok", ""), ()))
            })
        })
    }
}

impl Handler<MeasureDistance> for Entities {
    type Result = ResponseFuture<Result<DistanceView, NodeError>>;

    fn handle(&mut self, ask: MeasureDistance, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            member(premises, &ask.caller)?;
            let known = premises.entities();
            let (from, to) = (known.find(&ask.from)?, known.find(&ask.to)?);
            let distance = known.graph.distance(&from, &to);
            Ok(DistanceView {
                from: from.to_string(),
                to: to.to_string(),
                distance,
                proximity: distance.map(|hops| proximity_at(hops).get()),
            })
        })
    }
}

impl Handler<PopulateGraph> for Entities {
    type Result = ResponseFuture<Result<PopulatedView, NodeError>>;

    fn handle(&mut self, ask: PopulateGraph, _: &mut Context<Self>) -> Self::Result {
        self.aside(move |premises| {
            let unreadable = |e: std::io::Error| NodeError::Invalid(format!("the folder cannot be read: {e}"));
            let mut facts = ask.dir.as_deref().map(WorkspaceFacts::of).transpose().map_err(unreadable)?;
            let now = premises.now();
            let view = premises.change_entities(|draft| {
                facts::people(premises, draft, now)?;
                let team = ask.team.as_deref().map(|team| draft.known().find(team)).transpose()?;
                let project = match &facts {
                    Some(facts) => Some(facts::project(premises, draft, facts, ask.name.as_deref(), team, now)?),
                    None => None,
                };
                let (entities, edges) = draft.counts();
                let subject = project.as_ref().map_or("people".to_string(), ToString::to_string);
                let detail = format!("{entities} entities and {edges} edges are new or changed");
                let view = PopulatedView {
                    entities: entities as u64,
                    edges: edges as u64,
                    project: project.map(|id| id.to_string()),
                    systems: facts.as_ref().map_or(0, |facts| facts.manifests.len() as u64),
                    commits: facts.as_ref().map_or(0, |facts| facts.commits.len() as u64),
                    remarks: facts.as_mut().map(|facts| std::mem::take(&mut facts.remarks)).unwrap_or_default(),
                };
                Ok((premises.event(&ask.by, "entity.populate", subject, "ok", detail), view))
            })?;
            Ok(view)
        })
    }
}
