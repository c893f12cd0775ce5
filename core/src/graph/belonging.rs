//! To which departments a person belongs: what follows from the teams (ENT-06).

use std::collections::BTreeSet;

use super::{Graph, Relation};
use crate::identity::EntityId;

/// That a person belongs to a department, and why (ENT-06).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Belonging {
    /// The department.
    pub department: EntityId,
    /// The team from which it follows; none if an edge says it.
    pub through: Option<EntityId>,
}

impl Graph {
    /// The departments of a person: those that an edge names, and those of the person's teams (ENT-06). Derived, so that
    /// who changes teams changes departments, and a team that moves takes its members along.
    ///
    /// It shortens no distance: a department stays two steps from the members of its teams, as
    /// [`assumed_proximity`](super::assumed_proximity) has it.
    pub fn departments_of(&self, person: &EntityId) -> Vec<Belonging> {
        let mut found = BTreeSet::new();
        for edge in self.edges_from(person) {
            match edge.key.relation() {
                Relation::BelongsTo => {
                    found.insert(Belonging { department: edge.key.target().clone(), through: None });
                }
                Relation::MemberOf => {
                    let team = edge.key.target();
                    let parts = self.edges_from(team).into_iter().filter(|e| e.key.relation() == Relation::PartOf);
                    found.extend(
                        parts.map(|part| Belonging {
                            department: part.key.target().clone(),
                            through: Some(team.clone()),
                        }),
                    );
                }
                _ => {}
            }
        }
        found.into_iter().collect()
    }
}
