//! Who may read what: sensitivity, its detection, and the readable set of a requester.
//!
//! Three layers decide (automatic detection, policy, the creator), and the most restrictive wins. A requester is first
//! turned into a [`ReadableSet`], which says *which index partitions are opened at all* and under which clause; the
//! same rule stands a second time at the exit as [`readable`]. Both come from one matrix ([`decide`], BDY-16 to
//! BDY-19 with D7), and a property test holds them equal.

mod detect;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::identity::{EntityId, OrgId};
use crate::knowledge::{KnowledgeUnit, WordError};

pub use detect::{Category, FINDINGS_MAX, Finding, classify, detect};

/// How sensitive something is, least first (BDY-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sensitivity {
    /// May cross to other organisations.
    Public,
    /// For everyone inside the organisation.
    Internal,
    /// For its own scope.
    Restricted,
    /// For its creator and whoever was granted it.
    Confidential,
}

impl Sensitivity {
    /// Every class, least sensitive first.
    pub const ALL: [Sensitivity; 4] =
        [Sensitivity::Public, Sensitivity::Internal, Sensitivity::Restricted, Sensitivity::Confidential];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Sensitivity::Public => "public",
            Sensitivity::Internal => "internal",
            Sensitivity::Restricted => "restricted",
            Sensitivity::Confidential => "confidential",
        }
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Sensitivity {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Sensitivity, WordError> {
        Sensitivity::ALL.into_iter().find(|s| s.as_str() == text).ok_or_else(|| WordError {
            given: text.chars().take(40).collect(),
            expected: "public, internal, restricted, confidential",
        })
    }
}

/// Who asks. The shell builds it from a token, a local user or a peer's certificate; it is never taken from a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The organisation.
    pub org: OrgId,
    /// The person, where one is known. A peer asks without one.
    pub person: Option<EntityId>,
    /// Departments that the requester belongs to.
    pub departments: BTreeSet<EntityId>,
    /// Every entity in whose scope the requester stands: the person, teams, departments, the organisation.
    pub scopes: BTreeSet<EntityId>,
    /// Units granted by their creators, by chunk.
    pub grants: BTreeSet<Cid>,
}

impl Requester {
    /// Another node that asks for itself: it stands in its organisation and department, and is nobody's person.
    pub fn peer(org: OrgId, department: EntityId) -> Requester {
        Requester {
            org,
            person: None,
            departments: BTreeSet::from([department.clone()]),
            scopes: BTreeSet::from([department]),
            grants: BTreeSet::new(),
        }
    }

    /// Someone of whom nothing is known: in nobody's organisation, so that only public units are readable.
    pub fn stranger() -> Requester {
        Requester {
            org: OrgId::NOBODY,
            person: None,
            departments: BTreeSet::new(),
            scopes: BTreeSet::new(),
            grants: BTreeSet::new(),
        }
    }
}

/// What the node's organisation lets through where the matrix says "policy" (BDY-18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepartmentPolicy {
    /// Whether restricted units of one scope may be read by the rest of the same department.
    pub restricted_within_department: bool,
}

/// How a requester stands to a unit: the columns of the matrix, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// In the unit's own scope.
    SameScope,
    /// In the department that published it.
    SameDepartment,
    /// In the organisation that published it.
    SameOrganisation,
    /// In another organisation.
    CrossOrganisation,
}

/// Why something may not be read. Never told to who asked: to them it is absent (BDY-24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// Only public units cross to another organisation.
    CrossesOrganisation,
    /// Restricted, and the requester is outside its scope.
    OutsideScope,
    /// Restricted, in the same department, and no policy opens it.
    NoPolicy,
    /// Confidential: neither creator nor granted.
    NotGranted,
}

/// The matrix (BDY-16 to BDY-19, D7).
pub fn decide(
    sensitivity: Sensitivity,
    relation: Relation,
    creator_or_granted: bool,
    policy: DepartmentPolicy,
) -> Result<(), Withheld> {
    use Relation::{CrossOrganisation, SameDepartment, SameOrganisation, SameScope};
    match (sensitivity, relation) {
        (Sensitivity::Public, _) => Ok(()),
        (_, CrossOrganisation) => Err(Withheld::CrossesOrganisation),
        (Sensitivity::Internal, _) => Ok(()),
        (Sensitivity::Restricted, SameScope) => Ok(()),
        (Sensitivity::Restricted, SameDepartment) if policy.restricted_within_department => Ok(()),
        (Sensitivity::Restricted, SameDepartment) => Err(Withheld::NoPolicy),
        (Sensitivity::Restricted, SameOrganisation) => Err(Withheld::OutsideScope),
        (Sensitivity::Confidential, _) if creator_or_granted => Ok(()),
        (Sensitivity::Confidential, _) => Err(Withheld::NotGranted),
    }
}

/// How the requester stands to the unit.
pub fn relation(requester: &Requester, unit: &KnowledgeUnit) -> Relation {
    if requester.org != unit.origin.org {
        Relation::CrossOrganisation
    } else if requester.scopes.contains(&unit.scope.entity) {
        Relation::SameScope
    } else if requester.departments.contains(&unit.origin.department) {
        Relation::SameDepartment
    } else {
        Relation::SameOrganisation
    }
}

/// Whether this requester may read this unit: the lock at the exit.
pub fn readable(requester: &Requester, unit: &KnowledgeUnit, policy: DepartmentPolicy) -> Result<(), Withheld> {
    let is_creator = requester.person.is_some() && requester.person == unit.origin.creator;
    let creator_or_granted = is_creator || requester.grants.contains(&unit.chunk);
    decide(unit.sensitivity, relation(requester, unit), creator_or_granted, policy)
}

/// What part of one partition may be searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// All of it, without a filter; its term statistics may be used.
    Whole,
    /// What the clause admits. Its term statistics are not used: they would tell of the rest.
    Part(Clause),
    /// Nothing: it is not opened.
    Closed,
}

/// A unit passes if any of these holds. They are the fields by which a partition is filtered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clause {
    /// Its scope's entity is one of these.
    pub scopes: BTreeSet<EntityId>,
    /// Its department is one of these.
    pub departments: BTreeSet<EntityId>,
    /// Its creator is this person.
    pub creator: Option<EntityId>,
    /// Its chunk is one of these.
    pub chunks: BTreeSet<Cid>,
}

impl Clause {
    /// Whether it admits nothing, so that the partition need not be opened.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty() && self.departments.is_empty() && self.creator.is_none() && self.chunks.is_empty()
    }

    /// Whether it admits the unit.
    pub fn admits(&self, unit: &KnowledgeUnit) -> bool {
        self.scopes.contains(&unit.scope.entity)
            || self.departments.contains(&unit.origin.department)
            || (self.creator.is_some() && self.creator == unit.origin.creator)
            || self.chunks.contains(&unit.chunk)
    }
}

/// Which partitions a requester's search opens. Computed before any search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadableSet {
    access: [Access; 4],
}

impl ReadableSet {
    /// The readable set at a node of `home`. **Relies on:** every unit that is not public belongs to `home`; import
    /// refuses anything else.
    pub fn of(requester: &Requester, home: &OrgId, policy: DepartmentPolicy) -> ReadableSet {
        if requester.org != *home {
            return ReadableSet { access: [Access::Whole, Access::Closed, Access::Closed, Access::Closed] };
        }
        let part = |clause: Clause| {
            if clause.is_empty() { Access::Closed } else { Access::Part(clause) }
        };
        let restricted = Clause {
            scopes: requester.scopes.clone(),
            departments: if policy.restricted_within_department {
                requester.departments.clone()
            } else {
                BTreeSet::new()
            },
            ..Clause::default()
        };
        let confidential =
            Clause { creator: requester.person.clone(), chunks: requester.grants.clone(), ..Clause::default() };
        ReadableSet { access: [Access::Whole, Access::Whole, part(restricted), part(confidential)] }
    }

    /// The access to one partition.
    pub fn access(&self, sensitivity: Sensitivity) -> &Access {
        &self.access[sensitivity as usize]
    }

    /// Whether a unit lies inside.
    pub fn admits(&self, unit: &KnowledgeUnit) -> bool {
        match self.access(unit.sensitivity) {
            Access::Whole => true,
            Access::Part(clause) => clause.admits(unit),
            Access::Closed => false,
        }
    }
}

/// The label of whatever is derived from several things: the strictest of theirs (law 1). Nothing at all is public.
pub fn strictest(labels: impl IntoIterator<Item = Sensitivity>) -> Sensitivity {
    labels.into_iter().max().unwrap_or(Sensitivity::Public)
}

#[cfg(test)]
mod tests;
