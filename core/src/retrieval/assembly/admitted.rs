//! What has passed the boundary, and what an intent lifts of it.

use std::fmt;

use super::Intent;
use crate::boundary::{ReadableSet, Sensitivity};
use crate::knowledge::{KnowledgeUnit, ScopeLevel};
use crate::measure::Factor;

/// A unit that the reader may read and that may be found. Only a [`ReadableSet`] makes one, so what takes an
/// `Admitted` cannot be given anything else, and what returns nothing else cannot let anything through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Admitted<'a>(&'a KnowledgeUnit);

impl<'a> Admitted<'a> {
    /// The unit, if it lies inside the set and is active.
    pub fn of(set: &ReadableSet, unit: &'a KnowledgeUnit) -> Option<Admitted<'a>> {
        (set.admits(unit) && unit.is_active()).then_some(Admitted(unit))
    }

    /// The unit.
    pub fn unit(&self) -> &'a KnowledgeUnit {
        self.0
    }
}

impl fmt::Debug for Admitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admitted({})", self.0.chunk)
    }
}

/// How far an intent lifts what belongs to it; the design gives no number.
const LIFT: Factor = Factor::from_const(1200);

/// What a question of policy makes of confidential units, and one of security of restricted units and of those of a
/// security team (CTX-07). One lift, however many reasons. It moves what is admitted, and admits nothing.
pub fn lift(intent: Intent, admitted: Admitted<'_>) -> Factor {
    let unit = admitted.unit();
    let lifted = match intent {
        Intent::Policy => unit.sensitivity == Sensitivity::Confidential,
        Intent::Security => unit.sensitivity == Sensitivity::Restricted || is_of_security_team(unit),
        _ => false,
    };
    if lifted { LIFT } else { Factor::ONE }
}

/// Whether the unit's scope is a team with "security" as a word of its name.
fn is_of_security_team(unit: &KnowledgeUnit) -> bool {
    unit.scope.level == ScopeLevel::Team && unit.scope.entity.slug().split('-').any(|word| word == "security")
}

#[cfg(test)]
mod tests {
    use super::super::for_test::{reader, unit};
    use super::*;
    use crate::boundary::{DepartmentPolicy, Requester};
    use crate::content::RawBlock;
    use crate::knowledge::UnitState;

    #[test]
    fn policy_lifts_confidential_and_security_lifts_restricted_and_its_team() {
        let set = reader("ann");
        for (sensitivity, scope, policy, security) in [
            (Sensitivity::Confidential, "team-pumps", 1200, 1000),
            (Sensitivity::Restricted, "team-pumps", 1000, 1200),
            (Sensitivity::Internal, "team-pumps", 1000, 1000),
            (Sensitivity::Internal, "team-it-security", 1000, 1200),
            (Sensitivity::Internal, "team-securityish", 1000, 1000),
            (Sensitivity::Internal, "department-security", 1000, 1000),
            (Sensitivity::Restricted, "team-security", 1000, 1200),
        ] {
            let mut unit = unit(1, "ann", scope);
            unit.sensitivity = sensitivity;
            let open = ReadableSet::of(
                &Requester { scopes: [scope.parse().unwrap()].into(), ..set.1.clone() },
                &set.1.org,
                DepartmentPolicy::default(),
            );
            let admitted = Admitted::of(&open, &unit).unwrap();
            assert_eq!(lift(Intent::Policy, admitted).get(), policy, "{sensitivity} {scope}");
            assert_eq!(lift(Intent::Security, admitted).get(), security, "{sensitivity} {scope}");
            assert_eq!(lift(Intent::Debugging, admitted), Factor::ONE);
        }
    }

    #[test]
    fn what_would_be_lifted_highest_is_not_admitted_for_it() {
        let (set, _) = reader("ann");
        let mut secret = unit(1, "bob", "team-security");
        for sensitivity in [Sensitivity::Restricted, Sensitivity::Confidential] {
            secret.sensitivity = sensitivity;
            assert_eq!(Admitted::of(&set, &secret), None);
        }
        secret.sensitivity = Sensitivity::Internal;
        assert!(Admitted::of(&set, &secret).is_some());
        secret.state = UnitState::Superseded { by: RawBlock::raw(vec![9]).cid };
        assert_eq!(Admitted::of(&set, &secret), None, "what is no longer active is found no more");
    }
}
