//! Entities and edges as their readers see them, and fields as they are given.

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::graph::{Belonging, Details, Edge, Entity, UnitLink};
use plumb_core::identity::{EntityId, EntityType, IdentityError};
use plumb_core::measure::Timestamp;

use super::{DepartmentView, EdgeView, EntityView};
use crate::error::NodeError;

/// An entity.
pub(super) fn entity(entity: &Entity) -> EntityView {
    EntityView {
        id: entity.id().to_string(),
        kind: entity.id().kind().to_string(),
        name: entity.name().to_string(),
        aliases: entity.aliases().iter().cloned().collect(),
        fields: fields(entity.details()),
    }
}

/// An edge.
pub(super) fn edge(edge: &Edge, now: Timestamp) -> EdgeView {
    EdgeView {
        source: edge.key.source().to_string(),
        relation: edge.key.relation().to_string(),
        target: edge.key.target().to_string(),
        weight: edge.weight.get(),
        strength: edge.strength(now).get(),
        role: edge.role.map(|role| role.to_string()),
        active_at: Some(edge.active_at.to_string()),
    }
}

/// A link of a unit, as an edge.
pub(super) fn unit_link(link: &UnitLink) -> EdgeView {
    EdgeView {
        source: link.unit().to_string(),
        relation: link.relation().to_string(),
        target: link.target().to_string(),
        weight: link.weight().get(),
        strength: link.weight().get(),
        role: None,
        active_at: None,
    }
}

/// A department of a person.
pub(super) fn department(belonging: &Belonging) -> DepartmentView {
    let through = belonging.through.as_ref().map(ToString::to_string);
    DepartmentView { department: belonging.department.to_string(), through }
}

/// The fields of an entity by their names; those that are known.
fn fields(details: &Details) -> BTreeMap<String, String> {
    let id = |id: &Option<EntityId>| id.as_ref().map(ToString::to_string);
    let pairs = match details.clone() {
        Details::Person { email, role, expertise } => {
            let topics: Vec<String> = expertise.iter().map(ToString::to_string).collect();
            vec![
                ("email", email),
                ("role", role),
                ("expertise", Some(topics.join(",")).filter(|topics| !topics.is_empty())),
            ]
        }
        Details::Team { purpose, department } => vec![("purpose", purpose), ("department", id(&department))],
        Details::Department { organization } => vec![("organization", id(&organization))],
        Details::Organization { domain } => vec![("domain", domain)],
        Details::Project { repo_url, workspace_id } => vec![("repo_url", repo_url), ("workspace_id", workspace_id)],
        Details::System { system_type, project } => vec![("system_type", system_type), ("project", id(&project))],
        Details::Module { path_pattern, system } => vec![("path_pattern", path_pattern), ("system", id(&system))],
        Details::Topic { description } => vec![("description", description)],
    };
    pairs.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// The details of an entity of a type, out of named fields. A name that the type does not have is refused.
pub(super) fn details(kind: EntityType, mut fields: BTreeMap<String, String>) -> Result<Details, NodeError> {
    let id = |text: Option<String>| -> Result<Option<EntityId>, IdentityError> { text.map(|t| t.parse()).transpose() };
    let invalid = |e: IdentityError| NodeError::Invalid(e.to_string());
    let mut take = |name: &str| fields.remove(name);
    let (names, details) = match kind {
        EntityType::Person => {
            let topics = take("expertise").unwrap_or_default();
            let topics = topics.split(',').map(str::trim).filter(|topic| !topic.is_empty());
            let expertise = topics.map(str::parse).collect::<Result<BTreeSet<EntityId>, _>>().map_err(invalid)?;
            ("email, role, expertise", Details::Person { email: take("email"), role: take("role"), expertise })
        }
        EntityType::Team => {
            let department = id(take("department")).map_err(invalid)?;
            ("purpose, department", Details::Team { purpose: take("purpose"), department })
        }
        EntityType::Department => {
            ("organization", Details::Department { organization: id(take("organization")).map_err(invalid)? })
        }
        EntityType::Organization => ("domain", Details::Organization { domain: take("domain") }),
        EntityType::Project => (
            "repo_url, workspace_id",
            Details::Project { repo_url: take("repo_url"), workspace_id: take("workspace_id") },
        ),
        EntityType::System => {
            let project = id(take("project")).map_err(invalid)?;
            ("system_type, project", Details::System { system_type: take("system_type"), project })
        }
        EntityType::Module => {
            let system = id(take("system")).map_err(invalid)?;
            ("path_pattern, system", Details::Module { path_pattern: take("path_pattern"), system })
        }
        EntityType::Topic => ("description", Details::Topic { description: take("description") }),
    };
    match fields.keys().next() {
        None => Ok(details),
        Some(name) => Err(NodeError::Invalid(format!("a {kind} has no field `{name}`; it has {names}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_go_in_and_come_out_the_same() {
        for (kind, given) in [
            (EntityType::Person, vec![("email", "m@x.org"), ("expertise", "topic-a,topic-b"), ("role", "lead")]),
            (EntityType::Team, vec![("department", "department-o"), ("purpose", "runs it")]),
            (EntityType::Department, vec![("organization", "organization-n")]),
            (EntityType::Organization, vec![("domain", "x.org")]),
            (EntityType::Project, vec![("repo_url", "git@x:a"), ("workspace_id", "w")]),
            (EntityType::System, vec![("project", "project-p"), ("system_type", "cargo")]),
            (EntityType::Module, vec![("path_pattern", "src/**"), ("system", "system-s")]),
            (EntityType::Topic, vec![("description", "moving water")]),
            (EntityType::Topic, vec![]),
        ] {
            let given: BTreeMap<String, String> =
                given.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            assert_eq!(fields(&details(kind, given.clone()).unwrap()), given, "{kind}");
        }
        let wrong = BTreeMap::from([("colour".to_string(), "red".to_string())]);
        let refused = details(EntityType::Team, wrong).unwrap_err().to_string();
        assert_eq!(refused, "a team has no field `colour`; it has purpose, department");
    }
}
