//! People from accounts (ENT-12), with their teams and departments (ENT-13).

use std::collections::BTreeMap;

use super::{Population, names};
use crate::graph::weight::WEIGHT_DEFAULT;
use crate::graph::{Details, EdgeKey, EdgeUpsert, Entity, GraphError, Relation, Role};
use crate::identity::{EntityId, EntityType};
use crate::measure::Timestamp;

/// What an account says of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The person. The account's own choice of id, since two people may share a name.
    pub person: EntityId,
    /// The name shown.
    pub name: String,
    /// The address, if one is known.
    pub email: Option<String>,
    /// What the person is, such as `principal engineer`.
    pub role: Option<String>,
    /// The teams, and what the person is in each. They must be in the graph.
    pub teams: BTreeMap<EntityId, Role>,
    /// A department to which the person belongs without a team.
    pub department: Option<EntityId>,
}

/// People, their memberships, and the departments that follow from no team (those that do are derived:
/// [`Graph::departments_of`](crate::graph::Graph::departments_of)).
pub fn from_accounts(accounts: &[Account], at: Timestamp) -> Result<Population, GraphError> {
    let mut population = Population::default();
    for Account { person, name, email, role, teams, department } in accounts {
        names("person", person, EntityType::Person)?;
        let details =
            Details::Person { email: email.clone(), role: role.clone(), expertise: std::collections::BTreeSet::new() };
        population.entity(Entity::with_id(person.clone(), name, details)?)?;
        for (team, role) in teams {
            let key = EdgeKey::new(person.clone(), Relation::MemberOf, team.clone())?;
            population.edges.push(EdgeUpsert::set_role(key, WEIGHT_DEFAULT, *role, at)?);
        }
        if let Some(department) = department {
            population.set(person, Relation::BelongsTo, department, WEIGHT_DEFAULT, at)?;
        }
    }
    Ok(population)
}
