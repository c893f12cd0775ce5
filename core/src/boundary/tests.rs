use super::*;
use crate::content::RawBlock;
use crate::identity::{EntityType, SecretKey};
use crate::knowledge::{KnowledgeType, Origin, Scope, SourceType, UnitState};
use proptest::prelude::*;

const OPEN: DepartmentPolicy = DepartmentPolicy { restricted_within_department: true };
const SHUT: DepartmentPolicy = DepartmentPolicy { restricted_within_department: false };

/// The sixteen cells of BDY-16 to BDY-19, with the policy shut and nobody's grant.
#[test]
fn the_matrix_has_the_sixteen_cells_of_the_design() {
    use Relation::*;
    use Sensitivity::*;
    let table = [
        (Public, [true, true, true, true]),
        (Internal, [true, true, true, false]),
        (Restricted, [true, false, false, false]),
        (Confidential, [false, false, false, false]),
    ];
    for (sensitivity, row) in table {
        for (relation, may) in [SameScope, SameDepartment, SameOrganisation, CrossOrganisation].into_iter().zip(row) {
            assert_eq!(decide(sensitivity, relation, false, SHUT).is_ok(), may, "{sensitivity} {relation:?}");
        }
    }
    assert!(decide(Restricted, SameDepartment, false, OPEN).is_ok(), "policy opens restricted to the department");
    assert!(decide(Restricted, SameOrganisation, false, OPEN).is_err());
    for relation in [SameScope, SameDepartment, SameOrganisation] {
        assert!(decide(Confidential, relation, true, SHUT).is_ok(), "creator or grant, anywhere inside (D7)");
    }
    assert_eq!(decide(Confidential, CrossOrganisation, true, OPEN), Err(Withheld::CrossesOrganisation));
}

fn org(n: u8) -> OrgId {
    SecretKey::from_seed([n; 32]).public()
}

fn entity(kind: EntityType, n: u8) -> EntityId {
    EntityId::new(kind, &format!("n{n}")).unwrap()
}

fn chunk_cid(n: u8) -> Cid {
    RawBlock::raw(vec![n]).cid
}

prop_compose! {
    fn a_unit()(class in 0usize..4, scope in 0u8..4, which in 0u8..3, dept in 0u8..3, creator in 0u8..3, n in 0u8..4)
        -> KnowledgeUnit {
        let kind = [EntityType::Person, EntityType::Team, EntityType::Department, EntityType::Organization][scope as usize];
        KnowledgeUnit {
            chunk: chunk_cid(n),
            source: chunk_cid(200),
            kind: KnowledgeType::Context,
            scope: Scope::of(entity(kind, which)).unwrap(),
            sensitivity: Sensitivity::ALL[class],
            origin: Origin {
                source_type: SourceType::Document,
                source_ref: String::new(),
                creator: (creator > 0).then(|| entity(EntityType::Person, creator)),
                publisher: org(9),
                org: org(1),
                department: entity(EntityType::Department, dept),
            },
            state: UnitState::Active,
        }
    }
}

prop_compose! {
    fn a_requester()(home in any::<bool>(), person in 0u8..3, depts in proptest::collection::btree_set(0u8..3, 0..3),
        teams in proptest::collection::btree_set(0u8..3, 0..3), grants in proptest::collection::btree_set(0u8..4, 0..3))
        -> Requester {
        let person = (person > 0).then(|| entity(EntityType::Person, person));
        let departments: BTreeSet<_> = depts.into_iter().map(|n| entity(EntityType::Department, n)).collect();
        let scopes = departments.iter().cloned()
            .chain(teams.into_iter().map(|n| entity(EntityType::Team, n)))
            .chain(person.clone())
            .collect();
        Requester {
            org: if home { org(1) } else { org(2) },
            person, departments, scopes,
            grants: grants.into_iter().map(chunk_cid).collect(),
        }
    }
}

proptest! {
    /// The lock before the search and the lock at the exit are the same lock.
    #[test]
    fn the_readable_set_equals_the_matrix(unit in a_unit(), requester in a_requester(), open in any::<bool>()) {
        let policy = if open { OPEN } else { SHUT };
        let set = ReadableSet::of(&requester, &org(1), policy);
        // Grants reach confidential units only; a restricted unit is opened by its scope.
        prop_assert_eq!(set.admits(&unit), readable(&requester, &unit, policy).is_ok());
    }

    /// Raising a label never widens who reads.
    #[test]
    fn a_stricter_label_never_admits_more(unit in a_unit(), requester in a_requester()) {
        let before = readable(&requester, &unit, SHUT).is_ok();
        for class in Sensitivity::ALL.into_iter().filter(|c| *c > unit.sensitivity && *c != Sensitivity::Confidential) {
            let raised = KnowledgeUnit { sensitivity: class, ..unit.clone() };
            prop_assert!(before || readable(&requester, &raised, SHUT).is_err());
        }
    }
}
