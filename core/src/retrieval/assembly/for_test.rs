//! Units and readers for the tests of assembly.

use crate::boundary::{DepartmentPolicy, ReadableSet, Requester, Sensitivity};
use crate::content::RawBlock;
use crate::identity::{OrgId, SecretKey};
use crate::knowledge::{KnowledgeType, KnowledgeUnit, Origin, SourceType, UnitState};

/// The organisation of every test.
pub fn home() -> OrgId {
    SecretKey::from_seed([1; 32]).public()
}

/// An internal unit of this person and scope; `n` names it and its source.
pub fn unit(n: u8, creator: &str, scope: &str) -> KnowledgeUnit {
    KnowledgeUnit {
        chunk: RawBlock::raw(vec![n]).cid,
        source: RawBlock::raw(vec![n, n]).cid,
        kind: KnowledgeType::Preference,
        scope: crate::knowledge::Scope::of(scope.parse().expect("a scope's entity")).expect("an owner"),
        sensitivity: Sensitivity::Internal,
        origin: Origin {
            source_type: SourceType::Conversation,
            source_ref: format!("talk:{n}"),
            creator: Some(format!("person-{creator}").parse().expect("a person")),
            publisher: SecretKey::from_seed([2; 32]).public(),
            org: home(),
            department: "department-operations".parse().expect("a department"),
        },
        state: UnitState::Active,
    }
}

/// A colleague who stands in no scope but their own, and what they may read.
pub fn reader(name: &str) -> (ReadableSet, Requester) {
    let person: crate::identity::EntityId = format!("person-{name}").parse().expect("a person");
    let requester = Requester {
        org: home(),
        person: Some(person.clone()),
        departments: Default::default(),
        scopes: [person].into(),
        grants: Default::default(),
    };
    (ReadableSet::of(&requester, &home(), DepartmentPolicy::default()), requester)
}
