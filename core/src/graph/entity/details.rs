//! What is known of an entity, by its type (ENT-01, ENT-02).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bounded;
use crate::graph::GraphError;
use crate::identity::{EntityId, EntityType};

/// Longest other field in bytes: a paragraph.
pub const FIELD_LEN_MAX: usize = 2000;
/// Topics that one person may be said to know.
const EXPERTISE_MAX: usize = 256;

/// What is known of an entity beyond its name, by its type. What is not known is absent, not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the fields' names are the design's, and say it")]
pub enum Details {
    Person { email: Option<String>, role: Option<String>, expertise: BTreeSet<EntityId> },
    Team { purpose: Option<String>, department: Option<EntityId> },
    Department { organization: Option<EntityId> },
    Organization { domain: Option<String> },
    Project { repo_url: Option<String>, workspace_id: Option<String> },
    System { system_type: Option<String>, project: Option<EntityId> },
    Module { path_pattern: Option<String>, system: Option<EntityId> },
    Topic { description: Option<String> },
}

impl Details {
    /// Nothing known yet of an entity of this type.
    pub fn unknown(kind: EntityType) -> Details {
        match kind {
            EntityType::Person => Details::Person { email: None, role: None, expertise: BTreeSet::new() },
            EntityType::Team => Details::Team { purpose: None, department: None },
            EntityType::Department => Details::Department { organization: None },
            EntityType::Organization => Details::Organization { domain: None },
            EntityType::Project => Details::Project { repo_url: None, workspace_id: None },
            EntityType::System => Details::System { system_type: None, project: None },
            EntityType::Module => Details::Module { path_pattern: None, system: None },
            EntityType::Topic => Details::Topic { description: None },
        }
    }

    /// Whose fields these are.
    pub fn kind(&self) -> EntityType {
        match self {
            Details::Person { .. } => EntityType::Person,
            Details::Team { .. } => EntityType::Team,
            Details::Department { .. } => EntityType::Department,
            Details::Organization { .. } => EntityType::Organization,
            Details::Project { .. } => EntityType::Project,
            Details::System { .. } => EntityType::System,
            Details::Module { .. } => EntityType::Module,
            Details::Topic { .. } => EntityType::Topic,
        }
    }

    /// Texts within bounds, references to entities of the right type.
    pub(super) fn check(&self) -> Result<(), GraphError> {
        match self {
            Details::Person { email, role, expertise } => {
                text("email", email)?;
                text("role", role)?;
                if expertise.len() > EXPERTISE_MAX {
                    return Err(GraphError::Many { what: "topics of expertise", max: EXPERTISE_MAX });
                }
                expertise.iter().try_for_each(|topic| refers("expertise", Some(topic), EntityType::Topic))
            }
            Details::Team { purpose, department } => {
                text("purpose", purpose)?;
                refers("department", department.as_ref(), EntityType::Department)
            }
            Details::Department { organization } => {
                refers("organization", organization.as_ref(), EntityType::Organization)
            }
            Details::Organization { domain } => text("domain", domain),
            Details::Project { repo_url, workspace_id } => {
                text("repo_url", repo_url)?;
                text("workspace_id", workspace_id)
            }
            Details::System { system_type, project } => {
                text("system_type", system_type)?;
                refers("project", project.as_ref(), EntityType::Project)
            }
            Details::Module { path_pattern, system } => {
                text("path_pattern", path_pattern)?;
                refers("system", system.as_ref(), EntityType::System)
            }
            Details::Topic { description } => text("description", description),
        }
    }

    /// These, and from `newer` whatever it knows. Both are of one type.
    pub(super) fn merge(&mut self, newer: Details) {
        fn take<T>(known: &mut Option<T>, newer: Option<T>) {
            if newer.is_some() {
                *known = newer;
            }
        }
        match (self, newer) {
            (Details::Person { email, role, expertise }, Details::Person { email: e, role: r, expertise: x }) => {
                take(email, e);
                take(role, r);
                expertise.extend(x);
            }
            (Details::Team { purpose, department }, Details::Team { purpose: p, department: d }) => {
                take(purpose, p);
                take(department, d);
            }
            (Details::Department { organization }, Details::Department { organization: o }) => take(organization, o),
            (Details::Organization { domain }, Details::Organization { domain: d }) => take(domain, d),
            (Details::Project { repo_url, workspace_id }, Details::Project { repo_url: r, workspace_id: w }) => {
                take(repo_url, r);
                take(workspace_id, w);
            }
            (Details::System { system_type, project }, Details::System { system_type: t, project: p }) => {
                take(system_type, t);
                take(project, p);
            }
            (Details::Module { path_pattern, system }, Details::Module { path_pattern: p, system: s }) => {
                take(path_pattern, p);
                take(system, s);
            }
            (Details::Topic { description }, Details::Topic { description: d }) => take(description, d),
            (known, newer) => debug_assert_eq!(known.kind(), newer.kind(), "one id has one type"),
        }
    }
}

fn text(field: &'static str, value: &Option<String>) -> Result<(), GraphError> {
    value.iter().try_for_each(|value| bounded(field, value, FIELD_LEN_MAX))
}

fn refers(field: &'static str, to: Option<&EntityId>, expected: EntityType) -> Result<(), GraphError> {
    match to {
        Some(id) if id.kind() != expected => Err(GraphError::Reference { field, expected, given: id.clone() }),
        _ => Ok(()),
    }
}
