//! What assembly does where the graph is thin or missing (CTX-27 to CTX-30).
//!
//! That there is nothing to find is no error anywhere: a fusion of nothing has no results, and its block is empty
//! (CTX-30).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::identity::EntityId;
use crate::knowledge::ScopeLevel;
use crate::measure::{Micro, Milli};

/// The weight of an edge that is assumed where none is known (CTX-29).
pub const SPARSE_EDGE_WEIGHT: Milli = Milli::from_const(500);

/// `1/(1+distance)`, where the distance is that of the scope's level: personal 0, team 1, department 2, organisation 3
/// (CTX-29).
pub fn level_proximity(level: ScopeLevel) -> Micro {
    let distance = match level {
        ScopeLevel::Personal => 0,
        ScopeLevel::Team => 1,
        ScopeLevel::Department => 2,
        ScopeLevel::Organization => 3,
    };
    Micro::from_ratio(1, 1 + distance)
}

/// The proximity in the graph, or that of the level where the graph does not reach (CTX-10, CTX-29).
pub fn proximity(in_graph: Option<Micro>, level: ScopeLevel) -> Micro {
    in_graph.unwrap_or_else(|| level_proximity(level))
}

/// Who there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Society {
    /// Entities in the graph; none if it is missing.
    pub n_entities: Option<u64>,
    /// People among them.
    pub n_people: u64,
}

/// Under which conditions a node assembles context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// No graph: the flat search; no promotion, no policy, no entities (CTX-27).
    NoGraph,
    /// One person: every scope is personal, and sessions stand for teams (CTX-28).
    SingleUser,
    /// Several people.
    Organisation,
}

impl Setting {
    /// The setting of a node. A graph that is there and empty is like none.
    pub fn of(society: Society) -> Setting {
        match society.n_entities {
            None | Some(0) => Setting::NoGraph,
            Some(_) if society.n_people <= 1 => Setting::SingleUser,
            Some(_) => Setting::Organisation,
        }
    }

    /// Whether the flat search answers (CTX-27).
    pub fn is_flat(self) -> bool {
        self == Setting::NoGraph
    }

    /// Whether policies and entities take part, and anything is promoted (CTX-27).
    pub fn promotes(self) -> bool {
        self != Setting::NoGraph
    }

    /// Whether knowledge is pushed down into narrower scopes (CTX-28): alone, there is nobody to push to.
    pub fn trickles_down(self) -> bool {
        self == Setting::Organisation
    }

    /// The level that a scope counts as (CTX-28). It changes weights and slots, never who may read: the boundary does
    /// not ask here.
    pub fn level(self, level: ScopeLevel) -> ScopeLevel {
        match self {
            Setting::SingleUser => ScopeLevel::Personal,
            Setting::NoGraph | Setting::Organisation => level,
        }
    }

    /// From how many independent places something comes, where a rule asks for "two teams": teams, or for a single
    /// user sessions (CTX-28).
    pub fn independent_places(self, teams: &BTreeSet<EntityId>, sessions: &BTreeSet<String>) -> usize {
        match self {
            Setting::SingleUser => sessions.len(),
            Setting::NoGraph | Setting::Organisation => teams.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [ScopeLevel; 4] =
        [ScopeLevel::Personal, ScopeLevel::Team, ScopeLevel::Department, ScopeLevel::Organization];

    #[test]
    fn an_isolated_person_has_the_distances_of_levels() {
        assert_eq!(LEVELS.map(|l| proximity(None, l).get()), [1_000_000, 500_000, 333_333, 250_000]);
        let near = Micro::from_ratio(1, 5);
        assert_eq!(proximity(Some(near), ScopeLevel::Personal), near, "the graph is asked first");
        assert_eq!(proximity(Some(Micro::ZERO), ScopeLevel::Personal), Micro::ZERO);
    }

    #[test]
    fn the_setting_follows_from_who_there_is() {
        let of = |n_entities, n_people| Setting::of(Society { n_entities, n_people });
        assert_eq!(of(None, 5), Setting::NoGraph);
        assert_eq!(of(Some(0), 0), Setting::NoGraph);
        assert_eq!(of(Some(1), 0), Setting::SingleUser);
        assert_eq!(of(Some(9), 1), Setting::SingleUser);
        assert_eq!(of(Some(9), 2), Setting::Organisation);
    }

    #[test]
    fn without_a_graph_the_flat_search_answers_and_nothing_else_works() {
        assert!(Setting::NoGraph.is_flat() && !Setting::NoGraph.promotes() && !Setting::NoGraph.trickles_down());
        assert!(!Setting::Organisation.is_flat() && Setting::Organisation.promotes());
        assert!(Setting::Organisation.trickles_down());
    }

    #[test]
    fn alone_sessions_stand_for_teams_and_nothing_trickles() {
        let alone = Setting::SingleUser;
        assert_eq!(LEVELS.map(|l| alone.level(l)), [ScopeLevel::Personal; 4]);
        assert_eq!(LEVELS.map(|l| Setting::Organisation.level(l)), LEVELS);
        assert!(alone.promotes() && !alone.trickles_down());
        let teams = BTreeSet::from(["team-pumps".parse().unwrap()]);
        let sessions = BTreeSet::from(["monday".to_string(), "tuesday".to_string()]);
        assert_eq!(alone.independent_places(&teams, &sessions), 2);
        assert_eq!(Setting::Organisation.independent_places(&teams, &sessions), 1);
    }
}
