//! Entities: a stable id, a name that may change, every name that it ever had (ENT-03, ENT-11).

mod details;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::alias::{ALIASES_PER_ENTITY_MAX, fold};
use super::weight::{WEIGHT_ASSUMED, WEIGHT_DEFAULT};
use super::{EdgeKey, EdgeUpsert, GraphError, Relation};
use crate::identity::EntityId;
use crate::measure::{Milli, Timestamp};

pub use details::{Details, FIELD_LEN_MAX};

/// Longest name and alias in bytes; an id has the same bound.
pub const NAME_LEN_MAX: usize = 200;

/// A thing of the organisation with its name, its fields, and every name that it goes by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EntityFields")]
pub struct Entity {
    id: EntityId,
    name: String,
    aliases: BTreeSet<String>,
    details: Details,
}

/// An entity as it is stored or sent: not yet held to the rules.
#[derive(Deserialize)]
struct EntityFields {
    id: EntityId,
    name: String,
    #[serde(default)]
    aliases: BTreeSet<String>,
    details: Details,
}

impl TryFrom<EntityFields> for Entity {
    type Error = GraphError;
    fn try_from(fields: EntityFields) -> Result<Entity, GraphError> {
        let mut entity = Entity::with_id(fields.id, &fields.name, fields.details)?;
        for alias in &fields.aliases {
            entity.add_alias(alias)?;
        }
        Ok(entity)
    }
}

impl Entity {
    /// The entity of this name: its id is made of type and name ([`EntityId::new`]).
    pub fn new(name: &str, details: Details) -> Result<Entity, GraphError> {
        bounded("name", name, NAME_LEN_MAX)?;
        Entity::with_id(EntityId::new(details.kind(), name)?, name, details)
    }

    /// The entity of this id, which need not be made of its name: names change.
    pub fn with_id(id: EntityId, name: &str, details: Details) -> Result<Entity, GraphError> {
        bounded("name", name, NAME_LEN_MAX)?;
        if id.kind() != details.kind() {
            return Err(GraphError::Details { id, given: details.kind() });
        }
        details.check()?;
        let aliases = [fold(name), fold(id.slug())].into_iter().filter(|alias| !alias.is_empty()).collect();
        Ok(Entity { id, name: name.to_string(), aliases, details })
    }

    /// Its id, which stays.
    pub fn id(&self) -> &EntityId {
        &self.id
    }

    /// Its present name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields.
    pub fn details(&self) -> &Details {
        &self.details
    }

    /// Every name that it goes by, folded ([`fold`]): the present one, that of its id, former ones, added ones (ENT-11).
    pub fn aliases(&self) -> &BTreeSet<String> {
        &self.aliases
    }

    /// One more name to find it by.
    pub fn add_alias(&mut self, alias: &str) -> Result<(), GraphError> {
        bounded("alias", alias, NAME_LEN_MAX)?;
        let folded = fold(alias);
        if folded.is_empty() {
            return Err(GraphError::Length { field: "alias", len: 0, max: NAME_LEN_MAX });
        }
        if !self.aliases.contains(&folded) && self.aliases.len() >= ALIASES_PER_ENTITY_MAX {
            return Err(GraphError::Many { what: "aliases of one entity", max: ALIASES_PER_ENTITY_MAX });
        }
        self.aliases.insert(folded);
        Ok(())
    }

    /// Gives it another name. Its id stays, and it is still found by the old name.
    pub fn rename(&mut self, name: &str) -> Result<(), GraphError> {
        bounded("name", name, NAME_LEN_MAX)?;
        self.add_alias(name)?;
        self.name = name.to_string();
        Ok(())
    }

    /// Takes over what `newer` knows of the same entity: its name, its names, and each field that it fills.
    pub fn merge(&mut self, newer: Entity) -> Result<(), GraphError> {
        if newer.id != self.id {
            return Err(GraphError::Other { known: self.id.clone(), given: newer.id });
        }
        let mut merged = self.clone();
        merged.rename(&newer.name)?;
        newer.aliases.iter().try_for_each(|alias| merged.add_alias(alias))?;
        merged.details.merge(newer.details);
        // A union of two sets may be larger than either.
        merged.details.check()?;
        *self = merged;
        Ok(())
    }

    /// The edges that its fields speak of: a team is part of its department, a project contains its system. Whatever
    /// somebody says of their own expertise is assumed, not observed.
    pub fn implied_edges(&self, at: Timestamp) -> Result<Vec<EdgeUpsert>, GraphError> {
        let edge = |source: &EntityId, relation, target: &EntityId, weight: Milli| {
            Ok(EdgeUpsert::set(EdgeKey::new(source.clone(), relation, target.clone())?, weight, at))
        };
        let up = |relation, target: &Option<EntityId>| {
            target.iter().map(|target| edge(&self.id, relation, target, WEIGHT_DEFAULT)).collect()
        };
        let down = |source: &Option<EntityId>| {
            source.iter().map(|source| edge(source, Relation::Contains, &self.id, WEIGHT_DEFAULT)).collect()
        };
        match &self.details {
            Details::Person { expertise, .. } => {
                expertise.iter().map(|topic| edge(&self.id, Relation::ExpertIn, topic, WEIGHT_ASSUMED)).collect()
            }
            Details::Team { department, .. } => up(Relation::PartOf, department),
            Details::Department { organization } => up(Relation::PartOf, organization),
            Details::System { project, .. } => down(project),
            Details::Module { system, .. } => down(system),
            Details::Organization { .. } | Details::Project { .. } | Details::Topic { .. } => Ok(Vec::new()),
        }
    }
}

fn bounded(field: &'static str, text: &str, max: usize) -> Result<(), GraphError> {
    if text.is_empty() || text.len() > max { Err(GraphError::Length { field, len: text.len(), max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::EntityType;

    fn id(text: &str) -> EntityId {
        text.parse().unwrap()
    }

    fn one_of_each() -> Vec<Entity> {
        let text = |s: &str| Some(s.to_string());
        [
            Details::Person { email: text("m@x.org"), role: text("lead"), expertise: [id("topic-pumps")].into() },
            Details::Team { purpose: text("runs it"), department: Some(id("department-operations")) },
            Details::Department { organization: Some(id("organization-waterworks")) },
            Details::Organization { domain: text("x.org") },
            Details::Project { repo_url: text("git@x.org:a"), workspace_id: text("w1") },
            Details::System { system_type: text("cargo"), project: Some(id("project-plant")) },
            Details::Module { path_pattern: text("src/**"), system: Some(id("system-auth-service")) },
            Details::Topic { description: text("moving water") },
        ]
        .into_iter()
        .map(|details| Entity::new("Auth Service", details).unwrap())
        .collect()
    }

    #[test]
    fn every_type_round_trips_with_its_fields() {
        for (entity, kind) in one_of_each().into_iter().zip(EntityType::ALL) {
            assert_eq!(entity.id().to_string(), format!("{kind}-auth-service"));
            assert_eq!(Details::unknown(kind).kind(), kind);
            let json = serde_json::to_string(&entity).unwrap();
            assert_eq!(serde_json::from_str::<Entity>(&json).unwrap(), entity);
            let cbor = serde_ipld_dagcbor::to_vec(&entity).unwrap();
            assert_eq!(serde_ipld_dagcbor::from_slice::<Entity>(&cbor).unwrap(), entity);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let details = || Details::unknown(EntityType::Team);
        assert!(matches!(Entity::new("", details()), Err(GraphError::Length { field: "name", len: 0, .. })));
        assert!(Entity::new(&"x".repeat(NAME_LEN_MAX), details()).is_ok());
        assert!(Entity::new(&"x".repeat(NAME_LEN_MAX + 1), details()).is_err());
        assert!(matches!(Entity::new("!?", details()), Err(GraphError::Identity(_))));
        let other = Entity::with_id(id("person-a"), "A", details());
        assert_eq!(other, Err(GraphError::Details { id: id("person-a"), given: EntityType::Team }));
        let wrong = Details::Team { purpose: None, department: Some(id("team-b")) };
        assert!(matches!(Entity::new("A", wrong), Err(GraphError::Reference { field: "department", .. })));
        let purpose = |n: usize| Details::Team { purpose: Some("x".repeat(n)), department: None };
        assert!(Entity::new("A", purpose(FIELD_LEN_MAX)).is_ok());
        assert!(Entity::new("A", purpose(FIELD_LEN_MAX + 1)).is_err());
        let stored = serde_json::json!({ "id": "robot-a", "name": "A", "details": { "team": {} } });
        assert!(serde_json::from_value::<Entity>(stored).is_err(), "an unknown type");
    }

    #[test]
    fn a_rename_adds_an_alias_and_keeps_the_id() {
        let mut team = Entity::new("Platform Team", Details::unknown(EntityType::Team)).unwrap();
        assert_eq!(team.aliases().iter().collect::<Vec<_>>(), ["platform team"], "name and slug fold to one");
        team.rename("Foundations").unwrap();
        assert_eq!((team.id(), team.name()), (&id("team-platform-team"), "Foundations"));
        assert_eq!(team.aliases().iter().collect::<Vec<_>>(), ["foundations", "platform team"]);
        for n in team.aliases().len()..ALIASES_PER_ENTITY_MAX {
            team.add_alias(&format!("alias {n}")).unwrap();
        }
        assert!(team.add_alias("alias 3").is_ok(), "one that it has");
        assert!(matches!(team.rename("One Too Many"), Err(GraphError::Many { .. })));
        assert_eq!(team.name(), "Foundations", "a refused change changes nothing");
    }

    #[test]
    fn a_merge_keeps_what_the_newer_one_does_not_know() {
        let mut known = one_of_each().remove(1);
        let newer = Details::Team { purpose: Some("builds it".into()), department: None };
        known.merge(Entity::with_id(id("team-auth-service"), "Auth", newer).unwrap()).unwrap();
        let merged = Details::Team { purpose: Some("builds it".into()), department: Some(id("department-operations")) };
        assert_eq!((known.name(), known.details()), ("Auth", &merged));
        assert!(known.merge(one_of_each().remove(0)).is_err(), "another entity");
    }

    #[test]
    fn fields_imply_edges() {
        let edges: Vec<String> = one_of_each()
            .iter()
            .flat_map(|entity| entity.implied_edges(Timestamp(7)).unwrap())
            .map(|edge| edge.key().to_string())
            .collect();
        assert_eq!(
            edges,
            [
                "person-auth-service expert_in topic-pumps",
                "team-auth-service part_of department-operations",
                "department-auth-service part_of organization-waterworks",
                "project-plant contains system-auth-service",
                "system-auth-service contains module-auth-service",
            ]
        );
    }
}
