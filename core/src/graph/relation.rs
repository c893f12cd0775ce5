//! The fourteen relations, and the table of what each may join (ENT-04, ENT-21).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::GraphError;
use crate::identity::EntityType;

/// How one thing stands to another. The text form is lower case with underscores, such as `member_of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum Relation {
    MemberOf,
    BelongsTo,
    PartOf,
    WorksOn,
    ExpertIn,
    Touches,
    Owns,
    Contains,
    DependsOn,
    RelatesTo,
    CreatedBy,
    About,
    ScopedTo,
    DerivedFrom,
}

/// What may stand at an end of a relation: an entity of a type, or a unit of knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// An entity of this type.
    Entity(EntityType),
    /// A unit of knowledge.
    Unit,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Entity(kind) => kind.fmt(f),
            End::Unit => f.write_str("unit"),
        }
    }
}

/// The pairs that are allowed, and no others (ENT-21).
pub const PAIRS: [(End, Relation, End); 21] = {
    use EntityType::*;
    const fn entity(kind: EntityType) -> End {
        End::Entity(kind)
    }
    [
        (entity(Person), Relation::MemberOf, entity(Team)),
        (entity(Person), Relation::BelongsTo, entity(Department)),
        (entity(Team), Relation::PartOf, entity(Department)),
        (entity(Department), Relation::PartOf, entity(Organization)),
        (entity(Person), Relation::WorksOn, entity(Project)),
        (entity(Person), Relation::ExpertIn, entity(Topic)),
        (entity(Person), Relation::Touches, entity(Module)),
        (entity(Team), Relation::Owns, entity(Project)),
        (entity(Team), Relation::Owns, entity(System)),
        (entity(Project), Relation::Contains, entity(System)),
        (entity(System), Relation::Contains, entity(Module)),
        (entity(System), Relation::DependsOn, entity(System)),
        (entity(Module), Relation::RelatesTo, entity(Topic)),
        (End::Unit, Relation::CreatedBy, entity(Person)),
        (End::Unit, Relation::About, entity(Topic)),
        (End::Unit, Relation::About, entity(System)),
        (End::Unit, Relation::About, entity(Module)),
        (End::Unit, Relation::ScopedTo, entity(Team)),
        (End::Unit, Relation::ScopedTo, entity(Department)),
        (End::Unit, Relation::ScopedTo, entity(Organization)),
        (End::Unit, Relation::DerivedFrom, End::Unit),
    ]
};

impl Relation {
    /// Every relation, in the order of the design.
    pub const ALL: [Relation; 14] = [
        Relation::MemberOf,
        Relation::BelongsTo,
        Relation::PartOf,
        Relation::WorksOn,
        Relation::ExpertIn,
        Relation::Touches,
        Relation::Owns,
        Relation::Contains,
        Relation::DependsOn,
        Relation::RelatesTo,
        Relation::CreatedBy,
        Relation::About,
        Relation::ScopedTo,
        Relation::DerivedFrom,
    ];

    /// Its lower-case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Relation::MemberOf => "member_of",
            Relation::BelongsTo => "belongs_to",
            Relation::PartOf => "part_of",
            Relation::WorksOn => "works_on",
            Relation::ExpertIn => "expert_in",
            Relation::Touches => "touches",
            Relation::Owns => "owns",
            Relation::Contains => "contains",
            Relation::DependsOn => "depends_on",
            Relation::RelatesTo => "relates_to",
            Relation::CreatedBy => "created_by",
            Relation::About => "about",
            Relation::ScopedTo => "scoped_to",
            Relation::DerivedFrom => "derived_from",
        }
    }

    /// Whether its edges grow from what people do, and so fade when they do it no more. The others are declared: nobody
    /// leaves a team by being idle.
    pub const fn is_learned(self) -> bool {
        matches!(self, Relation::WorksOn | Relation::ExpertIn | Relation::Touches)
    }

    /// Whether it may join these two; the error names what it may join.
    pub fn check(self, source: End, target: End) -> Result<(), GraphError> {
        if PAIRS.contains(&(source, self, target)) {
            return Ok(());
        }
        let pairs = PAIRS.iter().filter(|(_, relation, _)| *relation == self);
        let allowed = pairs.map(|(from, _, to)| format!("{from} {self} {to}")).collect::<Vec<_>>().join(", ");
        Err(GraphError::Pair { relation: self, from: source, to: target, allowed })
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Relation {
    type Err = GraphError;
    fn from_str(text: &str) -> Result<Relation, GraphError> {
        let known = Relation::ALL.into_iter().find(|r| r.as_str() == text);
        known.ok_or_else(|| GraphError::Relation(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_whole_law() {
        let ends: Vec<End> = EntityType::ALL.into_iter().map(End::Entity).chain([End::Unit]).collect();
        let mut allowed = 0;
        for relation in Relation::ALL {
            for source in &ends {
                for target in &ends {
                    allowed += usize::from(relation.check(*source, *target).is_ok());
                }
            }
            assert!(PAIRS.iter().any(|(_, r, _)| *r == relation), "{relation} joins something");
        }
        assert_eq!(allowed, PAIRS.len(), "no pair stands twice, and none passes that is not there");
    }

    #[test]
    fn a_wrong_pair_is_told_the_right_ones() {
        let said = Relation::Owns.check(End::Entity(EntityType::Person), End::Entity(EntityType::Project)).unwrap_err();
        assert_eq!(
            said.to_string(),
            "a person owns no project: only these are allowed: team owns project, team owns system"
        );
        assert!(Relation::MemberOf.check(End::Entity(EntityType::Team), End::Entity(EntityType::Person)).is_err());
    }

    #[test]
    fn names_read_back() {
        for relation in Relation::ALL {
            assert_eq!(relation.as_str().parse(), Ok(relation));
            assert_eq!(serde_json::to_value(relation).unwrap(), relation.as_str(), "one name in every form");
        }
        assert_eq!("MEMBER_OF".parse::<Relation>(), Err(GraphError::Relation("MEMBER_OF".into())));
    }
}
